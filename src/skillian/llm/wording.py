"""Tool results in words. Every number in a sentence is one of the result's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skillian.llm.grounding import Grounding
from skillian.llm.vocabulary import Vocabulary

_SHOWN = 5
_LOST = "I did not understand the question."


def word_result(tool: str, result: Mapping[str, Any], raw: str) -> str:
    """The answer made from what a tool gave; `raw` is its text, for a result of no known shape."""
    if result.get("error"):
        return _failure(result)
    worded = {
        "compare_sources": _comparison,
        "query_source": _rows,
        "list_sources": _sources,
    }.get(tool)
    if worded is None or not result:
        # A result that was too long for the conversation is cut, and no JSON any more.
        cut = raw.startswith("{")
        return "The result is too long to put in words; ask for less at once." if cut else raw
    return worded(result)


def word_help(vocabulary: Vocabulary, found: Grounding) -> str:
    """What was understood, and what can be asked."""
    names = list(vocabulary.sources)
    lines = [f"I did not understand: {', '.join(found.unread)}." if found.unread else _LOST]
    for name, words in vocabulary.sources.items():
        lines.append(f"- {name}: {', '.join(words.measures)} by {', '.join(words.dimensions)}")
    first, second = names[0] if names else "A", names[1] if len(names) > 1 else "B"
    measure = next(iter(vocabulary.measure_phrases().values()), "amount")
    lines.append("You can ask, for example:")
    lines.append(f"- Compare {measure} between {first} and {second}")
    lines.append(f"- Show {measure} of {first}")
    lines.append("- Which sources are there?")
    return "\n".join(lines)


def _failure(result: Mapping[str, Any]) -> str:
    available = result.get("available_sources")
    hint = f" The sources are: {', '.join(available)}." if available else ""
    return f"That did not work: {result.get('message', 'no reason was given')}.{hint}"


def _comparison(result: Mapping[str, Any]) -> str:
    return "\n".join(str(sentence) for sentence in result["interpretation"])


def _rows(result: Mapping[str, Any]) -> str:
    columns: Sequence[str] = result["columns"]
    rows: Sequence[Sequence[Any]] = result["rows"]
    if not rows:
        return f"{result['source']} has no rows for that."
    lines = [
        ", ".join(
            f"{column}: {'none' if value is None else value}"
            for column, value in zip(columns, row, strict=True)
        )
        for row in rows[:_SHOWN]
    ]
    more = result["truncated"] or len(rows) > _SHOWN
    lines.append("(There are more rows; the result has them.)" if more else "")
    return "\n".join([f"{result['source']}:", *lines]).strip()


def _sources(result: Mapping[str, Any]) -> str:
    lines = [
        f"- {source['name']}: {source['description']}"
        f" (measures: {', '.join(source['measures'])};"
        f" dimensions: {', '.join(source['dimensions'])})"
        for source in result["sources"]
    ]
    return "\n".join(["The sources are:", *lines])
