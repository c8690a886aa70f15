%% Holds sleeping processes, each of which can be cancelled by its creator, which monitors and replaces them.
-module(bare).

-export([main/1]).

%% Called by erl -noshell. Arguments: how many tasks, and from how many seconds to how many they sleep.
main([Number, Least, To]) ->
    Count = list_to_integer(Number),
    Lengths = [milliseconds(Least, To, I / Count) || I <- lists:seq(1, Count)],
    io:put_chars("idle\n"),
    _ = io:get_line(""),
    Began = erlang:monotonic_time(microsecond),
    Tasks = maps:from_list([start(Length) || Length <- Lengths]),
    {Last, _} = start(0),
    receive
        {'DOWN', _, process, Last, _} -> ok
    end,
    io:format("live ~.6f~n", [(erlang:monotonic_time(microsecond) - Began) / 1.0e6]),
    Holder = self(),
    spawn(fun() -> listen(Holder) end),
    hold(Tasks, 0).

%% The process of a task, and what its end is answered with: the monitor and the time that it slept.
start(Length) ->
    {Pid, Monitor} = spawn_monitor(fun() -> timer:sleep(Length) end),
    {Pid, {Monitor, Length}}.

hold(Tasks, Ended) ->
    receive
        {'DOWN', _, process, Pid, normal} ->
            {{_, Length}, Others} = maps:take(Pid, Tasks),
            {Next, Task} = start(Length),
            hold(Others#{Next => Task}, Ended + 1);
        {count, Listener} ->
            Listener ! Ended,
            hold(Tasks, Ended)
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

milliseconds(Least, To, At) ->
    ceil(1000 * (seconds(Least) + (seconds(To) - seconds(Least)) * At)).

seconds(Text) ->
    {Seconds, []} =
        case string:to_float(Text) of
            {error, no_float} -> string:to_integer(Text);
            Read -> Read
        end,
    Seconds.
