"""Connections: what they are opened with, and what is reported if none can be made."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError
from tests.support.postgres import Database

from tinyagent.durable.database import open_engine


def test_a_recent_sqlite_is_left_to_dbos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 42, 0))
    assert open_engine("sqlite:///runs.db") is None


def test_an_old_sqlite_learns_the_time_in_milliseconds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 40, 1))
    engine = open_engine(f"sqlite:///{tmp_path}/runs.db")
    assert engine is not None
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE runs (id INTEGER, moment INTEGER NOT NULL"
            " DEFAULT (unixepoch('subsec') * 1000))"
        )
        before = time.time()
        connection.exec_driver_sql("INSERT INTO runs (id) VALUES (1)")
        moment = connection.exec_driver_sql("SELECT moment FROM runs").scalar()
        settings = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("busy_timeout", "foreign_keys")
        ]
    engine.dispose()
    assert moment == pytest.approx(before * 1000, abs=60_000)
    assert settings == [30_000, 1]


def test_options_of_the_url_are_kept(postgres_database: Database) -> None:
    url = f"{postgres_database.url}&options=-c%20search_path%3Dmine"
    engine = open_engine(url)
    assert engine is not None
    with engine.connect() as connection:
        settings = {
            name: connection.exec_driver_sql(f"SHOW {name}").scalar()
            for name in ("search_path", "idle_in_transaction_session_timeout")
        }
    engine.dispose()
    assert settings == {"search_path": "mine", "idle_in_transaction_session_timeout": "15s"}


def test_a_server_that_is_away_is_a_lost_connection() -> None:
    engine = open_engine("postgresql://nobody@127.0.0.1:1/none")
    assert engine is not None
    with pytest.raises(OperationalError) as caught:
        engine.connect()
    engine.dispose()
    assert caught.value.connection_invalidated


def test_a_failing_statement_is_reported(postgres_database: Database) -> None:
    engine = open_engine(postgres_database.url)
    assert engine is not None
    with engine.connect() as connection:
        connection.exec_driver_sql("SET statement_timeout = 1")
        with pytest.raises(OperationalError) as caught:
            connection.exec_driver_sql("SELECT pg_sleep(10)")
    engine.dispose()
    assert not caught.value.connection_invalidated
