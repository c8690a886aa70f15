%% @doc A task in plain Erlang: a process that its creator monitors, and kills to cancel it.
-module(cw_spawned).
-behaviour(cw_tasks).

-export([runtime/1, start/1, cancel/1]).

runtime(Otp) -> <<"Erlang/OTP ", Otp/binary>>.

start(Body) -> spawn_monitor(Body).

cancel(Tasks) ->
    [exit(Pid, kill) || {Pid, _} <- Tasks],
    [
        receive
            {'DOWN', Monitor, process, Pid, Reason} -> Reason
        end
     || {Pid, Monitor} <- Tasks
    ].
