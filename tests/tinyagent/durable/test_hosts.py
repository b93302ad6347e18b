"""Two hosts and a database: one is cut off in the middle of its runs, and comes back.

A host is a network namespace with a cable to this one; cutting it off is taking the cable's link
down, so that neither side is notified.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from durable_checks import Evidence, Place, judge, recorded
from durable_clerk import Clerk
from durable_effects import Effects
from durable_fleet import Fleet, Orders
from durable_model import CampaignModel, task_of
from tests.support.postgres import SUPERUSER, Server, running_postgres
from tests.support.waits import soon

from tinyagent.durable import DurableRuns

NAMES = [f"r{number}" for number in range(6)]
SLACK = 1.0
"""Seconds in which what was under way when the link went down may still begin something."""
NETWORK = f"10.{os.getpid() % 200 + 20}"


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Host:
    """A network namespace and its cable.

    Attributes:
        name: of the namespace.
        cable: the end of its cable on this side.
        gateway: the address of this side.
    """

    def __init__(self, number: int) -> None:
        self.name = f"tiny{os.getpid()}-{number}"
        self.cable = f"t{os.getpid()}-{number}"
        self.gateway = f"{NETWORK}.{number}.1"

    def build(self) -> None:
        ip("netns", "add", self.name)
        ip("link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("addr", "add", f"{self.gateway}/24", "dev", self.cable)
        address = self.gateway.removesuffix("1") + "2/24"
        ip("-n", self.name, "addr", "add", address, "dev", "eth0")
        ip("-n", self.name, "link", "set", "eth0", "up")
        ip("link", "set", self.cable, "up")

    def cut(self) -> None:
        ip("link", "set", self.cable, "down")

    def restore(self) -> None:
        ip("link", "set", self.cable, "up")

    def remove(self) -> None:
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)


@contextmanager
def two_hosts() -> Generator[list[Host]]:
    hosts = [Host(1), Host(2)]
    try:
        for host in hosts:
            host.build()
        yield hosts
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(
            f"network namespaces cannot be made here ({error}); they need root and iproute2"
        )
    finally:
        for host in hosts:
            host.remove()


@contextmanager
def postgres_for(hosts: list[Host]) -> Generator[Server]:
    addresses = ",".join(host.gateway for host in hosts)
    with running_postgres(listen_addresses=addresses, synchronous_commit="on") as server:
        with (server.folder / "data" / "pg_hba.conf").open("a") as access:
            access.write(f"host all {SUPERUSER} {NETWORK}.0.0/16 trust\n")
        server.stop()
        server.start()
        yield server


@dataclass
class Story:
    """What happened.

    Attributes:
        lost: the worker that was cut off.
        heir: the one that took over.
        cut_at: when.
        answers: of all runs.
        journal: when what was recorded.
    """

    lost: str
    heir: str
    cut_at: float
    answers: dict[str, object]
    journal: Mapping[Place, float]


def orders(host: Host, tables: str, model: CampaignModel) -> Orders:
    port = model.base_url.rpartition(":")[2]
    places = {"CAMPAIGN_EFFECTS": tables, "CAMPAIGN_MODEL": f"http://{host.gateway}:{port}"}
    return Orders(f"postgresql://{SUPERUSER}@{host.gateway}/postgres", places, network=host.name)


async def cut_and_restore(
    hosts: list[Host], server: Server, tables: str, model: CampaignModel, clerk: Clerk
) -> Story:
    cut, other = hosts
    fleet = Fleet(orders(cut, tables, model))
    lost = fleet.start()
    try:
        await fleet.ready()
        async with DurableRuns(server.url()) as runs:
            for name in NAMES:
                await runs.start("react", task_of(name), run_id=name)
            await soon(lambda: len({a.run for a in model.asked if a.turn}) == len(NAMES))
            heir = fleet.start(orders(other, tables, model))
            cut.cut()
            cut_at = time.time()
            async with asyncio.timeout(120):
                await clerk.work(runs)
            cut.restore()
            # It is back when it takes its own run again.
            fleet.kill(heir)
            await runs.start("react", task_of("again"), run_id="again")
            await runs.wait("again", timeout=120)
            answers = {name: (await runs.get(name)).output for name in [*NAMES, "again"]}
    finally:
        cut.restore()
        fleet.stop()
    return Story(lost, heir, cut_at + SLACK, answers, recorded(server.url(), answers))


@pytest.mark.timeout(240)
async def test_a_host_that_is_cut_off_loses_its_runs_and_does_no_harm_afterwards(
    tmp_path: Path,
) -> None:
    tables = f"sqlite:///{tmp_path / 'effects.sqlite'}"
    effects = Effects(tables)
    effects.create()
    clerk = Clerk(effects)
    with two_hosts() as hosts, postgres_for(hosts) as server:
        async with CampaignModel(0.5, host="0.0.0.0") as model:  # noqa: S104 - for the hosts
            story = await cut_and_restore(hosts, server, tables, model, clerk)
    calls = effects.calls()
    effects.close()
    old = [asked for asked in model.asked if asked.run != "again"]
    assert {asked.run for asked in old if asked.worker == story.heir} == set(NAMES)
    assert {asked.worker for asked in model.asked if asked.run == "again"} == {story.lost}
    # What it had sent when it was cut off arrives when it is back: of each run one request at most.
    late = [asked for asked in old if asked.worker == story.lost and asked.began > story.cut_at]
    assert len({asked.run for asked in late}) == len(late)
    by_lost = [call for call in calls if call.run != "again" and call.worker == story.lost]
    assert [call for call in by_lost if call.began > story.cut_at] == []
    evidence = Evidence(
        story.answers,
        [asked for asked in model.asked if asked not in late],
        calls,
        story.journal,
        clerk.reported,
        clerk.decided,
        {story.lost: story.cut_at, story.heir: time.time()},
    )
    assert judge(evidence).faults == []
