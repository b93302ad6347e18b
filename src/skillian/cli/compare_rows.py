"""The options of `skillian compare` for whole rows, and what they compare."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from skillian.cli.shell import column_map, listed
from skillian.errors import InvalidInputError

if TYPE_CHECKING:
    from skillian.data.declare.saved import Saved

_FLAGS = ("trim", "ignore_case", "nfc", "collapse_whitespace", "empty_is_null")
_NUMBER = re.compile(r"(?P<number>\d+(?:\.\d+)?|\.\d+)(?P<unit>%|s|)")
_VALUE = re.compile(
    r"(?P<name>factor|divisor|plus|round|length|zone|zone-a|zone-b|precision)=(?P<value>[^=]+)"
    r"|shift=(?P<shift>[+-]?\d+(?:\.\d+)?)(?P<span>[smhd])"
)
_SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_PERCENT = Decimal(100)
_CLASSES = {"match": "match", "minor": "minor_diff"}


@dataclass(frozen=True, slots=True)
class RowOptions:
    """The options for whole rows, as the command line states them."""

    key: Sequence[str]
    columns: Sequence[str]
    ignore: Sequence[str]
    accept: Sequence[str]
    map: Sequence[str]
    rule: Sequence[str]
    multiset: bool

    def stated(self) -> list[str]:
        """The options that the command line states, such as `--ignore`."""
        return [
            f"--{field.name.replace('_', '-')}"
            for field in fields(self)
            if getattr(self, field.name) not in (None, False, (), [])
        ]

    def to_saved(self) -> dict[str, Any]:
        """The options as fields of a `SavedComparison`; raises `InvalidInputError`."""
        rules: dict[str, Any] = {"all": {}, "columns": {}}
        for entry in self.rule:
            name, rule = read_rule(entry)
            own = rules["columns"].setdefault(name, {}) if name else rules["all"]
            own |= rule
        saved: dict[str, Any] = {
            "key": listed(self.key),
            "ignore": listed(self.ignore),
            "accept": listed(self.accept),
            "rules": rules,
            "multiset": self.multiset,
        }
        if self.columns:
            saved["columns"] = listed(self.columns)
        return saved


def read_rule(entry: str) -> tuple[str, dict[str, Any]]:
    """The column, or "" for all, and the rule of `0.01`, `name:5s` or `name:trim,factor=100`."""
    name, colon, text = entry.rpartition(":")
    rule: dict[str, Any] = {}
    for part in text.split(",") if bool(colon) == bool(name) else ():
        word = part.strip()
        number = _NUMBER.fullmatch(word)
        flag = word.replace("-", "_")
        if number is not None:
            value = Decimal(number["number"])
            unit = {"": "absolute", "%": "relative", "s": "seconds"}[number["unit"]]
            rule[unit] = value / _PERCENT if unit == "relative" else value
        elif flag in _FLAGS:
            rule[flag] = True
        elif stated := _VALUE.fullmatch(word):
            rule |= _stated(stated)
        else:
            rule.clear()
            break
    if not rule:
        raise InvalidInputError(
            f"--rule {entry!r} is not understood; write 0.01 for the largest difference of numbers,"
            " 1% for a percentage, 5s for seconds, or one of"
            f" {', '.join(flag.replace('_', '-') for flag in _FLAGS)}; what is done with the value"
            " of a is factor=100, divisor=1.19, plus=5, shift=2h or zone-b=Europe/Berlin, and with"
            " both zone=Europe/Berlin, round=2, length=20 or precision=day; for one column:"
            " name:0.01"
        )
    return name, rule


def thresholds_of(entries: Sequence[str]) -> dict[str, dict[str, Decimal]]:
    """The limits of classes as a saved comparison has them, of `match:0.01` or `minor:5,1%`."""
    thresholds: dict[str, dict[str, Decimal]] = {}
    for entry in entries:
        name, _, text = entry.partition(":")
        numbers = [_NUMBER.fullmatch(part.strip()) for part in text.split(",")]
        limits = {
            "percentage" if each["unit"] else "absolute": Decimal(each["number"])
            for each in numbers
            if each is not None and each["unit"] != "s"
        }
        if name not in _CLASSES or len(limits) < len(numbers):
            raise typer.BadParameter(
                f"--limit {entry!r} is not understood; write match:0.01 or minor:1%, or both limits"
                " of a class as minor:5,1%"
            )
        thresholds.setdefault(_CLASSES[name], {}).update(limits)
    return thresholds


def _stated(match: re.Match[str]) -> dict[str, Any]:
    """The part of a rule that is written as a name and a value."""
    if match["shift"] is not None:
        return {"shift": Decimal(match["shift"]) * _SPANS[match["span"]]}
    return {match["name"].replace("-", "_"): match["value"]}


async def load_rows(
    names: tuple[str, str],
    options: RowOptions,
    filters: Mapping[str, Any],
    sources: Path | None,
    fail_on: str | None = None,
) -> Saved:
    """Read the tables that the command line names.

    Args:
        names: The two tables: files, addresses of tables, or declared sources.
        options: What to compare, and how.
        filters: Which rows to compare.
        sources: The `sources.yaml`; None to use the configured one, if it exists.
        fail_on: `schema` if any difference of the schemas is a finding.

    Raises:
        ToolError: A name or an option is wrong, or a table cannot be read.
        ConfigurationError: The `sources.yaml` has faults.
    """
    from skillian.cli.compare_input import named_by_command
    from skillian.data.declare.saved import Saved
    from skillian.data.named import saved_comparison

    registry, (a, b) = await named_by_command(names, sources)
    saved = {"name": f"{a} and {b}", "a": a, "b": b, "filters": filters, **options.to_saved()}
    if fail_on is not None:
        saved["fail_on"] = fail_on
    saved["map"] = column_map(options.map)
    return Saved(registry, (saved_comparison(saved),))
