%% @doc Sends ticks, initially ten a second, from a process of its own.
-module(cw_reporter).

-export([start_link/2, soon/1, every/2]).

-define(DUE, 1).
-define(WORST, 2).
%% Milliseconds that the sleeper sleeps.
-define(NAP, 20).

-record(state, {wire, counts, naps, started, due, interval = 0.1, number = 1}).

-spec start_link(cw_wire:wire(), cw_counts:counts()) -> pid().
start_link(Wire, Counts) ->
    Now = erlang:monotonic_time(),
    Naps = atomics:new(2, []),
    atomics:put(Naps, ?DUE, Now),
    spawn_link(fun() -> sleeper(Naps) end),
    spawn_link(fun() ->
        %% Otherwise it would wait behind every task that can run.
        process_flag(priority, high),
        tick(#state{wire = Wire, counts = Counts, naps = Naps, started = Now, due = Now})
    end).

%% @doc Send the next tick at once: something has happened that the user waits for.
-spec soon(pid()) -> ok.
soon(Reporter) ->
    Reporter ! soon,
    ok.

-spec every(pid(), float()) -> ok.
every(Reporter, Seconds) ->
    Reporter ! {every, Seconds},
    ok.

tick(#state{wire = Wire, counts = Counts, number = Number} = State) ->
    %% First: it waits for all schedulers, while the counters change.
    Heap = erlang:memory(total),
    Read = cw_counts:read(Counts),
    cw_wire:send(Wire, <<"tick">>, [
        {time, cw_wire:seconds_since(State#state.started)},
        {number, Number},
        {queued, 0},
        {lag, lag(State#state.naps)},
        {heap, Heap}
        | maps:to_list(Read)
    ]),
    %% Do not catch up: after a delay the next tick is sent at once, and later ones at the usual interval.
    Due = max(State#state.due + native(State#state.interval), erlang:monotonic_time()),
    wait(State#state{number = Number + 1, due = Due}).

wait(#state{due = Due} = State) ->
    Left = erlang:convert_time_unit(Due - erlang:monotonic_time(), native, millisecond),
    receive
        soon -> tick_now(State);
        {every, Seconds} -> tick_now(State#state{interval = Seconds})
    after max(0, Left) -> tick(State)
    end.

tick_now(State) -> tick(State#state{due = erlang:monotonic_time()}).

%% A process like any task that only sleeps and wakes up: its delay is the lag.
sleeper(Naps) ->
    Due = erlang:monotonic_time() + native(?NAP / 1000),
    atomics:put(Naps, ?DUE, Due),
    timer:sleep(?NAP),
    Late = erlang:monotonic_time() - Due,
    atomics:put(Naps, ?WORST, max(Late, atomics:get(Naps, ?WORST))),
    sleeper(Naps).

lag(Naps) ->
    Overdue = cw_wire:seconds_since(atomics:get(Naps, ?DUE)),
    Worst = atomics:exchange(Naps, ?WORST, 0),
    max(Worst / native(1), max(0.0, Overdue)).

native(Seconds) -> round(Seconds * erlang:convert_time_unit(1, second, native)).
