"""The command `tinyagent` as a user has it: a process, its exit code and what it prints where."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tinyagent import Usage
from tinyagent.core import ModelResponse, RawToolCall
from tinyagent.testing import MockServer, Output, StrictServer, error_reply, json_reply
from tinyagent.testing.apis import completion_json, completion_sse
from tinyagent.testing.http import Reply, Request

COMMAND = Path(sys.executable).with_name("tinyagent")
CALL = ModelResponse(None, (RawToolCall("1", "add", '{"a": 1, "b": 2}'),), Usage(1, 30, 4))
ANSWER = ModelResponse("It is three.", usage=Usage(1, 40, 5))
TOOLS = '''
from tinyagent import tool

@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

many = [add]
untyped = lambda a: a
'''


class Done(NamedTuple):
    """A process that has ended."""

    code: int
    out: str
    err: str


async def _start(*arguments: str, cwd: Path | None = None, **environment: str) -> Process:
    return await asyncio.create_subprocess_exec(
        COMMAND, *arguments, cwd=cwd, env=os.environ | environment, stdout=PIPE, stderr=PIPE
    )


async def _end(process: Process) -> Done:
    out, err = await process.communicate()
    assert process.returncode is not None
    done = Done(process.returncode, out.decode(), err.decode())
    assert "Traceback" not in done.err
    return done


async def _run(*arguments: str, cwd: Path | None = None, **environment: str) -> Done:
    return await _end(await _start("run", *arguments, cwd=cwd, **environment))


async def _ask(server: MockServer, *arguments: str, cwd: Path | None = None) -> Done:
    return await _run("1 + 2?", *arguments, cwd=cwd, OPENAI_BASE_URL=server.base_url)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_tools.py").write_text(TOOLS)
    (tmp_path / "broken.py").write_text("def f(:\n")
    return tmp_path


async def test_the_answer_goes_to_standard_output_and_all_else_to_standard_error() -> None:
    async with MockServer([ANSWER]) as server:
        done = await _ask(server)
    assert (done.code, done.out) == (0, "It is three.\n")
    assert done.err.startswith("[completed] 1 step, ")
    assert done.err.endswith(" s, 40 tokens in, 5 out, cost unknown\n")


@pytest.mark.parametrize("name", ["add", "many"])
async def test_tools_come_from_a_module_of_the_working_folder(folder: Path, name: str) -> None:
    async with MockServer([CALL, ANSWER]) as server:
        done = await _ask(server, "--tools", f"my_tools:{name}", cwd=folder)
    assert (done.code, done.out) == (0, "It is three.\n")
    assert done.err.splitlines()[:2] == ['→ add({"a": 1, "b": 2})', "← 3"]
    assert server.requests[0]["tools"][0]["function"]["name"] == "add"


async def test_a_streamed_answer_is_printed_once() -> None:
    async with MockServer([ANSWER]) as server:
        done = await _ask(server, "--stream")
    assert (done.code, done.out) == (0, "It is three.\n")


async def test_a_server_that_does_not_stream_has_its_answer_printed_too() -> None:
    async with MockServer([json_reply(completion_json(ANSWER))]) as server:
        done = await _ask(server, "--stream")
    assert (done.code, done.out) == (0, "It is three.\n")


async def test_json_is_all_that_a_machine_needs(folder: Path) -> None:
    async with MockServer([CALL, ANSWER]) as server:
        done = await _ask(server, "--json", "--tools", "my_tools:add", cwd=folder)
    content: dict[str, Any] = json.loads(done.out)
    assert content.pop("duration_seconds") >= 0
    cost = content.pop("cost")
    assert (cost["usd"], cost["known_usd"], len(cost["unknown"])) == (None, "0", 1)
    assert content == {
        "output": "It is three.",
        "state": "completed",
        "error": None,
        "steps_taken": 2,
        "usage": {"requests": 2, "input_tokens": 70, "output_tokens": 9, "cached_tokens": 0},
        "artifacts": [],
    }
    assert (done.code, done.err) == (0, "")


async def test_the_step_limit_is_exit_code_3(folder: Path) -> None:
    async with MockServer([CALL]) as server:
        done = await _ask(server, "--max-steps", "2", "--tools", "my_tools:add", cwd=folder)
        as_json = await _ask(server, "--json", "--max-steps", "1", cwd=folder)
    assert (done.code, done.out, as_json.code) == (3, "", 3)
    assert "error: no answer after 2 steps" in done.err
    assert json.loads(as_json.out)["state"] == "step_limit_reached"


async def test_a_failing_server_is_exit_code_1() -> None:
    async with MockServer([error_reply(401, "bad key")]) as server:
        done = await _ask(server)
    assert (done.code, done.out) == (1, "")
    assert "401 Unauthorized: bad key; check OPENAI_API_KEY" in done.err


async def test_a_server_that_is_not_there_is_exit_code_1() -> None:
    done = await _run("1 + 2?", OPENAI_BASE_URL="http://127.0.0.1:1/v1")
    assert done.code == 1
    assert "error: no connection to http://127.0.0.1:1/v1/chat/completions: " in done.err


@pytest.mark.parametrize(
    ("arguments", "environment", "message"),
    [
        ([], {}, "error: no API key: set OPENAI_API_KEY, or set OPENAI_BASE_URL to a server that"),
        (
            [],
            {"OPENAI_BASE_URL": "localhost:1"},
            "error: the base URL (OPENAI_BASE_URL or",
        ),
        ([], {"OPENAI_API_KEY": "schlüssel"}, "error: the API key contains characters that cannot"),
        (["--model", ""], {"OPENAI_API_KEY": "k"}, "error: the model's name is empty"),
        (["--stream", "--json"], {}, "use --stream or --json, not both"),
        (["--max-steps", "0"], {}, "--max-steps"),
        (["--tools", "nowhere:add"], {}, "'nowhere:add' cannot be loaded (No module named 'nowh"),
        (["--tools", "my_tools:sub"], {}, "'my_tools:sub' cannot be loaded (module 'my_tools' has"),
        (["--tools", "my_tools"], {}, "write module:name, for example my_tools:search"),
        (["--tools", ":add"], {}, "':add' cannot be loaded (Empty module name)"),
        (["--tools", ".my_tools:add"], {}, "'.my_tools:add' cannot be loaded"),
        (["--tools", "broken:add"], {}, "'broken:add' cannot be loaded (invalid syntax (broken.py"),
        (["--tools", "my_tools:untyped"], {"OPENAI_API_KEY": "k"}, "has no docstring"),
        (["--tools", "my_tools:TOOLS"], {}, "has no attribute 'TOOLS'"),
        (["--tools", "my_tools:__name__"], {"OPENAI_API_KEY": "k"}, "'my_tools' is not a tool"),
    ],
)
async def test_a_mistake_of_the_user_is_exit_code_2_and_reported(
    folder: Path, arguments: list[str], environment: dict[str, str], message: str
) -> None:
    done = await _run("go", *arguments, cwd=folder, **environment)
    assert (done.code, done.out) == (2, "")
    assert message in " ".join(done.err.replace("│", " ").split())


async def test_no_command_shows_the_help() -> None:
    done = await _end(await _start())
    assert done.code == 2
    assert "Run agents from the command line." in done.out + done.err


@pytest.mark.parametrize("arguments", [[], ["--stream"], ["--json"]])
async def test_control_c_ends_the_run_with_130(arguments: list[str]) -> None:
    async with MockServer([Reply(b"", ending="hang")]) as server:
        process = await _start("run", "go", *arguments, OPENAI_BASE_URL=server.base_url)
        await _asked(server)
        process.send_signal(signal.SIGINT)
        done = await _end(process)
    assert (done.code, done.out) == (130, "")
    assert done.err == "Interrupted; the run was cancelled.\n"


async def _asked(server: MockServer) -> None:
    """Returns when a request has come."""
    asked = asyncio.Event()
    answer = server._answer

    def note(request: Request) -> Reply:
        asked.set()
        return answer(request)

    server._answer = note
    await asked.wait()


async def test_control_c_does_not_wait_for_a_tool_that_never_ends(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import sys, threading\n"
        "def wait() -> None:\n"
        "    'Wait for ever.'\n"
        "    sys.stdout.write('begun\\n')\n"
        "    sys.stdout.flush()\n"
        "    threading.Event().wait()\n"
    )
    call = ModelResponse(None, (RawToolCall("1", "wait", "{}"),))
    async with MockServer([call]) as server:
        process = await _start(
            "run", "go", "--tools", "slow:wait", cwd=tmp_path, OPENAI_BASE_URL=server.base_url
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"begun\n"
        process.send_signal(signal.SIGINT)
        done = await _end(process)
    assert done.code == 130
    assert done.err.endswith("Interrupted; the run was cancelled.\n")


async def test_a_server_stopped_in_mid_stream_is_reported() -> None:
    half = Reply(completion_sse(ANSWER)[:250], content_type="text/event-stream", ending="hang")
    async with MockServer([half]) as server:
        process = await _start("run", "go", "--stream", OPENAI_BASE_URL=server.base_url)
        assert process.stdout is not None
        output = await process.stdout.readexactly(2)
        await server.stop()
        done = await _end(process)
    assert (output, done.code) == (b"It", 1)
    assert "error: no connection to " in done.err
    assert "is the server running" in done.err


async def test_letters_that_no_terminal_knows_are_printed_as_question_marks() -> None:
    async with MockServer([ModelResponse("half a \ud83d letter")]) as server:
        plain, streamed = await asyncio.gather(_ask(server), _ask(server, "--stream"))
    assert (plain.code, plain.out) == (0, "half a ? letter\n")
    assert (streamed.code, streamed.out) == (0, "half a ? letter\n")


async def test_names_between_colons_stay_what_they_are(folder: Path) -> None:
    (folder / "smile.py").write_text(
        "def smile() -> str:\n    'Smile.'\n    return ':smile: ' + 'x' * 200\n"
    )
    call = ModelResponse(None, (RawToolCall("1", "smile", "{}"),))
    async with MockServer([call, ANSWER]) as server:
        done = await _ask(server, "--tools", "smile:smile", cwd=folder)
    assert done.err.splitlines()[1] == "← :smile: " + "x" * 200


async def test_a_file_of_the_working_folder_replaces_no_package(tmp_path: Path) -> None:
    (tmp_path / "aiohttp.py").write_text("raise SystemExit('taken over')\n")
    (tmp_path / "mine.py").write_text("def f() -> str:\n    'Do it.'\n    return 'done'\n")
    async with MockServer(["Here I am."]) as server:
        done = await _ask(server, "--tools", "mine:f", cwd=tmp_path)
    assert (done.code, done.out.strip()) == (0, "Here I am.")


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_images_and_pdfs_go_with_the_task(tmp_path: Path) -> None:
    (tmp_path / "plan.dat").write_bytes(PNG)
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.4\n%%EOF")
    async with StrictServer("openai", ["A plan."]) as server:
        files = ("--image", "plan.dat", "--image", "paper.pdf", "--model", "gpt-4.1")
        url = server.base_url
        done = await _run("?", *files, cwd=tmp_path, OPENAI_BASE_URL=url, OPENAI_API_KEY="k")
        assert (done.code, done.out) == (0, "A plan.\n")
        assert [seen.media_type for seen in server.attachments] == ["image/png", "application/pdf"]
        assert server.attachments[0].data == PNG


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.png", "missing.png cannot be read: No such file or directory"),
        ("notes.txt", "notes.txt is not an image of a known format; pass a PNG, JPEG, GIF or WebP"),
    ],
)
async def test_a_file_that_cannot_go_with_the_task_is_reported(
    name: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    done = await _run("What?", "--image", name, cwd=tmp_path, OPENAI_API_KEY="k")
    assert (done.code, done.out, done.err) == (2, "", f"error: {message}\n")


async def test_json_holds_no_opaque_data() -> None:
    script = [Output("A plan.", "Let me see.")]
    async with StrictServer("openai", script) as server:
        model = ("--model", "openai-responses:gpt-5.5", "--json")
        url = server.base_url
        done = await _run("What?", *model, OPENAI_BASE_URL=url, OPENAI_API_KEY="k")
    assert done.code == 0
    content = json.loads(done.out)
    assert content["output"] == "A plan."
    assert not {"parts", "opaque", "encrypted_content"} & set(re.findall(r"\w+", done.out))


async def test_a_policy_file_labels_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "my_tools.py").write_text(TOOLS)
    (tmp_path / "policy.yaml").write_text("sinks: {add: {a: any, b: {between: [0, 1]}}}")
    (tmp_path / "wrong.yaml").write_text("sinks: {subtract: control}")
    async with MockServer([CALL, ANSWER]) as server:
        arguments = ["run", "Add 1 and 2", "--tools", "my_tools:add", "--provenance"]
        environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "k"}
        done = await _end(await _start(*arguments, "policy.yaml", cwd=tmp_path, **environment))
        wrong = await _end(await _start(*arguments, "wrong.yaml", cwd=tmp_path, **environment))
        absent = await _end(await _start(*arguments, "absent.yaml", cwd=tmp_path, **environment))
    assert done.code == 0
    assert "`b` is not a number from 0 to 1" in str(server.requests[1])
    assert wrong.code == 2
    assert "'subtract', which is not a tool" in wrong.err
    assert absent.code == 2
