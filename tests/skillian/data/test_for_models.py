"""`values: hidden` on a source, and who asks about it."""

from pathlib import Path

import pytest
from tests.support.asking import two_sources

from skillian.data.declare.sources import SourceRegistry
from skillian.data.for_models import (
    LONGEST_TEXT,
    brief_value,
    hidden_among,
    query_scope,
    refuse_hidden,
)
from skillian.data.query.catalogue import DimensionInfo, SourceInfo
from skillian.data.query.engine import QueryResult
from skillian.errors import ConfigurationError, UnavailableError


def test_a_long_text_is_cut_and_says_how_long_it_is() -> None:
    assert brief_value("x" * LONGEST_TEXT) == "x" * LONGEST_TEXT
    assert brief_value("x" * 201) == f"{'x' * 200}… (201 characters)"


def test_one_hidden_source_hides_the_values_of_both(tmp_path: Path) -> None:
    tables = "connection: c, table: t", "connection: c, table: t, values: hidden"
    n = "n: {column: k, aggregation: count}"
    path = tmp_path / "sources.yaml"
    path.write_text(two_sources("k: {column: k}", n, tables=tables))
    registry = SourceRegistry.load(path)
    assert (registry.get("a").values, registry.get("b").values) == ("shown", "hidden")
    assert hidden_among(registry, ["a"]) == ()
    assert hidden_among(registry, ["a", "b"]) == ("b",)
    refuse_hidden(registry, ["a"])
    with pytest.raises(UnavailableError, match="values of b are hidden"):
        refuse_hidden(registry, ["a", "b"])
    path.write_text(path.read_text().replace("hidden", "secret"))
    with pytest.raises(ConfigurationError, match="'shown' or 'hidden'"):
        SourceRegistry.load(path)


def test_the_scope_of_a_query_names_at_most_seven_dimensions_without_a_condition() -> None:
    result = QueryResult("sales", (), ((1,),), truncated=True, filters=(), sql="", parameters={})
    for count, names in (
        (7, "d1, d2, d3, d4, d5, d6, d7"),
        (9, "d1, d2, d3, d4, d5, d6 and 3 others"),
    ):
        infos = [DimensionInfo(f"d{at}", "text", "", (), None) for at in range(1, count + 1)]
        info = SourceInfo("sales", "", {each.name: each for each in infos}, {}, 9, None)
        parts = ["sales", f"all of {names}", "by d1", "the first row", "as of now"]
        assert query_scope(result, info, ["d1"], "now") == parts
