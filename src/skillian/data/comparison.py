"""Compares two sources exactly, in one statement, and remembers the answers for a while."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from cachetools import TTLCache
from pydantic import ValidationError

from skillian.data import sql
from skillian.data.binding import bind
from skillian.data.comparison_groups import groups_of_rows
from skillian.data.comparison_plan import (
    ComparisonPlan,
    bound_side,
    plan_comparison,
    shared_keys,
)
from skillian.data.comparison_rows import read_rows
from skillian.data.comparison_sql import comparison_statement
from skillian.data.compile import compile_sql
from skillian.data.connections import Connections
from skillian.data.definitions import Thresholds
from skillian.data.filters import Filters
from skillian.data.interpretation import interpret
from skillian.data.results import ComparisonResult, Proof
from skillian.data.sources import SourceRegistry
from skillian.errors import InvalidInputError, UnavailableError

TOP = 10

# Part of every cache key: raise it whenever the same question could get another answer.
ENGINE_VERSION = 1
_REMEMBERED = 256


class ComparisonEngine:
    """Compares two sources of one connection.

    Args:
        registry: The sources there are, and the defaults of a comparison.
        connections: Their databases.
        top: How many of the largest differences of each measure a result holds.
    """

    def __init__(self, registry: SourceRegistry, connections: Connections, top: int = TOP) -> None:
        self._registry = registry
        self._connections = connections
        self._top = top
        self._results: TTLCache[str, ComparisonResult] = TTLCache(
            _REMEMBERED, registry.comparison.cache_ttl_seconds, timer=monotonic
        )

    async def compare(
        self,
        source_a_name: str,
        source_b_name: str,
        measures: Sequence[str],
        align_on: Sequence[str] | None = None,
        filters: Filters | None = None,
        *,
        thresholds: Thresholds | Mapping[str, Any] | None = None,
    ) -> ComparisonResult:
        """Compare `measures` per combination of the dimensions `align_on`.

        Without `align_on` the declared default is used, as far as both sources have it. What
        `thresholds` leaves open, the configuration decides; what both leave open is 0. The same
        question again, within the configured time, is answered from memory.
        Raises `InvalidInputError`, `UnknownNameError`, `QueryError`, or `UnavailableError` for
        sources of two connections.
        """
        plan = await self._plan(
            (source_a_name, source_b_name), measures, align_on, filters, thresholds
        )
        key = self._cache_key(plan)
        result = self._results.get(key)
        if result is None:
            result = self._results[key] = await self._run(plan, key)
        return result

    async def _plan(
        self,
        names: tuple[str, str],
        measures: Sequence[str],
        align_on: Sequence[str] | None,
        filters: Filters | None,
        thresholds: Thresholds | Mapping[str, Any] | None,
    ) -> ComparisonPlan:
        wanted = [measures] if isinstance(measures, str) else list(dict.fromkeys(measures))
        if not wanted:
            raise InvalidInputError("name at least one measure to compare")
        connections = {name: self._registry.get(name).connection for name in names}
        if len({*connections.values()}) > 1:
            raise UnavailableError(
                f"{names[0]} and {names[1]} are on two connections; this version compares sources"
                " of one connection only"
            )
        a = await bind(self._registry, self._connections, names[0])
        b = await bind(self._registry, self._connections, names[1])
        settings = self._registry.comparison
        keys = shared_keys(a, b, align_on, settings.default_align_on)
        asked = _thresholds(thresholds)
        limits = [asked.over(settings.thresholds_for(frozenset(names), name)) for name in wanted]
        parameters = sql.Parameters()
        return plan_comparison(
            await bound_side(a, keys, wanted, filters, parameters),
            await bound_side(b, keys, wanted, filters, parameters),
            limits,
            parameters,
        )

    def _cache_key(self, plan: ComparisonPlan) -> str:
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
            "top": self._top,
            "sides": sides,
            "align_on": plan.align_on,
            "measures": [
                (measure.name, measure.thresholds.model_dump(mode="json"))
                for measure in plan.measures
            ],
        }
        return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()

    async def _run(self, plan: ComparisonPlan, key: str) -> ComparisonResult:
        connector = plan.a.source.connector
        statement = compile_sql(comparison_statement(plan, groups_of_rows(plan), self._top), connector.dialect)
        snapshot = datetime.now(UTC).isoformat(timespec="seconds")
        table = await connector.run(statement, plan.parameters.values)
        summary, top = read_rows(table, plan)
        names = plan.a.source.name, plan.b.source.name
        return ComparisonResult(
            source_a=names[0],
            source_b=names[1],
            summary=summary,
            top_differences=top,
            interpretation=interpret(*names, summary, top),
            cache_key=key,
            proof=Proof(
                sql=statement,
                parameters=plan.parameters.values,
                snapshot=snapshot,
                align_on=plan.align_on,
                filters=plan.a.where,
                thresholds={measure.name: measure.thresholds for measure in plan.measures},
            ),
        )


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
