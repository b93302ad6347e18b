"""Two hosts and a database: one is cut off in the middle of its runs, and comes back.

A host is a network namespace with a cable to this one; cutting it off is taking the cable's link
down, so that nothing tells either side.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest
from durable_checks import Evidence, judge, recorded
from durable_clerk import Clerk
from durable_effects import Effects
from durable_fleet import Fleet, Orders
from durable_model import CampaignModel, task_of
from tests.support.postgres import SUPERUSER, Server, running_postgres
from tests.support.waits import soon

from tinyagent.durable import DurableRuns

RUNS = 6
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

    def mend(self) -> None:
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


@pytest.mark.timeout(240)
async def test_a_host_that_is_cut_off_loses_its_runs_and_does_no_harm_afterwards(
    tmp_path: Path,
) -> None:
    tables = f"sqlite:///{tmp_path / 'effects.sqlite'}"
    effects = Effects(tables)
    effects.create()
    clerk = Clerk(effects)
    with two_hosts() as hosts, postgres_for(hosts) as server:
        cut, other = hosts
        async with CampaignModel(0.5, host="0.0.0.0") as model, AsyncExitStack() as stack:  # noqa: S104 - for the hosts
            model_port = model.base_url.rpartition(":")[2]

            def orders(host: Host) -> Orders:
                places = {
                    "CAMPAIGN_EFFECTS": tables,
                    "CAMPAIGN_MODEL": f"http://{host.gateway}:{model_port}",
                }
                database = f"postgresql://{SUPERUSER}@{host.gateway}/postgres"
                return Orders(database, places, network=host.name)

            fleet = Fleet(orders(cut))
            lost = fleet.start()
            try:
                await fleet.ready()
                runs = await stack.enter_async_context(DurableRuns(server.url()))
                names = [f"r{number}" for number in range(RUNS)]
                for name in names:
                    await runs.start("react", task_of(name), run_id=name)
                await soon(lambda: len({a.run for a in model.asked if a.turn}) == RUNS, 60)
                heir = fleet.start(orders(other))
                cut.cut()
                cut_at = time.time()
                async with asyncio.timeout(120):
                    await clerk.work(runs)
                cut.mend()
                # It is back when it takes a run of its own again.
                fleet.kill(heir)
                await runs.start("react", task_of("again"), run_id="again")
                await runs.wait("again", timeout=120)
            finally:
                cut.mend()
                fleet.stop()
            answers = {name: (await runs.get(name)).output for name in [*names, "again"]}
        journal = recorded(server.url(), answers)
    of_old = [asked for asked in model.asked if asked.run != "again"]
    assert {asked.run for asked in of_old if asked.worker == heir} == set(names)
    assert {asked.worker for asked in model.asked if asked.run == "again"} == {lost}
    # What it had sent when it was cut off arrives when it is back: of each run one request at most.
    late = [asked for asked in of_old if asked.worker == lost and asked.began > cut_at + SLACK]
    assert len({asked.run for asked in late}) == len(late)
    in_time = [asked for asked in model.asked if asked not in late]
    done = effects.calls()
    effects.close()
    print(cut_at, [(a.run, a.turn, a.worker, round(a.began - cut_at, 2)) for a in model.asked], [(c.run, c.step, c.worker, c.tool, round(c.began - cut_at, 2), c.ended and round(c.ended - cut_at, 2)) for c in done])
    calls = [call for call in done if call.run != "again" and call.worker == lost]
    assert [call for call in calls if call.began > cut_at + SLACK] == []
    fallen = {lost: cut_at + SLACK, heir: time.time()}
    evidence = Evidence(answers, in_time, done, journal, clerk.reported, clerk.decided, fallen)
    assert judge(evidence).faults == []
