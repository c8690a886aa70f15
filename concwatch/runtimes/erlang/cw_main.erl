%% @doc A worker of concwatch whose tasks are processes of the Erlang virtual machine.
-module(cw_main).

-export([main/1]).

-define(OWN, [
    cw_burst,
    cw_commands,
    cw_connection,
    cw_counts,
    cw_goal,
    cw_json,
    cw_main,
    cw_reporter,
    cw_spawned,
    cw_tasks,
    cw_trimmer,
    cw_wire,
    cw_worker,
    cw_workload
]).

%% @doc Called by erl with the name of the engine; starts the worker in a process of its own.
-spec main([string()]) -> ok.
main([Engine]) ->
    spawn(fun() ->
        try
            serve(Engine)
        catch
            _:Reason -> die(Reason)
        end
    end),
    ok.

serve(Name) ->
    os:set_signal(sigterm, default),
    %% What a task prints goes to standard error, and no module is loaded from the working directory.
    group_leader(whereis(standard_error), self()),
    code:del_path("."),
    process_flag(trap_exit, true),
    process_flag(priority, high),
    Engine = engine(Name),
    warm(Engine),
    Wire = cw_wire:open(),
    cw_wire:send(Wire, <<"ready">>, [
        {protocol, 1},
        {engine, list_to_binary(Name)},
        {runtime, Engine:runtime(otp_version())},
        {flags, flags()},
        {pid, list_to_integer(os:getpid())},
        {can, [<<"trim">>, <<"burst">>]},
        {workloads, cw_workload:words()}
    ]),
    Counts = cw_counts:new(),
    Reporter = cw_reporter:start_link(Wire, Counts),
    Worker = cw_worker:start_link(Engine, Wire, Counts, Reporter),
    listen(Wire, Worker, false).

engine("erlang") ->
    cw_spawned;
engine("elixir") ->
    Engine = 'Elixir.Concwatch.Async',
    true = code:add_patha(Engine:home()),
    {ok, _} = application:ensure_all_started(elixir),
    Engine.

%% Load everything now: later it would count as memory of the first tasks.
warm(Engine) ->
    ok = code:ensure_modules_loaded(?OWN ++ [binary, gen_tcp, inet, inet_db, inet_tcp, io_lib, re, timer, unicode]),
    {Pid, Monitor} = spawn_monitor(fun() ->
        Engine:cancel([Engine:start(fun cw_workload:hold/0) || _ <- lists:seq(1, 100)])
    end),
    receive
        {'DOWN', Monitor, process, Pid, normal} -> ok
    end.

otp_version() ->
    File = [code:root_dir(), "/releases/", erlang:system_info(otp_release), "/OTP_VERSION"],
    case file:read_file(File) of
        {ok, Version} -> string:trim(Version);
        {error, _} -> list_to_binary(erlang:system_info(otp_release))
    end.

%% The flags of vm.args, as the virtual machine applied them.
flags() ->
    [
        format("+P ~b", [erlang:system_info(process_limit)]),
        <<"+MMmcs 0">>,
        <<"+sbwt none">>,
        format("schedulers ~b", [erlang:system_info(schedulers_online)]),
        format("emulator ~s", [erlang:system_info(emu_flavor)])
    ].

format(Form, Values) -> iolist_to_binary(io_lib:format(Form, Values)).

%% Passes every command on, and exits at the end of the input or when the reader is gone. It
%% never writes, since that could block. Cut: the line began in an earlier message.
listen(Wire, Worker, Cut) ->
    receive
        {Wire, {data, {eol, _}}} when Cut ->
            listen(Wire, Worker, false);
        {Wire, {data, {eol, Line}}} ->
            take(Line, Worker),
            listen(Wire, Worker, false);
        {Wire, {data, {noeol, Line}}} ->
            Cut orelse cw_worker:queue_command(Worker, {malformed, Line}),
            listen(Wire, Worker, true);
        {Wire, eof} ->
            cw_wire:close();
        {'EXIT', Wire, _} ->
            cw_wire:close();
        {'EXIT', _, Reason} ->
            die(Reason)
    end.

take(Line, Worker) ->
    case cw_json:decode(Line) of
        {ok, #{<<"type">> := <<"stop">>}} -> cw_wire:close();
        {ok, #{<<"type">> := Type} = Command} when is_binary(Type) -> cw_worker:queue_command(Worker, Command);
        _ -> re:run(Line, "\\S") =:= nomatch orelse cw_worker:queue_command(Worker, {malformed, Line})
    end.

-spec die(term()) -> no_return().
die(Reason) ->
    io:format(standard_error, "~0tp~n", [Reason]),
    erlang:halt(1).
