"""Each input of the service, far over its bound, while others are answered.

A hundred times over, or as far as an outer bound, such as that of the body, lets it come.

The table in docs/security.md names the bounds.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from tests.support.serving import UNCOUNTED, Serving, serving
from tests.support.watching import watched
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from skillian.api.limits import (
    FRAMES_PER_MINUTE,
    MAX_DEPTH,
    MAX_FRAME,
    MAX_HEAD,
    MAX_HEADERS,
    MAX_TARGET,
    MAX_VALUES,
)
from skillian.api.protocols.openai_schemas import MAX_MESSAGES, MAX_PARTS
from skillian.api.routes.comparisons import MAX_FILTERS, MAX_ROWS, MAX_STATUSES
from skillian.api.routes.sessions import MAX_OFFSET
from skillian.api.service import MAX_MESSAGE
from skillian.data.query.filters import MAX_VALUES as MAX_FILTER_VALUES
from skillian.data.sql.values import MAX_TEXT
from skillian.demo.ledger import write_demo

pytestmark = pytest.mark.timeout(300)

KEY = "key-of-the-bounds-test-0123"
AUTHORIZED = {"Authorization": f"Bearer {KEY}"}
AS_JSON = {"Content-Type": "application/json"}
SECONDS = 120
BODY = 1024 * 1024
STALL_SECONDS = 0.25
GROWN_BYTES = 100 * 1024 * 1024
SOCKET = "/ui/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
PAIR: dict[str, Any] = {"source_a": "fi_reporting", "source_b": "bpc_reporting"}
ASKED: dict[str, Any] = {**PAIR, "measures": ["amount"]}
NAME = 200

Send = Callable[[Serving], set[int]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Serving]:
    folder: Path = write_demo(tmp_path_factory.mktemp("bounds"))
    with serving(folder, SKILLIAN_API_KEYS=KEY, **UNCOUNTED) as running:
        for path, body in (("/compare", ASKED), ("/chat", {"message": "Which sources are there?"})):
            answer = requests.post(
                f"{running.url}{path}", json=body, headers=AUTHORIZED, timeout=60
            )
            assert answer.status_code == 200, answer.text
        requests.get(f"{running.url}/ui/", headers=AUTHORIZED, timeout=60).raise_for_status()
        yield running
        assert running.process.poll() is None
        assert "Traceback" not in running.log


def posted(path: str, body: Any, **headers: str) -> Send:
    """A request with this body, or with what it returns: large ones are made when they are sent."""

    def send(server: Serving) -> set[int]:
        content = body() if callable(body) else body
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        given = {**AUTHORIZED, **AS_JSON, **headers}
        answer = requests.post(f"{server.url}{path}", data=data, headers=given, timeout=SECONDS)
        return {answer.status_code}

    return send


def got(path: str, **headers: str) -> Send:
    def send(server: Serving) -> set[int]:
        given = {**AUTHORIZED, **headers}
        return {requests.get(f"{server.url}{path}", headers=given, timeout=SECONDS).status_code}

    return send


def streamed(server: Serving) -> set[int]:
    """A body without a Content-Length."""

    def parts() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * BODY

    given = {**AUTHORIZED, **AS_JSON}
    answer = requests.post(f"{server.url}/chat", data=parts(), headers=given, timeout=SECONDS)
    return {answer.status_code}


def raw(head: bytes, part: bytes, times: int, connections: int = 1, *, long: int = 1) -> Send:
    """Written as it stands, on some connections at once, until the server has enough."""

    def send(server: Serving) -> set[int]:
        place = urlsplit(server.url)
        opened = [
            socket.create_connection((place.hostname, place.port)) for _ in range(connections)
        ]
        statuses: set[int] = set()
        for each in opened:
            each.settimeout(SECONDS)
            with suppress(ConnectionError):
                each.sendall(head)
        content = part * long
        for _ in range(times):
            for each in opened:
                with suppress(ConnectionError):
                    each.sendall(content)
        for each in opened:
            with each, suppress(ConnectionError):
                answer = each.recv(100)
                statuses |= {int(answer.split()[1])} if answer else set()
        return statuses or {400}  # it was closed while it was written to

    return send


def frames(frame: Any, times: int) -> Send:
    """Said by a page's socket, until it is closed; a callable returns what is said."""

    def send(server: Serving) -> set[int]:
        content = frame() if callable(frame) else frame
        url = server.url.replace("http", "ws", 1) + SOCKET
        with connect(url, additional_headers=AUTHORIZED, origin=server.url) as opened:  # type: ignore[arg-type]
            try:
                for _ in range(times):
                    opened.send(content)
                while True:
                    opened.recv(SECONDS)
            except ConnectionClosed as closed:
                return {closed.rcvd.code if closed.rcvd else 1006}

    return send


