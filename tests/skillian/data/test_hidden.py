"""`values: hidden` on a source, and who asks about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from skillian.data.definitions import Source
from skillian.data.hidden import hidden_among, refuse_hidden
from skillian.data.sources import SourceRegistry
from skillian.errors import UnavailableError

PLAIN = {
    "connection": "main",
    "table": "t",
    "dimensions": {"k": {"column": "k"}},
    "measures": {"n": {"column": "k", "aggregation": "count"}},
}


@pytest.fixture
def registry(tmp_path: Path) -> SourceRegistry:
    source = (
        "connection: main, table: t, dimensions: {k: {column: k}},"
        " measures: {n: {column: k, aggregation: count}}"
    )
    path = tmp_path / "sources.yaml"
    path.write_text(
        "connections: {main: duckdb:///t.duckdb}\n"
        f"sources:\n  open: {{{source}}}\n  shut: {{{source}, values: hidden}}\n"
    )
    return SourceRegistry.load(path)


def test_values_are_shown_where_nothing_else_is_said() -> None:
    assert Source.model_validate(PLAIN).values == "shown"
    assert Source.model_validate({**PLAIN, "values": "hidden"}).values == "hidden"
    with pytest.raises(ValidationError, match="'shown' or 'hidden'"):
        Source.model_validate({**PLAIN, "values": "secret"})


def test_one_hidden_source_hides_what_is_said_of_both(registry: SourceRegistry) -> None:
    assert hidden_among(registry, ["open"]) == ()
    assert hidden_among(registry, ["open", "shut"]) == ("shut",)
    refuse_hidden(registry, ["open"])
    with pytest.raises(UnavailableError, match="values of shut are hidden"):
        refuse_hidden(registry, ["open", "shut"])


def test_a_name_that_is_no_source_is_for_others_to_refuse(registry: SourceRegistry) -> None:
    assert hidden_among(registry, ["nobody"]) == ()
