"""The filters of a question, put together as the tools take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skillian.llm.lexicon import Operator


class Conditions:
    """What is asked of each dimension, in the order of the question."""

    def __init__(self) -> None:
        self._asked: dict[str, dict[Operator, list[str]]] = {}

    def add(self, dimension: str, operator: Operator, values: Sequence[str]) -> bool:
        """Note a condition; False where it goes against an earlier one on that dimension."""
        asked = self._asked.setdefault(dimension, {})
        if operator in {"eq", "ne"}:
            known = asked.setdefault(operator, [])
            known += [value for value in values if value not in known]
        elif operator in asked:
            return False
        else:
            asked[operator] = list(values)
        return len(asked) == 1 or "eq" not in asked

    def arguments(self) -> dict[str, Any]:
        """The `filters` argument."""
        return {name: _argument(asked) for name, asked in self._asked.items()}


def _argument(asked: dict[Operator, list[str]]) -> Any:
    if "eq" in asked:
        return _one_or_all(asked["eq"])
    if set(asked) == {"gte", "lte"}:
        return {"between": [asked["gte"][0], asked["lte"][0]]}
    return {
        operator: values if operator == "between" else _one_or_all(values)
        for operator, values in asked.items()
    }


def _one_or_all(values: list[str]) -> Any:
    return values[0] if len(values) == 1 else list(values)
