"""Regular expressions as automata, to find words that lead through them in more than one way.

A state is a place of the pattern that reads one letter. Letters are samples: one of each kind that
the pattern tells apart. What looks behind or ahead is respected where it is one letter, and ignored
otherwise: then more words are ambiguous than for the engine, which decides in the end.
"""

from __future__ import annotations

import importlib
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple, cast

parser: Any = importlib.import_module("re._parser")  # what the engine itself reads a pattern by
sre: Any = importlib.import_module("re._constants")

_COMMON = "aZ0_ \n\t-.,:;/\\\"'<>()[]{}!+=@#\x01\x7f\u00e9\u2028"
_SMALL = 64  # repeats up to this number are a constant factor
_COPIES = 3
_MOST_STEPS = 50_000
_MOST_WAYS = 20_000

Letters = frozenset[str]
Edges = dict[int, list["Edge"]]


class TooComplexError(ValueError):
    """A pattern has too many ways through it to be examined."""


class Word(NamedTuple):
    """A word that can be repeated, and what comes before the first."""

    before: str
    repeated: str


class Edge(NamedTuple):
    """A way to the next state, between letters of these kinds; "" is the end of the text."""

    target: int
    last: Letters
    following: Letters


@dataclass
class _Builder:
    """Builds the nodes of a pattern: those that read a letter, and the ways between them."""

    letters: Letters
    flags: int
    ways: dict[int, list[tuple[int, Letters, Letters]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    reads: dict[int, tuple[Letters, int]] = field(default_factory=dict[int, tuple[Letters, int]])
    nodes: int = 0
    depth: int = 0

    def node(self) -> int:
        self.nodes += 1
        return self.nodes

    def way(
        self, start: int, end: int, last: Letters | None = None, next_: Letters | None = None
    ) -> None:
        whole = self.letters | {""}
        self.ways[start].append(
            (end, whole if last is None else last, whole if next_ is None else next_)
        )

    def sequence(self, items: Iterable[Any], start: int) -> int:
        for kind, value in items:
            start = self.item(kind, value, start)
        return start

    def item(self, kind: Any, value: Any, start: int) -> int:
        """Add one item; returns the node behind it."""
        end = self.node()
        name = str(kind)
        if name in {"LITERAL", "NOT_LITERAL", "IN", "ANY"}:
            self.reads[start] = self.members(kind, value), end
        elif name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            self.repeat(value, start, end, is_possessive=name == "POSSESSIVE_REPEAT")
        elif name in {"BRANCH", "GROUPREF_EXISTS"}:
            for branch in value[1] if name == "BRANCH" else value[1:]:
                self.way(self.sequence(branch or [], self.branch(start)), end)
        elif name in {"SUBPATTERN", "ATOMIC_GROUP"}:
            _, added, removed, items = value if name == "SUBPATTERN" else (None, 0, 0, value)
            outer, self.flags = self.flags, (self.flags | added) & ~removed
            self.way(self.sequence(items, start), end)
            self.flags = outer
        elif name == "GROUPREF":  # as if the group were one letter
            self.reads[start] = self.letters, end
            self.way(start, end)
        elif name == "AT":
            self.at(str(value), start, end)
        elif name in {"ASSERT", "ASSERT_NOT"}:
            self.look(name == "ASSERT", value, start, end)
        else:
            raise TooComplexError(f"{name} is not known")
        return end

    def branch(self, start: int) -> int:
        first = self.node()
        self.way(start, first)
        return first

    def repeat(self, value: Any, start: int, end: int, *, is_possessive: bool) -> None:
        least, most, items = value
        is_loop = most > _SMALL or (self.depth and most > _COPIES)
        self.depth += most > 1
        for _ in range(min(least, _COPIES - 1)):
            start = self.sequence(items, start)
        following = None
        if is_possessive:
            following = (self.letters - self.first(items)) | {""}
        if is_loop:
            loop = self.branch(start)
            self.way(self.sequence(items, self.branch(loop)), loop)
            self.way(loop, end, None, following)
        else:
            for _ in range(min(most - least, _COPIES)):
                self.way(start, end, None, following)
                start = self.sequence(items, self.branch(start))
            self.way(start, end)
        self.depth -= most > 1

    def first(self, items: Any) -> Letters:
        """The letters with which a part of the pattern may begin."""
        inner = _Builder(self.letters, self.flags)
        start = inner.node()
        inner.sequence(items, start)
        edges = _edges_from(inner, start)
        return frozenset[str]().union(
            *(inner.reads[edge.target][0] & edge.following for edge in edges)
        )

    def at(self, name: str, start: int, end: int) -> None:
        words = self.members(sre.IN, [(sre.CATEGORY, sre.CATEGORY_WORD)])
        others = (self.letters - words) | {""}
        lines: Letters = frozenset({"", "\n"})
        if name == "AT_BEGINNING_STRING" or (
            name == "AT_BEGINNING" and not self.flags & re.MULTILINE
        ):
            self.way(start, end, frozenset({""}))
        elif name == "AT_BEGINNING":
            self.way(start, end, lines)
        elif name == "AT_END_STRING":
            self.way(start, end, None, frozenset({""}))
        elif name == "AT_END":
            self.way(start, end, None, lines)
        elif name == "AT_BOUNDARY":
            self.way(start, end, words, others)
            self.way(start, end, others, words)
        else:
            self.way(start, end)

    def look(self, is_wanted: bool, value: Any, start: int, end: int) -> None:  # noqa: FBT001
        direction, items = value
        items = list(items)
        if len(items) != 1 or str(items[0][0]) not in {"LITERAL", "NOT_LITERAL", "IN", "ANY"}:
            self.way(start, end)
            if direction > 0:
                self.sequence(items, self.branch(start))
            return
        letters = self.members(*items[0])
        letters = letters if is_wanted else (self.letters - letters) | {""}
        self.way(start, end, *((letters, None) if direction < 0 else (None, letters)))

    def members(self, kind: Any, value: Any) -> Letters:
        return frozenset(letter for letter in self.letters if self.has(kind, value, letter))

    def has(self, kind: Any, value: Any, letter: str) -> bool:
        """Whether an item of one letter reads this one."""
        if str(kind) == "ANY":
            return letter != "\n" or bool(self.flags & re.DOTALL)
        items = value if str(kind) == "IN" else [(kind, value)]
        is_negated = str(items[0][0]) in {"NEGATE", "NOT_LITERAL"}
        forms = {letter, letter.lower(), letter.upper()} if self.flags & re.IGNORECASE else {letter}
        return is_negated != any(
            self.is_in(str(each), what, form) for each, what in items for form in forms
        )

    def is_in(self, kind: str, value: Any, letter: str) -> bool:
        if kind in {"LITERAL", "NOT_LITERAL"}:
            return bool(ord(letter) == value)
        if kind == "RANGE":
            return bool(value[0] <= ord(letter) <= value[1])
        if kind == "CATEGORY":
            name = str(value).removeprefix("CATEGORY_").replace("NOT_", "")
            code = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[name]
            ascii_only = re.ASCII if not self.flags & re.UNICODE else 0
            return (re.match(code, letter, ascii_only) is not None) != ("NOT_" in str(value))
        return False  # NEGATE


def _edges_from(builder: _Builder, start: int) -> list[Edge]:
    """The ways from a node to the next that reads a letter, or to the last node."""
    found: list[Edge] = []
    whole = builder.letters | {""}
    pending = [(start, whole, whole, frozenset[tuple[int, int]]())]
    for _ in range(_MOST_WAYS):
        if not pending:
            return found
        node, last, following, used = pending.pop()
        if node in builder.reads:
            found.append(Edge(node, last, following))
        for number, (end, before, after) in enumerate(builder.ways.get(node, ())):
            if (node, number) not in used and last & before and following & after:
                taken = used | {(node, number)}
                pending.append((end, last & before, following & after, taken))
    raise TooComplexError("too many ways")


class Automaton:
    """The states of a pattern, and the words that lead through them in more than one way.

    Args:
        pattern: compiled.
        is_search: whether it may begin anywhere.
    """

    def __init__(self, pattern: re.Pattern[Any], *, is_search: bool) -> None:
        text = pattern.pattern
        tree = parser.parse(text, pattern.flags & ~re.DEBUG)
        builder = _Builder(_samples(tree, is_text=isinstance(text, str)), tree.state.flags)
        begin, self._any = builder.node(), builder.node()
        start = builder.node()
        builder.way(begin, start)
        if is_search:
            builder.way(begin, self._any)
            after = builder.node()
            builder.reads[self._any] = builder.letters, after
            builder.way(after, self._any)
            builder.way(after, start)
        builder.sequence(tree, start)
        builder.letters = _one_of_each(builder)
        self.letters = sorted(builder.letters)
        self._reads = {
            node: letters & builder.letters for node, (letters, _) in builder.reads.items()
        }
        self._edges: Edges = {
            node: _edges_from(builder, end) for node, (_, end) in builder.reads.items()
        }
        self._edges[0] = _edges_from(builder, begin)
        self._known: dict[tuple[int, str], dict[str, tuple[int, ...]]] = {}

    def ambiguous_words(self) -> Iterator[Word]:
        """Words that may be repeated, with two ways through the pattern at each repetition."""
        before = self._first_words()
        loops = {node: self._reach(node) for node in self._reads if node in before}
        looping = [node for node in loops if node in loops[node]]
        back = {end: {node for node in loops if end in loops[node]} for end in looping}
        for node in looping:
            word = self._two_ways(node, back[node])
            if word:
                yield Word(before[node], word)
        for first in looping:
            for second in looping:
                if first != second and second in loops[first] and first not in loops[second]:
                    word = self._from_loop_to_loop(first, second, back)
                    if word:
                        yield Word(before[first], word)

    def _targets(self, node: int, last: str) -> dict[str, tuple[int, ...]]:
        """The states behind a state and its letter, by the letter that leads there."""
        if (node, last) not in self._known:
            found: dict[str, set[int]] = defaultdict(set)
            for edge in self._edges[node]:
                if last in edge.last:
                    for letter in self._reads[edge.target] & edge.following:
                        found[letter].add(edge.target)
            self._known[node, last] = {
                letter: (*sorted(found[letter]),) for letter in sorted(found)
            }
        return self._known[node, last]

    def _reach(self, node: int) -> set[int]:
        reached: set[int] = set()
        pending = [node]
        while pending:
            for edge in self._edges[pending.pop()]:
                if edge.target not in reached:
                    reached.add(edge.target)
                    pending.append(edge.target)
        return reached

    def _first_words(self) -> dict[int, str]:
        """The shortest word that leads to each state."""
        words: dict[tuple[int, str], str] = {(0, ""): ""}
        pending = deque(words)
        while pending:
            node, last = pending.popleft()
            for letter, targets in self._targets(node, last).items():
                for step in ((target, letter) for target in targets):
                    if step not in words:
                        words[step] = words[node, last] + letter
                        pending.append(step)
        found: dict[int, str] = {}
        for (node, _), word in words.items():
            if node not in found or len(word) < len(found[node]):
                found[node] = word
        return found

    def _two_ways(self, node: int, back: set[int]) -> str:
        """A word that leads from a state back to it in two ways, by those that lead back to it."""

        def moves(state: Any) -> Iterator[tuple[Any, str]]:
            one, other, has_parted, last = state
            for number, edge in enumerate(self._edges[one]):
                if last not in edge.last or edge.target not in back:
                    continue
                for count, another in enumerate(self._edges[other]):
                    if last not in another.last or another.target not in back:
                        continue
                    both = self._reads[edge.target] & self._reads[another.target]
                    parted = has_parted or one != other or number != count
                    for letter in sorted(both & edge.following & another.following):
                        yield (edge.target, another.target, parted, letter), letter

        return _shortest(
            ((node, node, False, letter) for letter in sorted(self._reads[node])),
            moves,
            lambda state, start: state[:3] == (node, node, True) and state[3] == start[3],
        )

    def _from_loop_to_loop(self, first: int, second: int, back: Mapping[int, set[int]]) -> str:
        """A word that leads from each of two states to itself, and from one to the other."""
        ends = back[first], back[second], back[second]

        def moves(state: Any) -> Iterator[tuple[Any, str]]:
            *nodes, last = state
            here, between, there = (self._targets(node, last) for node in nodes)
            for letter in sorted(here.keys() & between.keys() & there.keys()):
                reached = zip((here[letter], between[letter], there[letter]), ends, strict=True)
                for step in product(*(end.intersection(targets) for targets, end in reached)):
                    yield (*step, letter), letter

        return _shortest(
            (
                (first, first, second, letter)
                for letter in sorted(self._reads[first] & self._reads[second])
            ),
            moves,
            lambda state, start: state == (first, second, second, start[3]),
        )


def _shortest(
    starts: Iterable[Any],
    moves: Callable[[Any], Iterator[tuple[Any, str]]],
    is_end: Callable[[Any, Any], bool],
) -> str:
    """The shortest word from a start to its end; "" if there is none."""
    for start in starts:
        seen = {start}
        pending = deque([(start, "")])
        while pending:
            state, word = pending.popleft()
            for reached, letter in moves(state):
                if is_end(reached, start):
                    return word + letter
                if reached not in seen:
                    seen.add(reached)
                    pending.append((reached, word + letter))
                    if len(seen) > _MOST_STEPS:
                        raise TooComplexError("too many states")
    return ""


def _samples(tree: Any, *, is_text: bool) -> Letters:
    """Letters of all kinds that a pattern may tell apart: the ends of its sets, and neighbours."""
    codes = {ord(letter) for letter in _COMMON}
    pending: list[Any] = [tree]
    while pending:
        item: Any = pending.pop()
        part: Any = getattr(item, "data", item)
        if type(part) is int:  # not a name of the parser's, which is of a class of its own
            codes |= {part - 1, part, part + 1}
        elif isinstance(part, list | tuple):
            pending.extend(cast("list[Any]", part))
    most = 0x10FFFF if is_text else 0xFF
    return frozenset(
        chr(code) for code in codes if 0 <= code <= most and not 0xD800 <= code < 0xE000
    )


def _one_of_each(builder: _Builder) -> Letters:
    """One letter of each kind that the pattern tells apart."""
    sets = [letters for letters, _ in builder.reads.values()]
    sets += [each for ways in builder.ways.values() for way in ways for each in way[1:]]
    kinds: dict[tuple[bool, ...], str] = {}
    for letter in sorted(builder.letters, key=lambda each: (each not in _COMMON, each)):
        kinds.setdefault(tuple(letter in each for each in sets), letter)
    return frozenset(kinds.values())
