%% Holds sleeping processes, each of which can be cancelled by its creator, which monitors and replaces them.
-module(bare).

-export([main/1]).

-define(GOLDEN, 0.6180339887498949).

%% Called by erl -noshell. Arguments: how many tasks, and from how many seconds to how many they sleep.
main([Number, Least, To]) ->
    Count = list_to_integer(Number),
    Lengths = {1000 * seconds(Least), 1000 * (seconds(To) - seconds(Least))},
    io:put_chars("idle\n"),
    _ = io:get_line(""),
    Began = erlang:monotonic_time(microsecond),
    Tasks = maps:from_list([start(I, Lengths) || I <- lists:seq(1, Count)]),
    wait_until_asleep(lists:max(maps:keys(Tasks))),
    io:format("live ~.6f~n", [(erlang:monotonic_time(microsecond) - Began) / 1.0e6]),
    garbage_collect(),
    Holder = self(),
    spawn(fun() -> listen(Holder) end),
    hold(Tasks, 0, Count + 1, Lengths).

start(I, {Least, Span}) ->
    At = I * ?GOLDEN,
    Length = ceil(Least + Span * (At - trunc(At))),
    spawn_monitor(fun() -> timer:sleep(Length) end).

hold(Tasks, Ended, I, Lengths) ->
    receive
        {'DOWN', _, process, Pid, normal} ->
            {Next, Monitor} = start(I, Lengths),
            hold((maps:remove(Pid, Tasks))#{Next => Monitor}, Ended + 1, I + 1, Lengths);
        {count, Listener} ->
            Listener ! Ended,
            hold(Tasks, Ended, I, Lengths)
    end.

listen(Holder) ->
    case io:get_line("") of
        eof ->
            erlang:halt(0, [{flush, false}]);
        _ ->
            Holder ! {count, self()},
            receive
                Ended -> io:format("ended ~b~n", [Ended])
            end,
            listen(Holder)
    end.

wait_until_asleep(Process) ->
    case process_info(Process, status) of
        {status, Busy} when Busy =/= waiting ->
            erlang:yield(),
            wait_until_asleep(Process);
        _ ->
            ok
    end.

seconds(Text) ->
    case string:to_float(Text) of
        {error, no_float} -> list_to_integer(Text);
        {Seconds, ""} -> Seconds
    end.
