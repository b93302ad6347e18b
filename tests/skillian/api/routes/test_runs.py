"""Runs over HTTP: comparisons in the background and turns."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from tests.skillian.api.conftest import KEYS, Opened, Serve
from tests.skillian.api.models import HeldModel
from tests.skillian.api.routes.test_comparisons import ASKED, compared
from tests.support.waits import soon

from skillian.api import jobs
from skillian.api.comparisons import Comparisons
from skillian.chat import durable_turns
from skillian.data.declare.saved import SavedComparison
from skillian.errors import QueryError
from skillian.tasks import Progress

LATER = {"Prefer": "wait=10, Respond-Async"}
ANY = ("queued", "running", "completed")


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_KEEP_SECONDS", 0.05)
    monkeypatch.setattr(durable_turns, "_TEND_SECONDS", 0.1)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    """Comparisons of this process wait until they are released."""
    holding = Held()
    monkeypatch.setattr(Comparisons, "compare", holding.compare)
    return holding


class Held:
    """A comparison that has begun, and does not end."""

    def __init__(self) -> None:
        self.begun = 0
        self.cancelled = 0
        self.fault: Exception | None = None
        self.go_on = asyncio.Event()
        self._compare = Comparisons.compare

    async def compare(
        self, asked: SavedComparison, _owner: str, progress: Progress | None = None
    ) -> dict[str, Any]:
        self.begun += 1
        assert progress is not None
        progress(asked.a, self.begun)
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.fault is not None:
            raise self.fault
        return {"cache_key": "k"}


async def asked_later(client: Opened, key: str = "", **given: Any) -> tuple[str, dict[str, Any]]:
    """Where to look for the comparison, and its state so far."""
    headers = {**LATER, **of(key)}
    async with client.post("/compare", json={**ASKED, **given}, headers=headers) as answer:
        assert answer.status == 202, await answer.text()
        assert answer.headers["Preference-Applied"] == "respond-async"
        return answer.headers["Location"], await answer.json()


async def until(client: Opened, place: str, *states: str, key: str = "") -> dict[str, Any]:
    """The run, once it is in one of these states."""
    async with asyncio.timeout(60):
        while True:
            async with client.get(place, headers=of(key)) as answer:
                assert answer.status == 200, await answer.text()
                body: dict[str, Any] = await answer.json()
            if body["state"] in states:
                return body
            await asyncio.sleep(0.02)


def of(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


async def test_a_comparison_runs_in_the_background(serve: Serve) -> None:
    async with serve() as client:
        place, body = await asked_later(client)
        assert (body["kind"], body["title"]) == ("comparison", "fi_reporting and bpc_reporting")
        ended = await until(client, place, "completed", "error")
        assert (ended["state"], ended["error"]) == ("completed", None)
        assert ended["cache_key"] == (await compared(client))["cache_key"]
        async with client.get(f"/comparisons/{ended['cache_key']}") as answer:
            assert (await answer.json())["summary"]["by_status"]["match"] == 7
        async with client.get("/runs") as answer:
            assert [run["id"] for run in (await answer.json())["runs"]] == [body["id"]]
        async with client.post(f"{place}/cancel") as answer:
            assert answer.status == 409
            assert "has already ended: completed" in (await answer.json())["detail"]


async def test_a_wrong_comparison_is_refused_at_once(serve: Serve) -> None:
    async with serve() as client:
        asked = {**ASKED, "source_b": "bpc_reportin"}
        async with client.post("/compare", json=asked, headers=LATER) as answer:
            assert answer.status == 422
            assert (await answer.json())["available_sources"][0] == "bpc_reporting"
        rows = {"source_a": "fi_reporting", "source_b": "fi_reporting"}
        wrong = {
            "key": ["nothing"],
            "columns": ["nothing"],
            "ignore": ["nothing"],
            "map": {"nothing": "company"},
            "filters": {"posting_date": "nothing"},
            "rules": {"columns": {"nothing": {"trim": True}}},
        }
        for name, value in wrong.items():
            asked = {**rows, name: value}
            async with client.post("/compare", json=asked, headers=LATER) as answer:
                assert answer.status == 422, name
        async with client.get("/runs") as answer:
            assert (await answer.json())["runs"] == []


async def test_a_key_has_a_limit_of_queued_comparisons(
    serve: Serve, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MAX_WAITING", 2)
    async with serve() as client:
        places = [(await asked_later(client))[0] for _ in range(2)]
        for place in places:
            await until(client, place, "running")
        for _ in range(2):  # two are made at once for a key, and two wait
            await asked_later(client)
        async with client.post("/compare", json=ASKED, headers=LATER) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "10")
            detail = (await answer.json())["detail"]
            assert detail == "2 of your comparisons are queued already; try again later"
        held.go_on.set()


async def test_a_comparison_reports_its_progress(serve: Serve, held: Held) -> None:
    async with serve() as client:
        place, _ = await asked_later(client)
        run = await until(client, place, "running")
        while run["progress"] is None:
            run = await until(client, place, "running")
        assert run["progress"] == "fi_reporting: 1 groups"
        held.go_on.set()
        ended = await until(client, place, "completed")
    assert (ended["cache_key"], ended["progress"], held.begun) == ("k", None, 1)


async def test_a_server_that_stops_interrupts_its_comparison(serve: Serve, held: Held) -> None:
    async with serve() as client:
        place, _ = await asked_later(client)
        await soon(lambda: held.begun == 1)  # the run counts as running before
        await until(client, place, "running")
    assert (held.begun, held.cancelled) == (1, 1)
    async with serve() as client:
        ended = await until(client, place, "interrupted")
    assert ended["error"] == "The server that worked on it has ended; ask again."


async def test_owners_take_turns(serve: Serve, held: Held) -> None:
    async with serve(api_keys=",".join(KEYS)) as client:
        first = [(await asked_later(client, KEYS[0]))[0] for _ in range(5)]
        second, _ = await asked_later(client, KEYS[1])
        await until(client, second, "running", key=KEYS[1])
        for place in first[:2]:
            await until(client, place, "running", key=KEYS[0])
        states = [(await until(client, place, *ANY, key=KEYS[0]))["state"] for place in first]
        assert states == ["running"] * 2 + ["queued"] * 3
        held.go_on.set()


async def test_a_cancelled_comparison_stops(serve: Serve, held: Held) -> None:
    async with serve() as client:
        place, _ = await asked_later(client)
        await soon(lambda: held.begun == 1)
        await until(client, place, "running")
        async with client.post(f"{place}/cancel") as answer:
            assert answer.status == 204
        assert (await until(client, place, "cancelled"))["error"] is None
        await soon(lambda: held.cancelled == 1)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (QueryError("connection 'main': it took longer than 1 s"), "it took longer than 1 s"),
        (RuntimeError("postgresql://me:secret@host"), "The reason is in the log of skillian."),
    ],
)
async def test_a_failed_comparison_reports_its_error(
    serve: Serve, held: Held, fault: Exception, message: str
) -> None:
    held.fault = fault
    held.go_on.set()
    async with serve() as client:
        place, _ = await asked_later(client)
        ended = await until(client, place, "error")
    assert message in ended["error"]
    assert ended["cache_key"] is None


async def test_each_key_sees_its_own_runs(serve: Serve) -> None:
    async with serve(api_keys=",".join(KEYS)) as client:
        place, _ = await asked_later(client, KEYS[0])
        await until(client, place, "completed", key=KEYS[0])
        foreign = (("GET", place), ("POST", f"{place}/cancel"))
        for way, path in (*foreign, ("GET", "/runs/x"), ("GET", "/runs/%00")):
            async with client.request(way, path, headers=of(KEYS[1])) as answer:
                assert answer.status == 404
        async with client.get("/runs", headers=of(KEYS[1])) as answer:
            assert (await answer.json())["runs"] == []


async def test_a_run_has_its_question_and_its_verdict(serve: Serve) -> None:
    async with serve() as client:
        place, _ = await asked_later(client)
        ended = await until(client, place, "completed")
    assert (ended["verdict"], ended["is_own"]) == ("findings", True)
    assert ended["comparison"]["measures"] == ASKED["measures"]


async def test_ended_comparisons_are_kept_as_long_as_sessions(serve: Serve) -> None:
    async with serve() as client:
        place, _ = await asked_later(client)
        await until(client, place, "completed")
        await client.service.runs.purge(None)
        await until(client, place, "completed")
        await client.service.runs.purge(timedelta(days=-1))
        async with client.get(place) as answer:
            assert answer.status == 404


async def test_turns_are_runs_too(serve: Serve) -> None:
    async with serve(durable=True) as client:
        async with client.post("/chat", json={"message": "List the sources"}) as answer:
            session = (await answer.json())["session_id"]
        async with client.get("/runs") as answer:
            [run] = (await answer.json())["runs"]
        assert (run["kind"], run["session_id"], run["turn"]) == ("turn", session, 1)
        assert run["title"] == "List the sources"
        await until(client, f"/runs/{run['id']}", "completed")
        async with client.delete(f"/sessions/{session}") as answer:
            assert answer.status == 204
        async with client.get("/runs") as answer:
            assert (await answer.json())["runs"] == []


async def test_a_running_turn_is_listed_and_stopped_on_any_server(serve: Serve) -> None:
    model = HeldModel()
    async with serve(lambda _: model) as client:
        asking = asyncio.create_task(client.post("/chat", json={"message": "Hi"}).__aenter__())
        await asyncio.wait_for(model.asked.wait(), 60)
        async with client.get("/runs") as answer:
            [run] = (await answer.json())["runs"]
        assert (run["kind"], run["state"], run["turn"]) == ("turn", "running", 1)
        async with client.post(f"/runs/{run['id']}/cancel") as answer:
            assert answer.status == 204
        answer = await asking
        assert (answer.status, (await answer.json())["code"]) == (503, "turn_cancelled")
        await asyncio.wait_for(model.cancelled.wait(), 60)
        async with client.get("/runs") as answer:
            assert (await answer.json())["runs"] == []
