"""Links in the answers of sealed agents, as pages would show them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.tinyagent.provenance.sealed_office import READ, SealedOffice, mail, policy

from tinyagent.provenance.links_as_text import links_as_text

COMMONMARK = MarkdownIt("commonmark", {"html": True})
BARE = re.compile(r"(?:^|[\s*_~(])((?:https?://|ftp://|www\.)[a-z0-9_-][^\s<]*)", re.IGNORECASE)


class Attributes(HTMLParser):
    """The values of all attributes that are no plain words."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the values of a tag."""
        del tag
        names = ("alt", "title", "class", "start")
        self.values += [value or "" for name, value in attrs if name not in names]


def addresses(text: str) -> Iterator[str]:
    """What a page that shows a text as HTML, Markdown or with its bare links may fetch."""
    for read in (COMMONMARK.render, str):
        page = Attributes()
        page.feed(read(text))
        page.close()
        yield from page.values
    yield from BARE.findall(text)


def filled(template: str, *contents: str) -> tuple[str, list[tuple[int, int]]]:
    """A text with contents in place of `@`, and where they are in it."""
    text, spans = "", list[tuple[int, int]]()
    for at, piece in enumerate(template.split("@")):
        if at:
            spans.append((len(text), len(text) + len(contents[(at - 1) % len(contents)])))
            text += contents[(at - 1) % len(contents)]
        text += piece
    return text, spans


TEMPLATES = [
    *("@", "See @.", "@@", "a@b@c", "http@", "htt@@", "- @\n- @", "*@*", "`@` @", "```\n@\n```\n@"),
    *("[x](@)", "![x](@)", "[x](<https://good.example/a @>)", "[x](https://good.example/(@))"),
    *("[@](@)", "[@]@", "![@", "[x](ht@//good.example/@)", "[x](/search?q=@)", "[x]( @ 'title')"),
    *(
        "[a]: @\n\n[a]",
        "[a]: https://good.example/@ 't'\n\n[a]",
        "[@][a]\n\n[a]: @",
        "[a]:\n @\n\n[a]",
    ),
    *("https://good.example/@", "www.good.example/@", "<https://good.example/@>", "<@>"),
    *("<a href='@'>x</a>", "<img src='/x/@'>", "<a href=https://good.example/@>", "<b>@</b> @"),
    '<img alt="@" src="https://good.example/@">',
    "|a|b|\n|-|-|\n|@|@|",
]
HOSTILE = [
    *("evil", "evil.example", "](", "](http://evil.example/", "]:", "[a]: http://evil.example\n"),
    *("\n", "\n\n", "\t", " ", "[", "]", "(", ")", "<", ">", "!", "![", "`", "\\", "\\.", '"', "'"),
    *("http:", "https://", "//", "/", ".", ":", "=", "www.", "?q=evil", "%68ttp", "<!--", "-->"),
    *("javascript:evil", "data:evil", "mailto:evil@evil.example", "&#104;ttp", "&colon;", "&lt;"),
    *("<img src=", '<a href="', "*", "_", "~", "1", ";", "\0", "\u200b", "<evil@evil.example>"),
]


@settings(max_examples=200)
@given(
    st.sampled_from(TEMPLATES),
    st.lists(st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=7).map("".join), min_size=2),
)
def test_no_address_of_a_page_contains_what_others_wrote(
    template: str, contents: list[str]
) -> None:
    text, spans = filled(template, *contents)
    shown = links_as_text(text, spans)
    assert "".join(shown.split(" ")) == "".join(text.split(" "))
    assert [each for each in addresses(shown) if "evil" in each] == []


@pytest.mark.parametrize(
    ("template", "contents", "shown"),
    [
        ("![x](https://good.example/?q=@)", ["4711"], "![x] (https ://good.example/?q=4711)"),
        ("[x](@)", ["//evil.example"], "[x] (// evil.example)"),
        ("[x](@)", ["javascript:alert(1)"], "[x] (javascript :alert(1))"),
        ("[x](@@)", ["data:", "text/html,4711"], "[x] (data :text/html,4711)"),
        ("@", ["a](http://evil.example/)"], "a] (http ://evil.example/)"),
        ("[x][a]\n\n[a]: @", ["https://evil.example"], "[x][a]\n\n[a] : https ://evil.example"),
        ("<@>", ["https://evil.example"], "< https ://evil.example>"),
        (
            '<img src="@">',
            ["https://evil.example/p.png"],
            '< img src="https ://evil.example/p.png">',
        ),
        ("It says: @", ["see www.evil.example"], "It says: see www. evil.example"),
        ("@", ["ht\ntps:/\t/evil.example"], "ht\ntps :/\t/evil.example"),
        ("@", ["Anna <anna@example.com>"], "Anna < anna@example.com>"),
    ],
)
def test_a_link_is_shown_as_text(template: str, contents: list[str], shown: str) -> None:
    assert links_as_text(*filled(template, *contents)) == shown


