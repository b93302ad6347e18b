"""A comparison as it was asked for, and the plan and the cache key that it leads to."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from skillian.data import sql
from skillian.data.binding import Binder
from skillian.data.comparison_plan import (
    ComparisonPlan,
    bound_side,
    common_names,
    plan_comparison,
    shared_keys,
)
from skillian.data.definitions import Thresholds
from skillian.data.filters import Filters
from skillian.data.sources import SourceRegistry
from skillian.errors import InvalidInputError

# Part of every cache key: raise it whenever the same question could get another answer.
ENGINE_VERSION = 3


@dataclass(frozen=True, slots=True)
class Question:
    """What to compare; `align_on` None means the declared default."""

    source_a: str
    source_b: str
    measures: tuple[str, ...]
    align_on: tuple[str, ...] | None
    filters: Filters | None
    thresholds: Thresholds

    @classmethod
    def asked(
        cls,
        sources: tuple[str, str],
        measures: Sequence[str],
        align_on: Sequence[str] | None,
        filters: Filters | None,
        thresholds: Thresholds | Mapping[str, Any] | None,
    ) -> "Question":
        """Return a question from what a caller gives; raises `InvalidInputError`."""
        wanted = [measures] if isinstance(measures, str) else list(dict.fromkeys(measures))
        if not wanted:
            raise InvalidInputError("name at least one measure to compare")
        aligned = None if align_on is None else tuple(dict.fromkeys(align_on))
        return cls(*sources, tuple(wanted), aligned, filters, _thresholds(thresholds))

    def aligned_on(self, names: Sequence[str]) -> "Question":
        """Return the same question at another grain."""
        return replace(self, align_on=tuple(names))


class Planner:
    """Turns questions into plans.

    Args:
        registry: The sources there are, and the defaults of a comparison.
        binder: Binds them to their databases.
    """

    def __init__(self, registry: SourceRegistry, binder: Binder) -> None:
        self._registry = registry
        self._binder = binder

    async def plan(self, question: Question) -> ComparisonPlan:
        """Return the plan; raises as `ComparisonEngine.compare` does."""
        a = await self._binder.bind(question.source_a)
        b = await self._binder.bind(question.source_b)
        settings = self._registry.comparison
        keys = shared_keys(a, b, question.align_on, settings.default_align_on)
        pair = frozenset((question.source_a, question.source_b))
        limits = [
            question.thresholds.over(settings.thresholds_for(pair, name)).settled()
            for name in question.measures
        ]
        parameters = sql.Parameters()
        return plan_comparison(
            await bound_side(a, keys, question.measures, question.filters, parameters),
            await bound_side(b, keys, question.measures, question.filters, parameters),
            limits,
            parameters,
        )

    def cache_key(self, plan: ComparisonPlan, top: int) -> str:
        """Return a digest of everything that decides the answer."""
        sides = [
            {
                "name": side.source.name,
                "url": self._registry.declared_url(side.source.definition.connection),
                "definition": side.source.definition.model_dump(mode="json"),
                "columns": {name: kind.sql for name, kind in side.source.columns.items()},
                "filters": [condition.to_dict() for condition in side.where],
            }
            for side in (plan.a, plan.b)
        ]
        question = {
            "engine": ENGINE_VERSION,
            "top": top,
            "sides": sides,
            "align_on": plan.align_on,
            "measures": [
                (measure.name, measure.thresholds.model_dump(mode="json"))
                for measure in plan.measures
            ],
        }
        return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()


def unused_dimensions(plan: ComparisonPlan) -> tuple[str, ...]:
    """Return the dimensions that both sources have and the plan does not align on."""
    shared = common_names(plan.a.source, plan.b.source)
    return tuple(name for name in shared if name not in plan.align_on)


def _thresholds(given: Thresholds | Mapping[str, Any] | None) -> Thresholds:
    try:
        return Thresholds.model_validate(given or {})
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()
        )
        raise InvalidInputError(
            f"thresholds are {{match, minor_diff: {{absolute, percentage}}}}; {faults}"
        ) from None
