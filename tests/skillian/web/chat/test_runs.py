from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

from nicegui import ui
from tests.skillian.web.saved import ledgers
from tests.skillian.web.views import compared, found, sees, viewed
from tests.skillian.web.visits import visit

from skillian.api.problems import ProblemError
from skillian.api.runs import Runs
from skillian.api.service import Service
from skillian.data.declare.saved import SavedComparison
from skillian.web.chat import runs
from skillian.web.chat.runs import runs_view

NOW = datetime.now(UTC).isoformat()


class Listed:
    """A fixed list of runs."""

    def __init__(self, *runs: dict[str, Any]) -> None:
        self.runs = list(runs)

    async def list(self, _owner: str, _offset: int, limit: int) -> list[dict[str, Any]]:
        return [dict(run) for run in self.runs[:limit]]

    async def cancel(self, _owner: str, run_id: str) -> None:
        for run in self.runs:
            if run["id"] == run_id and run["state"] == "cancelled":
                raise ProblemError(409, "run_is_over", "The run has ended.")
            run["state"] = "cancelled"


def comparison(state: str, **more: Any) -> dict[str, Any]:
    run = {"id": "c", "kind": "comparison", "state": state, "title": "a <b> and b", "error": None}
    return {**run, "created": NOW, "updated": NOW, "cache_key": None, "progress": None, **more}


async def test_an_empty_list(service: Service) -> None:
    service.runs = cast("Runs", Listed())
    async with viewed(lambda: runs_view(visit(service))) as user:
        await sees(user, "Nothing is running, and nothing has run yet.")


async def test_a_run_is_followed_and_stopped(service: Service, monkeypatch: Any) -> None:
    monkeypatch.setattr(runs, "POLL_SECONDS", 0.05)
    listed = Listed(comparison("running", progress="a: 1 groups"))
    service.runs = cast("Runs", listed)
    async with viewed(lambda: runs_view(visit(service))) as user:
        await sees(user, "a <b> and b")
        await sees(user, "● running")
        await sees(user, "a: 1 groups")
        listed.runs[0]["progress"] = "a: 2 groups"
        await sees(user, "a: 2 groups")
        user.find("Stop").click()
        await sees(user, "✕ cancelled")


async def test_the_reason_of_a_failure_is_shown(service: Service) -> None:
    listed = Listed(comparison("error", error="the statement ran longer than 30 s"))
    service.runs = cast("Runs", listed)
    async with viewed(lambda: runs_view(visit(service))) as user:
        await sees(user, "✕ failed")
        await sees(user, "the statement ran longer than 30 s")


async def _ended(service: Service, owner: str, asked: SavedComparison) -> None:
    """Compare in the background, to the end."""
    run = await service.runs.compare(owner, asked)
    await ledgers.ended(service, owner, run)


async def test_a_comparison_shows_what_was_compared_and_its_verdict(tmp_path: Path) -> None:
    async with ledgers.ledgers(tmp_path) as service:
        await _ended(service, "", ledgers.question(**ledgers.OF_MEASURES))
        await _ended(service, "", ledgers.question(**ledgers.OF_ROWS))
        await _ended(service, "", ledgers.question(b="plan", **ledgers.OF_ROWS))
        async with viewed(lambda: runs_view(visit(service))) as user:
            for words in ("amount", "whole rows", "They differ", "Rows differ", "Equal"):
                await sees(user, words)
            await user.should_not_see("completed")
            assert [link.text for link in found(user, ui.link)] == [
                "plan and plan",
                "plan and actual",
                "plan and actual",
            ]


async def test_a_result_that_is_no_longer_stored_has_no_link(service: Service) -> None:
    key = await compared(service)
    question = {"measures": ["amount"]}
    runs = (
        comparison("completed", id=key, cache_key=key, comparison=question, verdict="findings")
        for key in (key, "expired")
    )
    service.runs = cast("Runs", Listed(*runs))
    async with viewed(lambda: runs_view(visit(service))) as user:
        await sees(user, "a <b> and b")
        assert [link.props["href"] for link in found(user, ui.link)] == [f"/compare/{key}"]


async def test_a_run_says_whose_it_is(tmp_path: Path) -> None:
    async with ledgers.ledgers(tmp_path) as service:
        saved = await ledgers.save(service, owner="mine", **ledgers.OF_ROWS)
        await service.saved.share("mine", saved, is_shared=True)
        await ledgers.run(service, saved, "theirs")
        for owner, words in (("mine", "by another key, shared"), ("theirs", "by this key")):
            async with viewed(partial(runs_view, visit(service, owner))) as user:
                await sees(user, words)
                await sees(user, "Saved comparison")


async def test_older_runs_are_shown_when_asked(service: Service, monkeypatch: Any) -> None:
    monkeypatch.setattr(runs, "LIMIT", 2)
    service.runs = cast(
        "Runs", Listed(*(comparison("cancelled", title=f"run {n}") for n in range(3)))
    )
    async with viewed(lambda: runs_view(visit(service))) as user:
        await sees(user, "run 1")
        await user.should_not_see("run 2")
        user.find("Show older runs").click()
        await sees(user, "run 2")
        await user.should_not_see("Show older runs")