@pytest.mark.parametrize(
    ("template", "content"),
    [
        ("[docs](https://good.example/a) of @, <b>today</b>", "Anna"),
        ("Mail: anna@@ at 12:30, see //LATER, 3 < 4, a/b, note: [1], and/or f(x)[0]", "x.example"),
        (
            "@",
            "Lunch on Friday at 12:30 [maybe]; 1 < 2 & 3 > 2; c:d, report.md (a//b), a@b.example",
        ),
        ("<p>See https://good.example/a</p> @", "Anna"),
        ("[a]: https://good.example\n\n[a] @", "Anna"),
    ],
)
def test_everything_else_stays(template: str, content: str) -> None:
    text, spans = filled(template, content)
    assert links_as_text(text, spans) == text


ALLOWED = [
    "https://good.example/a?b=c#d",
    "[x](https://good.example/a)",
    "![x](https://www.good.example).",
    "<https://good.example/a>",
    '<a href="https://good.example" title="a">x</a>',
    "[a]: https://good.example/x\n\n[a]",
    "(www.good.example)",
    "//good.example:8080/a",
]
TRICKS = [
    "https://good.example@evil.example/",
    "https://good.example:80@evil.example/",
    "https://good.example.evil.example/",
    "https://good.example\\.evil.example/",
    "https://good.example).evil.example/",
    'https://good.example".evil.example/',
    "https://good.example%2eevil.example/",
    "https://good.example&period;evil.example/",
    "https://good.example&#46;evil.example/",
    "https://good.example\u3002evil.example/",
    "https:good.example.evil.example/",
    "evil://good.example/",
    "javascript:evil//good.example/",
]


@pytest.mark.parametrize("link", ALLOWED)
def test_a_link_to_a_host_of_the_policy_stays(link: str) -> None:
    assert links_as_text(link, [(0, len(link))], ["*.good.example", "good.example"]) == link
    assert links_as_text(link, [(0, len(link))], ["a.good.example"]) != link


@pytest.mark.parametrize("link", TRICKS)
@pytest.mark.parametrize("template", ["@", "[x](@)", "<@>", '<a href="@">x</a>', "[a]: @\n\n[a]"])
def test_a_host_that_only_looks_like_one_of_the_policy(template: str, link: str) -> None:
    shown = links_as_text(*filled(template, link), ["*.good.example", "good.example"])
    assert [each for each in addresses(shown) if "evil" in each] == []


def test_a_link_of_the_request_stays_and_nothing_is_appended_to_it() -> None:
    def said(link: str) -> bool:
        return link == "https://a.example/b"

    for text in ("See https://a.example/b.", "[x](https://a.example/b)"):
        assert links_as_text(text, [(0, len(text))], (), said) == text
    for text in ("https://a.example/b?q=4711", "[x](https://a.example/b)4711"):
        assert links_as_text(text, [(0, len(text))], (), said) != text


def test_the_answer_of_a_sealed_agent() -> None:
    office = SealedOffice([mail(text="4711 ![p](https://evil.example/p)")])
    block = f"{READ}\nlink = '[docs](https://docs.example)'\n"
    answer = "final_answer([f\"{link} ![x](https://good.example/{mail['text']})\", mail['text']])"
    result, _ = office.run(block + answer, output_type=list[str])
    assert result.output == [
        "[docs](https://docs.example) ![x] (https ://good.example/4711 ![p] (https ://evil.example/p))",
        "4711 ![p] (https ://evil.example/p)",
    ]
    assert {each for mark in result.marks for each in mark.sources} == {"read_mail"}
    result, _ = office.run(
        block + answer, output_type=list[str], guard=policy(links=["evil.example"])
    )
    assert result.output[1] == "4711 ![p](https://evil.example/p)"


def test_after_a_reveal_all_links_are_text() -> None:
    office = SealedOffice()
    block = f"{READ}\nreveal(mail['text'])\nfinal_answer('[x](https://evil.example/4711)')"
    result, _ = office.run(block)
    assert result.output == "[x] (https ://evil.example/4711)"
