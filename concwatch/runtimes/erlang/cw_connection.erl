%% @doc The workload connect: a task holds a TCP connection, and sends and reads a line on it once, or again and again.
-module(cw_connection).

-export([body/1]).

-define(PING, <<"ping\n">>).
-define(SCHEME, "tcp://127.0.0.1:").
-define(MOST_ADDRESSES, 254).
-define(LONGEST, 1.0e6).
%% Passive: what arrives is read by a call, not sent to the mailbox. A call for a number of bytes needs no other buffer.
-define(OPTIONS, [binary, {active, false}]).

%% @doc Throws what is wrong with the command. A task that fails exits with `{connection, Reason}'.
-spec body(cw_wire:command()) -> cw_workload:body().
body(Command) ->
    Port = port(Command),
    %% From one address to another there are about 28,000 ports.
    Addresses =
        case Command of
            #{<<"addresses">> := _} -> cw_wire:whole(<<"addresses">>, 1, ?MOST_ADDRESSES, Command);
            _ -> 1
        end,
    Interval =
        case Command of
            #{<<"seconds">> := _} -> ceil(1000 * cw_wire:number(<<"seconds">>, 0, ?LONGEST, Command));
            _ -> infinity
        end,
    Connections = atomics:new(1, []),
    fun() ->
        Last = 1 + (atomics:add_get(Connections, 1, 1) - 1) rem Addresses,
        hold(done(gen_tcp:connect({127, 0, 0, Last}, Port, ?OPTIONS)), Interval)
    end.

port(Command) ->
    case Command of
        #{<<"url">> := <<?SCHEME, Digits/binary>>} ->
            case string:to_integer(Digits) of
                {Port, <<>>} when Port > 0, Port < 65536 -> Port;
                _ -> no_address(Command)
            end;
        _ ->
            no_address(Command)
    end.

-spec no_address(cw_wire:command()) -> no_return().
no_address(Command) ->
    Spec = cw_wire:quote(cw_wire:text(<<"spec">>, Command)),
    throw({refused, [<<"workload ">>, Spec, <<" needs a \"url\" to connect to; expected ">>, ?SCHEME, <<"PORT">>]}).

-spec hold(gen_tcp:socket(), pos_integer() | infinity) -> no_return().
hold(Socket, Interval) ->
    done(gen_tcp:send(Socket, ?PING)),
    done(gen_tcp:recv(Socket, byte_size(?PING))),
    case Interval of
        %% Returns when the server closes the connection.
        infinity -> done(gen_tcp:recv(Socket, 1));
        _ -> timer:sleep(Interval)
    end,
    hold(Socket, Interval).

done(ok) -> ok;
done({ok, Value}) -> Value;
done({error, Reason}) -> exit({connection, Reason}).
