"""What a step gives: printed text, artifacts, limits of both."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.execution import ended_well, hurry, isolated, value_of, within

from tinyagent.execution.sandbox.collector import StepCollector
from tinyagent.execution.sandbox.worker.codec.wire import Frame, Kind
from tinyagent.execution.trust import ExecutionLimits

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


def printed(text: str) -> Frame:
    return Frame(Kind.OUTPUT, {"text": text})


def final(value: Any) -> Frame:
    return Frame(Kind.FINAL, {"value": value, "metadata": {}})


def test_more_text_than_the_limit_is_neither_kept_nor_shown() -> None:
    pieces: list[str] = []
    turn = StepCollector(ExecutionLimits(max_output_bytes=5), pieces.append)
    for text in ("abc", "äö", "more"):
        turn.take(printed(text))
    turn.take(Frame(Kind.DONE, DONE))
    assert turn.result().output == "abcä"
    assert pieces == ["abc", "ä"]


def test_only_the_first_final_answer_is_taken() -> None:
    turn = StepCollector(ExecutionLimits(), None)
    assert not turn.is_final
    turn.take(final(1))
    turn.take(final(2))
    assert turn.is_final
    assert not turn.is_done
    assert turn.result("killed").final_value == 1
    assert turn.result("killed").error is None


def test_no_more_artifacts_are_kept_than_fit() -> None:
    turn = StepCollector(ExecutionLimits(), None)
    body = {"name": "a", "media_type": "text/plain"}
    for _ in range(300):
        turn.take(Frame(Kind.ARTIFACT, body, b"x"))
    assert len(turn.result().artifacts) == 256
    turn = StepCollector(ExecutionLimits(), None)
    for _ in range(5):
        turn.take(Frame(Kind.ARTIFACT, body, bytes(20 << 20)))
    assert len(turn.result().artifacts) == 3


async def test_output_comes_as_it_is_printed_and_in_order() -> None:
    pieces: list[str] = []
    async with isolated() as executor:
        executor.inject("so_far", lambda: "".join(pieces))
        code = (
            "import sys\nprint(1)\nprint('e', file=sys.stderr)\nprint(2, end='')\nprint(3)\n"
            "sys.stdout.write('4\\n')\nsys.stdout.flush()\nso_far()"
        )
        result = await executor.run(code, on_output=pieces.append)
    assert result.output == "1\ne\n23\n4\n"
    assert "".join(pieces) == result.output
    assert result.value == result.output
    assert len(pieces) >= 4


async def test_output_up_to_the_end_of_the_time_is_kept() -> None:
    async with isolated(within(0.3)) as executor:
        result = await executor.run("print('a')\nprint('b', end='', flush=True)\nwhile True: pass")
    assert result.timed_out
    assert result.output == "a\nb"


async def test_of_long_output_head_and_tail_are_kept_and_the_gap_is_counted() -> None:
    async with isolated(within(20, max_output_bytes=1000)) as executor:
        result = await executor.run("for n in range(10_000): print(f'{n:05}')")
    head, _, tail = result.output.partition("\n[... ")
    assert head.startswith("00000\n00001\n")
    assert tail.endswith("09998\n09999\n")
    count, _, rest = tail.partition(" bytes are left out here ...]\n")
    assert len(head) + int(count.replace(",", "")) + len(rest) == 60_000
    assert len(head) + len(rest) <= 1000


async def test_output_exactly_at_the_limit_is_whole() -> None:
    async with isolated(within(20, max_output_bytes=1000)) as executor:
        assert (await executor.run("print('x' * 999)")).output == "x" * 999 + "\n"
        assert (await executor.run("print('x' * 1000, end='')")).output == "x" * 1000
        cut = (await executor.run("print('x' * 5000)")).output
    assert "left out" in cut
    assert len(cut) < 1100


async def test_text_of_all_kinds_is_printed() -> None:
    async with isolated() as executor:
        result = await executor.run(r"print('ä€😀 \0 \udc80 \ud800')" + "\n'\\ud800'")
        assert result.output == "ä€😀 \0 \\udc80 \\ud800\n"
        assert result.value == "\ud800"
        assert result.value_text.encode()
        assert await value_of(executor, "ünï = 'ö'\nünï") == "ö"
        error = (await executor.run("raise ValueError('\\ud800 ä')")).error or ""
        assert "ä" in error
        assert error.encode()


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nsys.stdout.close()",
        "import sys\nsys.stdout = None",
        "import sys\nsys.stdout = sys.stderr = 5",
        "import os\nos.write(1, b'raw')\nos.close(1)\nos.close(2)",
        "import sys\nsys.stdout.detach()",
    ],
)
async def test_code_may_do_to_its_output_what_it_likes(code: str) -> None:
    async with isolated() as executor:
        result = await executor.run(f"print('before')\nx = 1\n{code}")
        assert result.output.startswith("before")
        assert not result.state_lost
        after = await executor.run("print('after')\nx")
        assert (after.error, after.output, after.value) == (None, "after\n", 1)


async def test_a_logger_set_up_in_one_step_prints_in_the_next() -> None:
    async with isolated() as executor:
        await value_of(executor, "import logging, sys\nlogging.basicConfig()\nout = sys.stdout")
        result = await executor.run("logging.warning('careful')\nprint('text', file=out)")
        assert result.error is None
        assert result.output == "WARNING:root:careful\ntext\n"


async def test_a_thread_that_keeps_printing_holds_up_no_later_step() -> None:
    async with isolated(within(2)) as executor:
        code = (
            "import threading\ndef work():\n    while True: print('x')\n"
            "threading.Thread(target=work, daemon=True).start()\nn = 0"
        )
        assert (await executor.run(code)).error is None
        for number in range(1, 15):
            result = await executor.run(f"n += 1\nprint('step', {number})\nn")
            assert (result.error, result.value) == (None, number)
            assert f"step {number}\n" in result.output


@pytest.mark.parametrize(
    ("code", "line"),
    [("def f(:\n  pass", 1), ("x = 1\ny = (", 2), ("if 1:\npass", 2), ("x = '\0'", 1)],
)
async def test_a_syntax_error_is_reported_with_its_line(code: str, line: int) -> None:
    async with isolated() as executor:
        result = await executor.run(code)
        assert "Error" in (result.error or "")
        assert f"line {line}" in (result.error or "") or "\0" in code
        assert await value_of(executor, "1") == 1


async def test_code_nested_too_deep_to_be_compiled_is_an_error() -> None:
    async with isolated() as executor:
        await value_of(executor, "x = 1")
        for code in ("(" * 5000 + ")" * 5000, "-" * 200_000 + "1", "x" + ".y" * 100_000):
            assert (await executor.run(code)).error is not None
        assert await value_of(executor, "x") == 1


async def test_new_and_changed_files_are_artifacts() -> None:
    async with isolated() as executor:
        code = "import os\nopen('a.txt', 'w').write('one')\nos.makedirs('sub/deep')\n"
        first = await executor.run(code + "open('sub/deep/b.json', 'w').write('{}')")
        assert [(item.name, item.data, item.media_type) for item in first.artifacts] == [
            ("a.txt", b"one", "text/plain"),
            ("sub/deep/b.json", b"{}", "application/json"),
        ]
        assert (await executor.run("open('a.txt').read()")).artifacts == ()
        changed = await executor.run("open('a.txt', 'a').write('two')")
        assert [(item.name, item.data) for item in changed.artifacts] == [("a.txt", b"onetwo")]
        assert (await executor.run("os.remove('a.txt')")).artifacts == ()


async def test_files_of_a_step_that_failed_badly_come_with_the_next() -> None:
    async with isolated() as executor:
        await value_of(executor, "n = 1")
        hurry(executor, 1)  # the file is to be written in that time
        failed = await executor.run("open('left', 'w').write('x')\nwhile True: pass")
        hurry(executor, 20)
        assert failed.timed_out
        result = await executor.run("open('left').read()")
        assert result.value == "x"
        assert [item.name for item in result.artifacts] == ["left"]
        assert (await executor.run("n")).artifacts == ()


async def test_only_regular_files_are_handed_over() -> None:
    async with isolated() as executor:
        code = (
            "import os\nfor make in (lambda: os.symlink('/etc/passwd', 'link'),\n"
            "    lambda: os.symlink('/', 'folder'), lambda: os.mkfifo('pipe')):\n"
            "    try:\n        make()\n    except OSError: pass\nopen('real', 'w').close()"
        )
        result = await executor.run(code)
    assert [(item.name, item.data) for item in result.artifacts] == [("real", b"")]


async def test_a_file_too_large_is_reported_and_the_others_come() -> None:
    async with isolated() as executor:
        code = "open('big', 'wb').write(bytes(17 << 20))\nopen('c', 'w').write('c')"
        result = await executor.run(code)
    assert [item.name for item in result.artifacts] == ["c"]
    assert "big (17,825,792 bytes) is too large" in result.output
    assert ended_well(result)


async def test_files_with_strange_names_are_handed_over() -> None:
    async with isolated() as executor:
        names = ["-x", "ä b", "a\nb", "x" * 255, "a..", "a\\b"]
        code = f"for name in {names!r}: open(name, 'w').close()\nopen(b'\\xff', 'w').close()"
        result = await executor.run(code)
        assert result.error is None
        assert set(names) <= {item.name for item in result.artifacts}
        assert len(result.artifacts) == len(names) + 1


async def test_folders_beyond_all_depth_harm_nothing() -> None:
    async with isolated() as executor:
        code = "import os\nos.mkdir('closed', 0)\nos.mkdir('deep')\nos.chdir('deep')\n"
        deep = "for _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')"
        result = await executor.run(f"{code}{deep}\nopen('/sandbox/file', 'w').close()")
        assert result.error is None
        assert [item.name for item in result.artifacts] == ["file"]
        assert await value_of(executor, "1") == 1


async def test_an_open_figure_is_handed_over_as_png() -> None:
    async with isolated() as executor:
        code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.figure()"
        result = await executor.run(code)
        assert result.error is None
        assert [(item.name, item.media_type) for item in result.artifacts] == [
            ("step-1-figure-1.png", "image/png"),
            ("step-1-figure-2.png", "image/png"),
        ]
        assert all(item.data.startswith(b"\x89PNG") for item in result.artifacts)
        again = await executor.run("plt.title('next')")
        assert [item.name for item in again.artifacts] == ["step-2-figure-1.png"]


async def test_the_working_folder_is_full_at_its_limit() -> None:
    limit = 4 << 20
    async with isolated(within(20, max_file_bytes=limit)) as executor:
        code = (
            "written = 0\ntry:\n    for n in range(100):\n"
            "        with open(f'f{n}', 'wb', buffering=0) as file:\n"
            "            for _ in range(16): written += file.write(bytes(65536))\n"
            "except OSError as error:\n    kind = error.errno\n(written, kind)"
        )
        written, kind = await value_of(executor, code)
        assert written <= limit
        assert written >= limit // 2
        assert kind in {27, 28}
        one = await executor.run("open('big', 'wb').write(bytes(8 << 20))")
        assert "OSError" in (one.error or "")
        assert await value_of(executor, "1") == 1


async def test_processes_and_threads_are_limited() -> None:
    # With so much memory it is not what ends the forks.
    limits = within(20, max_processes=6, max_memory_bytes=2**34)
    async with isolated(limits) as executor:
        threads = (
            "import threading\nevent = threading.Event()\nstarted = 0\ntry:\n"
            "    for _ in range(50):\n        threading.Thread(target=event.wait).start()\n"
            "        started += 1\nexcept RuntimeError: pass\nevent.set()\nstarted"
        )
        assert 2 <= await value_of(executor, threads) <= 20
        assert await value_of(executor, "1") == 1
    # In a session of their own: what the threads have reserved counts as memory of each fork.
    async with isolated(limits) as executor:
        forks = (
            "import os, time\nforked = 0\ntry:\n    for _ in range(50):\n"
            "        if os.fork() == 0: time.sleep(1000)\n        forked += 1\n"
            "except BlockingIOError: pass\nforked"
        )
        assert 2 <= await value_of(executor, forks) <= 20
        assert await value_of(executor, "1") == 1
