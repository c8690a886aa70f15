%% @doc The counters of a worker, and its target. Only the worker changes them; the reporter and tasks read them.
-module(cw_counts).

-export([new/0, add/3, live/1, read/1, hold/2, target/1]).
-export_type([counts/0]).

-define(CREATED, 1).
-define(COMPLETED, 2).
-define(FAILED, 3).
-define(CANCELLED, 4).
-define(REPLACED, 5).
-define(TARGET, 6).

-opaque counts() :: counters:counters_ref().

-spec new() -> counts().
new() -> counters:new(6, [atomics]).

%% @doc Count so many; a replaced task has completed, and another one was created.
-spec add(counts(), created | completed | failed | cancelled | replaced, non_neg_integer()) -> ok.
add(Counts, created, Count) -> counters:add(Counts, ?CREATED, Count);
add(Counts, completed, Count) -> counters:add(Counts, ?COMPLETED, Count);
add(Counts, failed, Count) -> counters:add(Counts, ?FAILED, Count);
add(Counts, cancelled, Count) -> counters:add(Counts, ?CANCELLED, Count);
add(Counts, replaced, Count) -> counters:add(Counts, ?REPLACED, Count).

-spec live(counts()) -> non_neg_integer().
live(Counts) -> map_get(live, read(Counts)).

-spec read(counts()) -> cw_goal:counts().
read(Counts) ->
    %% Ends are read before starts, so that live is never negative.
    Completed = counters:get(Counts, ?COMPLETED),
    Failed = counters:get(Counts, ?FAILED),
    Cancelled = counters:get(Counts, ?CANCELLED),
    Created = counters:get(Counts, ?CREATED),
    Replaced = counters:get(Counts, ?REPLACED),
    #{
        created => Created + Replaced,
        live => Created - Completed - Failed - Cancelled,
        completed => Completed + Replaced,
        failed => Failed,
        cancelled => Cancelled
    }.

%% @doc Record how many tasks are held from now on.
-spec hold(counts(), non_neg_integer()) -> ok.
hold(Counts, Target) -> counters:put(Counts, ?TARGET, Target).

-spec target(counts()) -> non_neg_integer().
target(Counts) -> counters:get(Counts, ?TARGET).
