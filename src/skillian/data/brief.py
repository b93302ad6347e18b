"""Results as a language model reads them: long texts cut, long lists ended."""

from typing import Any

from skillian.data.catalogue import SourceInfo
from skillian.data.explanation import Explanation
from skillian.data.query import QueryResult
from skillian.data.results import ComparisonResult
from skillian.data.values import jsonable

BREAKDOWNS = 6
MEMBERS = 5
LONGEST_TEXT = 200


def brief_comparison(result: ComparisonResult) -> dict[str, Any]:
    """Return the comparison without its proof: thousands of characters of SQL."""
    return {name: value for name, value in result.to_dict().items() if name != "proof"}


def brief_explanation(found: Explanation) -> dict[str, Any]:
    """Return the smallest breakdowns, and of each the members that carry most."""
    told: dict[str, Any] = found.to_dict()
    for measure in told["measures"].values():
        measure["breakdowns"] = [
            {**each, "contributions": each["contributions"][:MEMBERS]}
            for each in measure["breakdowns"][:BREAKDOWNS]
        ]
    return told


def brief_side(found: QueryResult) -> dict[str, Any]:
    """Return the rows of one side of a group, without the statement that gave them."""
    return {
        "source": found.source,
        "columns": found.columns,
        "rows": brief_rows(found),
        "truncated": found.truncated,
    }


def brief_rows(found: QueryResult) -> list[list[object]]:
    """Return all rows, each value cut."""
    return [[brief_value(value) for value in row] for row in found.rows]


def brief_measures(found: SourceInfo) -> dict[str, Any]:
    """Return what a question has to know of each measure."""
    wanted = {"aggregation", "unit", "description", "synonyms"}
    return {name: one.model_dump(include=wanted) for name, one in found.measures.items()}


def brief_value(value: object) -> object:
    """Return a value for JSON; of a long text its beginning, and how long it is."""
    told = jsonable(value)
    if isinstance(told, str) and len(told) > LONGEST_TEXT:
        return f"{told[:LONGEST_TEXT]}… ({len(told)} characters)"
    return told
