"""Passages by heading, and the search over them."""

from __future__ import annotations

import gc
import sqlite3
import tomllib
from pathlib import Path

import pytest

from skillian.skills.knowledge import LONGEST_PASSAGE, Knowledge, Passage, split_passages
from skillian.skills.loader import BUNDLED, load_skill

TEXT = """Before any heading.

# Gaps

## Double loads

A load ran twice.

```sh
# no heading
```

## Empty

### Deep ##
Below an empty one.
# Other
Last.
"""


def passages(text: str) -> list[tuple[str, str]]:
    return [(each.heading, each.text) for each in split_passages("skill", "a.md", text)]


def test_a_passage_is_the_text_under_one_heading() -> None:
    assert passages(TEXT) == [
        ("", "Before any heading."),
        ("Gaps > Double loads", "A load ran twice.\n\n```sh\n# no heading\n```"),
        ("Gaps > Empty > Deep", "Below an empty one."),
        ("Other", "Last."),
    ]
    assert passages("") == []


def knowledge(*texts: str) -> Knowledge:
    return Knowledge(Passage("s", "f.md", f"H{at}", text) for at, text in enumerate(texts))


def test_words_match_in_any_form_and_case() -> None:
    index = knowledge("Postings came late.", "A période ends.", "Nothing of it.")
    assert [each.heading for each in index.search("POSTED documents")] == ["H0"]
    assert [each.heading for each in index.search("periode")] == ["H1"]
    assert index.search("what is the") == []


def test_a_heading_weighs_more_than_text() -> None:
    index = Knowledge(
        [
            Passage("s", "a.md", "Other", "rounding and rounding again"),
            Passage("s", "b.md", "Rounding", "what it is"),
        ]
    )
    assert [each.file for each in index.search("rounding")] == ["b.md", "a.md"]
    assert len(index.search("rounding", 1)) == 1


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "late AND",
        "NEAR(late, 2)",
        "heading: late",
        "late*",
        "-late",
        "^late OR (",
        "'; DROP TABLE passages; --",
        "{heading text}: late",
        "\x00",
        "late " * 10_000,
    ],
)
def test_a_query_has_no_operators(query: str) -> None:
    index = knowledge("It came late.", "Other.")
    assert {each.heading for each in index.search(query)} <= {"H0"}
    assert [each.heading for each in index.search("late")] == ["H0"]


def test_stop_words_count_only_if_there_are_no_other_words() -> None:
    index = knowledge("what it is", "the gap")
    assert [each.heading for each in index.search("what is the gap")] == ["H1"]
    assert [each.heading for each in index.search("what is")] == ["H0"]


def test_a_long_passage_is_cut_for_a_model() -> None:
    text = Passage("s", "f", "h", "x" * 5000).to_dict()["text"]
    assert text.startswith("x" * LONGEST_PASSAGE + "…")
    assert "5000 characters" in text


def test_the_bundled_knowledge_answers_what_people_ask() -> None:
    """The figures of docs/decisions/0007; check a change that lowers one."""
    skill = load_skill(BUNDLED / "data-analyst", None)
    index = Knowledge(skill.knowledge)
    with (Path(__file__).parent / "knowledge_questions.toml").open("rb") as file:
        questions = tomllib.load(file)["question"]
    places: list[int] = []
    for each in questions:
        headings = [passage.heading.split(" > ")[-1] for passage in index.search(each["ask"])]
        places.append(headings.index(each["heading"]) if each["heading"] in headings else 99)
    assert len(questions) == 30
    assert sum(place == 0 for place in places) >= 23
    assert sum(place < 3 for place in places) >= 26
    assert sum(place < 5 for place in places) >= 28


def test_an_index_is_closed_with_its_knowledge() -> None:
    knowledge = Knowledge([])
    index = knowledge._index
    del knowledge
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        index.execute("SELECT 1")
