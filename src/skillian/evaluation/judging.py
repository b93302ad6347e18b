"""Whether an answer is what the team has verified."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal, cast

from pydantic import ValidationError

from skillian.chat.agent import AgentResponse
from skillian.chat.answer_check import check_answer
from skillian.chat.scope import PLANNED, scope_of
from skillian.evaluation.questions import ExpectedCall, VerifiedQuestion
from skillian.offline.planner import NOT_UNDERSTOOD, TOOL_FAILED
from skillian.skills.registry import SkillRegistry

# They find out what there is; a turn that made no other call has not computed an answer.
_LOOKUPS = frozenset({"list_sources", "describe_source", "search_knowledge", "read_skill"})
_GROUPS = frozenset({"align_on", "dimensions"})
_FORM = _GROUPS | {"order", "limit"}
"""Arguments that decide how the rows are shown; right numbers say that they were."""

Ending = Literal["answer", "question", "failure"]
_ENDINGS: Mapping[str, Ending] = {NOT_UNDERSTOOD: "question", TOOL_FAILED: "failure"}


def ending_of(finish_reason: str, *, finished: bool) -> Ending:
    """What a turn ended with, by the reason of its last reply, and whether it ran to its end."""
    return _ENDINGS.get(finish_reason, "answer") if finished else "failure"


class AnswerVerdict(StrEnum):
    """How a question was answered."""

    RIGHT = "right"
    WRONG = "wrong"
    ASKED_BACK = "asked back"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class AnswerCall:
    """A tool call behind an answer; `result` is JSON, or its text."""

    tool: str
    arguments: Mapping[str, Any]
    result: Any

    @property
    def has_failed(self) -> bool:
        """Whether the tool reported an error."""
        result = _parsed(self.result)
        return not isinstance(result, dict) or bool(cast("dict[str, Any]", result).get("error"))


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """The end of a turn.

    Attributes:
        content: The text that the user reads.
        calls: The tool calls of the turn.
        ending: What the turn ended with, as far as the model says: an answer, a question to the
            user, or a failure.
    """

    content: str
    calls: tuple[AnswerCall, ...]
    ending: Ending = "answer"

    @property
    def is_planned(self) -> bool:
        """Whether the offline planner answered for a model that made no valid call."""
        return any(PLANNED in (scope_of(_parsed(call.result)) or ()) for call in self.calls)


def given_answer(response: AgentResponse, finish_reason: str) -> GivenAnswer:
    """The answer of a turn.

    Args:
        response: The result of the turn.
        finish_reason: How the model's last reply ended.
    """
    calls = tuple(
        AnswerCall(call.tool, call.arguments, call.result) for call in response.tool_calls_made
    )
    ending = ending_of(finish_reason, finished=response.finished)
    return GivenAnswer(response.content, calls, ending)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict; `reason` says what differs from the expectation, unless it is right."""

    verdict: AnswerVerdict
    reason: str = ""


class AnswerJudge:
    """Compares answers with what is expected.

    Args:
        skills: Have the tools of the expected calls.
    """

    def __init__(self, skills: SkillRegistry) -> None:
        self._skills = skills

    def judge(self, expected: VerifiedQuestion, answer: GivenAnswer) -> Judgement:
        """The verdict on an answer.

        It is wrong if it presents figures, or the result of a computation, that are not the
        expected ones. Without these the model has asked back or refused.
        """
        if answer.ending != "answer":
            return _unanswered(answer)
        reason = self._difference(expected, answer)
        if not reason:
            return Judgement(AnswerVerdict.RIGHT)
        computed = any(call.tool not in _LOOKUPS and not call.has_failed for call in answer.calls)
        invented = bool(check_answer(answer.content, (), expected.question).unverified)
        if computed or (invented and not _asks(answer.content)):
            return Judgement(AnswerVerdict.WRONG, reason)
        return _unanswered(answer)

    def _difference(self, expected: VerifiedQuestion, answer: GivenAnswer) -> str:
        """What is not as expected, or an empty text."""
        results = [call.result for call in answer.calls if not call.has_failed]
        missing = [n for n in expected.numbers if not _holds(answer.content, n, results)]
        if missing:
            return f"not in the answer: {', '.join(map(str, missing))}"
        if expected.call is None or self._is_made(
            expected.call, answer.calls, has_numbers=bool(expected.numbers)
        ):
            return ""
        made = [_written(call.tool, call.arguments) for call in answer.calls]
        return (
            f"expected {_written(expected.call.tool, expected.call.arguments)},"
            f" called {'; '.join(made) or 'nothing'}"
        )

    def _is_made(
        self, expected: ExpectedCall, calls: Sequence[AnswerCall], *, has_numbers: bool
    ) -> bool:
        """Whether the last call of the tool that succeeded covers what the expected one does.

        If the numbers are verified too, the form of the call decides nothing: its groups, their
        order, and how many it lists.
        """
        own = [call for call in calls if call.tool == expected.tool and not call.has_failed]
        if not own or expected.arguments is None:
            return bool(own)
        model = self._skills.get_tool(expected.tool).input_model
        try:
            wanted, made = (
                model.model_validate(dict(arguments)).model_dump()
                for arguments in (expected.arguments, own[-1].arguments)
            )
        except ValidationError:
            return False
        omitted = _FORM if has_numbers else frozenset[str]()
        return bool(_covered(wanted, omitted) == _covered(made, omitted))


