"""`values: hidden` on a source, and who asks about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from skillian.data.declare.definitions import Source
from skillian.data.declare.sources import SourceRegistry
from skillian.data.for_models import LONGEST_TEXT, brief_value, hidden_among, refuse_hidden
from skillian.errors import UnavailableError


def test_a_long_text_is_cut_and_says_how_long_it_is() -> None:
    assert brief_value("x" * LONGEST_TEXT) == "x" * LONGEST_TEXT
    assert brief_value("x" * 201) == f"{'x' * 200}… (201 characters)"


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


def test_values_are_shown_by_default() -> None:
    assert Source.model_validate(PLAIN).values == "shown"
    assert Source.model_validate({**PLAIN, "values": "hidden"}).values == "hidden"
    with pytest.raises(ValidationError, match="'shown' or 'hidden'"):
        Source.model_validate({**PLAIN, "values": "secret"})


def test_one_hidden_source_hides_the_values_of_both(registry: SourceRegistry) -> None:
    assert hidden_among(registry, ["open"]) == ()
    assert hidden_among(registry, ["open", "shut"]) == ("shut",)
    refuse_hidden(registry, ["open"])
    with pytest.raises(UnavailableError, match="values of shut are hidden"):
        refuse_hidden(registry, ["open", "shut"])
