"""A first policy for the tools of an agent, written from their schemas, names and hints.

Each line says why it is there. A person reads it, adds whom to trust, and changes what does not
fit; what a tool does not show is drafted the strict way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tinyagent.core.provenance.rules import Items
from tinyagent.core.types import ToolSpec
from tinyagent.core.untrusted import as_array
from tinyagent.provenance.policies.draft_rules import (
    Argument,
    arguments_of,
    as_yaml,
    is_file,
    is_name,
    is_receiver,
    rule_of,
)
from tinyagent.provenance.shapes import all_fields

_READS = re.compile(
    r"(get|list|read|search|find|show|view|look_?up|check|count|describe|fetch|open|browse|track|"
    r"compare|summarize|my)(_|$)"
)
_OPENS = re.compile(r"(get|read|show|view|fetch|open|load|cat|print|download)(_|$)")
_OUTSIDE = re.compile(r"(^|_)(web|fetch|url|internet|browse|page|http|download)(_|$)")
_CURATED = re.compile(
    r"(^|_)(contacts?|address_?book|phone_?book|colleagues?|coworkers?|employees?|staff|personnel|"
    r"team|roster|members?)(_|$)"
)
_SECRET = re.compile(
    r"(^|_)(passwords?|secrets?|tokens?|credentials?|keys?|payments?|cards?|bank|statements?|"
    r"balances?|transactions?|passports?|health|salar(y|ies)|address(es)?|profile|account)(_|$)"
)
_VERBS = (
    ("delete", "remove", "erase", "drop", "clear", "purge", "throw"),
    ("cancel", "call off", "annul"),
    ("merge", "integrate"),
    ("close", "end", "finish"),
    ("transfer", "pay", "send", "wire", "settle"),
    ("pay", "settle", "transfer"),
    ("send", "mail", "write", "forward", "answer", "reply", "tell", "inform", "ask", "invite"),
    ("place", "order", "buy", "get", "purchase"),
    ("order", "buy", "get", "purchase"),
    ("book", "reserve"),
    ("move", "reschedule", "shift", "postpone"),
    ("write", "change", "edit", "add", "fix", "update", "correct"),
    ("add", "invite", "give", "grant"),
    ("remove", "delete", "erase", "drop", "take off"),
    ("reserve", "book"),
    ("buy", "order", "get", "purchase"),
    ("update", "change", "edit", "correct", "fix"),
    ("assign", "give", "delegate", "entrust"),
    ("hand", "give", "lend"),
    ("grant", "give", "allow"),
    ("share", "give", "show", "send"),
    ("accept", "approve", "confirm", "agree"),
    ("approve", "accept", "confirm", "agree"),
    ("reject", "decline", "refuse", "turn down"),
    ("withdraw", "retract", "revoke", "take back"),
    ("revoke", "withdraw", "remove", "take away"),
    ("reimburse", "refund", "repay", "pay"),
    ("refund", "reimburse", "repay", "pay"),
    ("respond", "answer", "reply"),
    ("reply", "answer", "respond"),
    ("post", "publish", "announce", "answer", "tell", "write"),
)
"""Verbs in names of tools, first, with words that ask for the same."""
_GENERAL = frozenset({"request", "submit", "create", "make", "do", "set", "start", "run", "change"})
"""Verbs that say nothing without the next word of the name."""
_WIDTH = 60
_MIN_WORD = 2

Line = tuple[str, str]
"""A line of the policy, and its reason."""


def draft(tools: Iterable[ToolSpec]) -> str:
    """A policy for these tools as YAML, with the reason at each line.

    Args:
        tools: Of an agent. Their `hints` and `results=Items(...)` are believed.
    """
    return _Draft(list(tools)).text()


class _Draft:
    """The parts of a policy, while they are written."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = tools
        self._parts: dict[str, list[Line]] = {
            part: [] for part in ("trusted", "own", "free", "from", "private", "sinks")
        }
        for tool in tools:
            self._names(tool)
        for tool in tools:
            if _is_reading(tool):
                self._reading(tool)
            else:
                self._sink(tool, "changes or sends something")
        self._writers()

    def text(self) -> str:
        """The policy as YAML."""
        out = ["# A draft: read each line, and change what does not fit."]
        for part, lines in self._parts.items():
            if lines:
                mark = "  - " if part in {"trusted", "own", "free"} else "  "
                out += [f"{part}:", *_column([(f"{mark}{text}", why) for text, why in lines])]
        return "\n".join(out) + "\n"

    def _add(self, part: str, text: str, why: str) -> None:
        self._parts[part].append((text, why))

    def _reading(self, tool: ToolSpec) -> None:
        arguments = list(arguments_of(tool))
        if _reaches_out(tool) and arguments:
            self._sink(tool, "its arguments leave the machine")
            return
        if _OPENS.match(tool.name) and any(map(is_file, arguments)):
            self._sink(tool, "it can read more than the request is about")
            return
        stated = "the tool says that it only reads"
        self._add("free", as_yaml(tool.name), stated if "read_only" in tool.hints else "it reads")
        if _is_curated(tool):
            why = "only the user or the organization adds to it; check this"
            self._add("trusted", as_yaml(tool.name), why)
        if _SECRET.search(tool.name):
            self._add(
                "private", f"{as_yaml(tool.name)}: [user]", "by its name it is for the user only"
            )

    def _names(self, tool: ToolSpec) -> None:
        """The fields of the results that name the user's own things."""
        if _is_curated(tool) or (_is_reading(tool) and _reaches_out(tool)):
            return
        why = "set by the service" if _is_reading(tool) else "made by an allowed call"
        for name in sorted(filter(is_name, all_fields(tool.returns) or ())):
            self._add("own", as_yaml(f"{tool.name}.{name}"), why)

    def _writers(self) -> None:
        people = [
            f"{tool.name}.{name}"
            for tool in filter(_is_curated, self._tools)
            for name in sorted(all_fields(tool.returns) or ())
            if re.search(r"e?mail|login|handle|^user(name)?$", name)
        ]
        for tool in self._tools:
            if isinstance(tool.results, Items):
                why = f"{tool.results.by} says who wrote it; add '@your.host', or names"
                self._add(
                    "from",
                    f"{as_yaml(tool.name)}: [{', '.join(map(as_yaml, ['user', *people]))}]",
                    why,
                )

    def _sink(self, tool: ToolSpec, why: str) -> None:
        arguments = list(arguments_of(tool))
        is_final = tool.hints.get("destructive", False)
        rules = [rule_of(one, arguments, tool, self._sources(one, tool)) for one in arguments]
        is_bound = any(rule.is_strict for rule in rules)
        if not arguments or (is_final and not is_bound):
            reason = f"{why}, whatever its arguments are"
            self._add("sinks", f"{as_yaml(tool.name)}: control", reason)
            return
        self._add("sinks", f"{as_yaml(tool.name)}:", why)
        if is_final or not (is_bound or _is_reading(tool)):
            asking = dict.fromkeys(_asking(tool, arguments, is_bound=is_bound))
            reason = "what it changes cannot be restored" if is_final else "nothing else bounds it"
            self._add("sinks", f"  asked: [{', '.join(map(as_yaml, asking))}]", reason)
        for argument, drafted in zip(arguments, rules, strict=True):
            self._add("sinks", f"  {as_yaml(argument.path)}: {drafted.rule}", drafted.reason)
        receivers = {
            one.path.partition("[")[0].partition(".")[0] for one in arguments if is_receiver(one)
        }
        if receivers:
            self._add(
                "sinks",
                f"  readers: [{', '.join(map(as_yaml, sorted(receivers)))}]",
                "they receive it",
            )
        elif tool.hints.get("open_world") is False:
            self._add("sinks", "  readers: nobody", "the tool says that it sends nothing outside")

    def _sources(self, argument: Argument, tool: ToolSpec) -> str:
        """The sources of an argument that names something."""
        known = "user, trusted, own" if self._parts["own"] else "user, trusted"
        if _is_reading(tool):
            return f"{known}, seen"  # the model has seen the name of what it reads
        if argument.name in tool.name:
            return known
        for other in self._tools:
            lists = _is_reading(other) and not _reaches_out(other) and not list(arguments_of(other))
            if lists and argument.name in other.name and not isinstance(other.results, Items):
                ids = filter(is_name, sorted(all_fields(other.returns) or ()))
                known += "".join(f", {as_yaml(f'{other.name}.{name}')}" for name in ids)
        return known


