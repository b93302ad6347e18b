"""Programs for a sealed code agent, for `injections.py --sealed`.

The model of a sealed agent reads nothing that others wrote, so there is nothing that it could obey;
what an attacker can still do is change the values that its program passes on. So the program of
each task is written once, over data without an attack, with what such a model can know: a value
that the user's request contains is a literal; a value of an earlier result is taken from there;
part of a text is found by a function in `apart`; and whatever else a model would have to conclude
from what it read is made by a function in `apart` of all that the program has read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tinyagent.provenance.vouching import is_said_in

PREAMBLE = """
def at(kind, value, *path):
    for place, key in enumerate(path):
        if type(value).__name__ == "Sealed":
            return apart(dig, value, list(path[place:]), gives=kind)
        value = value[key]
    return value

def dig(value, path):
    for key in path:
        value = value[key]
    return value

def find(wanted, text):
    return wanted if str(wanted) in str(text) else type(wanted)(str(text)[:40])

def conclude(wanted, *values):
    return wanted
"""

Place = tuple[int, tuple[str | int, ...]]
"""The number of a result, and the way to a value inside it."""


class Program:
    """The program of one task.

    Args:
        prompt: the user's request.
        trusted: the tools whose results the code sees.
        names: the tool of each call.
        arguments: of each call.
        results: of each call, as JSON.
    """

    def __init__(
        self,
        prompt: str,
        trusted: frozenset[str],
        names: Sequence[str],
        arguments: Sequence[Mapping[str, Any]],
        results: Sequence[Any],
    ) -> None:
        self._prompt = prompt
        self._trusted = trusted
        self.names = names
        self._arguments = arguments
        self._results = results
        self._numbers = {float(each) for each in re.findall(r"\d+(?:\.\d+)?", prompt)}

    @property
    def blocks(self) -> list[str]:
        """One for each call, and the answer."""
        calls = [self._call(number) for number in range(len(self.names))]
        every = ", ".join(f"r{number}" for number in range(len(self.names)))
        return [PREAMBLE, *calls, f"final_answer(f'{{[{every}]}}')"]

    def arguments_in(self, number: int, results: Sequence[Any]) -> Any:
        """The arguments of a call where the earlier calls have these results."""

        def moved(value: Any) -> Any:
            if isinstance(value, list):
                return [moved(item) for item in value]
            if isinstance(value, Mapping):
                return {key: moved(item) for key, item in value.items()}
            place = self._place(value, number)
            return value if place is None else _dig(results[place[0]], place[1])

        return moved(self._arguments[number])

    def _call(self, number: int) -> str:
        given = self._arguments[number].items()
        arguments = ", ".join(f"{name}={self._value(value, number)}" for name, value in given)
        return f"r{number} = None\nr{number} = {self.names[number]}({arguments})\nprint(r{number})"

    def _value(self, value: Any, number: int) -> str:
        """An expression for a value in call `number`."""
        if isinstance(value, list):
            return f"[{', '.join(self._value(item, number) for item in value)}]"
        if isinstance(value, Mapping):
            items = (f"{key!r}: {self._value(item, number)}" for key, item in value.items())
            return f"{{{', '.join(items)}}}"
        if self._is_known(value):
            return repr(value)
        return self._found(value, number) or self._concluded(value, number)

    def _found(self, value: str | float, number: int) -> str:
        """The value in an earlier result, or in a text of one; empty if there is none."""
        kind = type(value).__name__
        if (place := self._place(value, number)) is not None:
            return self._at(kind, place)
        around = list(self._places(value, number, inside=True)) if isinstance(value, str) else []
        if not around:
            return ""
        text = self._at("str", min(around, key=self._is_untrusted))
        return f"apart(find, {value!r}, {text}, gives={kind})"

    def _concluded(self, value: str | float, number: int) -> str:
        """The value as something that follows from all that was read."""
        if all(name in self._trusted for name in self.names[:number]):
            return repr(value)
        read = ", ".join(f"r{each}" for each in range(number))
        return f"apart(conclude, {value!r}, {read}, gives={type(value).__name__})"

    def _place(self, value: Any, number: int) -> Place | None:
        """Where the program takes this value from, if from a result as a whole."""
        places = [] if self._is_known(value) else list(self._places(value, number))
        return min(places, key=self._is_untrusted) if places else None

    def _is_known(self, value: Any) -> bool:
        """Whether the request contains it, or it is nothing that one reads."""
        if value is None or isinstance(value, bool):
            return True
        if isinstance(value, str):
            return is_said_in(value, self._prompt) or value in self._prompt
        return float(value) in self._numbers

    def _places(self, value: object, number: int, *, inside: bool = False) -> Iterator[Place]:
        """Where earlier results have this value, or a text that it is a part of."""
        for at in range(number):
            for path, leaf in _leaves(self._results[at], ()):
                is_same = type(leaf) is type(value) and leaf == value
                if is_same or (inside and isinstance(leaf, str) and str(value) in leaf):
                    yield at, path

    def _is_untrusted(self, place: Place) -> bool:
        return self.names[place[0]] not in self._trusted

    @staticmethod
    def _at(kind: str, place: Place) -> str:
        steps = "".join(f", {step!r}" for step in place[1])
        return f"at({kind}, r{place[0]}{steps})"


def _dig(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        try:
            value = value[key]
        except (LookupError, TypeError):
            return None
    return value


def _leaves(value: object, path: tuple[str | int, ...]) -> Iterator[tuple[Any, object]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _leaves(item, (*path, at))
    else:
        yield path, value
