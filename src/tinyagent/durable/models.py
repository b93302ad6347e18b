"""A durable run's model calls: answered from the journal, or made and recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinyagent.core.errors import ModelContextTooLong, ModelFormatRefused, ModelRefused
from tinyagent.core.types import ModelRequest, ModelResponse
from tinyagent.durable.records import (
    refusal_from_dict,
    refusal_to_dict,
    response_from_dict,
    response_to_dict,
)
from tinyagent.middleware.base import ModelCall

if TYPE_CHECKING:
    from tinyagent.durable.bound import BoundJournal
    from tinyagent.durable.entries import Entry


async def call_model(
    bound: BoundJournal, request: ModelRequest, call_next: ModelCall
) -> ModelResponse:
    """The recorded answer or refusal, or the model's own.

    What the conversation was is not compared: a prompt may change while runs are under way. Other
    failures of the server are not recorded: whoever resumes the run has the model asked again.

    Raises:
        ModelFormatRefused: the recorded answer is to a request that offered its tools in another
            form; an agent steps down to it, as it did before.
        ModelError: the server failed.
    """
    form = _form(request)
    place = bound.place("model")
    while (entry := bound.journal.find("model", place)) is not None:
        refused = bound.read(entry, refusal_from_dict)
        if refused is None:
            return _recorded(bound, entry, form)
        if isinstance(refused, ModelContextTooLong) or entry.value.get("form") == form:
            raise refused
        place = bound.place("model")  # a form that this process has learned not to use
    async with bound.journal.calling():
        try:
            response = await call_next(request)
        except ModelRefused as refused:
            record = refusal_to_dict(refused)
            if record is not None:
                about = {"form": form, **bound.now()}
                await bound.journal.record("model", place, "", {**record, **about})
            raise
        record = {**response_to_dict(response), "form": form, **bound.now()}
        await bound.journal.record("model", place, "", record)
    return response


def _recorded(bound: BoundJournal, entry: Entry, form: str) -> ModelResponse:
    response = bound.read(entry, response_from_dict)
    bound.go_on_from(entry.value)
    recorded = entry.value.get("form")
    if recorded != form:
        bound.take_back("model")
        raise ModelFormatRefused(f"the run's requests are of the form {recorded!r}, not {form!r}")
    return response


def _form(request: ModelRequest) -> str:
    """How the request offers its tools."""
    ways = request.format
    offered = {
        "tools": ways.tools,
        "response_format": ways.response_format,
        "instructions": ways.instructions,
    }
    return " ".join(name for name, there in offered.items() if there)
