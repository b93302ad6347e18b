"""Grounded: the calls of a turn are checked against its question, whichever model answers.

A call that leaves out a part of the question that changes numbers goes back to the model; if it is
not corrected, the turn ends as a question with the readings that it may have. Other parts that are
not used, and what the model chose itself, are in the scope of the result. If a model makes no valid
call and asks nothing back, the planner answers the turn, provided that it reads the question. An
answer to a comparison begins with its verdict, as computed; one that says nothing of what was found
is followed by the result in the planner's words. A filter value that neither the user nor the
catalogue has is refused: a cell that a model has read is not a value to search for, except as the
group of a comparison to look into.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from skillian.chat.answer_check import check_answer
from skillian.chat.check.question_check import CHECKED, DATA, Asked, Loss, Turn, merged
from skillian.chat.computed import Computed, computed_by, verdicts_of
from skillian.chat.scope import CHOSEN, NOT_USED, PLANNED
from skillian.chat.sealed import stand_ins
from skillian.errors import InvalidInputError, UnknownNameError, quoted
from skillian.offline.earlier import as_object, keys_in, read_earlier
from skillian.offline.language.filters import BOUNDS, as_mapping, parts_of, values_of
from skillian.offline.language.periods import period_of, spelt_out
from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.planner import NAME, NOT_UNDERSTOOD, TOOL_FAILED, OfflinePlanner
from skillian.offline.wording import OFFERS, with_list
from tinyagent import Message, Middleware, TextDelta, ToolCall, ToolResult
from tinyagent.core import ModelRequest, ModelResponse, RunControl
from tinyagent.middleware import SteeringMiddleware

_NOWHERE = "neither the user's questions nor the catalogue; use a value that is, or ask for it"
_CORRECT = "Correct the call, or ask the user what is meant"
_CUT_OFF = "The answer of the model was cut off, so it is not shown. Ask for less at once."
_AS_TEXT = re.compile(r'(?:^|>)[ \t]*\{[^{}]*"(?:arguments|parameters)"', re.MULTILINE)
"""The beginning of a call that is written as text."""


class Grounded(SteeringMiddleware):
    """Checks the calls of each turn; `vocabulary` are the names and values of the sources."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def steer(self, run: RunControl) -> Middleware:
        """Check one turn: its question, and the conversation up to each call."""
        question = spelt_out(" ".join(run.task.split()))
        return _GroundedTurn(Turn(question, self._vocabulary), run)


