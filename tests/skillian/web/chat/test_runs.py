from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from tests.skillian.web.views import sees, viewed
from tests.skillian.web.visits import visit

from skillian.api.problems import ProblemError
from skillian.api.runs import Runs
from skillian.api.service import Service
from skillian.web.chat import runs
from skillian.web.chat.runs import runs_view

NOW = datetime.now(UTC).isoformat()


class Listed:
    """A fixed list of runs."""

    def __init__(self, *runs: dict[str, Any]) -> None:
        self.runs = list(runs)

    async def list(self, _owner: str, _offset: int, _limit: int) -> list[dict[str, Any]]:
        return [dict(run) for run in self.runs]

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
        await sees(user, "Nothing is running, and nothing ended within the last hour.")


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
