%% @doc Collects garbage on request, outside the worker, which must handle commands meanwhile.
-module(cw_trimmer).

-export([start_link/0, trim/2]).

%% Milliseconds after which the schedulers have returned the memory.
-define(GIVEN_BACK, 500).

%% @doc Start it before any task exists: tasks are not collected. A collection leaves the heap of a task that
%% waits as large as it was, and collecting a hundred thousand of them would fragment the memory.
-spec start_link() -> pid().
start_link() ->
    Others = processes(),
    spawn_link(fun() ->
        process_flag(priority, high),
        loop(Others)
    end).

%% @doc Call Then when everything has been collected and returned.
-spec trim(pid(), fun(() -> ok)) -> ok.
trim(Trimmer, Then) ->
    Trimmer ! {trim, Then},
    ok.

loop(Others) ->
    receive
        {trim, Then} ->
            collect(Others),
            timer:sleep(?GIVEN_BACK),
            Then(),
            loop(Others)
    end.

%% Request all before waiting for any: each may wait behind every task that can run.
collect(Processes) ->
    [garbage_collect(Process, [{async, Process}]) || Process <- Processes],
    [
        receive
            {garbage_collect, Process, _} -> ok
        end
     || Process <- Processes
    ],
    garbage_collect().
