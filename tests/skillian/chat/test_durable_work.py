from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.waits import soon

from skillian.chat import durable_work
from skillian.chat.durable_work import DurableWork, runs_url
from skillian.errors import UnavailableError
from skillian.storage import StoreUnavailable
from tinyagent import RunResult


@pytest.mark.parametrize(
    ("store_url", "expected"),
    [
        ("sqlite:///skillian.db", "sqlite:///skillian-runs.db"),
        ("sqlite:////a.b/sessions", "sqlite:////a.b/sessions-runs"),
        ("postgresql+psycopg://me:p%40ss@host/db", "postgresql://me:p%40ss@host/db"),
        ("postgres://host/db", "postgresql://host/db"),
    ],
)
def test_the_runs_are_beside_the_sessions(store_url: str, expected: str) -> None:
    assert runs_url(store_url) == expected


async def test_a_failure_of_one_does_not_keep_the_others_from_being_tended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(durable_work, "_TEND_SECONDS", 0.01)
    work = DurableWork(f"sqlite:///{tmp_path / 'a.db'}")
    faults = [StoreUnavailable("away"), RuntimeError("strange")]
    rounds = 0

    async def nothing(_: str) -> RunResult[Any]:
        raise AssertionError

    async def fail() -> None:
        if faults:
            raise faults.pop(0)

    async def count() -> None:
        nonlocal rounds
        rounds += 1

    work.add("a", nothing, at_once=1, tend=fail)
    work.add("b", nothing, at_once=1, tend=count)
    async with work:
        await soon(lambda: rounds >= 3, 60)
    assert faults == []
    told = [record.getMessage() for record in caplog.records if record.name == "skillian"]
    not_now = "durable work is not tended now"
    assert told == [f"{not_now}: StoreUnavailable", not_now]


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable_work, "find_spec", lambda _: None)
    with pytest.raises(UnavailableError, match=r"pip install '\.\[durable\]'"):
        DurableWork("sqlite:///a.db")
