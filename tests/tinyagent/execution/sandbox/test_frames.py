from __future__ import annotations

from typing import Any

import pytest

from tinyagent.execution.sandbox.channel import MAX_TEXT, check
from tinyagent.execution.sandbox.worker.codec.wire import Frame, Kind, WireError

CALL = {"id": 0, "name": "look_up", "args": [1], "kwargs": {"key": [1]}}
FINAL = {"value": {"$": "anything"}, "metadata": {"unit": "EUR"}}
ARTIFACT = {"name": "out/plot.png", "media_type": "image/svg+xml"}
DONE: dict[str, Any] = {
    "error": None,
    "out_of_memory": False,
    "value": None,
    "value_text": "",
    "tail": "",
    "skipped": 0,
    "remarks": [],
    "token": "",
}
EXITED = {"pid": 1, "status": 9}
TURNED = {"error": "", "full": False}
SWEPT = {"killed": 0, "memory": True, "pool": ""}
ENTRY = {"name": 1, "kind": "file", "executable": False, "known": False, "last": True}
VALID: list[tuple[Kind, dict[str, Any]]] = [
    (Kind.READY, {}),
    (Kind.FORKED, {"pid": 1}),
    (Kind.OUTPUT, {"text": "é\0\n"}),
    (Kind.OUTPUT, {"text": "x" * MAX_TEXT}),
    (Kind.CALL, CALL),
    (Kind.CALL, {**CALL, "id": 2**53, "name": "größe", "kwargs": {}}),
    (Kind.FINAL, FINAL),
    (Kind.ARTIFACT, ARTIFACT),
    (Kind.ARTIFACT, {**ARTIFACT, "name": "..a/.b..\n"}),
    (Kind.DONE, DONE),
    (Kind.DONE, {**DONE, "error": "ValueError", "skipped": 7, "remarks": ["a", "b"]}),
    (Kind.EXITED, EXITED),
    (Kind.SWEPT, SWEPT),
    (Kind.TURNED, TURNED),
    (Kind.FAILED, {"error": "no"}),
    (Kind.ENTRY, ENTRY),
    (Kind.SCANNED, {}),
]
TEXTS: list[Any] = [None, 1, b"x", ["x"], {}, "x" * (MAX_TEXT + 1), "\ud800"]
NAMES: list[Any] = ["", "a b", "1a", "a.b", "a" * 1001, None, 1, ["a"], "\ud800"]
NUMBERS: list[Any] = [-1, 2**63, 1.0, True, "1", None, [1]]
WRONG: list[tuple[Kind, dict[str, Any], str, list[Any]]] = [
    (Kind.FORKED, {"pid": 1}, "pid", [0, *NUMBERS]),
    (Kind.OUTPUT, {"text": ""}, "text", TEXTS),
    (Kind.CALL, CALL, "id", NUMBERS),
    (Kind.CALL, CALL, "name", NAMES),
    (Kind.CALL, CALL, "args", [None, {}, "ab", {"$": "tuple", "v": []}]),
    (Kind.CALL, CALL, "kwargs", [None, [], {"$": "dict", "v": []}, {"a b": 1}, {"": 1}]),
    (Kind.FINAL, FINAL, "metadata", [None, [], {"$": "set", "v": []}, {"a-b": 1}]),
    (
        Kind.ARTIFACT,
        ARTIFACT,
        "name",
        ["", "/etc/x", "../x", "a/../b", "..", "a\0b", "a" * 1001, 1],
    ),
    (Kind.ARTIFACT, ARTIFACT, "media_type", ["", "text", "a/b/c", "a/b\n", "a /b", 1, "é/x"]),
    (Kind.DONE, DONE, "error", TEXTS[1:]),
    (Kind.DONE, DONE, "out_of_memory", [None, 0, 1, "true"]),
    (Kind.DONE, DONE, "value_text", TEXTS),
    (Kind.DONE, DONE, "tail", TEXTS),
    (Kind.DONE, DONE, "skipped", NUMBERS),
    (Kind.DONE, DONE, "remarks", [None, "ab", {}, [1], ["\ud800"], ["x"] * 1001]),
    (Kind.EXITED, EXITED, "pid", [0, *NUMBERS]),
    (Kind.EXITED, EXITED, "status", [65536, *NUMBERS]),
    (Kind.ENTRY, ENTRY, "name", [65537, *NUMBERS]),
    (Kind.ENTRY, ENTRY, "kind", ["", "link", None, 1, ["file"]]),
    (Kind.ENTRY, ENTRY, "last", [None, 0, 1, "true"]),
    (Kind.SWEPT, SWEPT, "killed", NUMBERS),
    (Kind.TURNED, TURNED, "full", [None, 0, 1, "false"]),
    (Kind.SWEPT, SWEPT, "memory", [None, 0, 1, "false"]),
    (Kind.FAILED, {"error": ""}, "error", TEXTS),
]


@pytest.mark.parametrize(("kind", "body"), VALID, ids=lambda part: str(part)[:40])
def test_what_a_session_may_send_passes(kind: Kind, body: dict[str, Any]) -> None:
    check(Frame(kind, body))


@pytest.mark.parametrize(
    ("kind", "body", "field", "value"),
    [(kind, body, field, value) for kind, body, field, values in WRONG for value in values],
    ids=lambda part: ascii(part)[:30],
)
def test_a_wrong_field_is_named(kind: Kind, body: dict[str, Any], field: str, value: Any) -> None:
    with pytest.raises(WireError, match=f"^{kind.name}: {field} is out of bounds or of a wrong"):
        check(Frame(kind, {**body, field: value}))


@pytest.mark.parametrize(("kind", "body"), VALID, ids=lambda part: str(part)[:40])
def test_a_field_too_many_or_too_few_is_refused(kind: Kind, body: dict[str, Any]) -> None:
    with pytest.raises(WireError, match=f"^{kind.name} has the fields .*'odd'.*, not "):
        check(Frame(kind, {**body, "odd": 1}))
    for field in body:
        with pytest.raises(WireError, match=f"^{kind.name} has the fields .*, not .*'{field}'"):
            check(Frame(kind, {key: item for key, item in body.items() if key != field}))


@pytest.mark.parametrize("kind", [Kind.RUN, Kind.RETURN, Kind.FILE, Kind.END])
def test_what_only_the_host_sends_is_refused(kind: Kind) -> None:
    with pytest.raises(WireError, match=f"a session may not send {kind.name}"):
        check(Frame(kind, {}))


def test_data_comes_only_where_there_is_some() -> None:
    carrying = {Kind.CALL, Kind.FINAL, Kind.ARTIFACT, Kind.DONE, Kind.ENTRY}
    for kind, body in VALID:
        if kind in carrying:
            check(Frame(kind, body, b"x"))
        else:
            with pytest.raises(WireError, match=f"{kind.name} carries 1 bytes of data"):
                check(Frame(kind, body, b"x"))


def test_a_refusal_stays_short() -> None:
    with pytest.raises(WireError) as caught:
        check(Frame(Kind.READY, {"x" * 10**4 + str(number): 1 for number in range(99)}))
    assert len(str(caught.value)) < 1_000


def test_every_kind_is_known() -> None:
    assert {kind for kind, _ in VALID} == {kind for kind in Kind if kind >= 16} - {Kind.REPORT}
