from __future__ import annotations

import sqlite3
from pathlib import Path

from nicegui import ui
from pydantic import SecretStr
from tests.skillian.web.views import found, sees, viewed
from tests.support.waits import soon

from skillian.api.service import Service
from skillian.app import open_service
from skillian.settings import Settings
from skillian.web.shell.sources import sources_view

SOURCES = """
connections: {here: 'sqlite:///here.db'}
sources:
  gone:
    connection: here
    table: gone
    dimensions: {k: {column: k}}
    measures: {v: {column: v, aggregation: sum}}
  there:
    connection: here
    table: there
    dimensions: {k: {column: k}}
    measures: {v: {column: v, aggregation: sum}}
"""


async def test_each_source_shows_what_it_holds(service: Service) -> None:
    async with viewed(lambda: sources_view(service)) as user:
        await sees(user, "Number of different documents")
        for words in (
            "fi_reporting", "bpc_reporting", "✓ answers", "· period up to 2024012",
            "CC100, CC200, CC300, CC400", "count_distinct",
            "Company code (also company code, entity)",
        ):  # fmt: skip
            await sees(user, words)
        await soon(lambda: len(found(user, ui.expansion)) == 2)
        for element in found(user, ui.expansion):
            assert element.text == "Columns and sample rows"
            with user:
                element.value = True
        await soon(lambda: len(found(user, ui.table)) == 2)
        labels = {column["label"] for table in found(user, ui.table) for column in table.columns}
        assert {"BUKRS (VARCHAR)", "HSL (DECIMAL(17,2))"} <= labels
        assert {"entity (INTEGER)", "signed_data (DECIMAL(17,2))"} <= labels


async def test_names_and_values_are_escaped(hostile: Service) -> None:
    async with viewed(lambda: sources_view(hostile)) as user:
        await sees(user, ":a<img src=x onerror=alert(1)>")
        await sees(user, "{{ 7 * 7 }} <script>alert(1)</script>")
        await sees(user, "<script>alert(1)</script>, no value")


async def test_a_source_that_does_not_answer_does_not_hide_the_others(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "here.db") as connection:
        connection.execute("CREATE TABLE gone (k TEXT, v INTEGER)")
        connection.execute("CREATE TABLE there (k TEXT, v INTEGER)")
    (tmp_path / "sources.yaml").write_text(SOURCES, encoding="utf-8")
    settings = Settings(
        sources=tmp_path / "sources.yaml",
        database_url=SecretStr(f"sqlite:///{tmp_path / 'sessions.db'}"),
    )
    async with open_service(settings) as service:
        connection.execute("DROP TABLE gone")
        connection.close()
        async with viewed(lambda: sources_view(service)) as user:
            await sees(user, "✕ does not answer")
            await sees(user, "✓ answers")
