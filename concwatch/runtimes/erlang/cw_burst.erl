%% @doc Tasks that run to their end, created without a pause as a plain program would.
-module(cw_burst).

-export([start/2, report/1]).
-export_type([burst/0]).

-record(burst, {tasks, began, cpu, create_seconds, create_cpu}).

-opaque burst() :: #burst{}.

-spec start(non_neg_integer(), cw_tasks:tasks()) -> burst().
start(Count, Tasks) ->
    Began = erlang:monotonic_time(),
    Cpu = cpu(),
    Made = cw_tasks:create(Count, Tasks),
    #burst{
        tasks = Made,
        began = Began,
        cpu = Cpu,
        create_seconds = cw_wire:seconds_since(Began),
        create_cpu = cpu() - Cpu
    }.

%% @doc The report when the last task has just ended.
-spec report(burst()) -> [{atom(), term()}].
report(Burst) ->
    [
        {tasks, Burst#burst.tasks},
        {create_seconds, Burst#burst.create_seconds},
        {create_cpu, Burst#burst.create_cpu},
        {seconds, cw_wire:seconds_since(Burst#burst.began)},
        {cpu, cpu() - Burst#burst.cpu},
        {live, null},
        {traced, null}
    ].

cpu() ->
    {Milliseconds, _} = erlang:statistics(runtime),
    Milliseconds / 1000.