def _is_reading(tool: ToolSpec) -> bool:
    stated = tool.hints.get("read_only")
    return bool(_READS.match(tool.name)) if stated is None else stated


def _reaches_out(tool: ToolSpec) -> bool:
    stated = tool.hints.get("open_world")
    return bool(_OUTSIDE.search(tool.name)) if stated is None else stated


def _is_curated(tool: ToolSpec) -> bool:
    is_book = _CURATED.search(tool.name) and _is_reading(tool) and not _reaches_out(tool)
    return bool(is_book) and not isinstance(tool.results, Items)


def _asking(tool: ToolSpec, arguments: Iterable[Argument], *, is_bound: bool) -> Iterator[str]:
    """Words that ask for a call of a tool: by the verb in its name, and the choices that it has."""
    verb, _, rest = tool.name.lower().partition("_")
    if rest and (verb in _GENERAL or not is_bound):
        yield from rest.split("_")
    yield from next((words for words in _VERBS if verb == words[0]), (verb,))
    for each in arguments:
        yield from (
            one
            for one in as_array(each.schema.get("enum")) or ()
            if isinstance(one, str) and len(one.strip()) >= _MIN_WORD
        )


def _column(lines: Sequence[Line]) -> Iterator[str]:
    width = min(max(len(text) for text, _ in lines), _WIDTH)
    for text, why in lines:
        yield f"{text:<{width}}  # {' '.join(why.split())}"
