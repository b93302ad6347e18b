"""The guard of one run of a sealed code agent, whose code sees no untrusted value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tinyagent.core.context import RunControl
from tinyagent.core.errors import ToolArgumentsError
from tinyagent.core.messages import ArgumentOrigin, ToolCall
from tinyagent.core.provenance import UNKNOWN, Label
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult, ToolSpec
from tinyagent.middleware.base import ModelCall, ToolCallHandler
from tinyagent.provenance.links_as_text import Span, links_as_text
from tinyagent.provenance.policies.policy import Policy, item_source
from tinyagent.provenance.run_guard import Guard, MakeCaller, copied
from tinyagent.provenance.vault import Opened, Vault
from tinyagent.provenance.vouching import as_json, without_quotation


class SealedGuard(Guard):
    """The guard of a code agent whose code sees no untrusted value, only stand-ins."""

    def __init__(self, policy: Policy, run: RunControl, outer: Policy, caller: MakeCaller) -> None:
        super().__init__(policy, run, outer, caller)
        run.vault = self._vault = Vault(policy.reveal_bits, self._taint, self._show)

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        """Label the answer; tokens that the code has printed are shown as stand-ins."""
        messages = tuple(map(self._vault.scrub, request.messages))
        return await super().model_call(replace(request, messages=messages), call_next)

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        """Open the arguments, check and make the call, and seal its result."""
        tool = self._run.tools.get(call.name)
        if tool is None:
            return await super().tool_call(call, call_next)
        try:
            opened = self._open(call.arguments)
        except (ValueError, TypeError) as fault:
            result = ToolResult(
                call, f"Error: {fault}", is_error=True, error=ValueError(str(fault))
            )
            return replace(result, label=self._read)
        # A copy: a tool must not change what is kept here, nor what was checked.
        opened = replace(opened, value=copied(opened.value))
        if opened.labels and (refused := _refused(tool, call, opened)):
            return replace(refused, label=self._read)
        result = await self._checked(tool, call, opened, call_next)
        return self._sealed(tool, call, opened, result)

    def _open(self, arguments: Mapping[str, Any]) -> Opened:
        """The arguments without stand-ins; a label's path begins with the argument's name."""
        labels: dict[str, Label] = {}
        values: dict[str, Any] = {}
        for name, argument in arguments.items():
            opened = self._vault.open(argument, name)
            values[name] = opened.value
            labels |= opened.labels
        return Opened(values, labels)

    def _sealed(
        self, tool: ToolSpec, call: ToolCall, opened: Opened, result: ToolResult
    ) -> ToolResult:
        """The result as the code may see it."""
        label = result.label or UNKNOWN
        call = replace(call, origins=tuple(_closed(each, opened) for each in result.call.origins))
        result = replace(result, call=call)
        if self._is_public(label) or self._read | label == self._read:
            self._process |= label
            return result
        if result.is_error:
            return _without_words(tool, opened, result)
        value = as_json(result.value, result.content) if result.parts else result.value
        own, base = self._policy.source(tool.name), self._read | opened.label

        def part(value: Any, kind: Any, name: str, writer: str) -> Any:
            item = label
            if writer and not (isinstance(value, str) and without_quotation(value)[1]):
                item = base | Label(frozenset({item_source(own, writer)}), label.readers)
            field = Label(frozenset({f"{own}.{name}"}), label.readers) | base if name else item
            for each in (field, item):
                if self._is_public(each):
                    self._process |= each
                    return value
            where = f"{tool.name}.{name}" if name else tool.name
            return self._vault.seal(value, kind, item, where)

        by = self._policy.items_by(tool)
        value = self._vault.seal_parts(value, tool.returns, tool.name, part, by)
        content = f"(the result of {tool.name} is sealed)"
        return replace(result, value=value, content=content, parts=(), note="")

    def _show(self, text: str, spans: Sequence[Span]) -> str:
        """A text of the answer, with links that hold contents as text."""
        if not self._is_clean(self._read):  # something was revealed, so the model was influenced
            spans = [(0, len(text))]
        is_said = partial(self._evidence.vouches, "user")
        return links_as_text(text, spans, self._policy.links or (), is_said)

    def _labelled(self, result: ToolResult, label: Label) -> ToolResult:
        return replace(result, label=label)

    def _is_public(self, label: Label) -> bool:
        """Whether the code may see it."""
        return label.readers is None and self._is_clean(label)

    def _taint(self, label: Label) -> None:
        self._process |= label


def _refused(tool: ToolSpec, call: ToolCall, opened: Opened) -> ToolResult | None:
    """The result of a call whose values do not fit the tool, so that nobody is asked about it."""
    try:
        tool.validate(copied(opened.value))
    except ToolArgumentsError as error:
        result = ToolResult(call, "", is_error=True, error=error)
        return _without_words(tool, opened, result)
    return None


def _without_words(tool: ToolSpec, opened: Opened, result: ToolResult) -> ToolResult:
    """The error of a tool without its text, which others may have written."""
    if not opened.labels and isinstance(result.error, ToolArgumentsError):
        try:  # this text is made of the code's own arguments
            tool.validate(result.call.arguments)
        except ToolArgumentsError:
            return result
    kind = "wrong arguments" if isinstance(result.error, ToolArgumentsError) else "an error"
    text = f"{tool.name} failed ({kind}); the message is not shown, as others may have written it"
    return replace(result, content=f"Error: {text}", error=RuntimeError(text), parts=(), note="")


def _closed(origin: ArgumentOrigin, opened: Opened) -> ArgumentOrigin:
    """The origin of a value; of one that was sealed, without the value."""
    if not opened.labels or not opened.label_at(origin.path).sources:
        return origin
    argument = origin.path.partition(".")[0].partition("[")[0].partition(":")[0]
    return replace(origin, path=argument, value="<sealed>")
