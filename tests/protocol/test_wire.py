"""The wire: encoding, decoding, and the agreement of specification and code."""

import json
import os
import re
import subprocess
import sys

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from concwatch.links import messages
from concwatch.portable.agent.sending.json_lines import decode, encode
from concwatch.portable.protocol import wire
from concwatch.portable.protocol.workloads import FORMS, USER
from concwatch.portable.worker.engines.base import BaseEngine
from concwatch.portable.worker.serve import commands
from tests.worker_driver import Worker

GOLDEN_REPORTS = [
    (
        '{"type":"ready","protocol":1,"engine":"uvloop","runtime":"CPython 3.11.7","flags":["uvloop 0.23.0"],'
        '"pid":12,"can":["trace","gc","trim"],"workloads":["sleep","module:function"]}',
        messages.Ready(
            "uvloop", "CPython 3.11.7", 12, 1, ("uvloop 0.23.0",), ("trace", "gc", "trim"), ("sleep", USER)
        ),
    ),
    (
        '{"type":"tick","time":5.25,"created":10,"live":4,"completed":3,"failed":2,"cancelled":1,"queued":0,'
        '"lag":1e-06,"gc":0.5,"switches":80,"durations":[0.2013,1e-06],"delays":[]}',
        messages.Tick(5.25, 10, 4, 3, 2, 1, 0, 1e-06, 0.5, switches=80, durations=(0.2013, 1e-06), delays=()),
    ),
    (
        '{"type":"tick","time":5.25,"created":2,"live":0,"completed":0,"failed":2,"cancelled":0,'
        '"failures":[{"type":"OSError","where":"/app/jobs.py:12","count":1},{"type":"","where":"","count":1}]}',
        messages.Tick(
            5.25,
            2,
            0,
            0,
            2,
            0,
            failures=(messages.Failure("OSError", "/app/jobs.py:12", 1), messages.Failure("", "", 1)),
        ),
    ),
    (
        '{"type":"reached","target":3,"live":3,"created":2,"cancelled":0,"seconds":0.125}',
        messages.Reached(3, 3, 2, 0, 0.125),
    ),
    (
        '{"type":"limit","standing":9,"wanted":20,"wall":"pid_max","value":32768,"detail":"can\'t start"}',
        messages.Limit(9, 20, "pid_max", 32768, "can't start"),
    ),
    ('{"type":"applied","command":"gc","seconds":0.0}', messages.Applied("gc", 0.0)),
    (
        '{"type":"error","command":null,"message":"a \\"task\\"\\nfailed",'
        '"detail":"line\\tone\\r\\n\\\\x é 😀"}',
        messages.Error('a "task"\nfailed', None, "line\tone\r\n\\x é 😀"),
    ),
    (
        '{"type":"burst","tasks":100,"create_seconds":0.25,"create_cpu":0.125,"seconds":1.5,"cpu":0.5,'
        '"live":99,"traced":null}',
        messages.BurstDone(100, 0.25, 0.125, 1.5, 0.5, 99, None),
    ),
]

GOLDEN_COMMANDS = """\
{"type":"target","tasks":10000}
{"type":"refill","on":true}
{"type":"trace","on":false}
{"type":"workload","spec":"ticks:10x0.1"}
{"type":"workload","spec":"http:0.5","url":"http://127.0.0.1:4242/page?latency=0.5"}
{"type":"workload","spec":"connect","url":"tcp://127.0.0.1:4242","addresses":32}
{"type":"workload","spec":"app.jobs:fetch","arguments":"http://127.0.0.1/\\u0000\\u0000"}
{"type":"halt","wall":"memory budget","value":5}
{"type":"rate","hz":0.5}
{"type":"gc","mode":"frozen"}
{"type":"threads","count":4}
{"type":"stack","size":65536}
{"type":"burst","tasks":100,"chunks":2,"older":0,"read_after":0.5}
{"type":"burst","tasks":1,"chunks":1,"older":50,"read_after":null}
{"type":"trim"}
{"type":"lines"}
{"type":"anatomy"}
{"type":"stop"}
""".splitlines()

# Values of commands. Numbers of more than 40 characters are rejected.
texts = st.text(max_size=30)
values = st.one_of(
    texts,
    st.integers(-(10**38), 10**38),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
)
flat_objects = st.builds(
    lambda fields, type_: {**fields, "type": type_}, st.dictionaries(texts, values, max_size=6), texts
)


def constant(word):
    raise ValueError(f"{word} is not JSON")


def by_json(text):
    """Return a command as parsed by the json module, or None if it is invalid."""
    try:
        fields = json.loads(text, parse_constant=constant)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or not isinstance(fields.get("type"), str):
        return None
    if any(isinstance(value, (list, dict)) for value in fields.values()):
        return None
    return fields


