"""The groups of a comparison as the columns of a table that another program opens."""

from collections.abc import Iterator

from skillian.data.comparison.results import ComparisonResult
from skillian.data.comparison.rows import GroupRow
from skillian.reports.words import STATUS


def headings(result: ComparisonResult) -> list[str]:
    """Return the names of the columns: the dimensions, the class, the rows, and each measure's."""
    names = [*result.proof.align_on, "class", "rows a", "rows b"]
    for measure in result.summary.measures:
        unit = f" ({measure.unit})" if measure.unit else ""
        parts = ("a", "b", "b - a")
        names += [f"{measure.name} {part}{unit}" for part in parts]
        names += [f"{measure.name} %", f"{measure.name} class"]
    return names


def cells(row: GroupRow) -> Iterator[object]:
    """Yield the values of one group; amounts are `Decimal`."""
    yield from row.key.values()
    yield STATUS[row.status]
    yield row.rows_a
    yield row.rows_b
    for each in row.measures:
        yield from (each.a, each.b, each.gap)
        yield each.percentage_diff
        yield STATUS[each.status]
