%% @doc Holds the target: the one process that creates and cancels tasks, counts their ends, and applies commands.
-module(cw_worker).

-export([start_link/4, queue_command/2, stop_growing/4]).
-export_type([worker/0]).

-include("cw_state.hrl").

-opaque worker() :: {pid(), Waiting :: counters:counters_ref()}.

%% Milliseconds: the longest that growing may delay commands.
-define(SLICE, 10).
%% Tasks created between two checks of the clock, and cancelled between two checks for commands.
-define(BATCH, 256).
%% Messages handled between two checks for commands.
-define(HANDLED, 1000).
%% Milliseconds without a failure after which a limit that running tasks have hit is reported.
-define(QUIET, 250).

-spec start_link(module(), cw_wire:wire(), cw_counts:counts(), pid()) -> worker().
start_link(Engine, Wire, Counts, Reporter) ->
    Waiting = counters:new(1, [atomics]),
    Pid = spawn_link(fun() ->
        %% Otherwise it would wait behind every task that can run. A linked task that fails must not end it,
        %% and the garbage collector must not copy a million messages in its mailbox.
        process_flag(priority, high),
        process_flag(trap_exit, true),
        process_flag(message_queue_data, off_heap),
        control(infinity, #state{
            wire = Wire,
            counts = Counts,
            reporter = Reporter,
            trimmer = cw_trimmer:start_link(),
            waiting = Waiting,
            tasks = cw_tasks:new(Engine, Counts)
        })
    end),
    {Pid, Waiting}.

%% @doc Queue a command.
-spec queue_command(worker(), cw_wire:command() | {malformed, binary()}) -> ok.
queue_command({Pid, Waiting}, Command) ->
    counters:add(Waiting, 1, 1),
    Pid ! {command, erlang:monotonic_time(), Command},
    ok.

