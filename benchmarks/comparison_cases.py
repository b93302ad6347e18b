"""The cases to measure together, and the targets."""

from __future__ import annotations

from typing import NamedTuple


class Way(NamedTuple):
    """One way to an answer: a case of a file in `comparison_peers/`.

    `target` is the highest acceptable ratio to the floor, `memory` the highest peak in MB.
    """

    title: str
    peer: str
    case: str
    target: float | None = None
    memory: int | None = None


class Contest(NamedTuple):
    """Ways to the same answer, the floors first; `truth` is the grain of it."""

    title: str
    truth: str
    floors: tuple[Way, ...]
    others: tuple[Way, ...]
    rounds: int


def _scan(kind: str) -> tuple[Way, ...]:
    return (Way("both inputs read once, by DuckDB", "sql", kind),)


def _ours(case: str, target: float, memory: int | None = None) -> Way:
    return Way("skillian", "skillian", case, target, memory)


def _grouped(kind: str) -> Way:
    return Way("SQL by hand: grouped, and only counted", "sql", f"{kind} grouped")


def _duckdb(rounds: int, peers: tuple[Way, ...]) -> tuple[Contest, ...]:
    titles = {"duckdb": "two DuckDB tables", "parquet": "two Parquet files"}
    return tuple(
        Contest(f"{title}, {what}", grain, _scan(kind), (ours, *more), rounds)
        for kind, title in titles.items()
        for what, grain, ours, more in (
            (
                "by company and period",
                "aggregated",
                _ours(f"{kind} aggregated", 1.5),
                (),
            ),
            (
                "row by row",
                "rows",
                _ours(f"{kind} rows", 14),
                (_grouped(kind), *(peers if kind == "parquet" else ())),
            ),
        )
    )


def _postgres(rounds: int, rounds_of_rows: int, peers: tuple[Way, ...]) -> tuple[Contest, ...]:
    aggregated = Way("SQL by hand: each side aggregated, full join", "sql", "postgres aggregated")
    rows = (
        Way("SQL by hand: each side aggregated, full join", "sql", "postgres rows"),
        Way("SQL by hand: repeated documents, direct join", "sql", "postgres rows, repeated apart"),
    )
    return (
        Contest(
            "two PostgreSQL tables, by company and period",
            "aggregated",
            (aggregated,),
            (_ours("postgres aggregated", 1.2, 300),),
            rounds,
        ),
        Contest(
            "two PostgreSQL tables, row by row",
            "rows",
            rows,
            (_ours("postgres rows", 1.2, 300), *peers),
            rounds_of_rows,
        ),
    )


def _explained(rounds: int) -> tuple[Contest, ...]:
    return tuple(
        Contest(
            f"the gap of two {title} explained",
            "aggregated",
            (Way("skillian: the comparison itself", "skillian", f"{kind} aggregated"),),
            (_ours(f"{kind} explain", 2),),
            rounds,
        )
        for kind, title in (("duckdb", "DuckDB tables"), ("postgres", "PostgreSQL tables"))
    )


_FRAMES = (
    Way("polars 1.44 (lazy, streamed), joined by hand", "frames", "polars"),
    Way("pandas 3.0 (cents in 64 bits), merged by hand", "frames", "pandas"),
    Way("datacompy 1.1 on polars", "frames", "datacompy polars"),
    Way("datacompy 1.1 on pandas", "frames", "datacompy pandas"),
)
_RELADIFF = (
    Way("reladiff 0.6 joindiff, its check of keys off", "reladiff", "joindiff"),
    Way("reladiff 0.6 hashdiff", "reladiff", "hashdiff"),
)
_ACROSS = Contest(
    "PostgreSQL and DuckDB, row by row",
    "rows",
    (Way("reladiff 0.6 hashdiff", "reladiff", "hashdiff across"),),
    (_ours("across rows", 0.25),),
    3,
)
SMALL = (*_duckdb(5, _FRAMES), *_postgres(3, 3, _RELADIFF), _ACROSS, *_explained(3))
LARGE = (*_duckdb(3, ()), *_postgres(3, 1, ()), *_explained(3))
