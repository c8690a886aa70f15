%% @doc The target, and how many tasks are still missing: arithmetic, with counts and time passed in.
-module(cw_goal).

-export([new/0, set_target/4, set_refill/2, replace/2, settle/2, wanted/2, made/2, reached/2, replacing/1,
         refilling/1, target/1]).
-export_type([goal/0, counts/0]).

-record(goal, {
    target = 0,
    %% Without refill: tasks of the target still to be created.
    left = 0,
    %% The value of "created" at which the target is met.
    due = 0,
    %% The counts when the target arrived, and that time; none when there is nothing to report.
    before = #{created => 0, cancelled => 0},
    arrived = none,
    refill = true,
    %% Live tasks are cancelled first: the workload has changed.
    replacing = false
}).

-opaque goal() :: #goal{}.
-type counts() :: #{created | live | completed | failed | cancelled => non_neg_integer()}.

-spec new() -> goal().
new() -> #goal{}.

-spec set_target(non_neg_integer(), integer(), counts(), goal()) -> goal().
set_target(Target, Now, #{live := Live, created := Created} = Counts, Goal) ->
    Standing =
        case Goal#goal.replacing of
            true -> 0;
            false -> Live
        end,
    Left = max(0, Target - Standing),
    Goal#goal{target = Target, left = Left, due = Created + Left, before = Counts, arrived = Now}.

-spec set_refill(boolean(), goal()) -> goal().
set_refill(On, Goal) -> Goal#goal{refill = On, left = 0}.

-spec replace(non_neg_integer(), goal()) -> goal().
replace(_Live, #goal{replacing = true} = Goal) ->
    %% Tasks still being cancelled are already among those left to create.
    Goal;
replace(Live, #goal{target = Target, left = Left, due = Due} = Goal) ->
    Again = min(Live, Target - Left),
    Goal#goal{replacing = Live > 0, left = Left + Again, due = Due + Again}.

%% @doc Lower the target to what is live, to stop growth. Also returns the target before.
-spec settle(non_neg_integer(), goal()) -> {non_neg_integer(), goal()}.
settle(Live, #goal{target = Target} = Goal) ->
    {Target, Goal#goal{target = min(Target, Live), left = 0, arrived = none}}.

%% @doc How many tasks to create or, if negative, to cancel.
-spec wanted(non_neg_integer(), goal()) -> {integer(), goal()}.
wanted(Live, #goal{replacing = true} = Goal) when Live > 0 -> {-Live, Goal};
wanted(Live, #goal{replacing = true} = Goal) -> wanted(Live, Goal#goal{replacing = false});
wanted(Live, #goal{target = Target, refill = Refill} = Goal) when Refill; Live > Target ->
    {Target - Live, Goal};
wanted(Live, #goal{target = Target, left = Left} = Goal) ->
    {min(Left, Target - Live), Goal}.

-spec made(non_neg_integer(), goal()) -> goal().
made(Count, #goal{left = Left} = Goal) -> Goal#goal{left = max(0, Left - Count)}.

%% @doc The report, once, when the target has just been met.
-spec reached(counts(), goal()) -> {[{atom(), integer()}], Arrived :: integer(), goal()} | no.
reached(_Counts, #goal{arrived = none}) ->
    no;
reached(#{live := Live, created := Created}, #goal{target = Target, due = Due}) when
    Live > Target; Created < Due
->
    no;
reached(#{live := Live} = Counts, #goal{target = Target, before = Before, arrived = Arrived} = Goal) ->
    Since = [{Key, map_get(Key, Counts) - map_get(Key, Before)} || Key <- [created, cancelled]],
    {[{target, Target}, {live, Live} | Since], Arrived, Goal#goal{arrived = none}}.

-spec replacing(goal()) -> boolean().
replacing(#goal{replacing = Replacing}) -> Replacing.

-spec refilling(goal()) -> boolean().
refilling(#goal{refill = Refill}) -> Refill.

-spec target(goal()) -> non_neg_integer().
target(#goal{target = Target}) -> Target.
