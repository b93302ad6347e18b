"""Datacompy on polars, from Parquet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import datacompy
import polars as pl

Found = dict[str, Any]
Go = Callable[[], Callable[[], Found]]


def by_polars(folder: str, _url: str) -> Go:
    """Compare all columns by the key."""

    def go() -> Callable[[], Found]:
        a, b = (pl.read_parquet(f"{folder}/{side}.parquet") for side in "ab")
        compared = datacompy.PolarsCompare(a, b, join_columns=["id"])
        return lambda: {
            "only_in_a": len(compared.df1_unq_rows),
            "only_in_b": len(compared.df2_unq_rows),
            "mismatches": {
                each["column"]: int(each["unequal_cnt"])
                for each in compared.column_stats
                if each["column"] != "id"
            },
        }

    return go


CASES = {"polars": by_polars}