def whole_characters(value):
    """Replace lone surrogates, which the json module accepts, by the replacement character."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def encoded(fields):
    """Return the line of a message."""
    return encode(fields["type"], **{key: value for key, value in fields.items() if key != "type"})


@pytest.mark.parametrize(("line", "report"), GOLDEN_REPORTS)
def test_a_report_is_encoded_and_decoded(line, report):
    assert encoded(json.loads(line)) == line.encode() + b"\n"
    assert messages.decode(line.encode()) == report


@pytest.mark.parametrize("line", GOLDEN_COMMANDS)
def test_a_command_is_encoded_and_decoded(line):
    fields = json.loads(line)
    assert encoded(fields) == line.encode() + b"\n"
    assert decode(line.encode()) == fields
    assert [*map(type, decode(line.encode()).values())] == [*map(type, fields.values())]


def test_a_command_may_have_spaces_escapes_and_duplicate_keys():
    for line, fields in {
        b' {"type" : "stop" } \r\n': {"type": "stop"},
        b'{"type":"a\\u00e9\\ud83d\\ude00\\n\\/\\"\\\\"}': {"type": 'aé😀\n/"\\'},
        b'{"type":"a","n":-0.5e-3,"m":0,"k":-7}': {"type": "a", "n": -0.0005, "m": 0, "k": -7},
        b'{"type":"a","type":"b"}': {"type": "b"},
    }.items():
        assert decode(line) == fields


NO_COMMANDS = r"""
stop
[]
{}
"stop"
{"type":1}
{"type":null}
{"type":"stop"
{"type":"stop"}}
{"type":"stop"}{"type":"stop"}
{"type":"stop",}
{,"type":"stop"}
{"type" "stop"}
{"type":"stop" "on":true}
{'type':'stop'}
{"type":"stop}
{"type":"a\x"}
{"type":"a\u12g4"}
{"type":"a\u 123"}
{"type":"a\u0x12"}
{"type":"a\u12
{"type":"a	b"}
"""
NO_VALUES = ["1_0 01 1. .5 +1 --1 nan Infinity 0x10 ٣ True [1]", '{"m":1}', "9" * 100_000, "[" * 100_000]


@pytest.mark.parametrize(
    "line",
    [
        *(line.encode() for line in NO_COMMANDS.split("\n")),
        *(f'{{"type":"a","n":{value}}}'.encode() for values in NO_VALUES for value in ["", *values.split()]),
        b'{"type":"\xff"}',
        b"\xef\xbb\xbf" + b'{"type":"stop"}',
    ],
    ids=lambda line: repr(line[:30]),
)
def test_an_invalid_command_is_rejected_with_a_short_message(line):
    with pytest.raises(ValueError, match=r"is not a command; expected one flat JSON object") as caught:
        decode(line)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


@given(flat_objects, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_flat_objects_are_decoded_like_the_json_module_does(fields, ascii_only, indent):
    text = json.dumps(fields, ensure_ascii=ascii_only, indent=indent)
    if not ascii_only:
        text = text.encode(errors="replace").decode()
    assert decode(text.encode()) == {
        whole_characters(key): whole_characters(value) for key, value in json.loads(text).items()
    }


words = '"type" "a" true null \\u00e9 \\ud83d \\n é 1e5 0.5'
pieces = st.sampled_from([*'{}",:\\ \n\t-.+eE019[]', *words.split()])


@given(st.lists(pieces, max_size=25).map("".join))
@example('"n":1e400')
def test_malformed_json_is_rejected_like_the_json_module_does(middle):
    text = '{"type":"a",' + middle + "}"
    expected = by_json(text)
    if expected is None:
        with pytest.raises(ValueError, match="is not a command"):
            decode(text.encode())
    else:
        assert decode(text.encode()) == {
            whole_characters(key): whole_characters(value) for key, value in expected.items()
        }


@given(
    texts,
    st.dictionaries(
        st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(lambda key: key not in ("type", "type_")),
        st.one_of(values, st.lists(values, max_size=4), st.text(st.characters(), max_size=20)),
        max_size=6,
    ),
)
def test_encoded_messages_are_json_on_one_line(type_, fields):
    line = encode(type_, **fields)
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    halves_replaced = json.loads(
        json.dumps({"type": type_, **fields}, ensure_ascii=False).encode(errors="replace")
    )
    assert json.loads(line, parse_constant=constant) == halves_replaced


@pytest.mark.real
def test_a_python_without_the_functions_in_c_has_the_same_codec():
    # The json module in Python accepts " 123" as four hexadecimal digits.
    invalid = [line for line in NO_COMMANDS.strip().split("\n") if "\\u" not in line]
    lines = "\n".join([*GOLDEN_COMMANDS, *invalid, *(line for line, _ in GOLDEN_REPORTS)])
    code = (
        "import sys; {before}\n"
        "from concwatch.portable.agent.sending.json_lines import decode, encode\n"
        "for line in sys.stdin.buffer:\n"
        "    try: fields = decode(line)\n"
        "    except ValueError as error: print(error)\n"
        "    else: print(encode(fields.pop('type'), **fields))\n"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code.format(before=before)],
            input=lines.encode(),
            stdout=subprocess.PIPE,
            check=True,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        ).stdout
        for before in ("pass", "sys.modules['_json'] = None")
    ]
    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) == len(lines.splitlines())


def test_the_lab_ignores_unknown_reports_and_fields():
    assert messages.decode(b'{"type":"weather","rain":[1,{}]}') is None
    newer = b'{"type":"applied","command":"gc","seconds":0.5,"by":["x"]}'
    assert messages.decode(newer) == messages.Applied("gc", 0.5)


# The specification, which is the docstring.


def section(title):
    """Return a section of the specification."""
    after = re.split(rf"^{re.escape(title)}\n=+\n", wire.__doc__, flags=re.M)[1]
    return re.split(r"^.*\n===", after, flags=re.M)[0]


OF_A_WORKER = "Reports, worker to concwatch"


def specified_reports(*titles):
    """Return the fields of each report in the specification."""
    found = {}
    for line in "".join(map(section, titles)).splitlines():
        if report := re.match(r"``(\w+)``:", line):
            fields = found.setdefault(report[1], set())
        elif field := re.match(r"    ``(\w+)``  ", line):
            fields.add(field[1])
    return found


def specified_commands():
    """Return the fields of each command in the specification."""
    found = {}
    for line in section("Commands, concwatch to worker").splitlines():
        if command := re.match(r"``(\w+)``", line):
            head = line.split(":")[0] if ":" in line else ""
            found[command[1]] = set(re.findall(r"``(\w+)``", head)[1:])
    return found


def test_specification_and_structs_have_the_same_reports():
    structs = {
        struct.__struct_config__.tag: set(struct.__struct_encode_fields__)
        for struct in vars(messages).values()
        if isinstance(struct, type) and issubclass(struct, msgspec.Struct) and struct.__struct_config__.tag
    }
    assert structs == specified_reports(OF_A_WORKER, "Reports of a bridge")


def test_specification_and_worker_have_the_same_commands():
    golden = {}
    for fields in map(json.loads, GOLDEN_COMMANDS):
        golden.setdefault(fields["type"], set()).update(set(fields) - {"type"})
    assert golden == specified_commands()
    assert {*commands(BaseEngine, None, None), "target", "stop"} == set(golden)


def test_the_specification_lists_the_workloads():
    assert set(re.findall(r"``([\w:/]+)``  +\w", section("Workloads"))) == {
        "module:function",
        *(form.syntax.replace("[", "").replace("]", "") for form in FORMS.values()),
    }


MAY_LACK = {
    "tick": {"traced", "tracer", "heap", "cpu", "switches", "failures"},
    "block": {"exact", "stack", "own"},
}
"""Optional fields of reports."""


@pytest.mark.real
def test_a_real_worker_sends_exactly_the_specified_fields(tmp_path):
    (tmp_path / "jobs.py").write_text(
        "import time\nasync def fail():\n    time.sleep(0.5)\n    raise ValueError('no luck')\n"
    )
    with Worker("asyncio", cwd=tmp_path) as worker:
        worker.do("trace", on=True)
        worker.tick(lambda tick: "traced" in tick)
        worker.do("lines")
        worker.do("workload", spec="nop")
        worker.send("burst", tasks=3, chunks=1, older=0, read_after=None)
        worker.wait("burst")
        worker.do("workload", spec="hold")
        worker.target(120)
        worker.do("anatomy")
        worker.target(5)
        worker.refuse("gc", mode="sometimes")
        worker.do("halt", wall="patience", value=3)
        worker.do("refill", on=False)
        worker.do("workload", spec="jobs:fail")
        worker.send("target", tasks=1)
        worker.wait("error", lambda report: report["detail"])
        worker.wait("block")
        worker.wait("tick", lambda tick: "failures" in tick)
        for type_, fields in specified_reports(OF_A_WORKER).items():
            reports = worker.all(type_)
            assert reports, type_
            for report in reports:
                sent = set(report) - {"type"}
                assert sent <= fields
                assert fields - sent <= MAY_LACK.get(type_, set())
                assert isinstance(messages.decode(json.dumps(report).encode()), messages.Report)
            assert set().union(*reports) >= fields - {"heap"}
