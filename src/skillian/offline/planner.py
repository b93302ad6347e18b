"""OfflinePlanner: answers without a language model, by rules over the vocabulary.

It implements the `Model` protocol like any model: it requests tool calls and words their results.
Each argument is from the question, the conversation or the catalogue. A tool's result is never
read as a question.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from datetime import date

from rapidfuzz import fuzz, process

from skillian.offline.calls import Plan, PlannedCall, sentence_of
from skillian.offline.earlier import Earlier, as_object, read_earlier
from skillian.offline.language.clauses import Reader, Reading
from skillian.offline.language.lexicon import KINDS
from skillian.offline.language.periods import LONGEST_QUESTION, spelt_out
from skillian.offline.language.tokens import as_number, tokens_of
from skillian.offline.language.vocabulary import Vocabulary, plain
from skillian.offline.plans import plan
from skillian.offline.spoken import plan_spoken
from skillian.offline.wording import word_help, word_result
from tinyagent import Usage
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse, RawToolCall

NAME = "offline planner, no language model"
NOT_UNDERSTOOD = "not_understood"
"""Finish reason of a reply that asks the user to rephrase."""
TOOL_FAILED = "tool_failed"
"""Finish reason of a reply that reports why a tool failed."""
_MOST_OFFERS, _NEAR = 3, 80
_READINGS = re.compile(r"([^(]+) \(([^,()]+)\?\)")
_TURNING = re.compile(
    r"\b(not?|nor|never|\w+n't|out|but|every(one|body|where|thing)|leave|without|barring|minus"
    r"|best|worst|by what|which ones|(last|past|next|latest)(?=,|$))\b|(?<!\w)-",
    re.IGNORECASE,
)


class OfflinePlanner:
    """The `Model` of a skillian without a key.

    Args:
        vocabulary: The names that questions can use.
        today: What "last month" is before; the date of the question by default.
    """

    def __init__(self, vocabulary: Vocabulary, today: date | None = None) -> None:
        self._vocabulary = vocabulary
        self._today = today

    @property
    def name(self) -> str:
        """A name that says that there is no language model."""
        return NAME

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """A call for a question, or the result of a call in words."""
        start = max(i for i, message in enumerate(request.messages) if message.role == "user")
        turn, earlier = request.messages[start:], read_earlier(request.messages[:start])
        if turn[-1].role == "tool":
            call = next(m.tool_calls[-1] for m in reversed(turn) if m.tool_calls)
            result = as_object(turn[-1].text)
            answer = word_result(call.name, result, turn[-1].text, call.arguments.get("limit"))
            return _reply(answer, TOOL_FAILED if result.get("error") else "stop")
        planned = self.plan(turn[0].text, earlier)
        if isinstance(planned, PlannedCall):
            stated = json.dumps(planned.arguments, ensure_ascii=False)
            return _reply(None, "tool_calls", RawToolCall("", planned.tool, stated))
        offered = self.offers(turn[0].text, earlier)
        return _reply(word_help(self._vocabulary, planned, offered), NOT_UNDERSTOOD)

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The same as a stream of one part."""
        response = await self.complete(request)
        if response.content:
            yield ModelDelta(response.content)
        yield response

    def plan(self, question: str, earlier: Earlier) -> Plan:
        """The call that answers a question after a conversation, or why there is none.

        A tool's phrase has precedence unless the question names a source.
        """
        if len(question) > LONGEST_QUESTION:
            return f"I did not understand: a question of more than {LONGEST_QUESTION} characters."
        reading = self.read(question, earlier)
        planned = plan(reading, earlier, self._vocabulary)
        if isinstance(planned, PlannedCall) and reading.sources:
            return planned
        return plan_spoken(question, self._vocabulary) or planned

    def offers(self, question: str, earlier: Earlier) -> tuple[str, ...]:
        """At most three sentences near a question that was not understood; each is understood."""
        made: list[str] = []
        for near in self._near(question, earlier) if len(question) <= LONGEST_QUESTION else ():
            call = plan(near, earlier, self._vocabulary)
            if isinstance(call, PlannedCall) and len(made) < _MOST_OFFERS:
                written = (sentence_of(call), sentence_of(call, is_quoted=True))
                made += [t for t in written if t and self.plan(t, earlier) == call][:1]
        return tuple(dict.fromkeys(made))

    def _near(self, question: str, earlier: Earlier) -> Iterator[Reading]:
        """Yield what a question may mean: with names like its words, and what is read of it.

        Then the same about each source that has the measures, and as a comparison of two.
        """
        names = [name for name in self._vocabulary.phrases if name.replace("_", "").isalpha()]
        first = self.read(question, earlier)
        for word in first.unread:
            found = process.extractOne(word, names, scorer=fuzz.ratio, score_cutoff=_NEAR)
            is_name = found and word[0].isalpha() and plain(word) not in KINDS
            question = question.replace(word, found[0]) if found and is_name else question
        reading, whole = self.read(question, earlier), self._vocabulary
        several = filter(None, map(_READINGS.fullmatch, reading.unread))
        doubts = [(match[1], match[2].split(" or ")) for match in several if " or " in match[2]]
        for said, names in doubts:
            before, text, after = question.rpartition(said)
            for name in names:
                value = name if as_number(name) else f'"{name}"'
                stated = f"{name} {text}" if name in whole.dimensions else value
                yield self.read(f"{before}{stated}{after}", earlier)
        unread = ", ".join(reading.unread)
        is_guess = unread != "" and not any(name for name, _ in first.parts)
        is_part = doubts or "(a second condition" in unread
        if is_guess or is_part or _TURNING.search(re.sub(r"\([^()]*\)", "", unread)):
            return  # an offer that leaves out a negation or an order turns the question around
        for doubt in ("remove", "all") if earlier.last and not reading.unread else ():
            yield replace(reading, says={**reading.says, doubt: doubt})
        reading = replace(reading, unread=[])
        yield reading
        having = whole.with_measures(reading.measures or reading.ordered or [""])
        yield from (replace(reading, sources=[name]) for name in having if not reading.sources)
        if len(having) == len(reading.sources) + 1:
            yield replace(reading, sources=[*dict.fromkeys((*reading.sources, *having))])
        # The question alone: without a look that needs a comparison, or a change of the last one.
        clauses = [name for name in reading.clauses if name not in {"look", "edit", "only_in"}]
        says = {kind: text for kind, text in reading.says.items() if kind in {"compare", "source"}}
        yield replace(reading, clauses=clauses, says=says)

    def read(self, question: str, earlier: Earlier) -> Reading:
        """What a question says after a conversation."""
        question, whole = spelt_out(question), self._vocabulary
        today = self._today or date.today()  # noqa: DTZ011
        tokens = tokens_of(question, whole, whole, today)
        named = {name for token in tokens if token.kind == "source" for name in token.names}
        measures = {name for token in tokens if token.kind == "measure" for name in token.names}
        part = whole.within(named or earlier.sources or whole.with_measures(measures))
        return Reader(tokens_of(question, whole, part, today), part, earlier.years).read()


def _reply(text: str | None, reason: str, *calls: RawToolCall) -> ModelResponse:
    return ModelResponse(text, calls, Usage(requests=1), reason, NAME)
