%% @doc The JSON that the wire needs: OTP has a module for it only since version 27.
-module(cw_json).

-export([decode/1, encode/1]).
-export_type([flat/0]).

-type flat() :: #{binary() => binary() | number() | boolean() | null}.

-define(IS_SPACE(C), (C =:= $\s orelse C =:= $\t orelse C =:= $\r orelse C =:= $\n)).
-define(LONGEST_NUMBER, 40).

%% @doc Parse one flat object.
-spec decode(binary()) -> {ok, flat()} | error.
decode(Line) ->
    try
        <<${, Text/binary>> = skip(Line),
        {Fields, Rest} = members(skip(Text), #{}),
        <<>> = skip(Rest),
        {ok, Fields}
    catch
        error:_ -> error
    end.

members(<<$}, Rest/binary>>, Fields) when map_size(Fields) =:= 0 ->
    {Fields, Rest};
members(<<$", Text/binary>>, Fields) ->
    {Key, AfterKey} = string(Text, <<>>),
    <<$:, AfterColon/binary>> = skip(AfterKey),
    {Value, AfterValue} = value(skip(AfterColon)),
    case skip(AfterValue) of
        <<$,, Rest/binary>> -> members(skip(Rest), Fields#{Key => Value});
        <<$}, Rest/binary>> -> {Fields#{Key => Value}, Rest}
    end.

value(<<$", Text/binary>>) -> string(Text, <<>>);
value(<<"true", Rest/binary>>) -> {true, Rest};
value(<<"false", Rest/binary>>) -> {false, Rest};
value(<<"null", Rest/binary>>) -> {null, Rest};
value(Text) -> number(Text).

number(Text) ->
    Form = "^(-?(?:0|[1-9][0-9]*))(\\.[0-9]+)?([eE][-+]?[0-9]+)?(?=[,}\\s])",
    {match, [Number | Parts]} = re:run(Text, Form, [{capture, all, binary}]),
    Length = byte_size(Number),
    true = Length =< ?LONGEST_NUMBER,
    <<_:Length/binary, Rest/binary>> = Text,
    case Parts of
        [Whole] -> {binary_to_integer(Whole), Rest};
        [_, _] -> {binary_to_float(Number), Rest};
        [Whole, <<>>, Power] -> {binary_to_float(<<Whole/binary, ".0", Power/binary>>), Rest};
        [_, _, _] -> {binary_to_float(Number), Rest}
    end.

string(<<$", Rest/binary>>, Read) ->
    {Read, Rest};
string(<<"\\u", Digits:4/binary, Text/binary>>, Read) ->
    {Char, Rest} = character(unit(Digits), Text),
    string(Rest, <<Read/binary, Char/utf8>>);
string(<<$\\, Escape, Rest/binary>>, Read) ->
    string(Rest, <<Read/binary, (escaped(Escape))>>);
string(<<Char/utf8, Rest/binary>>, Read) when Char >= $\s ->
    string(Rest, <<Read/binary, Char/utf8>>).

%% A character outside the basic plane is escaped as two halves; a single half is no character.
character(High, <<"\\u", Digits:4/binary, Rest/binary>> = Text) when High >= 16#D800, High < 16#DC00 ->
    case unit(Digits) of
        Low when Low >= 16#DC00, Low < 16#E000 ->
            {16#10000 + ((High - 16#D800) bsl 10) + (Low - 16#DC00), Rest};
        _ ->
            {16#FFFD, Text}
    end;
character(Half, Text) when Half >= 16#D800, Half < 16#E000 -> {16#FFFD, Text};
character(Char, Text) -> {Char, Text}.

unit(Digits) -> binary:decode_unsigned(binary:decode_hex(Digits)).

escaped($") -> $";
escaped($\\) -> $\\;
escaped($/) -> $/;
escaped($b) -> $\b;
escaped($f) -> $\f;
escaped($n) -> $\n;
escaped($r) -> $\r;
escaped($t) -> $\t.

skip(<<Char, Rest/binary>>) when ?IS_SPACE(Char) -> skip(Rest);
skip(Text) -> Text.

%% @doc Write one object; strings are binaries, and lists are arrays.
-spec encode([{atom(), term()}]) -> iolist().
encode(Fields) ->
    Pairs = [[text(atom_to_binary(Key)), $:, text(Value)] || {Key, Value} <- Fields],
    [${, lists:join($,, Pairs), $}].

text(Value) when is_integer(Value) -> integer_to_binary(Value);
text(Value) when is_float(Value) -> float_to_binary(Value, [{decimals, 9}, compact]);
text(Value) when is_boolean(Value); Value =:= null -> atom_to_binary(Value);
text(Value) when is_binary(Value) -> [$", [quoted(Char) || <<Char>> <= Value], $"];
text(Value) when is_list(Value) -> [$[, lists:join($,, [text(Each) || Each <- Value]), $]].

quoted($") -> <<"\\\"">>;
quoted($\\) -> <<"\\\\">>;
quoted(Char) when Char < $\s -> io_lib:format("\\u~4.16.0b", [Char]);
quoted(Char) -> Char.
