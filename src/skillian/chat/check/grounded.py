"""Grounded: the calls of a turn are checked against its question, whichever model answers.

A call that leaves out a part of the question that changes numbers goes back to the model; if it is
not corrected, the turn ends as a question with the readings that it may have. Other parts that are
not used, and what the model chose itself, are in the scope of the result. If a model makes no valid
call and asks nothing back, the planner answers the turn, provided that it reads the question; if
its answer says nothing of what was found, the planner words the result below. A filter value that
neither the user nor the catalogue has is refused: a cell that a model has read is not a value to
search for, except as the group of a comparison to look into.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any, cast

from skillian.chat.answer_check import amounts_of, check_answer
from skillian.chat.check.question_check import CHECKED, DATA, Arguments, Loss, Turn, merged
from skillian.chat.scope import CHOSEN, NOT_USED, PLANNED
from skillian.chat.sealed import stand_ins
from skillian.errors import InvalidInputError, UnknownNameError, quoted
from skillian.offline.earlier import COMPARE, QUERY, as_object, keys_in, read_earlier
from skillian.offline.language.filters import BOUNDS, as_mapping, parts_of, values_of
from skillian.offline.language.periods import period_of, spelt_out
from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.planner import NOT_UNDERSTOOD, TOOL_FAILED, OfflinePlanner
from skillian.offline.wording import OFFERS, with_list, word_result
from tinyagent import Message, Middleware, TextDelta, ToolCall, ToolResult
from tinyagent.core import ModelRequest, ModelResponse, RunControl
from tinyagent.middleware import SteeringMiddleware

_CUT_OFF = "The answer of the model was cut off, so it is not shown. Ask for less at once."


class Grounded(SteeringMiddleware):
    """Checks the calls of each turn.

    Args:
        vocabulary: The names and values of the sources.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._planner = OfflinePlanner(vocabulary)

    def steer(self, run: RunControl) -> Middleware:
        """Check one turn: its question, and the conversation up to each call."""
        question = spelt_out(" ".join(run.task.split()))
        return _GroundedTurn(Turn(question, self._vocabulary), run, self._planner)


