"""Comparisons without a model, stored so that other and later processes know them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import uuid4

from skillian.api.problems import ProblemError
from skillian.data.comparison.place import Progress
from skillian.data.declare.saved import SavedComparison
from skillian.data.query.filters import Filters
from skillian.data.services import DataServices
from skillian.errors import InvalidInputError
from skillian.reports.formats import Depth
from skillian.reports.outcome import Outcome
from skillian.reports.running import question_of, run_all
from skillian.storage import MessageTooLong, SessionStore

REPORT_DEPTH = Depth(groups=1000, drilled=5)


class Comparisons:
    """Compares, and finds comparisons by their cache key.

    Args:
        data: Compares.
        store: Keeps each result, with its question, as long as the engine does.
    """

    def __init__(self, data: DataServices, store: SessionStore) -> None:
        self._data = data
        self._store = store.comparisons

    async def compare(
        self, question: SavedComparison, progress: Progress | None = None
    ) -> dict[str, Any]:
        """The result as JSON; `progress` and errors are those of the engines."""
        body = await self._compared(question, progress)
        expires = timedelta(seconds=self._data.registry.comparison.cache_ttl_seconds)
        stored = {
            "question": question.model_dump(mode="json", exclude_defaults=True),
            "result": body,
        }
        with suppress(MessageTooLong):  # then only this process knows it
            await self._store.put(str(body["cache_key"]), stored, expires)
        return body

    async def _compared(
        self, question: SavedComparison, progress: Progress | None
    ) -> dict[str, Any]:
        if question.is_of_rows:
            rows = await self._data.tables.compare(question_of(question), progress)
            return {**rows.to_dict(), "cache_key": uuid4().hex}
        result = await self._data.comparison.compare(
            *_arguments(question), thresholds=question.thresholds, progress=progress
        )
        return result.to_dict()

    async def check(self, question: SavedComparison) -> None:
        """Raise the errors that `compare` would raise before it begins."""
        if question.is_of_rows:
            for name in (question.a, question.b):
                self._data.registry.get(name)
            return
        await self._data.comparison.check(*_arguments(question), thresholds=question.thresholds)

    async def find(self, key: str) -> dict[str, Any]:
        """The result of this key as JSON.

        Raises:
            ProblemError: There is none, or it has expired (404).
        """
        try:
            return self._data.comparison.remembered(key).to_dict()
        except InvalidInputError:
            result: dict[str, Any] = (await self._stored(key))["result"]
            return result

    async def recall(self, key: str) -> None:
        """Make the engine of this process know the comparison; raises as `find` and `compare` do.

        The comparison of another process is made again, so that its rows can be read.
        """
        try:
            self._data.comparison.remembered(key)
        except InvalidInputError:
            question = await self._question(key)
            if question.is_of_rows:
                raise _no_groups() from None
            again = await self.compare(question)
            if again["cache_key"] != key:
                raise _unknown() from None

    async def report(self, key: str) -> Outcome:
        """The content of a report on a comparison; raises as `recall` does.

        Whole rows are compared again, because only the result in JSON is kept.
        """
        saved = await self._saved(key)
        [outcome] = await run_all(self._data, [saved], REPORT_DEPTH, _unwatched)
        return outcome

    async def _saved(self, key: str) -> SavedComparison:
        try:
            question = self._data.comparison.question(key)
        except InvalidInputError:
            stored = await self._question(key)
            name = f"{stored.a} and {stored.b}"
            if stored.is_of_rows:
                return stored.model_copy(update={"name": name})
            await self.recall(key)
            question = self._data.comparison.question(key)
        return SavedComparison(
            name=f"{question.source_a} and {question.source_b}",
            a=question.source_a,
            b=question.source_b,
            measures=question.measures,
            align_on=question.align_on,
            filters=dict(question.filters or {}),
            thresholds=question.thresholds,
        )

    async def _question(self, key: str) -> SavedComparison:
        return SavedComparison.model_validate((await self._stored(key))["question"])

    async def _stored(self, key: str) -> dict[str, Any]:
        stored = await self._store.find(key) if key.isalnum() and key.isascii() else None
        if stored is None:
            raise _unknown()
        return stored


def _arguments(
    question: SavedComparison,
) -> tuple[str, str, Sequence[str], Sequence[str] | None, Filters]:
    return question.a, question.b, question.measures, question.align_on, question.filters


def _unwatched(_name: str, _doing: str) -> None:
    pass


def _no_groups() -> ProblemError:
    return ProblemError(
        409,
        "rows_compared",
        "This comparison is of whole rows, and has no groups; read its samples, or its report.",
    )


def _unknown() -> ProblemError:
    return ProblemError(
        404,
        "comparison_not_found",
        "There is no such comparison, or it has expired; compare again.",
    )
