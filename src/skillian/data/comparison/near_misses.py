"""Keys that would match if they were written alike: counted, but never treated as equal."""

from collections.abc import Iterator, Mapping

from skillian.data.comparison.plan import ComparisonPlan
from skillian.data.results.groups import NearMisses

_FOLDS = {
    "spaces": "TRIM({key}, ' ')",
    "case": "REPLACE(UPPER({key}), '\u1e9e', '\u00df')",
    "zeros": "LTRIM({key}, '0')",
    "unicode": "NFC_NORMALIZE({key})",
}


def near_miss_columns(plan: ComparisonPlan) -> Iterator[str]:
    """Yield a column for each kind of near miss, over the staged relation `different`.

    There are none unless a key is text: other types have only one form.
    """
    texts = [term.type.kind == "text" for term in plan.a.keys]
    for name, fold in _FOLDS.items() if any(texts) else ():
        keys = (f"key_{index}" for index in range(len(texts)))
        folded = [
            fold.format(key=key) if text else key for key, text in zip(keys, texts, strict=True)
        ]
        yield (
            "(SELECT COUNT(*) FROM (SELECT 1 FROM different"  # noqa: S608 - our own names
            f" WHERE status IN ('missing_in_a', 'missing_in_b') GROUP BY {', '.join(folded)}"
            f" HAVING SUM(rows_a) > 0 AND SUM(rows_b) > 0)) AS near_{name}"
        )


def read_near_misses(row: Mapping[str, object]) -> NearMisses:
    """The counts from a row of the statement; all are 0 if no key is text."""
    return NearMisses(**{name: int(str(row.get(f"near_{name}", 0))) for name in _FOLDS})
