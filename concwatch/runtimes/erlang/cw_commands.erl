%% @doc The commands of a worker, each as a change of its state.
-module(cw_commands).

-export([apply_command/3]).

-include("cw_state.hrl").

-define(MOST_TASKS, 1_000_000_000).
-define(LARGEST, (1 bsl 62)).
-define(KNOWN, <<"target, refill, workload, halt, rate, trim, burst, stop">>).

%% @doc Apply a command, and answer.
-spec apply_command(cw_wire:command() | {malformed, binary()}, integer(), #state{}) -> #state{}.
apply_command({malformed, Line}, _Arrived, #state{wire = Wire} = State) ->
    Expected = <<" is not a command; expected one flat JSON object such as {\"type\":\"stop\"}">>,
    cw_wire:refuse(Wire, null, [cw_wire:quote(Line), Expected]),
    State;
apply_command(#{<<"type">> := Type} = Command, Arrived, #state{wire = Wire} = State) ->
    try command(Type, Command, Arrived, State) of
        {applied, Next} ->
            applied(Wire, Type, Arrived),
            Next;
        {answered, Next} ->
            Next
    catch
        {refused, Why} ->
            cw_wire:refuse(Wire, cw_wire:brief(Type), Why),
            State
    end.

applied(Wire, Type, Arrived) ->
    cw_wire:send(Wire, <<"applied">>, [{command, Type}, {seconds, cw_wire:seconds_since(Arrived)}]).

command(<<"target">>, Command, Arrived, #state{goal = Goal, counts = Counts} = State) ->
    Target = cw_wire:whole(<<"tasks">>, 0, ?MOST_TASKS, Command),
    cw_counts:hold(Counts, Target),
    {answered, State#state{goal = cw_goal:set_target(Target, Arrived, cw_counts:read(Counts), Goal)}};
command(<<"refill">>, Command, _Arrived, #state{goal = Goal} = State) ->
    {applied, State#state{goal = cw_goal:set_refill(cw_wire:flag(<<"on">>, Command), Goal)}};
command(<<"workload">>, Command, _Arrived, #state{goal = Goal, counts = Counts, tasks = Tasks} = State) ->
    Body = cw_workload:body(Command, Counts),
    {applied, State#state{
        tasks = cw_tasks:use(Body, Tasks),
        goal = cw_goal:replace(cw_tasks:live(Tasks), Goal),
        failure_reported = false
    }};
command(<<"halt">>, Command, _Arrived, State) ->
    Wall = cw_wire:text(<<"wall">>, Command),
    Value =
        case Command of
            #{<<"value">> := Given} when Given =/= null ->
                cw_wire:whole(<<"value">>, 0, ?LARGEST, Command);
            _ ->
                null
        end,
    {applied, cw_worker:stop_growing(Wall, Value, <<>>, State)};
command(<<"rate">>, Command, _Arrived, #state{reporter = Reporter} = State) ->
    cw_reporter:every(Reporter, 1 / cw_wire:number(<<"hz">>, 0.1, 100, Command)),
    {applied, State};
command(<<"trim">>, _Command, Arrived, #state{wire = Wire, trimmer = Trimmer} = State) ->
    cw_trimmer:trim(Trimmer, fun() -> applied(Wire, <<"trim">>, Arrived) end),
    {answered, State};
command(<<"burst">>, Command, _Arrived, #state{counts = Counts, tasks = Tasks, goal = Goal} = State) ->
    Live = cw_tasks:live(Tasks),
    Live =:= 0 andalso cw_goal:target(Goal) =:= 0 orelse
        throw({refused, io_lib:format("~b tasks are live; a burst needs none, and a target of 0", [Live])}),
    plain(Command) orelse
        throw({refused, <<"a burst here has one part, none that are older, and no reading">>}),
    Count = cw_wire:whole(<<"tasks">>, 0, ?MOST_TASKS, Command),
    cw_counts:hold(Counts, Count),
    {applied, State#state{burst = cw_burst:start(Count, Tasks)}};
command(Type, _Command, _Arrived, _State) ->
    throw({refused, [<<"unknown command ">>, cw_wire:quote(Type), <<"; expected one of ">>, ?KNOWN]}).

plain(Command) ->
    maps:get(<<"chunks">>, Command, 1) =< 1 andalso maps:get(<<"older">>, Command, 0) =:= 0 andalso
        maps:get(<<"read_after">>, Command, null) =:= null.
