"""The page of a real server: who gets in, and what it answers with."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path

import aiohttp
import pytest
from tests.support.serving import COMMAND, UNCOUNTED, Serving
from tests.support.waits import until

KEYS = ("first-key-0123456789", "second-key-0123456789")
pytestmark = pytest.mark.timeout(180)  # processes start while others compute
SOCKET = "/ui/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def server(folder: Path) -> Generator[Serving]:
    """`skillian demo --serve`, with keys."""
    command: list[str | Path] = [COMMAND, "demo", "--serve", "--port", "0"]
    running = Serving(command, folder, SKILLIAN_API_KEYS=",".join(KEYS), **UNCOUNTED)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.stop(signal.SIGKILL)


async def signed_in(http: aiohttp.ClientSession, key: str = KEYS[0]) -> aiohttp.ClientResponse:
    async with http.post("/ui/login", json={"key": key}) as answer:
        return answer


def browser(server: Serving) -> aiohttp.ClientSession:
    """A client that keeps cookies, also for an IP address."""
    return aiohttp.ClientSession(server.url, cookie_jar=aiohttp.CookieJar(unsafe=True))


async def test_a_browser_without_a_key_is_redirected_to_the_form(server: Serving) -> None:
    async with browser(server) as http:
        for path in ("/", "/ui", "/ui/", "/ui/chat/x", "/ui/settings"):
            async with http.get(path) as answer:
                assert answer.status == 200
                assert answer.url.path == "/ui/login"
                assert 'type="password"' in await answer.text()
        for path in ("/sessions", "/ui/plots/x"):
            async with http.get(path, allow_redirects=False) as answer:
                assert answer.status in {401, 303}


async def test_a_wrong_key_is_refused(server: Serving) -> None:
    async with browser(server) as http:
        for key in ("wrong-key-0123456789", "", KEYS[0][:-1]):
            answer = await signed_in(http, key)
            assert answer.status == 401
            assert "Set-Cookie" not in answer.headers
        async with http.post("/ui/login", json={"key": KEYS[0], "x": 1}) as answer:
            assert answer.status == 422
            assert KEYS[0] not in await answer.text()


async def test_a_key_opens_the_page_and_its_own_sessions(server: Serving) -> None:
    async with browser(server) as one, browser(server) as other:
        answer = await signed_in(one)
        assert answer.status == 204
        cookie = answer.headers["Set-Cookie"].lower()
        for part in ("httponly", "samesite=strict", "path=/"):
            assert part in cookie
        assert KEYS[0] not in cookie
        await signed_in(other, KEYS[1])
        async with one.post("/sessions", json={"title": "Mine"}) as made:
            session = (await made.json())["id"]
        async with one.get(f"/ui/chat/{session}") as page:
            assert "Mine" in await page.text()
        async with other.get(f"/ui/chat/{session}") as page:
            text = await page.text()
            assert "Mine" not in text
            assert "This session does not exist, or no longer exists." in text
        old = {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}
        async with one.delete("/ui/login") as left:
            assert left.status == 204
        async with one.get("/sessions") as gone:
            assert gone.status == 401
        async with other.get("/sessions") as still:
            assert still.status == 200
        for path in ("/sessions", f"/ui/chat/{session}"):
            async with (
                aiohttp.ClientSession(server.url) as copied,
                copied.get(path, headers=old, allow_redirects=False) as refused,
            ):
                assert refused.status == (303 if path.startswith("/ui") else 401)


@pytest.mark.parametrize("forged", ["x", "a.b.c", "0" * 64, "é", ""])
async def test_a_cookie_that_this_server_did_not_sign_is_refused(
    server: Serving, forged: str
) -> None:
    headers = {"Cookie": f"skillian-key={forged}"}
    async with (
        aiohttp.ClientSession(server.url) as http,
        http.get("/sessions", headers=headers) as answer,
    ):
        assert answer.status == 401


async def test_pages_of_other_origins_can_use_neither_the_cookie_nor_the_socket(
    server: Serving,
) -> None:
    elsewhere = {"Origin": "http://127.0.0.1:1"}
    own = {"Origin": server.url}
    async with browser(server) as http:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await http.ws_connect(SOCKET, headers=own)
        assert refused.value.status == 401
        await signed_in(http)
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await http.ws_connect(SOCKET, headers=elsewhere)
        assert refused.value.status == 403
        async with http.ws_connect(SOCKET, headers=own) as socket:
            assert (await socket.receive_str()).startswith('0{"sid"')
        for headers, status in ((elsewhere, 403), (own, 201), ({}, 201)):
            async with http.post("/sessions", headers=headers) as answer:
                assert answer.status == status


async def test_a_document_names_no_other_host_and_unknown_paths_answer_404(
    server: Serving,
) -> None:
    async with browser(server) as http:
        await signed_in(http)
        async with http.get("/ui/") as answer:
            text = await answer.text()
            policy = answer.headers["Content-Security-Policy"]
        assert not re.findall(r'(?:src|href)=["\'](?:https?:)?//', text)
        assert "default-src 'none'" in policy
        assert "nonce-" in policy
        for path in ("/ui/nothing", "/ui/runs/x/y"):
            async with http.get(path) as answer:
                assert answer.status == 404
                assert "This page does not exist, or no longer exists." in await answer.text()
        async with http.get("/nothing") as answer:
            assert (answer.status, (await answer.json())["code"]) == (404, "not_found")


def test_the_demo_leaves_no_files_and_ends_without_errors(tmp_path: Path) -> None:
    server = Serving([COMMAND, "demo", "--serve", "--port", "0"], tmp_path)
    until(lambda: f"The page: {server.url}/" in server.log)
    assert server.stop(signal.SIGINT) == 0
    assert "nanobind" not in server.log
    assert "Traceback" not in server.log
    assert list(tmp_path.iterdir()) == []


def test_a_port_in_use_is_reported(server: Serving, folder: Path) -> None:
    port = server.url.rpartition(":")[2]
    command = [COMMAND, "demo", "--serve", "--port", port]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Address already in use" in done.stderr
    assert "Traceback" not in done.stderr
