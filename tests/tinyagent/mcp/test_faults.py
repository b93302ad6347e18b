"""Servers that die, hang, or send rubbish: a typed error each time, and nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from tests.support.waits import SECONDS

from tinyagent import ReactAgent, ScriptedModel, Tool, scripted_call
from tinyagent.core.errors import ConfigurationError, ToolServerError
from tinyagent.mcp import mcp_tools

Command = Callable[[str], list[str]]


def _named(tools: list[Tool], name: str) -> Tool:
    return next(tool for tool in tools if tool.name == name)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _runs(pid: int) -> bool:
    """Whether it is there and more than an entry that nobody has collected yet."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}


def _children(pid: int) -> set[int]:
    return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


@pytest.fixture
def new_children() -> Callable[[], set[int]]:
    """The processes that the test has started and that are still there."""
    before = _children(os.getpid())
    return lambda: _children(os.getpid()) - before


async def _connect(*addresses: Any, **options: Any) -> None:
    async with mcp_tools(*addresses, **options):
        raise AssertionError("not reached")


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("silent", "did not connect and list its tools within 0.5 s"),
        ("garbage", "did not connect and list its tools within 0.5 s"),
        ("nonsense", "sent something that is not MCP: .*protocolVersion: Field required"),
        ("many", "has more than 200 tools .allow more with mcp_tools"),
        ("endless", "lists its tools on more than 100 pages"),
    ],
)
async def test_a_server_that_cannot_be_used(
    faulty: Command, new_children: Callable[[], set[int]], mode: str, message: str
) -> None:
    limit = 0.5 if mode in {"silent", "garbage"} else 30
    with pytest.raises(ToolServerError, match=message):
        await _connect(faulty(mode), connect_timeout=limit)
    assert not new_children()


async def test_a_command_that_ends_at_once() -> None:
    with pytest.raises(ToolServerError, match="ended the connection"):
        await _connect([sys.executable, "-c", "raise SystemExit(1)"])


async def test_more_tools_can_be_allowed(faulty: Command) -> None:
    async with mcp_tools(faulty("many"), max_tools=3_000) as tools:
        assert len(tools) == 3_000


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (["/nowhere/at/all", "--key=private"], "'/nowhere/at/all' cannot be started: No such file"),
        ([], "the command of an MCP server is empty"),
        ("my-server --stdio", "write http://... or https://..., or a command as a list"),
        (42, "42 is not an MCP server; pass a URL"),
    ],
)
async def test_an_address_that_is_none(address: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as error:
        await _connect(address)
    assert "private" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("die", "ended the connection"),
        ("hang", "did not answer the call to 'hang' within 2 s"),
        ("nonsense", "sent something that is not MCP: .*Input should be a valid list"),
        ("refuse", "answered with an error: there is no tools/call here"),
    ],
)
async def test_a_call_that_fails(faulty: Command, name: str, message: str) -> None:
    limit = 2 if name == "hang" else 30
    async with mcp_tools(faulty("plain"), timeout=limit) as tools:
        with pytest.raises(ToolServerError, match=message):
            await _named(tools, name).run({})
        if name == "die":
            with pytest.raises(ToolServerError, match="ended the connection"):
                await _named(tools, "pid").run({})
        else:
            assert (await _named(tools, "pid").run({})).isdigit()


async def test_an_abandoned_call_ends_at_once_and_notifies_the_server(
    faulty: Command,
) -> None:
    async with mcp_tools(faulty("plain"), timeout=2) as tools:
        async with asyncio.timeout(30):
            with pytest.raises(ToolServerError, match="did not answer"):
                await _named(tools, "hang").run({})
        assert await _named(tools, "cancellations").run({}) == "1"


async def test_the_model_reads_of_the_failure(faulty: Command) -> None:
    async with mcp_tools(faulty("plain")) as tools:
        model = ScriptedModel([scripted_call("die"), "It died."])
        result = await ReactAgent(model, tools).run("try")
    assert "ended the connection" in result.steps[0].results[0].content


async def test_a_server_gets_no_secrets_of_the_environment(
    faulty: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "private")
    command = faulty("plain")
    given = StdioServerParameters(command=command[0], args=command[1:], env={"GIVEN": "to it"})
    for address in (command, given):
        async with mcp_tools(address) as tools:
            seen = json.loads(await _named(tools, "environment").run({}))
        assert "PATH" in seen
        assert "OPENAI_API_KEY" not in seen
        assert seen.get("GIVEN") == (None if address is command else "to it")


