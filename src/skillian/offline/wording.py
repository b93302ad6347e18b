"""Tool results in words. Every number in a sentence is from the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

from skillian.amounts import grouped
from skillian.offline.language.vocabulary import Vocabulary

MOST_FINDINGS = 5
"""The maximum number of findings in the answer of a comparison; the result has the others."""
MOST_LISTED = 20
"""The maximum number of rows or groups in an answer; the result has the others."""
_SHOWN = 5
_TOTALS = 2
_PASSAGES = 2
# An underscore within a word, as in a name, formats nothing.
_ACTIVE = re.compile(r"[\\`*\[\]<>|~#]|&\S|://|\b_|_\b|^\s|\s$")
_LOST = "I did not understand the question."
_CLASSES = {
    "match": "match",
    "minor_diff": "minor",
    "major_diff": "major",
    "missing_in_a": "only in b",
    "missing_in_b": "only in a",
    "only_in_a": "only in a",
    "only_in_b": "only in b",
    "duplicate": "duplicate key",
}
OFFERS = "You can ask:"
"""The line of a question back before the questions that it offers, each after a dash."""


def word_result(tool: str, result: Mapping[str, Any], raw: str, asked: int | None = None) -> str:
    """The answer for a tool's result.

    Args:
        tool: The tool.
        result: Its result.
        raw: The text of the result, for results of unknown form.
        asked: How many rows were asked for; None if the question does not say.
    """
    if result.get("error"):
        return _failure(result)
    wordings: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
        "compare_sources": _comparison,
        "explain_difference": _explanation,
        "query_source": _rows,
        "list_sources": _sources,
        "describe_source": _source,
        "drill_down": partial(_behind, most=min(asked or _SHOWN, MOST_LISTED)),
        "get_comparison_rows": _groups,
        "search_knowledge": _passages,
    }
    if not result:
        # A result that was too long for the conversation is cut, and is not JSON any more.
        cut = raw.startswith("{") and raw != "{}"
        return "The result is too long to put in words; ask for less at once." if cut else raw
    return wordings.get(tool, word_plainly)(result)


def word_help(vocabulary: Vocabulary, reason: str = "", offers: Sequence[str] = ()) -> str:
    """Why there is no answer, and sentences near the question; without any, examples."""
    phrases = [f"- {phrase} …" for tool in vocabulary.tools.values() for phrase in tool.phrases[:1]]
    if offers:
        also = ["", "It also understands:", *phrases] if phrases else []
        return "\n".join([with_list(f"{reason or _LOST}\n{OFFERS}", offers), *also])
    sources = (
        f"{name}: {', '.join(words.measures) or 'rows'} by {', '.join(words.dimensions)}"
        for name, words in vocabulary.sources.items()
    )
    listed = with_list(f"{reason or _LOST}\nThese are the sources:", sources)
    example = f"- Which sources are there?\n- Describe {next(iter(vocabulary.sources), 'A')}"
    # Without an empty line, Markdown takes the next one for a part of the list.
    return "\n".join([listed, "", "You can ask, for example:", example, *phrases])


def _failure(result: Mapping[str, Any]) -> str:
    available = result.get("available_sources")
    hint = f" The sources are: {', '.join(available)}." if available else ""
    return f"That did not work: {result.get('message', 'no reason was given')}.{hint}"


def _comparison(result: Mapping[str, Any]) -> str:
    """The verdict, then a list of findings: totals, the largest differences, and causes."""
    verdict = str(next(iter(result["interpretation"]), ""))
    causes = [str(each) for each in result.get("findings", ())]
    causes += [f"Schema: {each}." for each in result.get("schema", ())]
    totals = list(_totals(result))[:_TOTALS]
    most = MOST_FINDINGS - len(totals)
    differences = list(_differences(result))[: most - min(len(causes), 1)]
    return with_list(verdict, [*totals, *differences, *causes[: most - len(differences)]])


def _totals(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the totals of each measure, unless the only group has them."""
    summary = result.get("summary", {})
    if summary.get("groups", 0) <= 1:
        return
    for name, measure in summary["measures"].items():
        a, b = measure.get("total_a"), measure.get("total_b")
        if a is not None and b is not None:
            label = f"{name} in total"
            yield _sides(result, label, (a, b, measure["net_difference"]), measure["unit"])


