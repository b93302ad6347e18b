"""How large a value may be, the same for the side that encodes and the side that decodes."""

from __future__ import annotations

from .wire import WireError

MAX_DEPTH = 100
MAX_NODES = 1_000_000
MAX_CELLS = 4 << 20
MAX_COLUMNS = 4096

_LEAST_CELLS = 4096  # what the smallest data frame counts as: each costs time and memory too


class Budget:
    """What one value may still hold."""

    __slots__ = ("_cells", "_nodes")

    def __init__(self) -> None:
        self._nodes = MAX_NODES
        self._cells = MAX_CELLS

    def take_nodes(self, count: int) -> None:
        """Count items of a list, a dict and so on.

        Raises:
            WireError: there are too many.
        """
        self._nodes -= count
        if self._nodes < 0:
            raise WireError(
                f"too large to cross: more than {MAX_NODES:,} items in one value; "
                "hand over a part of it, or a data frame"
            )

    def take_cells(self, count: int) -> None:
        """Count cells of data frames, and their categories.

        Raises:
            WireError: there are too many.
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
            WireError: it is too large, or they are all together.
        """
        if columns > MAX_COLUMNS:
            raise WireError(
                f"too large to cross: a data frame of {columns:,} columns, at most "
                f"{MAX_COLUMNS:,} cross; select first"
            )
        self.take_cells(max(rows * max(columns, 1), _LEAST_CELLS))
