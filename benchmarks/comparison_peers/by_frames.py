"""Data frames, from Parquet: joins written by hand, and datacompy on the same frames.

Amounts are cents in 64 bits for the joins of pandas, which has no decimal type; datacompy
is given what a user gives it, decimals.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import datacompy
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

Found = dict[str, object]
Go = Callable[[], Callable[[], Found]]

KEYS = ["company", "period", "account", "doc"]
COLUMNS = [*KEYS, "amount"]


def by_pandas(folder: str, _url: str) -> Go:
    """Aggregate both sides and merge them."""

    def side(name: str) -> pd.DataFrame:
        read = pd.read_parquet(f"{folder}/{name}.parquet", columns=COLUMNS, dtype_backend="pyarrow")
        read["amount"] = _cents(read["amount"])
        return read.groupby(KEYS, sort=False)["amount"].sum().reset_index()

    def go() -> Callable[[], Found]:
        merged = side("a").merge(side("b"), on=KEYS, how="outer", indicator=True)
        both = merged["_merge"] == "both"
        gap = (merged["amount_y"] - merged["amount_x"]).abs()
        return lambda: {
            "match": int((both & (gap == 0)).sum()),
            "minor_diff": int((both & (gap > 0) & (gap <= 5)).sum()),
            "major_diff": int((both & (gap > 5)).sum()),
            "missing_in_a": int((merged["_merge"] == "right_only").sum()),
            "missing_in_b": int((merged["_merge"] == "left_only").sum()),
        }

    return go


def by_polars(folder: str, _url: str) -> Go:
    """The same, lazily and streamed."""

    def side(name: str) -> pl.LazyFrame:
        read = pl.scan_parquet(f"{folder}/{name}.parquet").select(COLUMNS)
        return read.group_by(KEYS).agg(pl.col("amount").sum())

    def go() -> Callable[[], Found]:
        a = side("a").with_columns(in_a=True)
        b = side("b").with_columns(in_b=True)
        gap = (pl.col("amount_right") - pl.col("amount")).abs()
        both = pl.col("in_a").is_not_null() & pl.col("in_b").is_not_null()
        cent = pl.lit("0.05").cast(pl.Decimal(38, 2))
        tests = {
            "match": both & (gap == 0),
            "minor_diff": both & (gap > 0) & (gap <= cent),
            "major_diff": both & (gap > cent),
            "missing_in_a": pl.col("in_a").is_null(),
            "missing_in_b": pl.col("in_b").is_null(),
        }
        joined = a.join(b, on=KEYS, how="full", coalesce=True, nulls_equal=True)
        counts = joined.select(**{name: test.sum() for name, test in tests.items()})
        counted = counts.collect(engine="streaming").to_dicts()[0]
        return lambda: counted

    return go


def datacompy_pandas(folder: str, _url: str) -> Go:
    """Compare by datacompy on pandas."""

    def go() -> Callable[[], Found]:
        a, b = (pd.read_parquet(f"{folder}/{side}.parquet", columns=COLUMNS) for side in "ab")
        return _differences(datacompy.PandasCompare(a, b, join_columns=KEYS))

    return go


def datacompy_polars(folder: str, _url: str) -> Go:
    """Compare by datacompy on polars."""

    def go() -> Callable[[], Found]:
        a, b = (pl.read_parquet(f"{folder}/{side}.parquet", columns=COLUMNS) for side in "ab")
        return _differences(datacompy.PolarsCompare(a, b, join_columns=KEYS))

    return go


def _differences(compare: datacompy.PandasCompare | datacompy.PolarsCompare) -> Callable[[], Found]:
    [amount] = [column for column in compare.column_stats if column["column"] == "amount"]
    return lambda: {
        "different": int(amount["unequal_cnt"]),
        "missing_in_a": len(compare.df2_unq_rows),
        "missing_in_b": len(compare.df1_unq_rows),
    }


def _cents(amounts: pd.Series) -> pd.Series:
    scaled = pc.multiply(pa.array(amounts), pa.scalar(Decimal(100)))
    return pd.Series(pc.cast(scaled, pa.int64()).to_numpy())


CASES = {
    "pandas": by_pandas,
    "polars": by_polars,
    "datacompy pandas": datacompy_pandas,
    "datacompy polars": datacompy_polars,
}
