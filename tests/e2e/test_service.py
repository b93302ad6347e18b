"""The service as processes: what its clients see, kill -9, two of them at one database."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import psycopg
import pytest
import requests
from tests.support.postgres import Database
from tests.support.serving import NotServing, serving
from tests.support.waits import until

from skillian.demo.ledger import write_demo

QUESTION = "Compare amounts between fi_reporting and bpc_reporting for company 1001"
STREAM = {"Accept": "text/event-stream", "Content-Type": "application/json"}
SECONDS = 60
# Each starts servers, a few seconds each where others compute too.
pytestmark = pytest.mark.timeout(180)

SOURCES = """
connections:
  here: ${DATA_URL}
sources:
  ledger:
    connection: here
    table: ledger
    description: One.
    dimensions: {company: {column: company}}
    measures: {amount: {column: amount, aggregation: sum}}
  planning:
    connection: here
    table: planning
    description: The other.
    dimensions: {company: {column: company}}
    measures: {amount: {column: amount, aggregation: sum}}
comparison:
  default_align_on: [company]
"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def slow(tmp_path: Path, postgres_database: Database) -> Path:
    """Sources whose statements wait as long as a test holds the table."""
    postgres_database.execute(
        "CREATE TABLE ledger AS SELECT '1001' AS company, 5::numeric AS amount;"
        "CREATE TABLE planning AS SELECT '1001' AS company, 6::numeric AS amount"
    )
    path = tmp_path / "sources.yaml"
    path.write_text(SOURCES)
    return path


