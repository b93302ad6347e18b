"""Stand-ins: names in place of texts of sources, which the host replaces in answers and calls."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from skillian.offline.wording import literal

_LETTERS = "bcdfghjkmnpqrstvwxz"  # no word consists of these
_LENGTH = 10
_NAME = rf"(?<!\w)text_[{_LETTERS}]{{{_LENGTH}}}(?!\w)"
NAME = re.compile(_NAME)
_RUN = re.compile(r"\S+")
_HELD = 300
"""Characters at the end of a text that is still written, at most, for which more must be known."""
_IN_LINK = re.compile(r"//|\]\(|\]:|<|=")
_LIKE_LINK = re.compile(r"@|\w\.[^\W\d]")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_BEGINNING = 40


class StandIns:
    """The stand-ins of one turn. The same text always has the same name.

    A name is made of a digest of the text. If two texts have the same name, it stands for neither.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str | None] = {}
        self._cells = _Quotations()
        self._all = _Quotations()

    def name(self, text: str) -> str:
        """The name of a text."""
        known = self._all.names.get(text)
        if known is not None:
            return known
        number = int.from_bytes(hashlib.sha256(text.encode(errors="replace")).digest()[:16])
        letters = ""
        for _ in range(_LENGTH):
            number, digit = divmod(number, len(_LETTERS))
            letters += _LETTERS[digit]
        name = f"text_{letters}"
        if self._texts.setdefault(name, text) != text:
            self._texts[name] = None
        self._all.add(text, name)
        return name

    def cell(self, text: str) -> str:
        """The name of a whole text of a source, which texts of the host may quote."""
        name = self.name(text)
        self._cells.add(text, name)
        return name

    def text(self, name: str) -> str | None:
        """The text that a name stands for; None if there is none."""
        return self._texts.get(name)

    @property
    def is_empty(self) -> bool:
        """Whether no text has a name yet."""
        return not self._texts

    @property
    def has_cells(self) -> bool:
        """Whether texts of the host may quote a cell."""
        return bool(self._cells.names)

    def known(self, text: str) -> str | None:
        """The name of a text that has one; None if it has not."""
        return self._all.names.get(text)

    def quoted_in(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield where cells are in what code has printed: start, end and name."""
        return self._cells.places(text, cut=False)

    def closed(self, text: str) -> str:
        """A text of the host, with the names of the cells that it quotes."""
        return self._cells.replaced(text)

    def closed_answer(self, text: str) -> str:
        """An answer of earlier turns, with the names of all texts that were put into it."""
        return self._all.replaced(text)

    def opened(self, text: str) -> str:
        """An answer with the texts in place of their names, so that they format nothing in it.

        A link with such a text in its address is shown as text.
        """
        return _RUN.sub(lambda match: self._opened(match[0]), text)

    def opened_value(self, value: Any) -> Any:
        """Arguments of a call with the texts in place of their names."""
        return _changed(value, lambda text: NAME.sub(self._plainly, text))

    def closed_value(self, value: Any) -> Any:
        """Arguments of a call with the names of the texts that were put into them."""
        return _changed(value, self.closed_answer)

    def _opened(self, run: str) -> str:
        bare = NAME.sub("", run)
        if bare == run:
            return run
        texts = [self.text(name) for name in NAME.findall(run)]
        if _IN_LINK.search(bare) or ("`" in bare and any(map(_is_active, texts))):
            return _as_code(NAME.sub(self._plainly, run))
        return NAME.sub(lambda match: _shown(self.text(match[0]), match[0]), run)

    def _plainly(self, match: re.Match[str]) -> str:
        return self.text(match[0]) or match[0]


def settled(text: str) -> int:
    """How much of a text that is still written can be opened: all but its last, unfinished word."""
    end = text[-_HELD:]
    return len(text) if end[-1:].isspace() else len(text) - len((end.split() or [""])[-1])


def spliced(text: str, parts: Iterable[tuple[int, int, str]]) -> str:
    """A text with other texts in place of its parts: start, end and text, in their order."""
    pieces: list[str] = []
    done = 0
    for start, end, part in parts:
        pieces += (text[done:start], part)
        done = end
    return "".join((*pieces, text[done:]))


class _Quotations:
    """Finds texts with a name in other texts."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._forms: dict[str, dict[str, str]] = {}

    def add(self, text: str, name: str) -> None:
        """Add a text, in all forms in which it may be written."""
        if text in self.names:
            return
        self.names[text] = name
        for form in _forms(text):
            first = _TOKEN.search(form)
            if first is not None:
                self._forms.setdefault(first[0], {})[form[first.start() :]] = name

    def places(self, text: str, *, cut: bool) -> Iterator[tuple[int, int, str]]:
        """Yield where texts with a name are: start, end and name, the longest of several.

        Args:
            text: Where to look.
            cut: Whether a long one may be cut: then its beginning is enough, and it takes all
                that follows.
        """
        if not self._forms or self._forms.keys().isdisjoint(_TOKEN.findall(text)):
            return
        end = 0
        for token in _TOKEN.finditer(text):
            start = token.start()
            known = self._forms.get(token[0])
            if known is None or start < end:
                continue
            whole = max((form for form in known if _is_at(form, text, start)), key=len, default="")
            if whole:
                end = start + len(whole)
                yield start, end, known[whole]
            elif cut and (begun := [form for form in known if _begins(form, text, start)]):
                yield start, len(text), known[begun[0]]
                return

    def replaced(self, text: str) -> str:
        """A text with names in place of the texts that have one."""
        return spliced(text, self.places(text, cut=True))


def _forms(text: str) -> set[str]:
    """The ways in which sentences, options and code write a text."""
    line = " ".join(text.split("\n"))
    in_json = json.dumps(text, ensure_ascii=False)[1:-1]
    in_shell = text.replace("'", "'\"'\"'")
    return {text, line, str(literal(text)), in_shell, in_json, repr(text)[1:-1]}


def _is_at(form: str, text: str, start: int) -> bool:
    """Whether a form of a cell is at a place of a text, and ends there with a word."""
    end = start + len(form)
    return text.startswith(form, start) and not _is_inside_word(text, end)


def _begins(form: str, text: str, start: int) -> bool:
    return len(form) > _BEGINNING and text.startswith(form[:_BEGINNING], start)


def _is_inside_word(text: str, at: int) -> bool:
    around = text[at - 1 : at + 1]
    return len(around) > 1 and all(each.isalnum() or each == "_" for each in around)


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    """A value with all texts in it changed, names of entries too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value).items()
        return {change(name): _changed(each, change) for name, each in entries}
    if isinstance(value, list | tuple):
        return [_changed(each, change) for each in cast("Sequence[Any]", value)]
    return value


def _is_active(text: str | None) -> bool:
    return text is not None and _shown(text, "") != text


def _shown(text: str | None, name: str) -> str:
    """A text literally; as code if it could format the answer, or be taken for a link."""
    if text is None:
        return name
    return _as_code(text) if _LIKE_LINK.search(text) else str(literal(text))


def _as_code(text: str) -> str:
    shown = str(literal(text))
    return shown if shown.startswith("`") else f"`{shown}`"
