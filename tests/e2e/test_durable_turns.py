"""Turns that survive: servers killed in the middle of a turn, others that go on with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from tests.skillian.skills.making import make_skill
from tests.support.paced_model import HERE, PacedModel, by_model, paced_model
from tests.support.postgres import Database
from tests.support.serving import COMMAND, Serving, serving

from skillian.chat.direct import direct_message
from skillian.demo.ledger import write_demo
from tinyagent.core import RawToolCall

SECONDS = 60
QUESTION = "Count once, please"
# Servers are started one after the other, which takes its time where others compute too.
pytestmark = pytest.mark.timeout(400)

TOOLS = """
from pathlib import Path
from pydantic import BaseModel
from skillian.skills.skill import SkillTool

class Input(BaseModel):
    pass

async def count(asked):
    with Path("FILE").open("a") as file:
        file.write("counted\\n")
    return {"count": 4711}

def tools(services):
    return [SkillTool("count_once", "Count.", Input, count)]
"""


class Counting:
    """A tool call and a final answer; `asked` says how often each was asked for."""

    def __init__(self, model: PacedModel) -> None:
        self.asked: Counter[str] = Counter()
        model.says(QUESTION, self._call, self._answer)

    def _call(self, _body: dict[str, Any]) -> RawToolCall:
        self.asked["call"] += 1
        return RawToolCall("call_of_the_test", "count_once", "{}")

    def _answer(self, _body: dict[str, Any]) -> str:
        self.asked["answer"] += 1
        return f"It is {HERE} 4711."


@pytest.fixture
def model() -> Generator[PacedModel]:
    with paced_model() as answering:
        yield answering


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    """What the tool writes to."""
    return tmp_path / "counted.txt"


@pytest.fixture
def settings(tmp_path: Path, counted: Path, model: PacedModel) -> dict[str, str]:
    tools = TOOLS.replace("FILE", str(counted))
    folder = make_skill(tmp_path / "skills", "counting", {"tools.py": tools})
    return {
        "SKILLIAN_DURABLE": "true",
        "SKILLIAN_SKILLS": str(folder),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'skillian.db'}",
        **by_model(model),
    }


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    return write_demo(tmp_path / "demo")


def new_session(server: Serving) -> str:
    answer = requests.post(f"{server.url}/sessions", json={}, timeout=SECONDS)
    session: str = answer.json()["id"]
    return session


def asked(server: Serving, session: str, question: str = QUESTION) -> requests.Response:
    """The question's answer, as a stream that has begun."""
    return requests.post(
        f"{server.url}/sessions/{session}/chat",
        json={"message": question},
        headers={"Accept": "text/event-stream"},
        stream=True,
        timeout=SECONDS,
    )


def resumed(server: Serving, session: str, after: str = "0") -> list[dict[str, Any]]:
    """The events after this one, to the end of the turn."""
    answer = requests.get(
        f"{server.url}/sessions/{session}/events",
        headers={"Last-Event-ID": after},
        stream=True,
        timeout=SECONDS,
    )
    assert answer.status_code == 200, answer.text
    return list(read(answer))


def read(answer: requests.Response) -> Iterator[dict[str, Any]]:
    """The events of a stream: id, event, and the fields of its data."""
    event: dict[str, Any] = {}
    for raw in answer.iter_lines(chunk_size=1):
        line = raw.decode()
        if not line and event:
            yield {**json.loads(event.pop("data")), **event}
            event = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            event[name] = value


def until_half_said(answer: requests.Response) -> list[dict[str, Any]]:
    """The events up to the first half of the answer."""
    events: list[dict[str, Any]] = []
    for event in read(answer):
        events.append(event)
        if event["event"] == "delta" and event["text"].startswith("It is"):
            return events
    raise AssertionError(f"the answer was not begun: {events}")


def messages(server: Serving, session: str) -> list[dict[str, Any]]:
    answer = requests.get(f"{server.url}/sessions/{session}", timeout=SECONDS)
    found: list[dict[str, Any]] = answer.json()["messages"]
    return found