class Lock:
    """Somebody else holds the table: who reads it waits."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def waiting(self) -> int:
        """How many statements wait for it."""
        found = self._database.value(
            "SELECT count(*) FROM pg_locks WHERE relation = 'planning'::regclass AND NOT granted"
        )
        return int(str(found))


@contextmanager
def locked(database: Database) -> Generator[Lock]:
    with psycopg.connect(database.url) as connection:
        connection.execute("LOCK TABLE planning IN ACCESS EXCLUSIVE MODE")
        yield Lock(database)


def chat(url: str, message: str, session: str | None = None) -> dict[str, Any]:
    body = {"message": message} | ({"session_id": session} if session else {})
    answer = requests.post(f"{url}/chat", json=body, timeout=SECONDS)
    assert answer.status_code == 200, answer.text
    reply: dict[str, Any] = answer.json()
    return reply


def messages(url: str, session: str) -> list[dict[str, Any]]:
    answer = requests.get(f"{url}/sessions/{session}", timeout=SECONDS)
    assert answer.status_code == 200, answer.text
    body: list[dict[str, Any]] = answer.json()["messages"]
    return body


def is_waiting(lock: Lock, statements: int) -> bool:
    return lock.waiting() == statements


def curl(*arguments: str) -> subprocess.Popen[str]:
    command = ["curl", "--silent", "--show-error", "--no-buffer", "--max-time", str(SECONDS)]
    return subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True)


def event(lines: IO[str] | None) -> dict[str, str]:
    """The next event of a stream; empty at its end."""
    assert lines is not None
    found: dict[str, str] = {}
    for line in lines:
        if not line.strip():
            if found:
                return found
        elif not line.startswith(":"):
            name, _, value = line.rstrip("\n").partition(": ")
            found[name] = value
    return found


def test_curl_reads_a_turn_as_it_happens(demo: Path, tmp_path: Path) -> None:
    with serving(demo, DATABASE_URL=f"sqlite:///{tmp_path / 's.db'}") as server:
        body = json.dumps({"message": QUESTION})
        headers = [part for item in STREAM.items() for part in ("-H", ": ".join(item))]
        with curl(f"{server.url}/chat", *headers, "-d", body) as client:
            events = []
            while found := event(client.stdout):
                events.append(found)
    kinds = [each["event"] for each in events]
    assert kinds[:4] == ["turn_started", "model_finished", "tool_started", "tool_finished"]
    assert kinds[-2:] == ["answer", "turn_ended"]
    assert [int(each["id"]) for each in events] == list(range(1, len(events) + 1))
    answer = json.loads(events[-2]["data"])
    assert answer["content"].startswith("7 of 12 groups match")
    assert answer["unverified"] == []


def test_a_client_that_goes_stops_the_statement(
    slow: Path, postgres_database: Database, tmp_path: Path
) -> None:
    settings = {
        "DATABASE_URL": f"sqlite:///{tmp_path / 's.db'}",
        "DATA_URL": postgres_database.url,
        "SKILLIAN_RESUME_SECONDS": "0",
    }
    with serving(slow, **settings) as server:
        question = {"message": "Compare amount between ledger and planning"}
        asked = {"source_a": "ledger", "source_b": "planning", "measures": ["amount"]}
        for path, body, headers in (
            ("/chat", question, STREAM),
            ("/chat", question, {"Content-Type": "application/json"}),
            ("/compare", asked, {"Content-Type": "application/json"}),
        ):
            words = [part for item in headers.items() for part in ("-H", ": ".join(item))]
            with locked(postgres_database) as lock:
                with curl(f"{server.url}{path}", *words, "-d", json.dumps(body)) as client:
                    until(partial(is_waiting, lock, 1), SECONDS)
                    client.kill()
                until(partial(is_waiting, lock, 0), SECONDS)


def test_after_kill_nothing_is_lost_and_the_turn_is_marked(
    slow: Path, postgres_database: Database, tmp_path: Path
) -> None:
    settings = {
        "DATABASE_URL": f"sqlite:///{tmp_path / 's.db'}",
        "DATA_URL": postgres_database.url,
    }
    with serving(slow, **settings) as server:
        session = chat(server.url, "Which sources are there?")["session_id"]
        before = messages(server.url, session)
        body = json.dumps({"message": "Compare amount between ledger and planning"})
        words = [part for item in STREAM.items() for part in ("-H", ": ".join(item))]
        with (
            locked(postgres_database) as lock,
            curl(f"{server.url}/sessions/{session}/chat", *words, "-d", body) as client,
        ):
            last: dict[str, str] = {}
            while last.get("event") != "tool_started":
                last = event(client.stdout)
            until(partial(is_waiting, lock, 1), SECONDS)
            server.stop(signal.SIGKILL)
            assert not event(client.stdout)
    with serving(slow, **settings) as server:
        # Ends as soon as the dead process is known to be dead.
        answer = requests.get(
            f"{server.url}/sessions/{session}/events",
            headers={"Last-Event-ID": last["id"]},
            timeout=SECONDS,
        )
        ends = [line for line in answer.text.splitlines() if line.startswith("event: ")]
        assert ends == ["event: turn_failed", "event: turn_ended"]
        contents = messages(server.url, session)
        assert contents[: len(before)] == before
        asked, broken = contents[len(before) :]
        assert asked == {"role": "user", "content": "Compare amount between ledger and planning"}
        assert (broken["role"], broken["broken"]) == ("assistant", True)
        reply = chat(server.url, "Compare amount between ledger and planning", session)
        assert reply["finished"] is True


def test_a_session_moves_between_two_processes(demo: Path, postgres_database: Database) -> None:
    settings = {"DATABASE_URL": postgres_database.url}
    with serving(demo, **settings) as one, serving(demo, **settings) as other:
        first = chat(one.url, QUESTION)
        session = first["session_id"]
        second = chat(other.url, "and for company 1002?", session)
        assert second["tool_calls"][0]["args"]["filters"] == {"company": "1002"}
        third = chat(one.url, "Which sources are there?", session)
        assert third["finished"] is True
        assert messages(one.url, session) == messages(other.url, session)
        asked = [each["content"] for each in messages(one.url, session) if each["role"] == "user"]
        assert asked == [QUESTION, "and for company 1002?", "Which sources are there?"]
        # What happens here can be read along there.
        events = requests.get(f"{other.url}/sessions/{session}/events", timeout=SECONDS).text
        assert events.count("event: turn_ended") == 3


def test_ctrl_c_and_a_stop_end_it_in_order(demo: Path, tmp_path: Path) -> None:
    settings = {"DATABASE_URL": f"sqlite:///{tmp_path / 's.db'}"}
    with serving(demo, **settings) as server:
        session = chat(server.url, "Which sources are there?")["session_id"]
        assert server.stop(signal.SIGTERM) == 0
        assert "Traceback" not in server.log
    with serving(demo, **settings) as server:
        assert [each["role"] for each in messages(server.url, session)][-1] == "assistant"
        assert server.stop(signal.SIGINT) == 0


@pytest.mark.parametrize("is_asked", [False, True])
def test_requests_are_logged_when_asked(demo: Path, tmp_path: Path, *, is_asked: bool) -> None:
    words = ("--log-requests",) if is_asked else ()
    settings = {"DATABASE_URL": f"sqlite:///{tmp_path / 's.db'}"}
    with serving(demo, *words, **settings) as server:
        assert requests.get(f"{server.url}/sources", timeout=SECONDS).status_code == 200
        assert server.stop(signal.SIGTERM) == 0
    assert ('"route": "/sources"' in server.log) == is_asked
    assert ('"level": "info"' in server.log) == is_asked


def refused(demo: Path, *words: str, **settings: str) -> str:
    with pytest.raises(NotServing) as failure, serving(demo, *words, **settings):
        pass
    return str(failure.value)


def test_it_refuses_to_serve_others_without_keys(demo: Path, tmp_path: Path) -> None:
    message = refused(demo, "--host", "0.0.0.0")  # noqa: S104 - is refused
    assert "set SKILLIAN_API_KEYS" in message
    assert "Traceback" not in message
    settings = {
        "SKILLIAN_API_KEYS": "a-key-of-the-test-0123",
        "DATABASE_URL": f"sqlite:///{tmp_path / 's.db'}",
    }
    with serving(demo, "--host", "0.0.0.0", **settings) as server:  # noqa: S104 - has a key
        port = server.url.rpartition(":")[2]
        address = f"http://127.0.0.1:{port}"
        assert requests.get(f"{address}/health", timeout=SECONDS).status_code == 200
        assert requests.get(f"{address}/sessions", timeout=SECONDS).status_code == 401
        key = {"Authorization": "Bearer a-key-of-the-test-0123"}
        answer = requests.get(f"{address}/sessions", headers=key, timeout=SECONDS)
        assert answer.status_code == 200
        assert "a-key-of-the-test" not in server.log


def test_what_it_cannot_start_with_is_a_sentence(demo: Path, tmp_path: Path) -> None:
    for settings in (
        {"DATABASE_URL": "mysql://user:secret@host/db"},
        {"DATABASE_URL": "postgresql://user:secret@localhost:1/db"},
        {"SKILLIAN_API_KEYS": "too-short"},
        {"SKILLIAN_RETENTION_DAYS": "x"},
    ):
        message = refused(demo, **settings)
        assert "Traceback" not in message, message
        assert "secret" not in message
        assert "too-short" not in message
