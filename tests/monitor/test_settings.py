"""The settings of lanes: what tasks do in words, parts of workloads on the wire, and recorded settings."""

import msgspec
import pytest

from concwatch.monitor.metrics.settings import Settings, commands, connects, describe, parts
from concwatch.recordings.format import SettingsLine


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("sleep:5..15", "sleeps 5 to 15 s"),
        ("hold", "waits until stopped"),
        ("http:0.5", "fetches a page"),
        ("connect", "holds a connection"),
        ("connect:10s", "sends a line every 10 s"),
        ("shop:order", "calls shop:order"),
    ],
)
def test_what_tasks_do_is_described(spec, text):
    assert describe(spec) == text


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("connect", {"word": "connect"}),
        ("connect:10", {"word": "connect", "seconds": 10.0}),
        ("connect:0.5s", {"word": "connect", "seconds": 0.5}),
    ],
)
def test_the_parts_of_a_workload_with_connections_are_sent_with_its_server(spec, expected):
    settings = Settings(spec, url="tcp://127.0.0.1:4242", addresses=32)
    sent = dict(commands(settings, lambda _: False, 100))["workload"]
    assert parts(spec) == expected
    assert sent == {"spec": spec, **expected, "url": "tcp://127.0.0.1:4242", "addresses": 32}


def test_arguments_are_sent_only_to_a_function_of_the_user():
    settings = Settings("app.jobs:fetch", arguments=("a b", ""))
    sent = dict(commands(settings, lambda _: False, 100))["workload"]
    assert sent == {"spec": "app.jobs:fetch", "word": "module:function", "arguments": "a b\0\0"}
    for spec, arguments in (("app.jobs:fetch", ()), ("sleep:1", ("left over",))):
        sent = dict(commands(Settings(spec, arguments=arguments), lambda _: False, 100))["workload"]
        assert "arguments" not in sent


def test_only_two_workloads_have_connections():
    assert [spec for spec in ("connect", "connect:1s", "http", "hold", "connect.it:f") if connects(spec)] == [
        "connect", "connect:1s", "http",
    ]  # fmt: skip


def test_settings_recorded_before_there_were_addresses_are_read():
    line = (
        b'{"type":"settings","time":1.0,"workload":"http","refill":true,"trace":false,"gc":"default",'
        b'"threads":null,"stack":null,"page":"http://127.0.0.1:9/page"}'
    )
    found = msgspec.json.decode(line, type=SettingsLine)
    assert (found.url, found.addresses, found.arguments) == ("http://127.0.0.1:9/page", 1, ())
    assert b'"page":"http://127.0.0.1:9/page"' in msgspec.json.encode(found)