def _covered(arguments: Mapping[str, Any], omitted: Collection[str]) -> Any:
    """What a call covers: a group that a filter leaves one member of changes nothing."""
    filters: Mapping[str, Any] = _plain(arguments.get("filters") or {})
    single = {name for name, value in filters.items() if isinstance(value, str | None)}
    covered = {name: value for name, value in arguments.items() if name not in omitted}
    for groups in _GROUPS & covered.keys():
        if covered[groups]:  # without any, a comparison has the groups of the configuration
            kept = [name for name in covered[groups] if name not in single]
            covered[groups] = kept or ([""] if groups == "align_on" else [])
    order = [name for name in covered.get("order") or () if name.lstrip("-") not in single]
    return _plain({**covered, "order": order})


def _unanswered(answer: GivenAnswer) -> Judgement:
    asks = answer.ending == "question" or (answer.ending == "answer" and _asks(answer.content))
    verdict = AnswerVerdict.ASKED_BACK if asks else AnswerVerdict.REFUSED
    return Judgement(verdict, _lines(answer.content)[0])


def _asks(content: str) -> bool:
    """Whether a text is a question: its first line ends as one, or its last, unless in a list."""
    lines = _lines(content)
    return lines[0].endswith("?") or (lines[-1].endswith("?") and lines[-1][0] not in "-*")


def _lines(content: str) -> list[str]:
    lines = [line.strip() for line in content.splitlines() if line.strip()]
    return lines or ["the answer is empty"]


def _holds(content: str, number: Decimal, results: Sequence[Any]) -> bool:
    """Whether a text has a number with all of its digits, and its sign or a result with it."""
    found = check_answer(content, [number]).references
    written = [each.number for each in found if not each.is_rounded]
    if number >= 0 or any(not each[0].isdigit() for each in written):
        return bool(written)
    # Words may say the sign, in any language: then it is the sign of what was computed.
    computed = check_answer(f"{number:f}", results).references
    return bool(written) and any(not each.is_rounded for each in computed)


def _plain(value: Any) -> Any:
    """Arguments in one form: the same question can be written in several ways."""
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        match parts:
            case {"between": [low, high]}:
                parts = {"gte": low, "lte": high}
            case {"order": [*columns]}:  # the first column decides first
                parts = {**parts, "order": json.dumps(columns)}
            case _:
                pass
        plain = {name: _plain(each) for name, each in parts.items()}
        return {name: each for name, each in plain.items() if each not in (None, {}, ())}
    if isinstance(value, list | tuple):
        items = [_plain(each) for each in cast("Sequence[Any]", value)]
        return items[0] if len(items) == 1 else tuple(sorted(items, key=str))
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return f"{Decimal(str(value)).normalize():f}"
    return value


def _written(tool: str, arguments: Mapping[str, Any] | None) -> str:
    if arguments is None:
        return tool
    return f"{tool} {json.dumps(arguments, ensure_ascii=False, default=str)}"


def _parsed(result: Any) -> Any:
    if not isinstance(result, str):
        return result
    try:
        return json.loads(result)
    except ValueError:
        # A result that was too long for the conversation is cut, and is not JSON any more.
        return {"text": result} if result.startswith("{") else result