class _GroundedTurn(Middleware):
    """`made` are the calls so far, and `taken` the messages when the planner took over."""

    def __init__(self, turn: Turn, run: RunControl) -> None:
        self._turn, self._run, self._planner = turn, run, OfflinePlanner(turn.whole)
        self._messages: Sequence[Message] = ()
        self._made: list[Asked] = []
        self._found: list[Computed] = []
        self._lost: list[Loss] = []
        self._begin, self._taken = 0, 0

    async def model_call(
        self,
        request: ModelRequest,
        call_next: Callable[[ModelRequest], Awaitable[ModelResponse]],
    ) -> ModelResponse:
        is_first, self._messages = not self._messages, request.messages
        if is_first:
            users = [at for at, each in enumerate(request.messages) if each.role == "user"]
            self._begin = users[-1] if users else 0
            self._turn = replace(self._turn, earlier=read_earlier(request.messages[: self._begin]))
            for call, message in self._results():  # that another process made
                await self.tool_call(call, partial(_answer, message.text))
        if self._taken and request.messages[-1].role == "tool":
            return await self._planned(request.messages[self._taken :])
        response = await self._reply(request, call_next)
        if response.tool_calls or response.finish_reason == NOT_UNDERSTOOD:
            return response
        if (taken := await self._taken_over(response)) is not None:
            return taken
        lost = self._lost
        if not lost and self._is_invented(response.content or ""):
            lost = [Loss("no tool was called for it, so no figures were computed")]
        if lost:
            return replace(response, content=_question_back(lost), finish_reason=NOT_UNDERSTOOD)
        return self._with_result(response)

    async def _reply(
        self,
        request: ModelRequest,
        call_next: Callable[[ModelRequest], Awaitable[ModelResponse]],
    ) -> ModelResponse:
        """The reply of the model; it is empty if it calls on where only an answer is left."""
        run = self._run
        if verdicts := self._verdicts():
            run.emit(TextDelta(run.step, f"{verdicts}\n\n"))
        response = await call_next(request)
        if not response.tool_calls and response.finish_reason == "length":
            return replace(response, content=_CUT_OFF, finish_reason=TOOL_FAILED)
        # The planner needs two steps, for a call and its result.
        is_last = run.answer_only or run.step + (not self._made) >= run.max_steps
        if not response.tool_calls or not is_last:
            return response
        return replace(response, content="", tool_calls=(), finish_reason="stop")

    def _results(self) -> list[tuple[ToolCall, Message]]:
        """Each call of the turn with its result."""
        turn = self._messages[self._begin :]
        calls = {call.id: call for each in turn for call in each.tool_calls}
        return [(calls[m.tool_call_id], m) for m in turn if m.tool_call_id in calls]

    # The check of the calls

    async def tool_call(
        self, call: ToolCall, call_next: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        if invented := [*self._invented(call)]:
            return _refused(call, f"{invented[0]} is in {_NOWHERE}")
        sources = values_of([call.arguments.get(n) for n in ("source", "source_a", "source_b")])
        is_known = {*sources} <= self._turn.whole.sources.keys()
        if call.name not in CHECKED or not is_known or not self._messages:
            return await call_next(call)
        made = merged(call.name, call.arguments, self._turn.earlier)
        turn = replace(self._turn, calls=(*self._made, made))
        losses = turn.losses()
        lost = [loss for loss in losses if loss.readings]
        if not all(loss.is_partial for loss in lost):
            self._lost = self._lost if self._made else lost
            parts = ", ".join(quoted(loss.text) for loss in lost)
            return _refused(
                call, f"this call leaves out a part of the question: {parts}. {_CORRECT}"
            )
        result = await call_next(call)
        value = as_object(result.content)
        if value.get("error"):
            return result
        self._made, self._lost = [*self._made, made], lost
        computed = computed_by(call.name, call.arguments, result.content)
        self._found += [computed] if computed else []
        unused = ", ".join(loss.text for loss in losses if not loss.readings)
        marks = [f"{CHOSEN}{each}" for each in turn.choices()]
        marks += [f"{NOT_USED}{unused}"] * bool(unused) + [PLANNED] * bool(self._taken)
        if not marks or not isinstance(value.get("scope"), list):
            return result
        content = json.dumps({**value, "scope": [*value["scope"], *marks]}, ensure_ascii=False)
        return replace(result, content=content)

    def _invented(self, call: ToolCall) -> Iterator[str]:
        """Yield each filter value of a call that neither the user nor the catalogue has.

        A bound may be a period that the data does not have, and a group to look into is in a
        result. What other tools return may be written by others.
        """
        whole, results = self._turn.whole, [m.text for m in self._messages if m.role == "tool"]
        users = "\n".join(m.text for m in self._messages if m.role == "user")
        known = {v.lower() for name in whole.dimensions for v in whole.values(name)}
        groups = [key for text in results if '"error": true' not in text for key in keys_in(text)]
        stated = (
            (argument, name, operator, value)
            for argument in ("filters", "key")
            for name, condition in as_mapping(call.arguments.get(argument)).items()
            for operator, values in parts_of(condition).items()
            for value in values
        )
        for argument, name, operator, value in stated:
            is_like = name in whole.timed and {*map(len, whole.values(name))} == {len(value)}
            is_period = period_of(value) and (
                whole.is_open(name) or (operator in BOUNDS and is_like)
            )
            is_group = argument == "key" and value in (str(key.get(name)) for key in groups)
            is_said = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", users, re.IGNORECASE)
            if not (value.lower() in known or is_period or is_group or is_said):
                yield f"{quoted(value)} for {quoted(name)}"

    def _is_invented(self, answer: str) -> bool:
        """Whether an answer without a result of this turn has figures of no result before it.

        An answer that describes a call without making it counts as well.
        """
        is_call = _AS_TEXT.search(answer)
        if is_call or any(not as_object(m.text).get("error") for _, m in self._results()):
            return False
        results = [as_object(m.text) for m in self._messages if m.role == "tool"]
        asks = any(token.kind in DATA for token in self._turn.tokens)
        figures = check_answer(answer, () if asks else results, self._turn.question)
        return bool(figures.unverified) or (asks and any(name in answer for name in CHECKED))

    # The planner in place of the model

    async def _taken_over(self, reply: ModelResponse) -> ModelResponse | None:
        """The call of the planner, in a turn whose model makes none and asks nothing back.

        The first reply may hold a call that is written as text.
        """
        text, results = (reply.content or "").replace(self._turn.question, ""), self._results()
        may_call = _AS_TEXT.search(text) and len(self._messages) == self._begin + 1
        if self._made or self._lost or "?" in text or may_call:
            return None
        kinds = {InvalidInputError.type, UnknownNameError.type}
        found = [as_object(m.text).get("type") for _, m in results if not m.is_error]
        if text and not kinds.issuperset(found):
            return None  # the model explains other results and failures
        planned = await self._planned(())
        if as_object(planned.content or "").get("name") not in CHECKED:
            return None
        self._taken = len(self._messages)
        self._run.emit(TextDelta(self._run.step, "", "restart"))  # withdraws what was streamed
        return replace(reply, content=planned.content, finish_reason="stop")

    async def _planned(self, results: Sequence[Message]) -> ModelResponse:
        """The reply of the planner to the question and these results, with its call as text."""
        messages = (*self._messages[: self._begin + 1], *results)
        planned = await self._planner.complete(ModelRequest(messages))
        for call in planned.tool_calls:
            text = json.dumps({"name": call.name, "arguments": json.loads(call.arguments)})
            planned = replace(planned, content=text, tool_calls=())
        return planned

    # The results in the planner's words

    def _verdicts(self) -> str:
        """What the answer of a model begins with, so that it cannot say the opposite unnoticed."""
        is_shown = not self._lost and self._run.model != NAME
        return verdicts_of(self._found) if is_shown else ""

    def _with_result(self, reply: ModelResponse) -> ModelResponse:
        """The reply after the verdicts, followed by the last result if it says nothing of it.

        A figure or a member of a result says something if the question does not have it. A reply
        that asks back is left alone, and so is one with figures that are in no result.
        """
        text, question, verdicts = reply.content or "", self._turn.question, self._verdicts()
        values = [as_object(message.text) for _, message in self._results()]
        figures = check_answer(text, values, question)
        said = [*values_of([[keys_in(e.raw), e.result.get("rows")] for e in self._found])]
        said += [each.number for each in figures.references]
        says_more = any(each and each in text and each not in question for each in said)
        is_other = says_more or figures.unverified or "?" in text or stand_ins.NAME.search(text)
        if self._found and not is_other:
            last = self._found[-1]
            if words := last.rest if verdicts else last.words:
                self._run.emit(TextDelta(self._run.step, f"\n\n{words}"))
                text += f"\n\n{words}"
        return replace(reply, content=f"{verdicts}\n\n{text.strip()}".strip())


async def _answer(text: str, call: ToolCall) -> ToolResult:
    return ToolResult(call, text)


def _refused(call: ToolCall, reason: str) -> ToolResult:
    return ToolResult(call, json.dumps(InvalidInputError(reason).to_dict()))


def offers_of(content: str, finish_reason: str) -> list[str]:
    """The questions that a question back offers; the text of a model offers nothing."""
    lines = content.partition(f"\n{OFFERS}\n")[2].splitlines()
    listed = itertools.takewhile(lambda line: line.startswith("- "), lines)
    return [line.removeprefix("- ") for line in listed if finish_reason == NOT_UNDERSTOOD]


def _question_back(lost: Sequence[Loss]) -> str:
    back = "I have no answer to exactly this question. What is left out:"
    back = with_list(back, (loss.text for loss in lost))
    readings = dict.fromkeys(reading for loss in lost for reading in loss.readings)
    return with_list(f"{back}\n{OFFERS}", readings) if readings else back
