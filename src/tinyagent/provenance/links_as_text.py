"""Links in the answer of a sealed agent, shown as text.

Such an answer is what its model wrote, with the contents of stand-ins, which others wrote. A page
may fetch the images in it, and people follow links, so that what is in their addresses reaches
whoever serves the host. Where an address contains something that others wrote, spaces make a text
of the link. Nothing is removed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence

from tinyagent.provenance.links import goes_to

Span = tuple[int, int]
"""The start and the end of a part of a text."""
_LONGEST = 4_000
"""Characters of an address that the model wrote, before something that others wrote."""
_MAX_ALLOWED = 1_000_000
"""In a longer text, no link is allowed: each would be looked up."""

# A space at the end of each match makes a text of an address.
_SCHEME = re.compile(r"(?<=[a-z0-9+.\-])(?=:[/\\])", re.IGNORECASE)
_KNOWN_SCHEME = re.compile(
    r"\b(?:javascript|vbscript|data|blob|file|https?|ftps?|mailto|xmpp|tel|sms)(?=:\S)",
    re.IGNORECASE,
)
_SLASHES = re.compile(r"""(?<![^\s"'(\[>])[/\\]{2,}(?=[^\s/\\])""")
_WWW = re.compile(r"(?<![\w/])www\.(?=\S)", re.IGNORECASE)
_SPLIT_SCHEME = re.compile(
    r"[\0- ]*[a-z](?:[\t\r\n]*[a-z0-9+.\-]){0,30}[\t\r\n]*(?=:)|[\0- ]*[/\\][\t\r\n]+[/\\]",
    re.IGNORECASE,
)
"""At the start of an attribute, a browser reads it without tabs and line breaks."""
_SCHEME_BEFORE = re.compile(r"[a-z0-9+.\-]{0,32}\Z", re.IGNORECASE)
_WORD = re.compile(rf"[^\s<]{{0,{_LONGEST}}}")

_INLINE = re.compile(r"\](?=\()")
_INLINE_ADDRESS = re.compile(r"""\(\s*<?([^\s<>()"'\\]{1,2000})>?\s*\)""")
_DEFINITION = re.compile(r"\](?=:)")
_DEFINED_ADDRESS = re.compile(rf":[ \t]*(?:\n[ \t]*)?<?\S{{0,{_LONGEST}}}")
_BEFORE_DEFINED = re.compile(r":[ \t]*(?:\n[ \t]*)?<?")
_TAG = re.compile(r"<(?=[a-z/!?])", re.IGNORECASE)
_OPEN_TAG = re.compile(r"<(?=[a-z/!?]|\Z)", re.IGNORECASE)
_WHOLE_TAG = re.compile(r"""<[a-z/!?](?:[^"'<>]|"[^"]*"|'[^']*')*>""", re.IGNORECASE)
_PLAIN_TAG = re.compile(
    r"""</a>|<(?:a|img)(?:\s+(?:href|src|alt|title)="[^"<>]*")*\s*/?>|<https?://[^\s<>]+>""",
    re.IGNORECASE,
)
_ADDRESS_IN_TAG = re.compile(r'\b(?:href|src)="|<(?=http)', re.IGNORECASE)

_TRAILING = r"""[?!.,:;*_~'")\]}|]{0,10}(?:[\s<]|\Z)"""
_TO_HOST = re.compile(
    r"(?:(?:https?:)?//|(?=www\.))([a-z0-9.-]+)(?::\d{1,5})?"
    rf"(?=[/?#<>\[\]^|]|[\"']>|{_TRAILING})",
    re.IGNORECASE,
)
"""The host ends where a browser says, and where Markdown does."""
_SAID = re.compile(rf"""[^\s<>"'`()\[\]{{}}|\\]{{1,500}}?(?={_TRAILING})""")


def links_as_text(
    text: str,
    spans: Sequence[Span],
    hosts: Collection[str] = (),
    is_said: Callable[[str], bool] = lambda _: False,
) -> str:
    """The text with spaces in each link and image whose address contains one of its spans.

    `[a](https://b)` becomes `[a] (https ://b)`, and `<a href="//b">` becomes `< a href="// b">`. A
    host without a scheme and without `www.` is text already.

    Args:
        text: Markdown, HTML, or the value of an attribute.
        spans: What others wrote in it, in its order.
        hosts: Where links may go; `*.example.com` are all hosts below it.
        is_said: Whether the user's request contains a link.
    """
    spans = [span for span in spans if span[0] < span[1]]
    if not spans:
        return text
    page = _Page(text, spans, hosts, is_said)
    places = {*page.addresses(), *page.inline(), *page.definitions(), *page.tags()}
    pieces: list[str] = []
    start = 0
    for place in sorted(places):
        pieces.append(text[start:place])
        start = place
    return " ".join([*pieces, text[start:]])


class _Page:
    """A text that may be shown as Markdown or HTML; finds where a space makes a text of a link.

    Args are those of `links_as_text`.
    """

    def __init__(
        self,
        text: str,
        spans: Sequence[Span],
        hosts: Collection[str],
        is_said: Callable[[str], bool],
    ) -> None:
        self._text, self._spans = text, spans
        self._hosts, self._is_said = hosts, is_said
        self._ends = [end for _, end in spans]

    def addresses(self) -> Iterator[int]:
        """In addresses, whatever is around them."""
        text = self._text
        split = _SPLIT_SCHEME.match(text)
        if split and re.search(r"[\t\r\n]", split[0].strip()) and self._is_others(0, len(text)):
            yield split.end()
        for pattern in (_SCHEME, _KNOWN_SCHEME, _SLASHES, _WWW):
            for found in pattern.finditer(text):
                start, at = found.start(), found.end()
                if pattern is _SCHEME:
                    before = _SCHEME_BEFORE.search(text, max(at - 32, 0), at)
                    start = before.start() if before else at
                if self._holds_others(start, at + 1, _WORD) and not self._allows(start):
                    yield at

    def inline(self) -> Iterator[int]:
        """Between the text of a Markdown link and its address."""
        for found in _INLINE.finditer(self._text):
            at = found.end()
            is_written = not self._is_others(at - 1, at + 1)
            if is_written and not self._is_others(at, self._end_of_inline(at + 1)):
                continue
            address = _INLINE_ADDRESS.match(self._text, at)
            if address is None or not self._allows(address.start(1)):
                yield at

    def definitions(self) -> Iterator[int]:
        """Between the name of a reference and its address."""
        for found in _DEFINITION.finditer(self._text):
            at = found.end()
            if self._holds_others(at - 1, at, _DEFINED_ADDRESS):
                before = _BEFORE_DEFINED.match(self._text, at)
                if before is None or not self._allows(before.end()):
                    yield at

    def tags(self) -> Iterator[int]:
        """After the first character of a tag, of a comment or of an automatic link."""
        text, before = self._text, 0
        for start, end in self._spans:
            own = _WHOLE_TAG.sub(lambda tag: "\0" * len(tag[0]), text[before:start])
            for found in _OPEN_TAG.finditer(own):
                if not self._is_allowed_tag(before + found.start()):
                    yield before + found.end()
            for found in _TAG.finditer(text, start, min(end + 1, len(text))):
                if found.start() < end and not self._is_allowed_tag(found.start()):
                    yield found.end()
            before = end

    def _is_allowed_tag(self, at: int) -> bool:
        tag = _PLAIN_TAG.match(self._text, at)
        found = () if tag is None else _ADDRESS_IN_TAG.finditer(self._text, at, tag.end())
        return tag is not None and all(self._allows(each.end()) for each in found)

    def _allows(self, start: int) -> bool:
        """Whether an address goes to a host of the policy, or is a link of the user's."""
        if len(self._text) > _MAX_ALLOWED:
            return False
        found = _TO_HOST.match(self._text, start)
        if found is None:
            return False
        if any(goes_to(found[1].lower(), host) for host in self._hosts):
            return True
        said = _SAID.match(self._text, start)
        return said is not None and self._is_said(said[0])

    def _end_of_inline(self, start: int) -> int:
        """Where the address of a Markdown link ends, its title included."""
        text, depth = self._text, 0
        at, last = start, min(start + _LONGEST, len(text))
        if text.startswith("<", start):
            at = max(text.find(">", start, last), start)
        while at < last and not (text[at] == ")" and depth == 0):
            depth += (text[at] == "(") - (text[at] == ")")
            at += 2 if text[at] == "\\" else 1
        return at

    def _holds_others(self, start: int, at: int, rest: re.Pattern[str]) -> bool:
        """Whether others wrote something from `start` to where the `rest` after `at` ends."""
        if self._is_others(start, at):
            return True
        found = rest.match(self._text, at)
        return found is not None and self._is_others(at, found.end())

    def _is_others(self, start: int, end: int) -> bool:
        at = bisect_right(self._ends, start)
        return at < len(self._spans) and self._spans[at][0] < end
