"""What the panels of a comparison share: the result, and the groups that the reader selected."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from skillian.api.service import Service
from skillian.data.results.result import ComparisonResult
from skillian.data.schema.diff import distinct_names
from skillian.data.subjects import STATUSES, Status
from skillian.web.comparison.drill_down import open_drill_down


class ComparisonContext:
    """A comparison on a page. A panel changes the selection here, and other panels follow it.

    Args:
        service: Answers further questions about the comparison.
        result: The comparison.

    Attributes:
        names: The names of both sides.
        statuses: The classes whose groups are shown; at first those that differ.
        members: The members whose groups are shown, by dimension; all if it is empty.
    """

    def __init__(self, service: Service, result: ComparisonResult) -> None:
        self.service = service
        self.result = result
        self.names = distinct_names((result.source_a, result.source_b))
        self.statuses: tuple[Status, ...] = tuple(each for each in STATUSES if each != "match")
        self.members: Mapping[str, object] = {}
        self._on_statuses: list[Callable[[tuple[Status, ...]], None]] = []
        self._on_members: list[Callable[[Mapping[str, object]], None]] = []

    def follow(
        self,
        *,
        on_statuses: Callable[[tuple[Status, ...]], None] | None = None,
        on_members: Callable[[Mapping[str, object]], None] | None = None,
    ) -> None:
        """Call these functions when the selection changes.

        Args:
            on_statuses: Gets the classes to show.
            on_members: Gets the members to show, by dimension; all if the mapping is empty.
        """
        if on_statuses is not None:
            self._on_statuses.append(on_statuses)
        if on_members is not None:
            self._on_members.append(on_members)

    def select_statuses(self, statuses: tuple[Status, ...]) -> None:
        """Show the groups of these classes."""
        self.statuses = statuses
        for call in self._on_statuses:
            call(statuses)

    def select_members(self, members: Mapping[str, object]) -> None:
        """Show the groups of these members, by dimension; all if the mapping is empty."""
        self.members = members
        for call in self._on_members:
            call(members)

    async def open_group(self, key: Mapping[str, object]) -> None:
        """Show the rows of both sources that make up a group.

        Args:
            key: The key of the group, by dimension.
        """
        await open_drill_down(self.service, self.result.cache_key, key)
