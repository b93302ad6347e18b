"""Rows of a statement."""

from collections.abc import Mapping
from typing import Any


async def rows(
    connector: Any, statement: str, parameters: Mapping[str, object] | None = None
) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = (await connector.run(statement, parameters or {})).to_pylist()
    return listed
