"""Comparisons in the background: two servers, one of which is killed."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests
from tests.support.postgres import Database
from tests.support.serving import Serving, serving

SECONDS = 60
# Servers are started one after the other, which takes its time where others compute too.
pytestmark = pytest.mark.timeout(400)

SOURCES = """
connections: {{main: "{url}"}}
sources:
  ledger: {{connection: main, table: ledger, dimensions: {{account: {{column: account}}}},
    measures: {{amount: {{column: amount, aggregation: sum}}}}}}
  plan: {{connection: main, table: plan, dimensions: {{account: {{column: account}}}},
    measures: {{amount: {{column: amount, aggregation: sum}}}}}}
comparison: {{default_align_on: [account]}}
"""
# A row of `ledger` is read as soon as nobody holds the lock alone.
TABLES = """
CREATE TABLE entries (account text, amount numeric(12, 2));
CREATE TABLE plan (account text, amount numeric(12, 2));
INSERT INTO entries VALUES ('4000', 100.00), ('5000', 7.50);
CREATE VIEW ledger AS SELECT * FROM entries WHERE pg_advisory_xact_lock_shared(7) IS NOT NULL;
INSERT INTO plan VALUES ('4000', 100.00), ('5000', 7.00);
"""
COMPARED = {"source_a": "ledger", "source_b": "plan", "measures": ["amount"]}


@pytest.fixture
def sources(tmp_path: Path, postgres_database: Database) -> Path:
    """Two tables that differ in one account."""
    postgres_database.execute(TABLES)
    file = tmp_path / "sources.yaml"
    file.write_text(SOURCES.format(url=postgres_database.url))
    return file


def waiting_statements(database: Database) -> object:
    return database.value(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        " AND query LIKE '%ledger%' AND datname = current_database()"
    )


def until_it_compares(database: Database) -> None:
    deadline = time.monotonic() + SECONDS
    while not waiting_statements(database):
        assert time.monotonic() < deadline, "nobody compares"


def run(server: Serving, place: str) -> dict[str, Any]:
    answer = requests.get(f"{server.url}{place}", timeout=SECONDS)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def compared_later(server: Serving) -> str:
    answer = requests.post(
        f"{server.url}/compare",
        json=COMPARED,
        headers={"Prefer": "respond-async"},
        timeout=SECONDS,
    )
    assert answer.status_code == 202, answer.text
    return answer.headers["Location"]


def until(server: Serving, place: str, state: str) -> dict[str, Any]:
    deadline = time.monotonic() + SECONDS
    while (found := run(server, place))["state"] != state:
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    return found


def test_another_server_reports_and_cancels_a_comparison(
    sources: Path, postgres_database: Database, tmp_path: Path
) -> None:
    settings = {"DATABASE_URL": f"sqlite:///{tmp_path / 'skillian.db'}"}
    with (
        serving(sources, **settings) as first,
        serving(sources, **settings) as second,
        psycopg.connect(postgres_database.url) as held,
    ):
        held.execute("SELECT pg_advisory_xact_lock(7)")
        cancelled, running, completed = (compared_later(first) for _ in range(3))
        for place in (cancelled, running):
            until(second, place, "running")
        until_it_compares(postgres_database)
        assert requests.post(f"{second.url}{cancelled}/cancel", timeout=SECONDS).status_code == 204
        assert run(second, cancelled)["state"] == "cancelled"
        assert run(second, running)["state"] == "running"
        held.rollback()
        held.execute("SELECT 1")
        key = until(second, completed, "completed")["cache_key"]
        amount = run(second, f"/comparisons/{key}")["summary"]["measures"]["amount"]
        assert (amount["total_a"], amount["total_b"]) == ("107.50", "107.00")


def test_the_comparison_of_a_killed_server_is_interrupted(
    sources: Path, postgres_database: Database, tmp_path: Path
) -> None:
    settings = {"DATABASE_URL": f"sqlite:///{tmp_path / 'skillian.db'}"}
    with serving(sources, **settings) as first, psycopg.connect(postgres_database.url) as held:
        held.execute("SELECT pg_advisory_xact_lock(7)")
        place = compared_later(first)
        until_it_compares(postgres_database)
        first.stop(signal.SIGKILL)
    with serving(sources, **settings) as second:
        found = until(second, place, "interrupted")
        assert found["error"] == "The server that worked on it has ended; ask again."
        assert second.stop() == 0
