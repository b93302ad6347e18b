"""Options that do not exist, or whose value has the wrong type, are refused.

An unknown one with the name that was probably meant, and where it belongs if that is elsewhere.
Nearness is measured on names as a whole and on their words, so that `trust` is near `level`
and `max_iterations` near `max_steps`. A suggestion is never accepted in place of the option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, wraps
from importlib import import_module
from typing import Any, NamedTuple, TypeVar, cast

from tinyagent.core.errors import ConfigurationError

C = TypeVar("C", bound=Callable[..., Any])

_Types = frozenset[str] | None
_KNOWN: dict[str, Mapping[str, _Types]] = {}
"""The options of each decorated class and function, and the names of their types if they count."""
_LIST = "list"
_TABLE = "table"
_PLAIN = frozenset(
    {
        *("Decimal", "ExecutionLimits", "MemoryManager", "None", "Path", "TrustLevel"),
        *("bool", "float", "int", "str"),
    }
)
_OBJECTS = frozenset(
    "AsyncAnthropic AsyncOpenAI Ask Callable Executor Prune Sandbox Workspace".split()  # noqa: SIM905 - a list to read
)
"""Types of which no text, number or list is."""
_TEXTS: tuple[type, ...] = (str, bytes, dict)
_NO_OBJECTS: tuple[type, ...] = (*_TEXTS, int, float, list)

# Where an option of another object belongs: its module, the option that takes it, how to write it.
_PLACES = (
    ("ExecutionLimits", "execution.trust", "limits", "limits=ExecutionLimits({}=...)"),
    (
        "ExecutionLimits",
        "execution.trust",
        "sandbox",
        "sandbox=Sandbox(limits=ExecutionLimits({}=...))",
    ),
    ("UsageLimits", "middleware.limits", "middleware", "middleware=[UsageLimits({}=...)]"),
    ("ReactAgent", "agents.react", "tools", "ReactAgent(..., {}=...)"),
    ("TinyCodeAgent", "agents.code", "tools", "TinyCodeAgent(..., {}=...)"),
    ("Startable.run", "agents.start", "tools", "agent.run(task, {}=...)"),
    ("OpenAIModel", "models.openai", "model", "model=OpenAIModel(..., {}=...)"),
    ("tool", "tools.registry", "tools", "@tool({}=...)"),
    ("Sandbox", "execution.definition", "sandbox", "sandbox=Sandbox({}=...)"),
    ("Provenance", "provenance.guard", "middleware", "middleware=[Provenance({}=...)]"),
    ("Tracing", "middleware.tracing", "middleware", "middleware=[Tracing({}=...)]"),
    ("Approval", "middleware.approval", "middleware", "middleware=[Approval({}=...)]"),
    ("RecordedModel", "models.recorded", "model", "model=RecordedModel(..., {}=...)"),
)

# Words that mean the same in names of options; the first stands for all.
_ALIKE = (
    "approval approve approver confirm confirmation permission human",
    "char character",
    "cost budget dollar price usd",
    "engine docker podman container image",
    "entry message item",
    "file upload",
    "import module",
    "max limit maximum most cap",
    "memory mem ram history conversation",
    "level lvl trust isolation security",
    "middleware hook handler interceptor callback event listener",
    "network host domain internet web egress",
    "output answer result response",
    "package pkg requirement pip",
    "prompt instruction system",
    "reasoning thinking effort",
    "request call",
    "retry attempt try",
    "step iteration turn round",
    "time timeout second sec duration deadline",
    "type schema format",
    "url endpoint address",
    "vision multimodal",
    "workspace workdir cwd dir directory folder",
)
_CANONICAL = {word: group.split()[0] for group in reversed(_ALIKE) for word in group.split()}
_LIGHT = frozenset(
    {
        *("access", "additional", "allow", "allowed", "authorized", "byte", "extra", "file"),
        *("level", "max", "min", "mode", "name", "size", "type", "wall"),
    }
)
"""Words that say little on their own."""

_MAX_NAME = 60
_NEAR, _NEAR_ELSEWHERE = 0.5, 0.75
_SAME_WORD, _SAME_NAME = 0.8, 0.7
_LONG_ENOUGH = 4
_OF_OWN, _OF_TAKEN = 0.1, 0.2
"""What is added to the nearness of an option of the same object, and of one that it takes."""
_SPREAD = 0.21
_MOST = 3


class Place(NamedTuple):
    """An option of something else.

    Attributes:
        name: Of the option.
        written: How it is given there.
        bonus: Is added to the nearness of its name, of 0 to 1.
    """

    name: str
    written: str
    bonus: float = 0.0


def checks_options(options: type | None = None) -> Callable[[C], C]:
    """Make a class or a function refuse options that it does not have, and values of wrong types.

    It then raises `ConfigurationError`. Types are checked where they are plain: numbers, texts,
    flags, lists.

    Args:
        options: The `TypedDict` of its `**options`, if it takes them.
    """

    def decorate(target: C) -> C:
        is_class = isinstance(target, type)
        called: Any = vars(target)["__init__"] if is_class else target
        code = called.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        is_method = names[:1] in {("self",), ("cls",)}
        hints = dict(called.__annotations__)
        listed = names[max(code.co_posonlyargcount, is_method) :]
        if options is not None:
            hints |= options.__annotations__
            listed += tuple(options.__annotations__)
        known = {name: _types_of(hints.get(name)) for name in listed}
        _KNOWN[target.__qualname__] = known

        @wraps(called)
        def checked(*args: Any, **given: Any) -> Any:
            if not given.keys() <= known.keys():
                _refuse(_owner(target, args if is_method else ()), given, known, target)
            for name, value in (*zip(names, args, strict=False), *given.items()):
                types = known.get(name)
                if types is not None and not _has_type(value, types):
                    owner = _owner(target, args if is_method else ())
                    raise ConfigurationError(f"{owner}: {_wrong_type(name, value, types)}")
            return called(*args, **given)

        if not isinstance(target, type):
            return cast("C", checked)
        target.__init__ = checked  # type: ignore[misc]
        return cast("C", target)

    return decorate


def refuse_unknown(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that are not known.

    Args:
        owner: Whose names these are, for the message.
        given: The names that were given, from anywhere.
        known: The names that it has.

    Raises:
        ConfigurationError: One is not known; the message suggests the nearest one.
    """
    _refuse(owner, given, dict.fromkeys(known), None)


