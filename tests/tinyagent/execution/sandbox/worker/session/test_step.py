from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.tinyagent.execution.sandbox.worker.serving import Served, serving, value_of

from tinyagent.execution.sandbox.worker.codec.values import decode, encode
from tinyagent.execution.sandbox.worker.codec.wire import Kind


@pytest.fixture
def session(tmp_path: Path) -> Generator[Served]:
    with serving(tmp_path) as served:
        yield served


def test_the_last_frame_holds_everything(session: Served) -> None:
    (done,) = session.run("1 + 1")
    assert done.kind is Kind.DONE
    assert done.body == {
        "error": None,
        "out_of_memory": False,
        "value": 2,
        "value_text": "2",
        "tail": "",
        "skipped": 0,
        "remarks": [],
        "token": "",
    }


def test_printed_text_and_files_come_before_it(session: Served) -> None:
    frames = session.run("print('a')\nopen('f.txt', 'w').write('x')")
    assert [frame.kind for frame in frames] == [Kind.OUTPUT, Kind.ARTIFACT, Kind.DONE]
    assert frames[0].body == {"text": "a\n"}
    assert frames[1].body == {"name": "f.txt", "media_type": "text/plain"}
    assert frames[1].blob == b"x"


def test_the_code_is_the_main_module(session: Served) -> None:
    assert session.value("__name__") == "__main__"
    session.value("import sys\nclass A: pass\nx = 5")
    assert session.value("sys.modules['__main__'].x, A.__module__") == (5, "__main__")
    assert session.value("import pickle\npickle.loads(pickle.dumps(A())).__class__ is A") is True


def test_nothing_of_the_worker_is_in_the_namespace(session: Served) -> None:
    names = session.value("sorted(globals())")
    assert [name for name in names if not name.startswith("__")] == ["final_answer"]


def test_futures_of_one_step_do_not_reach_into_the_next(session: Served) -> None:
    session.value("from __future__ import annotations\ndef f(x: nothing): pass")
    frames = session.run("def g(x: nothing): pass\ng.__annotations__")
    assert "NameError" in frames[-1].body["error"]


def test_a_tool_call_asks_and_waits(session: Served) -> None:
    session.order("tool(1, [2], three={'x': b'y'})", "tool")
    asked = session.until(Kind.CALL)[-1]
    assert asked.body["name"] == "tool"
    assert decode(asked.body["args"], asked.blob) == [1, [2]]
    assert decode(asked.body["kwargs"], asked.blob) == {"three": {"x": b"y"}}
    blobs = bytearray()
    answer = {"id": asked.body["id"], "value": encode(b"answer", blobs)}
    session.link.send(Kind.RETURN, answer, bytes(blobs))
    assert value_of(session.until(Kind.DONE)) == b"answer"


def test_an_error_of_a_tool_is_raised_as_what_it_was(session: Served) -> None:
    code = (
        "try:\n    tool()\nexcept Exception as error:\n    found = type(error).__name__, error.args"
    )
    for kind, args, expected in (
        ("KeyError", ["k"], ("KeyError", ("k",))),
        ("UnicodeDecodeError", ["x"], ("RuntimeError", ("UnicodeDecodeError: a message",))),
        ("SystemExit", [], ("RuntimeError", ("SystemExit: a message",))),
        ("print", [], ("RuntimeError", ("print: a message",))),
    ):
        session.order(f"{code}\nfound", "tool")
        asked = session.until(Kind.CALL)[-1]
        error = {"type": kind, "args": args, "message": "a message"}
        session.link.send(Kind.RETURN, {"id": asked.body["id"], "error": error})
        assert value_of(session.until(Kind.DONE)) == expected


def test_final_answer_is_sent_and_ends_the_step(session: Served) -> None:
    frames = session.run("print('x', end='')\nfinal_answer((1,), why='it is')\nprint('y')")
    assert [frame.kind for frame in frames] == [Kind.OUTPUT, Kind.FINAL, Kind.DONE]
    assert decode(frames[1].body["value"], frames[1].blob) == (1,)
    assert decode(frames[1].body["metadata"], frames[1].blob) == {"why": "it is"}
    assert frames[2].body["error"] is None


def test_an_answer_too_large_is_the_codes_error(session: Served) -> None:
    frames = session.run("final_answer(bytes(40 << 20))")
    assert [frame.kind for frame in frames] == [Kind.DONE]
    assert "too large" in frames[0].body["error"]


def test_values_are_bound_and_helpers_are_bound_again(session: Served) -> None:
    assert session.value("given", given={1: b"x" * 1000}) == {1: b"x" * 1000}
    session.value("final_answer = given = 5")
    assert session.value("callable(final_answer), given") == (True, 5)


def test_an_import_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with serving(tmp_path, "json") as session:
        frames = session.run("print('never')\nimport json\nimport csv")
        assert [frame.kind for frame in frames] == [Kind.DONE]
        assert "line 3: import of 'csv' is not allowed" in frames[0].body["error"]
        assert session.value("import json\njson.dumps({})") == "{}"
        late = session.run("exec('import csv')")
        assert "import of 'csv' is not allowed" in late[-1].body["error"]
        direct = session.run("__import__('csv')")
        assert "import of 'csv' is not allowed" in direct[-1].body["error"]


def test_running_out_of_memory_is_reported(session: Served) -> None:
    done = session.run("raise MemoryError")[-1].body
    assert done["out_of_memory"] is True
    assert "MemoryError" in done["error"]
    assert session.run("1")[-1].body["out_of_memory"] is False


def test_a_long_value_is_shown_by_its_ends(session: Served) -> None:
    text = session.run("list(range(100_000))")[-1].body["value_text"]
    assert text.startswith("[0, 1, 2")
    assert text.endswith("99998, 99999]")
    assert "characters are left out here" in text
    assert len(text) < 11_000


def test_lines_of_an_earlier_step_are_shown(session: Served) -> None:
    session.value("def broken():\n    return 1 / 0")
    error = session.run("broken()", number=2)[-1].body["error"]
    assert "step 1, line 2, in broken" in error
    assert "return 1 / 0" in error


def test_output_beyond_the_limit_is_kept_by_its_end(tmp_path: Path) -> None:
    with serving(tmp_path, max_output_bytes=10) as session:
        frames = session.run("print('0123456789abcdefghijklmnop', end='')")
        assert "".join(frame.body["text"] for frame in frames[:-1]) == "0123456789"
        assert frames[-1].body["tail"] == "lmnop"
        assert frames[-1].body["skipped"] == 11
        assert session.run("print('x', end='')")[0].body == {"text": "x"}
