%% Starts as many sleeping processes as the argument states, each monitored by its creator.
-module(bare).

-export([main/1]).

main([Number]) ->
    Before = rss(),
    Began = erlang:monotonic_time(microsecond),
    Tasks = [spawn_monitor(fun() -> timer:sleep(600_000) end) || _ <- lists:seq(1, list_to_integer(Number))],
    {Last, _} = lists:last(Tasks),
    wait_until_asleep(Last),
    Seconds = (erlang:monotonic_time(microsecond) - Began) / 1.0e6,
    %% Do not count garbage from their creation.
    garbage_collect(),
    io:format("{\"seconds\": ~.6f, \"rss_before\": ~b, \"rss\": ~b}~n", [Seconds, Before, rss()]),
    %% As a program does later: cancel one.
    exit(Last, kill),
    receive
        {'DOWN', _, process, Last, killed} -> erlang:halt(length(Tasks) - list_to_integer(Number))
    end.

wait_until_asleep(Process) ->
    case process_info(Process, status) of
        {status, waiting} ->
            ok;
        _ ->
            erlang:yield(),
            wait_until_asleep(Process)
    end.

rss() ->
    {ok, Numbers} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = binary:split(Numbers, <<" ">>, [global]),
    binary_to_integer(Pages) * 4096.
