"""Comparisons without a model, kept so that other processes and later ones know them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from skillian.api.problems import ProblemError
from skillian.data.comparison.place import Progress
from skillian.data.declare.saved import SavedComparison
from skillian.data.query.filters import Filters
from skillian.data.services import DataServices
from skillian.errors import InvalidInputError
from skillian.reports.formats import Depth
from skillian.reports.outcome import Outcome
from skillian.reports.running import run_all
from skillian.storage import MessageTooLong, SessionStore

REPORT_DEPTH = Depth(groups=1000, drilled=5)


class Comparisons:
    """Compares, and finds again what was compared by its cache key.

    Args:
        data: compares.
        store: keeps each result, with the question, as long as the engine does.
    """

    def __init__(self, data: DataServices, store: SessionStore) -> None:
        self._data = data
        self._kept = store.comparisons

    async def compare(
        self, asked: SavedComparison, progress: Progress | None = None
    ) -> dict[str, Any]:
        """The result as JSON; `progress` and errors as those of `ComparisonEngine.compare`."""
        result = await self._data.comparison.compare(
            *_question(asked), thresholds=asked.thresholds, progress=progress
        )
        told = result.to_dict()
        expires = timedelta(seconds=self._data.registry.comparison.cache_ttl_seconds)
        question = asked.model_dump(mode="json")
        with suppress(MessageTooLong):  # then only this process knows it
            await self._kept.put(result.cache_key, {"question": question, "result": told}, expires)
        return told

    async def check(self, asked: SavedComparison) -> None:
        """Return where it can be compared; errors as those of `compare` before it begins."""
        await self._data.comparison.check(*_question(asked), thresholds=asked.thresholds)

    async def find(self, key: str) -> dict[str, Any]:
        """The result of this key as JSON.

        Raises:
            ProblemError: there is none any more (404).
        """
        try:
            return self._data.comparison.remembered(key).to_dict()
        except InvalidInputError:
            found: dict[str, Any] = (await self._stored(key))["result"]
            return found

    async def recall(self, key: str) -> None:
        """See to it that the engine knows the comparison; raises as `find` and `compare`.

        What another process compared is compared again, so that its rows can be asked for.
        """
        try:
            self._data.comparison.remembered(key)
        except InvalidInputError:
            stored = await self._stored(key)
            again = await self.compare(SavedComparison.model_validate(stored["question"]))
            if again["cache_key"] != key:
                raise _unknown() from None

    async def report(self, key: str) -> Outcome:
        """All that a report shows of a comparison; raises as `recall`."""
        await self.recall(key)
        question = self._data.comparison.question(key)
        asked = SavedComparison(
            name=f"{question.source_a} and {question.source_b}",
            a=question.source_a,
            b=question.source_b,
            measures=question.measures,
            align_on=question.align_on,
            filters=dict(question.filters or {}),
            thresholds=question.thresholds,
        )
        [outcome] = await run_all(self._data.comparison, [asked], REPORT_DEPTH, _unwatched)
        return outcome

    async def _stored(self, key: str) -> dict[str, Any]:
        stored = await self._kept.find(key) if key.isalnum() and key.isascii() else None
        if stored is None:
            raise _unknown()
        return stored


def _question(
    asked: SavedComparison,
) -> tuple[str, str, Sequence[str], Sequence[str] | None, Filters]:
    return asked.a, asked.b, asked.measures, asked.align_on, asked.filters


def _unwatched(_name: str, _doing: str) -> None:
    pass


def _unknown() -> ProblemError:
    return ProblemError(
        404, "comparison_not_found", "There is no such comparison (any more); compare again."
    )