def require_least(least: float, **numbers: float | None) -> None:
    """Check that no number is less than `least`; None is left out.

    Raises:
        ConfigurationError: It names the first that is.
    """
    for name, number in numbers.items():
        if number is not None and not number >= least:
            raise ConfigurationError(f"{name} must be {least:g} or more, got {number}")


def suggestion(given: str, known: Iterable[str], elsewhere: Iterable[Place]) -> str:
    """What the writer of an unknown name may have meant; "" if nothing is near.

    Args:
        given: The name.
        known: The names of the same object.
        elsewhere: The names of others.
    """
    own = _best([(_nearness(given, name) + _OF_OWN, name) for name in known], _NEAR + _OF_OWN)
    away = _best(
        [(_nearness(given, place.name) + place.bonus, place.written) for place in elsewhere],
        _NEAR_ELSEWHERE,
    )
    parts = [(own[0][0] + _SPREAD, f"did you mean {_listed(own)}?")] if own else []
    if away and not (own and away[0][0] < parts[0][0]):
        parts.insert(0, (away[0][0], f"write {_listed(away)}"))
    return ", or ".join(words for _, words in parts)


def _owner(target: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """The name for messages: of the class of an object, of its method, or of a function."""
    if isinstance(target, type):
        return type(args[0]).__name__
    of = f"{type(args[0]).__name__}." if args and not isinstance(args[0], type) else ""
    return f"{of}{target.__name__}()"


def _refuse(
    owner: str, given: Iterable[str], known: Mapping[str, _Types], target: Callable[..., Any] | None
) -> None:
    faults: list[str] = []
    for name in given:
        if name in known:
            continue
        short = str(name)[:_MAX_NAME]
        places = [] if target is None else _places(target, known)
        hint = suggestion(short, known, places) or f"it has: {', '.join(known) or 'none'}"
        is_elsewhere = any(place.name == short for place in places)
        if not is_elsewhere and callable(getattr(target, short, None)):
            hint = f"it is a method: {owner}(...).{short}(...)"
        faults.append(f"{owner} has no option {short!r}; {hint}")
    if faults:
        raise ConfigurationError("\n".join(faults))


def _places(owner: Callable[..., Any], known: Mapping[str, _Types]) -> list[Place]:
    """All options of other objects; those that `owner` takes are nearer than the others."""
    places: list[Place] = []
    for name, module, taken_by, form in _PLACES:
        import_module(f"tinyagent.{module}")  # decorates the object, so that its options are known
        if name == owner.__qualname__:
            continue
        is_taken = taken_by in known
        written = form if is_taken else form.removeprefix(f"{taken_by}=").strip("[]")
        bonus = _OF_TAKEN if is_taken else 0.0
        options = [each for each in _KNOWN[name] if each not in known and f"({each}," not in form]
        places += [Place(option, written.format(option), bonus) for option in options]
        if is_taken:  # its own name, such as `tracing`
            places.append(
                Place(name, written.replace(", {}=...", "").replace("{}=...", "..."), bonus)
            )
    return places


def _best(scored: list[tuple[float, str]], least: float) -> list[tuple[float, str]]:
    """The nearest few, of those that are near enough."""
    near = sorted((pair for pair in scored if pair[0] >= least), key=lambda pair: -pair[0])
    return [pair for pair in near if pair[0] >= near[0][0] - _SPREAD][:_MOST]


def _listed(scored: list[tuple[float, str]]) -> str:
    *names, last = (name for _, name in scored)
    return f"{', '.join(names)} or {last}" if names else last


def _nearness(given: str, name: str) -> float:
    """How near two names are, from 0 to 1, as a whole or by the words that they share."""
    whole = _ratio(*("".join(filter(str.isalnum, text)).lower() for text in (given, name)))
    ours, theirs = _words(given), _words(name)
    shared = sum(_weight(word) * max(_likeness(word, other) for other in theirs) for word in ours)
    both = sum(map(_weight, (*ours, *theirs)))
    return max(whole if whole >= _SAME_NAME else 0.0, 2 * shared / both)


def _words(name: str) -> set[str]:
    """The words of a name, without plurals, each by the one that stands for those alike."""
    words = (word for word in name.lower().replace("-", "_").split("_") if word)
    return {_canonical(single) for single in map(_singular, words)} or {name}


@lru_cache(1_000)
def _canonical(word: str) -> str:
    """The word that stands for it; a mistyped one counts as the word that it is nearest to."""
    if word in _CANONICAL or word in _LIGHT:
        return _CANONICAL.get(word, word)
    near = max(_CANONICAL, key=lambda known: _ratio(word, known))
    return _CANONICAL[near] if _ratio(word, near) >= _SAME_WORD else word


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word.removesuffix('ies')}y"
    return word if word.endswith("ss") else word.removesuffix("s")


