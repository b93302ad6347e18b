"""A policy: which sources are trusted, who may read results, and the rules of each sink.

A policy is data, so that it can be checked before a run: an unknown tool, argument, field or word
is an error that names it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.provenance import COMMON, UNDECLARED, Label, Sink
from tinyagent.core.provenance.rules import Form, Items, KnownLink, Rule
from tinyagent.core.types import ToolSpec

_OTHERS = COMMON | {"unknown"}
"""Sources that are no tools."""
SOURCE_WORDS = frozenset({"user", "trusted", "own", "seen", "default"})
"""Sources of a rule that are no tools."""
_MAX_WRITERS = 8
_MAX_WRITER = 100
_WITH_ADDRESS = re.compile(r"[^<>]*<([^<>\s]+)>")


@dataclass(frozen=True)
class Policy:
    """A policy; `Provenance` describes its parts.

    Raises:
        ConfigurationError: A tool is both free and a sink.
    """

    trusted: frozenset[str] = frozenset()
    private: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    free: frozenset[str] = frozenset()
    sinks: Mapping[str, Sink] = field(default_factory=dict[str, Sink])
    reveal_bits: int = 0
    links: frozenset[str] | None = None
    own: frozenset[str] = frozenset()
    from_: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def __post_init__(self) -> None:
        both = sorted(self.free & self.sinks.keys())
        if both:
            raise ConfigurationError(f"{both[0]} is both free and a sink; remove one of them")

    def source(self, tool: str) -> str:
        """The name of a tool as a source; those of the user and the operator stay theirs."""
        return f"tool:{tool}" if tool in _OTHERS else tool

    def trusts(self, source: str, tools: Mapping[str, ToolSpec]) -> bool:
        """Whether a source is trusted; `agent/tool` also if the agent is."""
        tool = source.partition("<")[0]  # of an item
        source = tool if tool in tools else source
        return (
            source in COMMON
            or source in self.trusted
            or (source in tools and tools[source].results == "trusted")
            or ("/" in source and source.partition("/")[0] in self.trusted)
        )

    def label(self, tool: ToolSpec, value: object, writers: Collection[str] = ()) -> Label:
        """The label of a result, without what its arguments were made of.

        Args:
            tool: Which returned it.
            value: The result.
            writers: Who wrote its items, if all of it are items.
        """
        readers, source = self.private.get(tool.name), self.source(tool.name)
        items = writers if len(writers) <= _MAX_WRITERS and "" not in writers else ()
        sources = {item_source(source, writer) for writer in items} or {source}
        own = Label(frozenset(sources), readers)
        return tool.results(value) | own if callable(tool.results) else own

    def items_by(self, tool: ToolSpec | None) -> str:
        """The field that says who wrote an item of the tool's results; empty if none counts."""
        if tool is None or not self.writers(tool.name):
            return ""
        named = [key.partition(".")[2] for key in self.from_ if key.partition(".")[0] == tool.name]
        attested = tool.results.by if isinstance(tool.results, Items) else ""
        return next(filter(None, named), attested)

    def writers(self, tool: str) -> tuple[str, ...]:
        """Those whose items of the tool's results are trusted, as `from` names them."""
        if not self.from_:
            return ()
        own = (who for key, who in self.from_.items() if key.partition(".")[0] == tool)
        return next(own, self.from_.get("", ()))

    @cached_property
    def directories(self) -> frozenset[str]:
        """The tools whose results say whose items are trusted."""
        named = (source for who in self.from_.values() for source in who if "@" not in source)
        return frozenset(parse_source(source)[1] for source in named) - {"user"}

    def of_word(self, source: str, tools: Mapping[str, ToolSpec]) -> Collection[str]:
        """The tools that a source of a rule stands for."""
        if source == "own":
            return {name.partition(".")[0] for name in self.own}
        if source == "seen":
            return tools
        if source == "trusted":
            return [
                name for name in tools if self.items_by(tools[name]) or self.is_trusted(name, tools)
            ]
        return (source,)

    def own_fields(self, tool: str) -> Sequence[str | None]:
        """The fields of what the tool lists that are the user's own; None for all of it."""
        if tool in self.own:
            return [None]
        return [name.partition(".")[2] for name in self.own if name.startswith(f"{tool}.")]

    def is_trusted(self, tool: str, tools: Mapping[str, ToolSpec]) -> bool:
        """Whether all that a tool returns is trusted."""
        return self.trusts(self.source(tool), tools)

    def sinks_of(self, tool: ToolSpec) -> tuple[Sink, ...]:
        """The sinks whose rules a call must all satisfy; none if the tool is free."""
        declared = self.sinks.get(tool.name)
        own = tool.sink
        if isinstance(own, Sink):
            return (own,) if declared is None else (own, declared)
        if declared is not None:
            return (declared,)
        return () if own == "free" or tool.name in self.free else (UNDECLARED,)

    def within(self, agent: str, shared: Collection[str]) -> Policy:
        """The policy for the tools of an agent that is a tool.

        Args:
            agent: The name of the tool; rules for what it calls are those of `agent/tool`.
            shared: The names of tools that both agents have, for which the rules hold as well.
        """
        inner = f"{agent}/"

        def own(names: Iterable[str]) -> dict[str, str]:
            held = {name: name for name in names if name.partition(".")[0] in shared}
            named = {name.removeprefix(inner): name for name in names if name.startswith(inner)}
            return held | named

        sinks = {
            new: self.sinks[old] if old.startswith(inner) else _only(self.sinks[old], shared)
            for new, old in own(self.sinks).items()
        }
        return Policy(
            frozenset(own(self.trusted)),
            {new: self.private[old] for new, old in own(self.private).items()},
            frozenset(own(self.free)) - sinks.keys(),
            sinks,
            own=frozenset(own(self.own)),
            from_={
                new: left
                for new, old in own(self.from_).items()
                if (left := tuple(_shared(self.from_[old], shared)))
            },
        )