def _differences(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the groups that differ, the largest difference of each measure first."""
    measures = result.get("summary", {}).get("measures", {})
    for each in result.get("top_differences", ()):
        label = ", ".join(_member(*pair) for pair in each["key"].items()) or "in total"
        label = f"{each['measure']}, {label}" if len(measures) > 1 else label
        unit = measures.get(each["measure"], {}).get("unit")
        missing = {"missing_in_a": ("b", "source_b"), "missing_in_b": ("a", "source_a")}
        if each["status"] in missing:
            side, source = missing[each["status"]]
            yield f"{label}: {_amount(each[side], unit)}, only in {literal(result[source])}"
        else:
            yield _sides(result, label, (each["a"], each["b"], each["gap"]), unit)


def _sides(
    result: Mapping[str, Any], label: str, numbers: tuple[Any, Any, Any], unit: str | None
) -> str:
    """The number of each side, and the gap between them."""
    a, b, gap = numbers
    if a == b:
        return f"{label}: {_amount(a, unit)} in both"
    sides = f"{_amount(a, unit)} in {literal(result['source_a'])}"
    sides += f", {_amount(b, unit)} in {literal(result['source_b'])}"
    sign = "" if str(gap).startswith("-") else "+"
    return f"{label}: {sides}, difference {sign}{_amount(gap, unit)}"


def _amount(value: Any, unit: str | None = None) -> str:
    if value is None:
        return "no value"
    return f"{grouped(value)} {unit}" if unit else grouped(value)


def _member(name: str, value: Any) -> str:
    if value is None:
        return f"{name} without a value"
    return f"{name} {'empty' if value == '' else literal(value)}"


def with_list(first: str, others: Iterable[str]) -> str:
    """A line, and a list below it."""
    return "\n".join([first, *(f"- {each}" for each in others)])


def _explanation(result: Mapping[str, Any]) -> str:
    first, *others = result["interpretation"] or ["There is no gap to explain."]
    return with_list(first, others)


def _rows(
    result: Mapping[str, Any], none: str = "no rows for that", most: int = MOST_LISTED
) -> str:
    rows, measures = result["rows"], result.get("measures", ())
    if not rows:
        return f"{result['source']} has {none}."
    named = (zip(result["columns"], row, strict=True) for row in rows[:most])
    lines = with_list(f"{result['source']}:", (_pairs(each, measures) for each in named))
    tie = ["", "There are others with the same value as the last one."]
    more = _more(len(rows), most, is_cut=result.get("truncated", False))
    return "\n".join([lines, *more, *(tie if result.get("tied") else [])])


def _behind(result: Mapping[str, Any], *, most: int) -> str:
    sides = [_rows(result[side], "none", most) for side in ("a", "b")]
    return "\n".join([f"The rows behind {_pairs(result['key'].items())}:", *sides])


def _groups(result: Mapping[str, Any]) -> str:
    statuses: Sequence[str] = result["statuses"]
    classes = ", ".join(_CLASSES.get(each, each) for each in statuses)
    rows: Sequence[Mapping[str, Any]] = result["rows"]
    if not rows:
        return f"There are none ({classes})."
    what = "group" if "measures" in rows[0] else "row"
    total = grouped(result["total"])
    lines = [f"{total} {what}{'' if total == '1' else 's'} ({classes}):"]
    for row in rows[:MOST_LISTED]:
        written = _amount if "measures" in row else literal
        values = "; ".join(
            f"{name} {written(each['a'])} and {written(each['b'])}"
            for name, each in row.get("measures", row.get("cells", {})).items()
        )
        status = _CLASSES.get(row["status"], row["status"])
        lines.append(f"- {_pairs(row['key'].items())}: {status}, {values}")
    return "\n".join([*lines, *_more(len(rows))])


def _sources(result: Mapping[str, Any]) -> str:
    lines = (
        f"{source['name']}: {source['description']}".rstrip(": ")
        + f" (measures: {', '.join(source['measures'])};"
        + f" dimensions: {', '.join(source['dimensions'])})"
        for source in result["sources"]
    )
    return with_list("The sources are:", lines)


def _source(result: Mapping[str, Any]) -> str:
    dimensions: list[str] = []
    for name, dimension in result["dimensions"].items():
        values = [str(literal(value)) for value in dimension.get("values", ())]
        some = ", ".join([*values[:_SHOWN], *(["…"] if len(values) > _SHOWN else [])])
        dimensions.append(f"{name} ({dimension['type']})" + (f": {some}" if some else ""))
    about = f"{result['name']}: {result['description']}".removesuffix(": ")
    about += f"\nRows: {result['row_count']}."
    measures = f"Measures: {', '.join(result['measures'])}."
    return with_list(f"{about}\n{measures}\nDimensions:", dimensions)


def _passages(result: Mapping[str, Any]) -> str:
    passages: Sequence[Mapping[str, Any]] = result["passages"]
    lines = [
        f"{each['heading']} ({each['skill']}, {each['file']}):\n{each['text']}" for each in passages
    ]
    return "\n\n".join(lines[:_PASSAGES]) or "The knowledge has nothing about that."


def _pairs(pairs: Iterable[tuple[str, Any]], measures: Collection[str] = ()) -> str:
    """Names with their values; those of measures are numbers."""
    return ", ".join(
        f"{name}: {grouped(value) if name in measures and value is not None else literal(value)}"
        for name, value in pairs
    )


def literal(value: Any) -> Any:
    """A value on one line; text that Markdown would format is put in backticks."""
    if not isinstance(value, str):
        return "none" if value is None else value
    line = " ".join(value.split("\n"))
    if not _ACTIVE.search(line):
        return line
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    space = " " if "`" in line else ""
    return f"{fence}{space}{line}{space}{fence}"


def _more(count: int, most: int = MOST_LISTED, *, is_cut: bool = False) -> list[str]:
    has = "only the first ones" if is_cut else "them"
    return ["", f"There are more; the result has {has}."] if count > most else []


_MOST_LINES = 40


def word_plainly(result: Mapping[str, Any]) -> str:
    """The `answer` of a result if it has one, otherwise each of its values."""
    answer = result.get("answer")
    if isinstance(answer, str) and answer:
        return answer
    lines = list(_lines(result, ""))
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = ["", "There is more; the result has it."]
    return "\n".join(lines) or "The result is empty."


def _lines(value: Any, indent: str) -> Iterator[str]:
    """Yield the values of a mapping or a list, those of nested ones with more indent."""
    named: list[tuple[str, Any]] = (
        [(f"{name}:", each) for name, each in cast("Mapping[str, Any]", value).items()]
        if isinstance(value, Mapping)
        else [("-", each) for each in cast("list[Any]", value)]
    )
    for name, each in named:
        label = f"{indent}{name}"
        if each and isinstance(each, Mapping | list):
            yield label
            yield from _lines(each, f"{indent}  ")
        elif isinstance(each, bool):
            yield f"{label} {'yes' if each else 'no'}"
        else:
            yield f"{label} {'none' if each in (None, [], {}) else each}"
