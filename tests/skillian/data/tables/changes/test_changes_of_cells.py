"""What a rule computes of cells, in DuckDB, in PostgreSQL, and between both."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from tests.skillian.data.tables.comparing import compared
from tests.skillian.data.tables.conftest import Store

from skillian.cli.compare_input import read_rule
from skillian.data.declare.rules import Rules
from skillian.errors import InvalidInputError


class Case(NamedTuple):
    """Cells of two columns, the last of which differ although the rule applies."""

    rule: str
    types: tuple[str, str]
    a: Sequence[str | None]
    b: Sequence[str | None]


MONEY, MOMENT, ZONED = "DECIMAL(12, 2)", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"
WINTER, SUMMER = "2024-01-01 10:00:00", "2024-07-01 10:00:00"
NEW, DOUBLE, WIDE = "2024-01-02 00:00:00", "DOUBLE PRECISION", "DECIMAL(18, 4)"
CASES = [
    Case("factor=0.840336134454,round=2", (WIDE, WIDE), ["4936.97", "1"], ["4148.71", "1"]),
    Case("factor=100", (MONEY, MONEY), ["1.5", "-2", "0", None, "1"],
         ["150", "-200", "0", None, "1"]),
    Case("factor=100", (MONEY, "BIGINT"), ["1.5", "9007199254.41", "1"],
         ["150", "900719925441", "101"]),
    Case("factor=-1", ("BIGINT", "BIGINT"), ["9223372036854775807", "1"],
         ["-9223372036854775807", "1"]),
    Case("factor=100", ("DECIMAL(38, 2)", MONEY), ["1.5", "2"], ["150", "2"]),
    Case("factor=100", (DOUBLE, DOUBLE), ["0.1", "NaN", "2"], ["10", "NaN", "200.5"]),
    Case("factor=1.19,round=2", (MONEY, MONEY), ["1.50", "0.99", "2"], ["1.79", "1.18", "2.39"]),
    Case("divisor=1.19,round=2", (MONEY, MONEY), ["1.79", "1.18", "2"], ["1.50", "0.99", "1"]),
    Case("round=1", (MONEY, MONEY), ["0.25", "-0.25", "1"], ["0.3", "-0.3", "1.1"]),
    Case("plus=5,0.01", ("INTEGER", MONEY), ["1", "2", "3"], ["6", "7.01", "8.02"]),
    Case("zone-b=Europe/Berlin", (MOMENT, MOMENT), [WINTER, SUMMER, None, WINTER],
         ["2024-01-01 11:00:00", "2024-07-01 12:00:00", None, WINTER]),
    Case("zone-a=Europe/Berlin", (MOMENT, MOMENT), ["2024-10-27 02:30:00", SUMMER, WINTER],
         ["2024-10-27 01:30:00", "2024-07-01 08:00:00", WINTER]),
    Case("zone-b=Europe/Berlin,precision=day", (MOMENT, MOMENT), ["2024-01-01 23:30:00", WINTER],
         [NEW, NEW]),
    Case("zone-a=Europe/Berlin", (MOMENT, ZONED), [SUMMER, WINTER],
         ["2024-07-01 08:00:00+00", f"{WINTER}+00"]),
    Case("shift=-2h", (ZONED, ZONED), [f"{SUMMER}+00", f"{WINTER}+00"],
         ["2024-07-01 08:00:00+00", f"{WINTER}+00"]),
    Case("shift=1d", ("DATE", "DATE"), ["2024-02-28", None, "2024-01-01"],
         ["2024-02-29", None, "2024-01-01"]),
    Case("shift=30m", ("DATE", MOMENT), ["2024-07-01", "2024-01-01"],
         ["2024-07-01 00:30:00", "2024-01-01"]),
    Case("length=3", ("VARCHAR(9)", "VARCHAR(9)"), ["abcd", "äöü!", "ab"], ["abc", "äöü", "abc"]),
]  # fmt: skip
NANOSECONDS = Case("shift=1s", ("TIMESTAMP_NS", "TIMESTAMP_NS"),
                   [f"{WINTER}.000000001", "infinity", WINTER],
                   ["2024-01-01 10:00:01.000000001", "infinity", WINTER])  # fmt: skip


def statements(cases: Sequence[Case]) -> list[str]:
    """What makes tables a and b, with a column for each case, and NULL below its cells."""
    made: list[str] = []
    for side, name in enumerate("ab"):
        kinds = ", ".join(f"v{n} {case.types[side]}" for n, case in enumerate(cases))
        rows: list[str] = []
        for row in range(max(len(case.a) for case in cases)):
            cells = [
                f"CAST({'NULL' if value is None else repr(value)} AS {case.types[side]})"
                for case in cases
                for value in [dict(enumerate((case.a, case.b)[side])).get(row)]
            ]
            rows.append(f"({row}, {', '.join(cells)})")
        made += [
            f"CREATE TABLE {name} (id INTEGER, {kinds})",
            f"INSERT INTO {name} VALUES {', '.join(rows)}",  # noqa: S608 - our own
        ]
    return made


def check(cases: Sequence[Case], a: str, b: str) -> None:
    stated = dict(read_rule(f"v{n}:{case.rule}") for n, case in enumerate(cases))
    result = compared(a, b, key=("id",), rules=Rules.model_validate({"columns": stated}))
    differing = {column.a: column.mismatches for column in result.columns}
    assert differing == {f"v{n}": 1 for n in range(len(cases))}
    for column, case in zip(result.columns, cases, strict=True):
        [pair] = column.pairs
        assert [pair.a is None, pair.b is None] == [case.a[-1] is None, case.b[-1] is None]


def test_in_duckdb_in_postgres_and_across(store: Store) -> None:
    local = [*CASES, NANOSECONDS]
    own, other = store("duckdb", *statements(local)), store("duckdb other", *statements(CASES))
    postgres = store("postgres", *statements(CASES))
    check(local, f"{own}#a", f"{own}#b")
    check(CASES, f"{postgres}#a", f"{postgres}#b")
    check(CASES, f"{postgres}#a", f"{other}#b")


REFUSED = (
    ("v:factor=0", "multiplied by 0"),
    ("v:zone-b=Mars/X", "there is no time zone"),
    ("v:shift=2", "is not understood"),
    ("v:factor=1=2", "is not understood"),
    ("v:length=0", "length"),
)


@pytest.mark.parametrize(("stated", "words"), REFUSED)
def test_a_rule_that_cannot_be_meant_is_refused(stated: str, words: str) -> None:
    with pytest.raises((InvalidInputError, ValueError), match=words):
        Rules.model_validate({"columns": dict([read_rule(stated)])})