def check(
    server: Serving, session: str, before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> None:
    """The turn is whole, whoever has read which part of it."""
    events = resumed(server, session)
    assert [int(event["id"]) for event in events] == list(range(1, len(events) + 1))
    assert events == before + after
    assert [event["event"] for event in before] == [
        "turn_started",
        "model_finished",
        "tool_started",
        "tool_finished",
        "delta",
    ]
    assert (after[0]["event"], after[0]["kind"]) == ("delta", "restart")
    said = [event for event in after if event["event"] == "delta" and event["kind"] == "text"]
    assert "".join(event["text"] for event in said) == "It is 4711."
    kinds = [event["event"] for event in after if event["event"] != "delta"]
    assert kinds == ["model_finished", "answer", "turn_ended"]
    answer = after[-2]
    assert (answer["content"], answer["finished"]) == ("It is 4711.", True)
    assert [call["result"] for call in answer["tool_calls"]] == [{"count": 4711}]
    assert [message["role"] for message in messages(server, session)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_another_server_continues_with_the_turn(
    sources: Path,
    settings: dict[str, str],
    model: PacedModel,
    counted: Path,
    postgres_database: Database,
) -> None:
    settings["DATABASE_URL"] = postgres_database.url
    counting = Counting(model)
    with serving(sources, **settings) as first:
        session = new_session(first)
        with asked(first, session) as answer:
            before = until_half_said(answer)
            with serving(sources, **settings) as second:
                first.stop(signal.SIGKILL)
                model.wait_until_held(2)
                model.let_go()
                after = resumed(second, session, before[-1]["id"])
                check(second, session, before, after)
                assert second.stop() == 0
    assert counting.asked == {"call": 1, "answer": 2}
    assert counted.read_text() == "counted\n"


def test_a_restarted_server_continues_with_the_turn(
    sources: Path, settings: dict[str, str], model: PacedModel, counted: Path
) -> None:
    counting = Counting(model)
    with serving(sources, **settings) as server:
        session = new_session(server)
        with asked(server, session) as answer:
            before = until_half_said(answer)
            server.stop(signal.SIGKILL)
    with serving(sources, **settings) as server:
        model.wait_until_held(2)
        model.let_go()
        after = resumed(server, session, before[-1]["id"])
        check(server, session, before, after)
        assert server.stop() == 0
    assert counting.asked == {"call": 1, "answer": 2}
    assert counted.read_text() == "counted\n"


@contextmanager
def working(sources: Path, **settings: str) -> Generator[subprocess.Popen[str]]:
    """A worker that takes turns."""
    command: list[str | Path] = [COMMAND, "worker", "--sources", sources]
    with subprocess.Popen(
        command,
        cwd=sources.parent,
        env={**os.environ, **settings},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            first = next((line for line in process.stderr if "works on turns" in line), "")
            assert first, "the worker ended instead"
            yield process
        finally:
            process.kill()


def test_a_worker_takes_a_turn_over_and_hands_it_on(
    sources: Path,
    settings: dict[str, str],
    model: PacedModel,
    counted: Path,
    postgres_database: Database,
) -> None:
    settings["DATABASE_URL"] = postgres_database.url
    counting = Counting(model)
    with serving(sources, **settings) as server:
        session = new_session(server)
        with asked(server, session) as answer, working(sources, **settings) as worker:
            before = until_half_said(answer)
            server.stop(signal.SIGKILL)
            model.wait_until_held(2)
            worker.send_signal(signal.SIGTERM)
            model.let_go()  # the call under way is finished, and recorded
            assert worker.wait(SECONDS) == 0
    with serving(sources, **settings) as server:
        after = resumed(server, session, before[-1]["id"])
        check(server, session, before, after)
    assert counting.asked == {"call": 1, "answer": 2}
    assert counted.read_text() == "counted\n"


def test_a_changed_scope_is_answered_after_a_restart_without_a_model(
    sources: Path, settings: dict[str, str], model: PacedModel
) -> None:
    def ask(_body: dict[str, Any]) -> str:
        raise AssertionError("a direct call needs no model")

    model.says("Filters changed", ask)
    call = {"source": "fi_reporting", "measures": ["amount"], "filters": {"company": "1001"}}
    question = direct_message("Filters changed: company 1001", "query_source", call)
    with serving(sources, **settings) as first:
        session = new_session(first)
        with asked(first, session, question) as answer:
            before = next(read(answer))
            first.stop(signal.SIGKILL)
    with serving(sources, **settings) as second:
        after = resumed(second, session, before["id"])
        [said] = [event for event in after if event["event"] == "answer"]
        assert said["tool_calls"][0]["result"]["rows"] == [["2172539.90"]]
        assert said["scope"][0][0] == "fi_reporting"
        assert after[-1]["event"] == "turn_ended"
        assert [each["role"] for each in messages(second, session)][-1] == "assistant"