class _GroundedTurn(Middleware):
    def __init__(self, turn: Turn, run: RunControl, planner: OfflinePlanner) -> None:
        self._turn, self._run, self._planner = turn, run, planner
        self._messages: Sequence[Message] = ()
        self._made: list[Arguments] = []
        self._lost: list[Loss] = []
        self._begin = 0
        self._taken: int | None = None  # the number of messages when the planner took over

    async def model_call(
        self,
        request: ModelRequest,
        call_next: Callable[[ModelRequest], Awaitable[ModelResponse]],
    ) -> ModelResponse:
        if not self._messages:
            asked = [at for at, each in enumerate(request.messages) if each.role == "user"]
            self._begin = asked[-1] if asked else 0
            earlier = read_earlier(request.messages[: self._begin])
            spoken = "\n".join(request.messages[at].text for at in asked[:-1]).lower()
            self._turn = replace(self._turn, earlier=earlier, spoken=spoken)
            self._recall(request.messages[self._begin :])
        self._messages = request.messages
        if self._taken is not None and request.messages[-1].role == "tool":
            own = (*request.messages[: self._begin + 1], *request.messages[self._taken :])
            planned = await self._planned(own)
            return replace(planned, content=_as_text(planned), tool_calls=())
        response = await call_next(request)
        if response.tool_calls or response.finish_reason == NOT_UNDERSTOOD:
            return response
        if (taken := await self._taken_over(response)) is not None:
            return taken
        if response.finish_reason == "length":
            return replace(response, content=_CUT_OFF, finish_reason=TOOL_FAILED)
        lost = self._lost
        if not lost and not self._is_answered() and self._has_invented(response.content or ""):
            lost = [Loss("no tool was called for it, so no figures were computed")]
        if not lost:
            return self._with_result(response)
        return replace(response, content=_question_back(lost), finish_reason=NOT_UNDERSTOOD)

    def _with_result(self, reply: ModelResponse) -> ModelResponse:
        """The reply, followed by the last result if it says nothing of what was found.

        An amount says something, or a member of a result that the question does not name. A reply
        that asks back is left alone, and so is one with figures that are in no result.
        """
        text, question = reply.content or "", self._turn.question
        if "?" in text or stand_ins.NAME.search(text):
            return reply
        turn = self._messages[self._begin :]
        calls = {call.id: call.name for each in turn for call in each.tool_calls}
        # One that was cut is not an object.
        results = [
            (calls.get(each.tool_call_id), each.text, as_object(each.text))
            for each in turn
            if each.tool_call_id
        ]
        values = [value for _, _, value in results]
        answered = [
            (name, raw, value)
            for name, raw, value in results
            if name in (COMPARE, QUERY) and value and not value.get("error")
        ]
        figures = check_answer(text, values, question)
        amounts = amounts_of(map(asdict, figures.references), values)
        found = (member for _, raw, _ in answered for member in _members(raw))
        says_more = any(each in text and each not in question for each in found)
        if not answered or says_more or amounts or figures.unverified:
            return reply
        name, raw, result = answered[-1]
        words = word_result(name, result, raw)
        self._run.emit(TextDelta(self._run.step, f"\n\n{words}"))
        return replace(reply, content=f"{text}\n\n{words}".strip())

    async def _taken_over(self, reply: ModelResponse) -> ModelResponse | None:
        """The call of the planner, in a turn whose model makes none and asks nothing back.

        The first reply may hold a call that is written as text, if it has a brace.
        """
        text = (reply.content or "").replace(self._turn.question, "")
        turn = self._messages[self._begin :]
        may_call = "{" in text and len(turn) == 1
        tried = (each for each in turn if each.role == "tool")
        if self._lost or "?" in text or may_call or not all(map(_is_invalid, tried)):
            return None
        planned = await self._planned(self._messages[: self._begin + 1])
        if not any(call.name in CHECKED for call in planned.tool_calls):
            return None
        self._taken = len(self._messages)
        # Withdraws what has been streamed of the reply.
        self._run.emit(TextDelta(self._run.step, "", "restart"))
        return replace(reply, content=_as_text(planned), finish_reason="stop")

    async def _planned(self, messages: Sequence[Message]) -> ModelResponse:
        return await self._planner.complete(ModelRequest(messages))

    async def tool_call(
        self, call: ToolCall, call_next: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        refusal = self._refusal(call)
        if refusal is not None:
            return ToolResult(call, json.dumps(refusal.to_dict()))
        names = (call.arguments.get(each) for each in ("source", "source_a", "source_b"))
        known = [*self._turn.whole.sources]  # a list: what a model names may not be hashable
        is_unknown = any(name and name not in known for name in names)
        if call.name not in CHECKED or is_unknown or not self._messages:
            return await call_next(call)
        made, losses = self._read(call)
        lost = [loss for loss in losses if loss.readings]
        if not all(loss.is_partial for loss in lost):
            self._note(made, lost, is_made=False)
            return ToolResult(call, json.dumps(_left_out(lost).to_dict()))
        result = await call_next(call)
        value = as_object(result.content)
        if value.get("error"):
            return result
        self._note(made, lost, is_made=True)
        unused = ", ".join(loss.text for loss in losses if not loss.readings)
        marks = [f"{CHOSEN}{each}" for each in replace(self._turn, calls=(made,)).choices()]
        marks += [f"{NOT_USED}{unused}"] if unused else []
        marks += [PLANNED] if self._taken is not None else []
        if not marks or not isinstance(value.get("scope"), list):
            return result
        content = json.dumps({**value, "scope": [*value["scope"], *marks]}, ensure_ascii=False)
        return replace(result, content=content)

    def _read(self, call: ToolCall) -> tuple[Arguments, list[Loss]]:
        """What a call asks for, and what it and the calls before it leave out of the question."""
        made = merged(call.name, call.arguments, self._turn.earlier)
        return made, replace(self._turn, calls=(*self._made, made)).losses()

    def _recall(self, messages: Sequence[Message]) -> None:
        """Read the calls of a turn that another process began."""
        calls = {call.id: call for message in messages for call in message.tool_calls}
        for message in messages:
            call = calls.get(message.tool_call_id or "")
            if call is not None and call.name in CHECKED:
                made, losses = self._read(call)
                lost = [loss for loss in losses if loss.readings]
                is_made = not as_object(message.text).get("error")
                if is_made or not all(loss.is_partial for loss in lost):
                    self._note(made, lost, is_made=is_made)

    def _note(self, made: Arguments, lost: list[Loss], *, is_made: bool) -> None:
        """Remember a call, or what a refused one left out if no call has been made before it."""
        if is_made:
            self._made.append(made)
        if is_made or not self._made:
            self._lost = lost

    def _is_answered(self) -> bool:
        """Whether any tool has answered in this turn; figures without a source are marked then."""
        results = (each for each in self._messages[self._begin :] if each.role == "tool")
        return any(not as_object(each.text).get("error") for each in results)

    def _has_invented(self, answer: str) -> bool:
        """Whether an answer without a call has figures that no result of the conversation has."""
        results = [as_object(each.text) for each in self._messages if each.role == "tool"]
        asks = any(token.kind in DATA for token in self._turn.tokens)
        return bool(check_answer(answer, () if asks else results, self._turn.question).unverified)

    def _refusal(self, call: ToolCall) -> InvalidInputError | None:
        for argument in ("filters", "key"):
            for dimension, each in as_mapping(call.arguments.get(argument)).items():
                bounds = [v for name, of in parts_of(each).items() if name in BOUNDS for v in of]
                for value in values_of(each):
                    is_bound = value in bounds and self._is_period(dimension, value)
                    is_group = argument == "key" and self._is_group(dimension, value)
                    if not (is_bound or is_group or self._is_known(dimension, value)):
                        return InvalidInputError(
                            f"{quoted(value)} for {quoted(dimension)} is in neither the user's"
                            " questions nor the catalogue; use a value that is, or ask for it"
                        )
        return None

    def _is_period(self, dimension: str, value: str) -> bool:
        """Whether a value is written as the periods of a dimension."""
        known = self._turn.whole.values.get(dimension, {})
        is_alike = dimension in self._turn.whole.timed and {*map(len, known)} == {len(value)}
        return is_alike and period_of(value) is not None

    def _is_group(self, dimension: str, value: str) -> bool:
        """Whether a result has a group with this value of the dimension."""
        results = (each.text for each in self._messages if each.role == "tool")
        known = (text for text in results if not text.startswith('{"error": true'))
        return any(str(key.get(dimension)) == value for text in known for key in keys_in(text))

    def _is_known(self, dimension: str, value: str) -> bool:
        text, whole = value.lower(), self._turn.whole
        is_day = whole.is_open(dimension) and period_of(value) is not None  # not a text of a source
        if is_day or any(text in values for values in whole.values.values()):
            return True
        # What the user has said; what tools return may be written by others.
        users = (message.text for message in self._messages if message.role == "user")
        spoken = "\n".join([self._turn.question, *users]).lower()
        return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", spoken) is not None


def _as_text(response: ModelResponse) -> str:
    """The words of a response, or its call as text, as all adapters read it."""
    if not response.tool_calls:
        return response.content or ""
    call = response.tool_calls[0]
    return json.dumps({"name": call.name, "arguments": json.loads(call.arguments)})


def _members(raw: str) -> set[str]:
    """The members that a result has."""
    members = {str(value) for key in keys_in(raw) for value in key.values()}
    rows: Any = as_object(raw).get("rows")
    if isinstance(rows, list):  # of a query
        members |= {str(cell) for row in cast("list[list[Any]]", rows) for cell in row}
    return members - {""}


def _is_invalid(result: Message) -> bool:
    """Whether a result says that its call was invalid; the model explains other failures."""
    kind = as_object(result.text).get("type")
    return result.is_error or kind in {InvalidInputError.type, UnknownNameError.type}


def offers_of(content: str, finish_reason: str) -> list[str]:
    """The questions that a question back offers; the text of a model offers nothing."""
    if finish_reason != NOT_UNDERSTOOD:
        return []
    lines = content.partition(f"\n{OFFERS}\n")[2].splitlines()
    listed = itertools.takewhile(lambda line: line.startswith("- "), lines)
    return [line.removeprefix("- ") for line in listed]


def _left_out(lost: Iterable[Loss]) -> InvalidInputError:
    parts = ", ".join(quoted(loss.text) for loss in lost)
    return InvalidInputError(
        f"this call leaves out a part of the question: {parts}. Correct the call, or ask the user"
        " what is meant"
    )


def _question_back(lost: Sequence[Loss]) -> str:
    back = "I have no answer to exactly this question. What is left out:"
    back = with_list(back, (loss.text for loss in lost))
    readings = dict.fromkeys(reading for loss in lost for reading in loss.readings)
    return with_list(f"{back}\n{OFFERS}", readings) if readings else back