control(Patience, State) ->
    case handle_messages(?HANDLED, Patience, State) of
        {more, Next} ->
            control(0, overtake(Next));
        {silence, Next} ->
            Adjusted = adjust(Next),
            case wanted(Adjusted) of
                {0, Goal} -> control(infinity, Adjusted#state{steady = can_replace(Goal, Adjusted)});
                _ -> control(0, Adjusted#state{steady = false})
            end
    end.

handle_messages(0, _, State) ->
    {more, State};
handle_messages(Left, Patience, #state{tasks = Tasks, steady = Steady} = State) ->
    receive
        {'DOWN', _, process, Pid, normal} when Steady ->
            case cw_tasks:replace(Pid, Tasks) of
                true -> handle_messages(Left - 1, Patience, State);
                false -> handle_messages(Left - 1, 0, State#state{steady = false})
            end;
        {'DOWN', _, process, Pid, Reason} ->
            Next = count_failure(cw_tasks:ended(Pid, Reason, Tasks), State),
            handle_messages(Left - 1, 0, Next#state{steady = false});
        {command, Arrived, Command} ->
            handle_messages(Left - 1, 0, apply_command(Command, Arrived, State));
        {begun, Target} ->
            handle_messages(Left - 1, 0, State#state{begun = Target});
        quiet ->
            handle_messages(Left - 1, 0, report_file_limit(State));
        %% What some tasks also send: a result, and an exit signal to linked processes.
        _ ->
            handle_messages(Left - 1, Patience, State)
    after Patience -> {silence, State}
    end.

%% Receives commands first: a million ends may be queued before one. Checking costs a scan of these.
overtake(#state{waiting = Waiting} = State) ->
    case counters:get(Waiting, 1) of
        0 ->
            State;
        _ ->
            receive
                {command, Arrived, Command} -> overtake(apply_command(Command, Arrived, State))
            after 0 -> State
            end
    end.

apply_command(Command, Arrived, #state{waiting = Waiting} = State) ->
    counters:sub(Waiting, 1, 1),
    cw_commands:apply_command(Command, Arrived, State#state{steady = false}).

%% A burst is not refilled.
can_replace(Goal, #state{burst = Burst}) -> Burst =:= none andalso cw_goal:refilling(Goal).

%% While a burst runs, no task is created or cancelled.
wanted(#state{burst = none, goal = Goal, tasks = Tasks}) ->
    cw_goal:wanted(cw_tasks:live(Tasks), Goal);
wanted(#state{goal = Goal}) ->
    {0, Goal}.

%% Creates or cancels tasks for one slice of time.
adjust(State) ->
    {Wanted, Goal} = wanted(State),
    Next = State#state{goal = Goal},
    if
        Wanted > 0 -> report_reached(grow(Wanted, erlang:monotonic_time(millisecond) + ?SLICE, Next));
        Wanted < 0 -> report_reached(shrink(min(-Wanted, ?BATCH), Next));
        true -> report_burst(report_reached(Next))
    end.

grow(Wanted, End, #state{goal = Goal, tasks = Tasks} = State) ->
    Some = min(Wanted, ?BATCH),
    Made = cw_tasks:create(Some, Tasks),
    Next = State#state{goal = cw_goal:made(Made, Goal)},
    InTime = erlang:monotonic_time(millisecond) < End,
    if
        Made < Some -> hit_wall(Next);
        Wanted > Made, InTime -> grow(Wanted - Made, End, Next);
        true -> Next
    end.

shrink(Excess, #state{tasks = Tasks} = State) ->
    lists:foldl(fun count_failure/2, State, cw_tasks:cancel(Excess, Tasks)).

%% The first failure of a workload is reported; the counter covers the others.
count_failure(ok, State) ->
    State;
count_failure({failed, {connection, Reason}}, State) when Reason =:= emfile; Reason =:= system_limit ->
    hit_file_limit(Reason, State);
count_failure({failed, Reason}, #state{wire = Wire, goal = Goal, failure_reported = Reported} = State) ->
    case Reported orelse cw_goal:replacing(Goal) of
        true ->
            State;
        false ->
            Why = io_lib:format("a task failed: ~0tP", [Reason, 20]),
            cw_wire:refuse(Wire, null, unicode:characters_to_binary(Why)),
            State#state{failure_reported = true}
    end.

hit_wall(State) ->
    stop_growing(<<"processes +P">>, erlang:system_info(process_limit), <<"system_limit">>, State).

%% @doc Make the live tasks the target, and report what prevents more.
-spec stop_growing(binary(), integer() | null, binary(), #state{}) -> #state{}.
stop_growing(Wall, Value, Detail, #state{wire = Wire, counts = Counts, goal = Goal} = State) ->
    Standing = cw_counts:live(Counts),
    {Wanted, Settled} = cw_goal:settle(Standing, Goal),
    cw_counts:hold(Counts, cw_goal:target(Settled)),
    send_limit(Wire, Standing, Wanted, Wall, Value, Detail),
    State#state{goal = Settled}.

send_limit(Wire, Standing, Wanted, Wall, Value, Detail) ->
    cw_wire:send(Wire, <<"limit">>, [
        {standing, Standing}, {wanted, Wanted}, {wall, Wall}, {value, Value}, {detail, Detail}
    ]).

%% Lowers the target to what is live. Other limits prevent a task from being created; this one is hit by tasks that
%% already run, by many at once, and each that fails would be replaced by one that fails as well.
hit_file_limit(Reason, #state{counts = Counts, goal = Goal, file_limit = Before} = State) ->
    Standing = cw_counts:live(Counts),
    case cw_goal:replacing(Goal) orelse Standing > cw_goal:target(Goal) of
        true ->
            %% They are being cancelled anyway.
            State;
        false ->
            {Target, Settled} = cw_goal:settle(Standing, Goal),
            cw_counts:hold(Counts, Standing),
            Wanted =
                case Before of
                    {First, Target, _, _} -> First;
                    _ -> Target
                end,
            Before =:= none andalso erlang:send_after(?QUIET, self(), quiet),
            State#state{goal = Settled, file_limit = {Wanted, Standing, Reason, erlang:monotonic_time(millisecond)}}
    end.

report_file_limit(#state{wire = Wire, goal = Goal, file_limit = {Wanted, Standing, Reason, Last}} = State) ->
    Left = Last + ?QUIET - erlang:monotonic_time(millisecond),
    case cw_goal:target(Goal) of
        _ when Left > 0 ->
            erlang:send_after(Left, self(), quiet),
            State;
        Standing ->
            {Wall, Value} = file_limit(Reason),
            send_limit(Wire, Standing, Wanted, Wall, Value, atom_to_binary(Reason)),
            State#state{file_limit = none};
        %% Another target has been set since.
        _ ->
            State#state{file_limit = none}
    end.

file_limit(system_limit) ->
    {<<"ports +Q">>, erlang:system_info(port_limit)};
file_limit(emfile) ->
    {<<"ulimit -n">>, lists:max([proplists:get_value(max_fds, Set, 0) || Set <- erlang:system_info(check_io)])}.

report_reached(#state{wire = Wire, counts = Counts, goal = Goal, begun = Begun} = State) ->
    case cw_goal:reached(cw_counts:read(Counts), Goal) of
        no ->
            State;
        {Fields, Begun, Next} ->
            cw_wire:send(Wire, <<"reached">>, [{seconds, cw_wire:seconds_since(Begun)} | Fields]),
            cw_reporter:soon(State#state.reporter),
            State#state{goal = Next};
        {_, Target, _} ->
            probe(Target, State)
    end.

%% Processes begin in the order of their creation: when a marker process has begun, so have the tasks.
probe(Target, #state{probing = Target} = State) ->
    State;
probe(Target, State) ->
    Self = self(),
    try
        spawn(fun() -> Self ! {begun, Target} end)
    catch
        error:system_limit -> Self ! {begun, Target}
    end,
    State#state{probing = Target}.

report_burst(#state{burst = none} = State) ->
    State;
report_burst(#state{wire = Wire, tasks = Tasks, burst = Burst} = State) ->
    case cw_tasks:live(Tasks) of
        0 ->
            cw_wire:send(Wire, <<"burst">>, cw_burst:report(Burst)),
            cw_reporter:soon(State#state.reporter),
            State#state{burst = none};
        _ ->
            State
    end.