def repeated(send: Send, times: int) -> Send:
    def each(server: Serving) -> set[int]:
        return {status for _ in range(times) for status in send(server)}

    return each


def called(arguments: dict[str, Any], tool: str = "compare_sources") -> Send:
    """A call of a tool by MCP; an error is within the answer."""
    call = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    return posted("/mcp", body, Accept="application/json, text/event-stream")


def said(role: str, content: Any, times: int) -> list[dict[str, Any]]:
    return [{"id": str(n), "role": role, "content": content} for n in range(times)]


def ag_ui(messages: Any, **more: Any) -> Send:
    run = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": []}
    return posted("/ag-ui", {**run, "forwardedProps": {}, "messages": messages, **more})


def filtered(filters: Any) -> Send:
    return posted("/compare", {**ASKED, "filters": filters})


def completed(**given: Any) -> Send:
    asked = {"model": "skillian", "messages": said("user", "Which sources are there?", 1)}
    return posted("/v1/chat/completions", {**asked, **given})


NUMBERS = [str(number) for number in range(100 * MAX_FILTER_VALUES)]
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"

CASES: dict[str, tuple[Send, set[int]]] = {
    "a body": (streamed, {413}),
    "a body with its length": (posted("/chat", lambda: b" " * (100 * BODY)), {413}),
    "values of a body": (posted("/chat", b"[" + b"[]," * (BODY // 4)), {422}),
    "as many values as there may be, all wrong": (
        posted("/v1/chat/completions", {"messages": [[]] * (MAX_VALUES // 2 - 10)}),
        {400},
    ),
    "faults of a list": (completed(messages=[{"role": "x"}] * MAX_MESSAGES), {400}),
    "depth of a body": (posted("/compare", b'{"filters":' + b"[" * (100 * MAX_DEPTH)), {422}),
    "a header": (raw(GET + b"X: ", b"x" * MAX_HEAD, 100), {400, 431}),
    "headers without an end": (raw(GET + b"X: ", b"x", 1, 4, long=50_000_000), {400, 431}),
    "how many headers": (raw(GET, b"X: y\r\n" * MAX_HEADERS, 100), {400, 431}),
    "an address": (raw(b"GET /", b"x" * MAX_TARGET, 100), {400, 414}),
    "a path": (got(f"/sessions/{'x' * (MAX_TARGET - 100)}"), {422}),
    "a file's name": (got(f"/artifacts/{'x' * (MAX_TARGET - 100)}"), {404}),
    "a comparison's key": (got(f"/comparisons/{'x' * 10_000}"), {422}),
    "a run's name": (got(f"/runs/{'x' * 16_000}"), {404, 422}),
    "a model's name": (got(f"/v1/models/{'x' * 16_000}"), {404}),
    "a page's address": (got(f"/ui/chat/{'x' * 16_000}"), {200}),
    "an event's number": (got("/sessions/x/events", **{"Last-Event-ID": "9" * 2000}), {422}),
    "a preference": (posted("/compare", ASKED, Prefer="x" * 20_000), {422}),
    "a request's id": (got("/health", **{"X-Request-ID": "x" * 6400}), {200}),
    "values of a filter": (filtered({"company": NUMBERS}), {422}),
    "nearly all values of a body, in a filter": (
        filtered({"company": NUMBERS[: MAX_VALUES - 100]}),
        {422},
    ),
    "as many values of a filter as there may be": (
        filtered({"company": NUMBERS[:MAX_FILTER_VALUES]}),
        {200},
    ),
    "filters": (filtered({f"d{number}": 1 for number in range(2000)}), {422}),
    "a value's text": (filtered({"company": "x" * (100 * MAX_TEXT)}), {422}),
    "a value's digits": (filtered({"company": 10**4200}), {422}),
    "an operator": (filtered({"company": {"x" * 100_000: 1}}), {422}),
    "a name": (posted("/compare", {**ASKED, "source_a": "x" * (100 * NAME)}), {422}),
    "a dimension's name": (filtered({"x" * (100 * NAME): 1}), {422}),
    "measures": (posted("/compare", {**PAIR, "measures": ["amount"] * 1000}), {422}),
    "dimensions": (posted("/compare", {**ASKED, "align_on": ["company"] * 2000}), {422}),
    "digits of a limit": (
        posted("/compare", {**ASKED, "thresholds": {"match": {"absolute": "9" * 2700}}}),
        {422},
    ),
    "a message": (posted("/chat", {"message": "a " * (BODY // 2 - 100)}), {422}),
    "a question": (posted("/chat", {"message": "a " * (MAX_MESSAGE // 2 - 10)}), {200}),
    "a title": (posted("/sessions", {"title": "x" * 50_000}), {422}),
    "a reason": (
        posted("/sessions/x/approvals/y", {"approved": False, "reason": "x" * 100_000}),
        {422},
    ),
    "a search": (posted("/knowledge/search", {"query": "why " * 25_000}), {422}),
    "a page's offset": (got(f"/sessions?offset={MAX_OFFSET * 100}"), {422}),
    "a page's length": (got(f"/comparisons/x/rows?limit={MAX_ROWS * 100}"), {422}),
    "classes": (got(f"/comparisons/x/rows?{'status=match&' * (60 * MAX_STATUSES)}"), {422}),
    "tests of columns": (
        got(f"/comparisons/x/rows?where=[{'1,' * (100 * MAX_FILTERS)}1]"),
        {422},
    ),
    "a test's depth": (got(f"/comparisons/x/rows?where={'[' * (100 * MAX_DEPTH)}"), {422}),
    "a key": (posted("/ui/login", {"key": "x" * 100_000}), {422}),
    "messages of a completion": (completed(messages=[{}] * (MAX_VALUES // 2 - 10)), {400}),
    "a long conversation of a completion": (
        completed(messages=said("user", "a " * 500, MAX_MESSAGES)),
        {200},
    ),
    "parts of a message": (
        completed(messages=said("user", [{"type": "text", "text": "a"}] * (20 * MAX_PARTS), 1)),
        {400},
    ),
    "a model of a completion": (completed(model="x" * 100_000), {404}),
    "a thread of AG-UI": (ag_ui(said("user", "x", 1), threadId="x" * 100_000), {422}),
    "half a character as a thread of AG-UI": (ag_ui(said("user", "x", 1), runId="\ud800"), {422}),
    "messages of AG-UI": (ag_ui(said("user", "a", 4 * MAX_MESSAGES)), {422}),
    "wrong messages of AG-UI": (ag_ui([{}] * (MAX_VALUES // 2 - 100)), {422}),
    "a long conversation of AG-UI": (ag_ui(said("user", "a " * 500, MAX_MESSAGES)), {200}),
    "values of AG-UI": (ag_ui(said("user", "x", 1), context=[[]] * (MAX_VALUES * 10)), {422}),
    "values of a call by MCP": (called({**ASKED, "filters": {"company": NUMBERS}}), {422}),
    "nearly all values of a body, in a call by MCP": (
        called({**ASKED, "filters": {"company": NUMBERS[: MAX_VALUES - 100]}}),
        {200},
    ),
    "a name of a call by MCP": (called({**ASKED, "source_a": "x" * 900_000}), {200}),
    "names of a call by MCP": (called({**ASKED, "align_on": NUMBERS[: MAX_VALUES - 100]}), {200}),
    "unknown arguments by MCP": (called(dict.fromkeys(NUMBERS[: MAX_VALUES - 100])), {200}),
    "a tool's name by MCP": (called({}, "x" * 900_000), {200, 400}),
    "no call by MCP": (posted("/mcp", [[]] * (MAX_VALUES // 2 - 10)), {400, 406}),
    "a message of a socket": (frames(lambda: "4" * (100 * MAX_FRAME), 1), {1009}),
    "a binary message of a socket": (frames(b"4" * (MAX_FRAME + 1), 1), {1009}),
    "messages of a socket": (frames("3", 100 * FRAMES_PER_MINUTE), {1008}),
    "a page that is not there, without a key": (
        repeated(got("/ui/_nicegui/x1", Authorization=""), 300),
        {404},
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_what_is_too_much_is_refused_while_others_are_answered(what: str, server: Serving) -> None:
    send, expected = CASES[what]
    with watched(server) as watch:
        statuses = send(server)
    assert statuses
    assert statuses <= expected
    assert max(watch.stalls, default=0) <= STALL_SECONDS
    assert watch.grown <= GROWN_BYTES
