"""PostgreSQL goes away for ten seconds in the middle of fifty runs."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from durable_checks import Evidence, judge, recorded
from durable_effects import Effects
from durable_fleet import Fleet, Orders
from durable_model import CampaignModel, task_of
from tests.support.postgres import running_postgres
from tests.support.waits import soon

from tinyagent.durable import DurableRuns

RUNS = 50
AWAY_SECONDS = 10.0


@pytest.mark.timeout(180)
async def test_all_runs_finish_after_the_database_was_away(tmp_path: Path) -> None:
    tables = f"sqlite:///{tmp_path / 'effects.sqlite'}"
    effects = Effects(tables)
    effects.create()
    # What the server has acknowledged outlives it, as with its own defaults.
    with running_postgres(max_connections="100", synchronous_commit="on") as server:
        async with CampaignModel(0.05) as model, AsyncExitStack() as stack:
            places = {"CAMPAIGN_EFFECTS": tables, "CAMPAIGN_MODEL": model.base_url}
            fleet = Fleet(Orders(server.url(), places))
            fleet.start()
            fleet.start()
            try:
                await fleet.ready()
                runs = await stack.enter_async_context(DurableRuns(server.url()))
                names = [f"r{number:02}" for number in range(RUNS)]
                for number, name in enumerate(names):
                    await runs.start(("react", "code")[number % 2], task_of(name), run_id=name)
                await soon(lambda: len(model.asked) > RUNS)
                server.stop()
                await asyncio.sleep(AWAY_SECONDS)
                asked = len(model.asked)
                await asyncio.to_thread(server.start)
                assert asked < RUNS * 10, "the runs had ended before the outage had"
                ended = [await runs.wait(name, timeout=120) for name in names]
            finally:
                fleet.stop()
        answers = {record.run_id: record.output for record in ended}
        journal = recorded(server.url(), names)
    evidence = Evidence(answers, model.asked, effects.calls(), journal, [], [], {})
    effects.close()
    assert judge(evidence).faults == []
