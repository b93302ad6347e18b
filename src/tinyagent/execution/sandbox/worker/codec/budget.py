"""How large a value may be, and what it may cost to build: the same for both sides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .wire import MAX_BLOB, WireError, kind_of

MAX_DEPTH = 100
MAX_NODES = 1_000_000
MAX_NODES_OF_CODE = 250_000
MAX_TEXT_OF_CODE = 4 << 20
MAX_DIGITS = 4300
"""Of a number: what Python itself takes at most between numbers and their decimal digits."""
MAX_CELLS = 4 << 20
MAX_COLUMNS = 4096

MAX_INDEXED = 100_000
"""Rows of a data frame whose index has several levels, and categories: each is hashed at once."""

_LEAST_CELLS = 4096  # what the smallest data frame counts as: each costs time and memory too


class Budget:
    """The sizes and counts that the values of a message may still use.

    Args:
        of_code: They go to the host, which has other things to do than to read them.
    """

    __slots__ = ("_cells", "_max_nodes", "_max_text", "_nodes")

    def __init__(self, *, of_code: bool = False) -> None:
        self._nodes = self._max_nodes = MAX_NODES_OF_CODE if of_code else MAX_NODES
        self._max_text = MAX_TEXT_OF_CODE if of_code else MAX_BLOB
        self._cells = MAX_CELLS

    def take_nodes(self, count: int) -> None:
        """Count items of a list, a dict and so on.

        Raises:
            WireError: There are too many.
        """
        self._nodes -= count
        if self._nodes < 0:
            raise WireError(
                f"too large to cross: more than {self._max_nodes:,} items in one value; "
                "hand over a part of it, or a data frame"
            )

    def check_text(self, size: int) -> None:
        """Check that a text is not too large.

        Raises:
            WireError: It is.
        """
        if size > self._max_text:
            raise WireError(
                f"too large to cross: a text of {size:,} bytes, at most {self._max_text:,}; "
                "hand over a part of it, or bytes"
            )

    def take_cells(self, count: int) -> None:
        """Count cells of data frames, and their categories.

        Raises:
            WireError: There are too many.
        """
        self._cells -= count
        if self._cells < 0:
            raise WireError(
                f"too large to cross: data frames of more than {MAX_CELLS:,} cells in one value; "
                "select or aggregate first"
            )

    def take_table(self, rows: int, columns: int) -> None:
        """Count a data frame.

        Raises:
            WireError: It is too large, or they are all together.
        """
        if columns > MAX_COLUMNS:
            raise WireError(
                f"too large to cross: a data frame of {columns:,} columns, at most "
                f"{MAX_COLUMNS:,} cross; select first"
            )
        self.take_cells(max(rows * max(columns, 1), _LEAST_CELLS))


def check_indexed(count: int, what: str) -> None:
    """Check that what must be hashed at once is not too much.

    Raises:
        WireError: It is.
    """
    if count > MAX_INDEXED:
        raise WireError(
            f"too large to cross: {what} of {count:,}, at most {MAX_INDEXED:,}; "
            "use reset_index() or astype(str) first"
        )


# How many members may share a hash, by how deeply sets are nested in them. As -1 and -2 share one,
# so do the 64 tuples of six of them. Comparing sets of colliding sets takes quadratic time.
_MAX_ALIKE = (64, 8, 1)


def build_set(items: list[Any]) -> set[Any]:
    """The set of the items.

    Raises:
        WireError: One cannot be in a set, or too many share a hash.
    """
    return set(build_dict((item, None) for item in items))


def build_dict(items: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """The dict of these keys and values.

    Raises:
        WireError: One cannot be a key, or too many share a hash.
    """
    built: dict[Any, Any] = {}
    alike: dict[int, int] = {}
    try:
        for key, value in items:
            before = len(built)
            built[key] = value
            if len(built) > before:
                code = hash(key)
                count = alike[code] = alike.get(code, 0) + 1
                if count > 1 and count > _MAX_ALIKE[_sets_in(key)]:
                    raise WireError("members of a set or keys share a hash: forged")
    except (TypeError, ValueError):
        raise WireError("a member of a set or a key that can be neither") from None
    return built


def _sets_in(key: Any) -> int:
    """How deeply sets are nested in it, at most 2."""
    kind = kind_of(key)
    if kind not in (frozenset, tuple):
        return 0
    deepest = max(map(_sets_in, key), default=0)
    return min(deepest + (kind is frozenset), 2)
