%% @doc The live tasks: creates, cancels and counts them. The engine defines what a task is.
-module(cw_tasks).

-export([new/2, use/2, create/2, cancel/2, ended/3, replace/2, live/1]).
-export_type([tasks/0, task/0, outcome/0]).

-record(tasks, {
    engine :: module(),
    counts :: cw_counts:counts(),
    body = fun cw_workload:hold/0 :: cw_workload:body(),
    %% Every task whose end has not been reported. The garbage collector does not copy tables.
    kept = ets:new(tasks, [ordered_set, private]) :: ets:table()
}).

-opaque tasks() :: #tasks{}.
%% How an engine identifies a task, its process first.
-type task() :: {pid(), term()}.
-type outcome() :: ok | {failed, Reason :: term()}.

-callback runtime(Otp :: binary()) -> binary().
%% The caller gets a 'DOWN' message when the task has ended.
-callback start(cw_workload:body()) -> task().
%% Cancels tasks, and returns why each has ended: it may have ended by itself. Their 'DOWN' messages are removed.
-callback cancel([task()]) -> [Reason :: term()].

-spec new(module(), cw_counts:counts()) -> tasks().
new(Engine, Counts) -> #tasks{engine = Engine, counts = Counts}.

%% @doc Set what new tasks do.
-spec use(cw_workload:body(), tasks()) -> tasks().
use(Body, Tasks) -> Tasks#tasks{body = Body}.

-spec live(tasks()) -> non_neg_integer().
live(#tasks{counts = Counts}) -> cw_counts:live(Counts).

%% @doc Create so many tasks. Returns how many: fewer if the limit on processes is hit.
-spec create(non_neg_integer(), tasks()) -> non_neg_integer().
create(Count, #tasks{counts = Counts} = Tasks) ->
    Made = create(Count, 0, Tasks),
    cw_counts:add(Counts, created, Made),
    Made.

create(Count, Count, _) ->
    Count;
create(Count, Made, Tasks) ->
    case start(Tasks) of
        true -> create(Count, Made + 1, Tasks);
        false -> Made
    end.

start(#tasks{engine = Engine, body = Body, kept = Kept}) ->
    try Engine:start(Body) of
        Task -> ets:insert(Kept, Task)
    catch
        error:system_limit -> false
    end.

%% @doc Cancel so many tasks, of which there must be at least that many.
-spec cancel(pos_integer(), tasks()) -> [outcome()].
cancel(Count, #tasks{engine = Engine, kept = Kept} = Tasks) ->
    {Some, _} = ets:select(Kept, [{'$1', [], ['$1']}], Count),
    [ets:delete(Kept, Pid) || {Pid, _} <- Some],
    [count(Reason, Tasks) || Reason <- Engine:cancel(Some)].

%% @doc Handle the end of a task that was not cancelled.
-spec ended(pid(), term(), tasks()) -> outcome().
ended(Pid, Reason, #tasks{kept = Kept} = Tasks) ->
    ets:delete(Kept, Pid),
    count(Reason, Tasks).

%% @doc Handle the end of a task that has completed, and start another one; returns whether that was possible.
-spec replace(pid(), tasks()) -> boolean().
replace(Pid, #tasks{counts = Counts, kept = Kept} = Tasks) ->
    ets:delete(Kept, Pid),
    Started = start(Tasks),
    cw_counts:add(Counts, case Started of true -> replaced; false -> completed end, 1),
    Started.

count(normal, #tasks{counts = Counts}) -> cw_counts:add(Counts, completed, 1);
count(killed, #tasks{counts = Counts}) -> cw_counts:add(Counts, cancelled, 1);
count(Reason, #tasks{counts = Counts}) ->
    cw_counts:add(Counts, failed, 1),
    {failed, Reason}.
