"""What the host makes available to the code: functions that it calls, and data."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.sandbox.calls import ToolReply, answer_call, check_name
from tinyagent.execution.sandbox.orders import StepOrder
from tinyagent.execution.sandbox.worker.codec.values import encode
from tinyagent.execution.sandbox.worker.codec.wire import Frame, WireError


class Injected:
    """The tools and the data of an executor, by their names in the code."""

    def __init__(
        self,
        tools: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
        values: Mapping[str, tuple[int, Any]] = MappingProxyType({}),
        count: int = 0,
    ) -> None:
        self._tools = dict(tools)
        self._values = dict(values)
        self._count = count

    def add(self, name: str, value: Any) -> None:
        """Add a tool or a value, in place of an earlier one of this name.

        Raises:
            ConfigurationError: The name is not an identifier or is reserved, or the value is too
                large to cross.
        """
        check_name(name)
        self._tools.pop(name, None)
        self._values.pop(name, None)
        if callable(value):
            self._tools[name] = value
        else:
            _encoded(name, value, bytearray())
            self._count += 1
            self._values[name] = (self._count, value)

    def copy(self) -> Injected:
        """The same tools and data, to which others can be added."""
        return Injected(self._tools, self._values, self._count)

    def order(self, step: int, code: str, known: frozenset[tuple[str, int]]) -> StepOrder:
        """The order of a step, with the data that the session does not know yet.

        Raises:
            ConfigurationError: A value cannot cross any more.
        """
        blobs = bytearray()
        new = {name: item for name, item in self._values.items() if (name, item[0]) not in known}
        values = {name: _encoded(name, value, blobs) for name, (_, value) in new.items()}
        brings = frozenset((name, number) for name, (number, _) in new.items())
        token = secrets.token_hex(8)
        return StepOrder(step, code, tuple(self._tools), values, bytes(blobs), brings, token)

    def task(self, step: int, name: str, data: bytes) -> StepOrder:
        """The order to write a snapshot, or to read the one in `data`.

        Raises:
            ConfigurationError: The snapshot is too large to cross.
        """
        blobs = bytearray()
        snapshot = _encoded("a snapshot", data, blobs)
        token = secrets.token_hex(8)
        tools = tuple(self._tools)
        return StepOrder(
            step, "", tools, {}, bytes(blobs), frozenset(), token, task=name, snapshot=snapshot
        )

    async def answer(self, call: Frame) -> ToolReply:
        """Do a tool call."""
        return await answer_call(self._tools, call)


def _encoded(name: str, value: Any, blobs: bytearray) -> Any:
    try:
        return encode(value, blobs)
    except WireError as fault:
        raise ConfigurationError(f"inject {name!r}: {fault}") from None
