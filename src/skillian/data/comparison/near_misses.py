"""Keys that would match if they were written alike: counted, but never treated as equal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from skillian.data import sql
from skillian.data.comparison.plan import ComparisonPlan
from skillian.data.sql.values import Record


def _composed(value: exp.Expr) -> exp.Expr:
    normal = exp.Normalize(this=value, form=exp.var("NFC"))
    normal.meta["lenient"] = True  # a database without this function leaves the value unchanged
    return normal


_FOLDS: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "spaces": sql.trimmed,
    "case": sql.uppered,
    "zeros": lambda value: exp.Trim(
        this=value, expression=exp.Literal.string("0"), position="LEADING"
    ),
    "unicode": _composed,
}


@dataclass(frozen=True, slots=True)
class NearMisses(Record):
    """The number of keys that are missing on each side only because they are written differently.

    Each counts the keys of both sides that become one when leading and trailing spaces, case,
    leading zeros, or the Unicode form (NFC) of their text is ignored.
    """

    spaces: int = 0
    case: int = 0
    zeros: int = 0
    unicode: int = 0


def has_texts(plan: ComparisonPlan) -> bool:
    """Whether a key is text: other types have only one form."""
    return any(term.type.kind == "text" for term in plan.a.keys)


def near_miss_columns(plan: ComparisonPlan) -> list[exp.Expr]:
    """One scalar column for each kind of near miss, over the relation `missing`."""
    if not has_texts(plan):
        return []
    kinds = [term.type.kind for term in plan.a.keys]
    return [sql.named(_count(kinds, fold), f"near_{name}") for name, fold in _FOLDS.items()]


def missing_select() -> exp.Select:
    """The groups that are on one side only."""
    one_side = [sql.is_text(sql.bare("status"), f"missing_in_{side}") for side in "ab"]
    select = exp.Select(expressions=[exp.Star()]).from_(sql.table("different"), copy=False)
    return select.where(sql.any_of(one_side), copy=False)


def read_near_misses(row: Mapping[str, object]) -> NearMisses:
    """The counts from a row of the statement; all are 0 if no key is text."""
    return NearMisses(**{name: int(str(row.get(f"near_{name}", 0))) for name in _FOLDS})


def _count(kinds: Sequence[str], fold: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    keys = [sql.bare(f"key_{index}") for index in range(len(kinds))]
    folded = [fold(key) if kind == "text" else key for key, kind in zip(keys, kinds, strict=True)]
    both = [
        exp.GT(this=exp.Sum(this=sql.bare(f"rows_{side}")), expression=sql.zero()) for side in "ab"
    ]
    matching = exp.Select(expressions=[sql.named(sql.one(), "one")])
    matching.from_(sql.table("missing"), copy=False).group_by(*folded, copy=False)
    matching.having(sql.all_of(both), copy=False)
    count = exp.Select(expressions=[exp.Count(this=exp.Star())])
    return count.from_(matching.subquery(sql.name("matching"), copy=False), copy=False).subquery(
        copy=False
    )