async def test_the_process_ends_with_the_block(faulty: Command) -> None:
    async with mcp_tools(faulty("plain")) as tools:
        pid = int(await _named(tools, "pid").run({}))
        assert _is_alive(pid)
    assert not _is_alive(pid)


async def test_a_process_that_does_not_want_to_end_is_killed_with_its_children(
    faulty: Command,
) -> None:
    async with mcp_tools(faulty("stubborn")) as tools:
        pid = int(await _named(tools, "pid").run({}))
        (child,) = _children(pid)
    assert not _is_alive(pid)
    assert not _runs(child)


async def test_an_error_in_the_block_passes_through_and_ends_the_process(faulty: Command) -> None:
    pids: list[int] = []

    async def fail() -> None:
        async with mcp_tools(faulty("plain")) as tools:
            pids.append(int(await _named(tools, "pid").run({})))
            raise LookupError("the block's own")

    with pytest.raises(LookupError, match="the block's own"):
        await fail()
    assert not _is_alive(pids[0])


async def test_cancelling_a_run_cancels_the_call_and_ends_the_process(faulty: Command) -> None:
    pids: list[int] = []
    calling = asyncio.Event()

    async def work() -> None:
        async with mcp_tools(faulty("plain")) as tools:
            pids.append(int(await _named(tools, "pid").run({})))
            calling.set()
            await _named(tools, "hang").run({})

    task = asyncio.create_task(work())
    await calling.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not _is_alive(pids[0])
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_cancelling_while_it_closes_still_ends_the_process(faulty: Command) -> None:
    pids: list[int] = []
    leaving = asyncio.Event()

    async def work() -> None:
        async with mcp_tools(faulty("stubborn")) as tools:
            pids.append(int(await _named(tools, "pid").run({})))
            leaving.set()

    task = asyncio.create_task(work())
    await leaving.wait()
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not _is_alive(pids[0])


async def test_cancelling_while_it_connects_leaves_nothing(
    faulty: Command, new_children: Callable[[], set[int]]
) -> None:
    task = asyncio.create_task(_connect(faulty("silent")))
    while not new_children():
        await asyncio.wait([task], timeout=0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not new_children()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_when_one_server_fails_the_others_are_ended(
    faulty: Command, new_children: Callable[[], set[int]]
) -> None:
    with pytest.raises(ToolServerError, match="more than 100 pages"):
        await _connect(faulty("plain"), faulty("endless"))
    assert not new_children()


async def test_tools_outlive_neither_their_block_nor_their_loop(faulty: Command) -> None:
    errors: list[BaseException] = []

    def elsewhere(tool: Tool) -> None:
        try:
            asyncio.run(tool.run({}))
        except ConfigurationError as error:
            errors.append(error)

    async with mcp_tools(faulty("plain")) as tools:
        thread = threading.Thread(target=elsewhere, args=[tools[-1]])
        thread.start()
        thread.join()
    assert "belong to another event loop" in str(errors[0])
    with pytest.raises(ToolServerError, match="is closed; use its tools inside"):
        await tools[-1].run({})


@contextlib.asynccontextmanager
async def _web_server(reply: bytes | None) -> AsyncGenerator[str]:
    """Answers each request with `reply`, or not at all."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        if reply is not None:
            writer.write(reply)
            await writer.drain()
            writer.close()
        await asyncio.wait_for(reader.read(), SECONDS)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://user:private@127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp?key=private"


HTML = b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"


@pytest.mark.parametrize(
    "reply",
    [
        None,
        b"",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        HTML % b"200 OK",
        HTML % b"401 Unauthorized",
        HTML % b"404 Not Found",
        HTML % b"500 Internal Server Error",
    ],
)
async def test_an_http_server_that_speaks_no_mcp(reply: bytes | None) -> None:
    async with _web_server(reply) as url:
        with pytest.raises(ToolServerError, match=r"http://127\.0\.0\.1:\d+/mcp ") as error:
            await _connect(url, connect_timeout=1 if reply is None else 20)
    assert "private" not in str(error.value)


async def test_the_sdk_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(ConfigurationError, match="needs the extra 'mcp'"):
        await _connect("http://127.0.0.1:1/mcp")


def test_the_room_itself_loads_no_sdk() -> None:
    program = "import sys, tinyagent.mcp; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
