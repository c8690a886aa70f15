%% @doc Reports and commands on standard output and input, as concwatch/portable/protocol/wire.py specifies them.
-module(cw_wire).

-export([open/0, send/3, refuse/3, close/0, seconds_since/1]).
-export([flag/2, number/4, number_above/4, text/2, whole/4, quote/1, brief/1]).
-export_type([wire/0, command/0]).

-opaque wire() :: port().
-type command() :: cw_json:flat().

-define(LONGEST_LINE, (1 bsl 20)).
-define(LONGEST_QUOTE, 60).

%% Reading through a port is many times faster than through the io protocol, and does not block.
-spec open() -> wire().
open() -> open_port({fd, 0, 1}, [{line, ?LONGEST_LINE}, binary, eof]).

%% @doc Write one report, from any process.
-spec send(wire(), binary(), [{atom(), term()}]) -> ok.
send(Wire, Type, Fields) ->
    try
        port_command(Wire, [cw_json:encode([{type, Type} | Fields]), $\n]),
        ok
    catch
        error:badarg -> close()
    end.

-spec refuse(wire(), binary() | null, iodata()) -> ok.
refuse(Wire, Command, Why) ->
    send(Wire, <<"error">>, [{command, Command}, {message, iolist_to_binary(Why)}, {detail, null}]).

%% @doc Exit the process at once, whatever runs.
-spec close() -> no_return().
close() -> erlang:halt(0, [{flush, false}]).

-spec seconds_since(integer()) -> float().
seconds_since(Moment) ->
    Past = erlang:monotonic_time() - Moment,
    Past / erlang:convert_time_unit(1, second, native).

%% Each of these returns the value of a key, or throws what is wrong with it.

-spec flag(binary(), command()) -> boolean().
flag(Key, Command) ->
    case Command of
        #{Key := Value} when is_boolean(Value) -> Value;
        _ -> throw({refused, expected(Key, <<"true or false">>)})
    end.

-spec text(binary(), command()) -> binary().
text(Key, Command) ->
    case Command of
        #{Key := Value} when is_binary(Value) -> Value;
        _ -> throw({refused, expected(Key, <<"a string">>)})
    end.

-spec whole(binary(), non_neg_integer(), non_neg_integer(), command()) -> non_neg_integer().
whole(Key, Least, Most, Command) ->
    case Command of
        #{Key := Value} when is_integer(Value), Value >= Least, Value =< Most -> Value;
        _ -> throw({refused, expected(Key, io_lib:format("a whole number from ~b to ~b", [Least, Most]))})
    end.

-spec number(binary(), number(), number(), command()) -> number().
number(Key, Least, Most, Command) ->
    case Command of
        #{Key := Value} when is_number(Value), Value >= Least, Value =< Most -> Value;
        _ -> throw({refused, expected(Key, io_lib:format("a number from ~p to ~p", [Least, Most]))})
    end.

-spec number_above(binary(), number(), number(), command()) -> number().
number_above(Key, Bound, Most, Command) ->
    case Command of
        #{Key := Value} when is_number(Value), Value > Bound, Value =< Most -> Value;
        _ -> throw({refused, expected(Key, io_lib:format("a number above ~p, up to ~p", [Bound, Most]))})
    end.

expected(Key, What) -> [quote(Key), <<" is not valid; expected ">>, What].

-spec quote(binary()) -> iodata().
quote(Text) -> [$", brief(Text), $"].

%% @doc Input as shown to the user: shortened, without what is not text.
-spec brief(binary()) -> binary().
brief(Text) ->
    Chars = lists:sublist([Char || <<Char/utf8>> <= Text, Char >= $\s], ?LONGEST_QUOTE),
    unicode:characters_to_binary(Chars).
