%% @doc Collects on request, and not in the worker, which has commands to take meanwhile.
-module(cw_trimmer).

-export([start_link/0, trim/2]).

%% Milliseconds after which the schedulers have given back what was collected.
-define(GIVEN_BACK, 500).

%% @doc To be called when no task lives yet: tasks are left alone. A collection leaves the heap of one that
%% waits as large as it was, and a hundred thousand of them would fray the memory that they lie in.
-spec start_link() -> pid().
start_link() ->
    Others = processes(),
    spawn_link(fun() ->
        process_flag(priority, high),
        loop(Others)
    end).

%% @doc Have Then called when all is collected and given back.
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

%% All are asked before any is waited for: each may wait for its turn behind every task that can run.
collect(Processes) ->
    [garbage_collect(Process, [{async, Process}]) || Process <- Processes],
    [
        receive
            {garbage_collect, Process, _} -> ok
        end
     || Process <- Processes
    ],
    garbage_collect().