def _weight(word: str) -> float:
    return 0.5 if word in _LIGHT else 1.0


def _likeness(word: str, other: str) -> float:
    if word == other:
        return 1.0
    if min(len(word), len(other)) >= _LONG_ENOUGH and (word in other or other in word):
        return _SAME_WORD
    ratio = _ratio(word, other)
    return ratio if ratio >= _SAME_WORD else 0.0


def _ratio(one: str, other: str) -> float:
    from difflib import SequenceMatcher  # noqa: PLC0415 - only for a name that is wrong

    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _types_of(hint: object) -> _Types:
    """The names of the types of an annotation; None if it is not plain."""
    text = getattr(hint, "__forward_arg__", hint)
    if not isinstance(text, str):
        return None
    plain, depth = "", 0
    for character in text:
        depth += (character == "[") - (character == "]")
        plain += character if depth == 0 and character != "]" else ""
    short = {"Iterable": _LIST, "Sequence": _LIST, "Mapping": _TABLE}
    names = {short.get(name, name) for name in plain.split(" | ")}
    return frozenset(names) if names <= _PLAIN | _OBJECTS | {_LIST, _TABLE} else None


def _has_type(value: object, types: frozenset[str]) -> bool:
    if value is None:
        return "None" in types
    if isinstance(value, bool):
        return "bool" in types
    is_list = hasattr(value, "__iter__") and not isinstance(value, _TEXTS)
    if (_LIST in types and is_list) or (_TABLE in types and hasattr(value, "items")):
        return True
    if isinstance(value, int) and "float" in types:
        return True
    if types & _OBJECTS and not isinstance(value, _NO_OBJECTS):
        return True  # some are protocols, so its class says nothing
    return not types.isdisjoint(kind.__name__ for kind in type(value).__mro__)


def _wrong_type(name: str, value: object, types: frozenset[str]) -> str:
    """What is wrong; a value is repeated only in a list: it may be a secret in the wrong place."""
    allowed = " or ".join(sorted(types, key=lambda each: (each == "None", each)))
    item = repr(value[:_MAX_NAME]) if isinstance(value, str) else "..."
    hint = f"; write a list: [{item}]" if _LIST in types and "str" not in types else ""
    return f"{name} must be {allowed}, got {type(value).__name__}{hint}"
