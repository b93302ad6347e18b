"""Tables that are there but cannot be read."""

from collections.abc import Mapping
from typing import NoReturn

from skillian.connectors.base import ColumnType
from skillian.errors import QueryError


class Unreadable(Mapping[str, ColumnType]):
    """The columns of such a table: who wants to see them is told why, by a `QueryError`."""

    def __init__(self, why: str) -> None:
        self._why = why

    def refuse(self) -> NoReturn:
        """Raise the error."""
        raise QueryError(self._why)

    def __getitem__(self, name: str) -> NoReturn:
        raise QueryError(self._why)

    def __iter__(self) -> NoReturn:
        raise QueryError(self._why)

    def __len__(self) -> NoReturn:
        raise QueryError(self._why)
