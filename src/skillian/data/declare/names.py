"""What people call columns, by the words of their names."""

import re
from collections.abc import Mapping, Sequence

JOINING = frozenset({"by", "for", "from", "in", "of", "on", "per", "to", "via", "with"})
"""Words between a noun and what belongs to it, as in UnitsInStock."""
# Last words that people leave out: the employee is EmployeeId.
_IDENTIFYING = frozenset({"code", "id", "key", "name", "no", "nr", "number"})
# Last words that say too little alone.
_VAGUE = frozenset({"all", "level", "only", "other", "total"})
_IN_FULL = {
    "acct": "account",
    "amt": "amount",
    "cat": "category",
    "cd": "code",
    "cust": "customer",
    "dept": "department",
    "dt": "date",
    "emp": "employee",
    "loc": "location",
    "mkt": "market",
    "prod": "product",
    "qtr": "quarter",
    "qty": "quantity",
    "yr": "year",
}
_OF_TIME = frozenset({"at", "date", "day", "on", "time"})
_TIMES = frozenset({"date", "timestamp", "timestamptz"})
_WORD = re.compile(r"[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+")


def words_of(name: str) -> list[str]:
    """The words of a name such as ship_country or ShipCountry, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]


def synonyms(names: Sequence[str], table: str) -> dict[str, tuple[str, ...]]:
    """What else columns are called: EmployeeId is the employee, ShipCountry the country.

    Each synonym is of one column alone; the id of a table has the name of the table.
    """
    words = {name: words_of(name) for name in names}
    wanted: dict[str, str] = {}
    for name, written in words.items():
        own = [_IN_FULL.get(word, word) for word in written]
        if _IDENTIFYING.intersection(own[-1:]):
            wanted[name] = " ".join(own[:-1]) or table
        elif len(own) > 1 and (JOINING | _OF_TIME | _VAGUE).isdisjoint(own):
            wanted[name] = own[-1]
        elif own != written:
            wanted[name] = " ".join(own)
    taken = [*wanted.values(), *map(" ".join, words.values())]
    return {name: (each,) for name, each in wanted.items() if taken.count(each) == 1}


def months(kinds: Mapping[str, str]) -> dict[str, str]:
    """What the months of dates are called, unless a column has months already.

    Args:
        kinds: The kind of each column, such as `date`.
    """
    if any("month" in words_of(name) for name in kinds):
        return {}
    dates = [name for name, kind in kinds.items() if kind in _TIMES]
    if len(dates) == 1:
        return {dates[0]: "month"}
    nouns = {name: [word for word in words_of(name) if word not in _OF_TIME] for name in dates}
    return {name: " ".join([*noun, "month"]) for name, noun in nouns.items()}
