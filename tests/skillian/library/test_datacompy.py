"""The same pairs of data frames by datacompy and by skillian: both find the same cells."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import skillian

# It demands an older pandas than the others that tests use, so it is not in their environment.
datacompy: Any = pytest.importorskip("datacompy")
TYPES = {
    "id": pl.Int64,
    "name": pl.String,
    "amount": pl.Float64,
    "pieces": pl.Int64,
    "day": pl.Date,
    "open": pl.Boolean,
}
CELLS = {
    "name": st.sampled_from(["Ann", "Bob", "", "é", "x y"]),
    "amount": st.sampled_from(
        [0.0, 0.1, 0.3, 1.5, -2.25, 1e15]
    ),  # without NaN, which datacompy takes for NULL
    "pieces": st.integers(-3, 3),
    "day": st.dates(),
    "open": st.booleans(),
}
ROW = st.fixed_dictionaries({name: st.none() | cells for name, cells in CELLS.items()})


@st.composite
def pairs(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two data frames, most of whose rows are the same, with unique keys."""
    rows = draw(st.dictionaries(st.integers(0, 20), ROW, min_size=1, max_size=12))
    changed = draw(st.dictionaries(st.integers(0, 20), ROW, max_size=4))
    gone = draw(st.sets(st.sampled_from(sorted(rows)), max_size=2))
    other = {key: row for key, row in {**rows, **changed}.items() if key not in gone}
    a, b = (
        pl.DataFrame([{"id": key, **row} for key, row in side.items()], schema=TYPES)
        for side in (rows, other)
    )
    return a, b


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # it uses names that polars has renamed
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pair=pairs())
def test_both_find_the_same_cells_and_rows(pair: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    a, b = pair
    found = skillian.compare(a, b, key="id")
    other = datacompy.PolarsCompare(a, b, join_columns=["id"])
    assert found.counts["only_in_a"] == len(other.df1_unq_rows)
    assert found.counts["only_in_b"] == len(other.df2_unq_rows)
    theirs = {each["column"]: each["unequal_cnt"] for each in other.column_stats}
    ours = {column.a: column.mismatches for column in found.columns}
    # A column is left out by datacompy if no row is on both sides.
    assert {name: theirs.get(name, 0) for name in ours} == ours
    assert (found.counts["matched"] == len(a) == len(b)) == other.matches()
