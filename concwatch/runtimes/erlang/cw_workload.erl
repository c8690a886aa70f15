%% @doc What a task does. A body returns when the task has ended by itself.
-module(cw_workload).

-export([words/0, body/2, hold/0]).
-export_type([body/0]).

-type body() :: fun(() -> term()).

-define(LONGEST, 1.0e6).
-define(LONGEST_MS, 1_000_000_000).
-define(SHORTEST_MEAN, 0.001).
-define(MOST_A_SECOND, 1.0e6).
-define(GOLDEN, 0.6180339887498949).
-define(MOST_TICKS, 1_000_000).
-define(LARGEST_PAYLOAD, (1 bsl 34)).
%% Steps of one turn of spinning, two reductions each: a process is preempted after 4,000.
-define(TURN, 1500).
%% Microseconds: a turn takes about 50, and longer only if the system has preempted the thread.
-define(LONGEST_TURN, 250).

-spec words() -> [binary()].
words() -> [<<"sleep">>, <<"churn">>, <<"ticks">>, <<"hold">>, <<"payload">>, <<"spin">>, <<"nop">>, <<"connect">>].

%% @doc Throws what is wrong if this engine does not support the workload. Of the counts, tasks only read the target.
-spec body(cw_wire:command(), cw_counts:counts()) -> body().
body(#{<<"word">> := <<"sleep">>, <<"to">> := _} = Command, _Counts) ->
    Least = cw_wire:number(<<"seconds">>, 0, ?LONGEST, Command),
    Span = cw_wire:number(<<"to">>, 0, ?LONGEST, Command) - Least,
    drawn(fun(At) when is_float(At) -> Least + At * Span end);
body(#{<<"word">> := <<"churn">>} = Command, Counts) ->
    Rate = cw_wire:number_above(<<"rate">>, 0, ?MOST_A_SECOND, Command),
    drawn(fun(At) -> exponential(At, max(1, cw_counts:target(Counts)) / Rate) end);
body(#{<<"word">> := <<"sleep">>} = Command, _Counts) ->
    Milliseconds = milliseconds(Command),
    fun() -> timer:sleep(Milliseconds) end;
body(#{<<"word">> := <<"ticks">>} = Command, _Counts) ->
    Count = cw_wire:whole(<<"count">>, 1, ?MOST_TICKS, Command),
    Milliseconds = milliseconds(Command),
    fun() -> ticks(Count, Milliseconds) end;
body(#{<<"word">> := <<"hold">>}, _Counts) ->
    fun hold/0;
body(#{<<"word">> := <<"payload">>} = Command, _Counts) ->
    Size = cw_wire:whole(<<"size">>, 0, ?LARGEST_PAYLOAD, Command),
    fun() -> payload(Size) end;
body(#{<<"word">> := <<"spin">>} = Command, _Counts) ->
    Native = erlang:convert_time_unit(1, second, native),
    Total = round(cw_wire:number(<<"seconds">>, 0, ?LONGEST, Command) * Native),
    fun() -> spin(Total) end;
body(#{<<"word">> := <<"nop">>}, _Counts) ->
    fun() -> ok end;
body(#{<<"word">> := <<"connect">>} = Command, _Counts) ->
    cw_connection:body(Command);
body(Command, _Counts) ->
    Spec = cw_wire:quote(cw_wire:text(<<"spec">>, Command)),
    throw({refused, [<<"unknown workload ">>, Spec, <<"; expected one of ">>, lists:join(<<", ">>, words())]}).

%% The clock that wakes processes counts milliseconds, and never wakes one early.
milliseconds(Command) -> ceil(1000 * cw_wire:number(<<"seconds">>, 0, ?LONGEST, Command)).

%% Each task sleeps the seconds that Draw returns for a number of its own. Here the guards tell the compiler which
%% numbers are floats: it would otherwise put them in fragments of their own, and so double the memory of a task.
drawn(Draw) ->
    fun() ->
        case Draw(spread()) of
            Seconds when is_float(Seconds) -> timer:sleep(min(?LONGEST_MS, ceil(1000 * Seconds)))
        end
    end.

exponential(At, Mean) when is_float(At), Mean < ?SHORTEST_MEAN -> exponential(At, ?SHORTEST_MEAN);
exponential(At, Mean) when is_float(At), is_float(Mean) -> -Mean * math:log(1 - At).

%% A number from 0 to 1, evenly spread over all tasks. The state of `rand` would take memory in each of them.
spread() ->
    At = erlang:unique_integer([positive]) * ?GOLDEN,
    At - trunc(At).

ticks(0, _Milliseconds) ->
    ok;
ticks(Count, Milliseconds) ->
    timer:sleep(Milliseconds),
    ticks(Count - 1, Milliseconds).

-spec hold() -> no_return().
hold() -> timer:sleep(infinity).

payload(Size) ->
    Held = <<0:Size/unit:8>>,
    hold(),
    Held.

%% No clock reports the CPU time of one process. But a turn that starts fresh and ends before the process is
%% preempted has the scheduler's thread to itself: the time that it takes is the thread's CPU time, or more
%% if the system has preempted the thread.
spin(Left) when Left =< 0 ->
    ok;
spin(Left) ->
    Began = erlang:monotonic_time(),
    turn(?TURN, 1.0),
    Taken = erlang:monotonic_time() - Began,
    erlang:yield(),
    spin(Left - min(Taken, erlang:convert_time_unit(?LONGEST_TURN, microsecond, native))).

turn(0, Number) -> Number;
turn(Left, Number) -> turn(Left - 1, math:cos(Number)).