def _only(sink: Sink, shared: Collection[str]) -> Sink:
    """A sink whose rules name no sources but the user and the tools that are shared."""
    rules: dict[str, Rule] = {}
    for name, rule in sink.rules.items():
        sources = () if isinstance(rule, str) else sources_of(rule)
        left = list(_shared(sources, shared))
        if sources and not left:
            return UNDECLARED
        if isinstance(rule, Form | KnownLink):
            rules[name] = Form(rule.name, left) if isinstance(rule, Form) else KnownLink(left)
        else:
            rules[name] = left or rule
    return Sink(rules, control=sink.control, readers=sink.readers, asked=sink.asked)


def _shared(sources: Iterable[Any], shared: Collection[str]) -> Iterator[Any]:
    """The sources that mean the same in an agent with these tools of its caller."""
    for each in sources:
        is_word = not isinstance(each, str) or each in SOURCE_WORDS or "@" in each
        if is_word or parse_source(each)[1] in shared:
            yield each


def item_source(tool: str, writer: str) -> str:
    """The source of an item, by who wrote it."""
    return f"{tool}<{writer[:_MAX_WRITER]}>"


def address_of(writer: str) -> str:
    """The address of a writer: of `Anna <anna@example.com>` what is in the angle brackets."""
    found = _WITH_ADDRESS.fullmatch(writer)
    return found[1] if found else writer


def parse_source(text: str) -> tuple[bool, str, str | None]:
    """A source of a rule: whether a part of a text is enough, the tool, and its field, if any."""
    inside = text.startswith("in:")
    tool, dot, name = text.removeprefix("in:").partition(".")
    return inside, tool, name if dot else None


def sources_of(rule: Rule) -> Sequence[str | float]:
    """The sources that may vouch for an argument; none if its rule names none."""
    if isinstance(rule, Form | KnownLink):
        return rule.sources
    if isinstance(rule, list | tuple):
        return rule
    return ("user",) if rule == "own_words" else ()
