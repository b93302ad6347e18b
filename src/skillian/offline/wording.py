"""Tool results in words. Every number in a sentence is from the result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from skillian.offline.vocabulary import Vocabulary

_SHOWN = 5
_PASSAGES = 2
# An underscore within a word, as in a name, formats nothing.
_ACTIVE = re.compile(r"[\\`*\[\]<>|~#]|&\S|://|\b_|_\b|^\s|\s$")
_LOST = "I did not understand the question."


def word_result(tool: str, result: Mapping[str, Any], raw: str) -> str:
    """The answer for a tool's result; `raw` is its text, for results of unknown form."""
    if result.get("error"):
        return _failure(result)
    wording = {
        "compare_sources": _sentences,
        "explain_difference": _sentences,
        "query_source": _rows,
        "list_sources": _sources,
        "describe_source": _source,
        "drill_down": _behind,
        "get_comparison_rows": _groups,
        "search_knowledge": _passages,
    }.get(tool)
    if not result:
        # A result that was too long for the conversation is cut, and is not JSON any more.
        cut = raw.startswith("{") and raw != "{}"
        return "The result is too long to put in words; ask for less at once." if cut else raw
    return (wording or word_plainly)(result)


def word_help(vocabulary: Vocabulary, reason: str = "") -> str:
    """Why there is no answer, and examples of questions."""
    names = list(vocabulary.sources)
    lines = [reason or _LOST, "These are the sources:"]
    for name, words in vocabulary.sources.items():
        measures = ", ".join(words.measures) or "rows"
        lines.append(f"- {name}: {measures} by {', '.join(words.dimensions)}")
    first, second = names[0] if names else "A", names[1] if len(names) > 1 else "B"
    measure = next(iter(vocabulary.measures.values()), None)
    phrases = [f"- {phrase} …" for tool in vocabulary.tools.values() for phrase in tool.phrases[:1]]
    lines += [
        "",  # otherwise Markdown takes the line for a part of the list
        "You can ask, for example:",
        *(
            [
                f"- Compare {measure} between {first} and {second}",
                "- and then: Why? Show the rows behind it. Which are missing?",
                f"- Show {measure} of {first}",
            ]
            if measure
            else [f"- Compare {first} and {second}"]
        ),
        f"- Which sources are there? Describe {first}",
        *phrases,
    ]
    return "\n".join(lines)


def _failure(result: Mapping[str, Any]) -> str:
    available = result.get("available_sources")
    hint = f" The sources are: {', '.join(available)}." if available else ""
    return f"That did not work: {result.get('message', 'no reason was given')}.{hint}"


def _sentences(result: Mapping[str, Any]) -> str:
    sentences = [str(sentence) for sentence in result["interpretation"]]
    return "\n".join(sentences) or "There is no gap to explain."


def _rows(result: Mapping[str, Any]) -> str:
    rows: Sequence[Sequence[Any]] = result["rows"]
    if not rows:
        return f"{result['source']} has no rows for that."
    more = result["truncated"] or len(rows) > _SHOWN
    return "\n".join([f"{result['source']}:", *_listed(result["columns"], rows), *_more(more)])


def _behind(result: Mapping[str, Any]) -> str:
    lines = [f"The rows behind {_pairs(result['key'].items())}:"]
    for side in (result["a"], result["b"]):
        if not side["rows"]:
            lines.append(f"{side['source']} has none.")
            continue
        more = side["truncated"] or len(side["rows"]) > _SHOWN
        lines += [f"{side['source']}:", *_listed(side["columns"], side["rows"]), *_more(more)]
    return "\n".join(lines)


def _groups(result: Mapping[str, Any]) -> str:
    classes = ", ".join(result["statuses"])
    rows: Sequence[Mapping[str, Any]] = result["rows"]
    if not rows:
        return f"There is nothing of these classes: {classes}."
    what = "Groups" if "measures" in rows[0] else "Rows"
    lines = [f"{what} of these classes: {classes}. Total: {result['total']}."]
    for row in rows[:_SHOWN]:
        values = "; ".join(
            f"{name} {_shown(each['a'])} and {_shown(each['b'])}"
            for name, each in row.get("measures", row.get("cells", {})).items()
        )
        lines.append(f"- {_pairs(row['key'].items())}: {row['status']}, {values}")
    return "\n".join([*lines, *_more(len(rows) > _SHOWN)])


def _sources(result: Mapping[str, Any]) -> str:
    lines = [
        f"- {source['name']}: {source['description']}"
        f" (measures: {', '.join(source['measures'])};"
        f" dimensions: {', '.join(source['dimensions'])})"
        for source in result["sources"]
    ]
    return "\n".join(["The sources are:", *lines])


def _source(result: Mapping[str, Any]) -> str:
    lines = [f"{result['name']}: {result['description']}", f"Rows: {result['row_count']}."]
    lines.append(f"Measures: {', '.join(result['measures'])}.")
    lines.append("Dimensions:")
    for name, dimension in result["dimensions"].items():
        some = [str(_shown(value)) for value in dimension.get("values", ())[:_SHOWN]]
        lines.append(
            f"- {name} ({dimension['type']})" + (f": {', '.join(some)}, …" if some else "")
        )
    return "\n".join(lines)


def _passages(result: Mapping[str, Any]) -> str:
    passages: Sequence[Mapping[str, Any]] = result["passages"]
    lines = [
        f"{each['heading']} ({each['skill']}, {each['file']}):\n{each['text']}" for each in passages
    ]
    return "\n\n".join(lines[:_PASSAGES]) or "The knowledge has nothing about that."


def _listed(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    return [f"- {_pairs(zip(columns, row, strict=True))}" for row in rows[:_SHOWN]]


def _pairs(pairs: Iterable[tuple[str, Any]]) -> str:
    return ", ".join(f"{name}: {_shown(value)}" for name, value in pairs)


def _shown(value: Any) -> Any:
    """A value on one line; text that Markdown would format is put in backticks."""
    if not isinstance(value, str):
        return "none" if value is None else value
    line = " ".join(value.split("\n"))
    if not _ACTIVE.search(line):
        return line
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    space = " " if "`" in line else ""
    return f"{fence}{space}{line}{space}{fence}"


def _more(more: bool) -> list[str]:  # noqa: FBT001 - a private helper
    return ["", "There are more; the result has them."] if more else []


_MOST_LINES = 40
_ANSWER = "answer"


def word_plainly(result: Mapping[str, Any]) -> str:
    """The `answer` of a result if it has one, otherwise each of its values."""
    answer = result.get(_ANSWER)
    if isinstance(answer, str) and answer:
        return answer
    lines = list(_lines(result, ""))
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = ["", "There is more; the result has it."]
    return "\n".join(lines) or "The result is empty."


def _lines(value: object, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, each in cast("Mapping[str, object]", value).items():
            yield from _named(f"{indent}{name}:", each, indent)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _named(f"{indent}-", each, indent)
    else:
        yield f"{indent}{_scalar(value)}"


def _named(label: str, value: object, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping | list):
        yield label if value else f"{label} none"
        yield from _lines(cast("object", value), f"{indent}  ")
    else:
        yield f"{label} {_scalar(value)}"


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
