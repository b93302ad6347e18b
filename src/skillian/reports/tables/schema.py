"""The difference of two schemas as JSON, and as JUnit XML with a case for each column."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from xml.etree.ElementTree import Element

from skillian.data.results.rows import Proposal
from skillian.data.schema.diff import SchemaDiff, SchemaDifference
from skillian.reports.as_junit import add_suite, problem_of, xml_document

VERSION = 1


def schema_json(diff: SchemaDiff, proposals: Sequence[Proposal], *, every: bool) -> str:
    """The difference as JSON."""
    verdict = "findings" if counted_differences(diff, every=every) else "equal"
    report = {"version": VERSION, "kind": "schema", "verdict": verdict, **diff.to_dict()}
    report["proposals"] = [each.to_dict() for each in proposals]
    return json.dumps(report, ensure_ascii=False, indent=2) + "\n"


def counted_differences(diff: SchemaDiff, *, every: bool) -> tuple[SchemaDifference, ...]:
    """The differences that are findings; `every`: all of them."""
    return diff.differences if every else diff.findings


def schema_junit(diff: SchemaDiff, proposals: Sequence[Proposal], *, every: bool) -> str:
    """The difference as JUnit XML, without the characters that XML cannot hold."""
    cases = [
        (name, problem_of("failure", faults[0].aspect, "\n".join(each.sentence for each in faults)))
        if faults
        else (name, None)
        for name, faults in _cases(diff, counted_differences(diff, every=every))
    ]
    root, name = Element("testsuites"), f"schema of {diff.source_a} and {diff.source_b}"
    sentences = (*diff.sentences, *(each.sentence for each in proposals))
    add_suite(root, name, cases, sentences, seconds=0, started=datetime.now(UTC))
    return xml_document(root)


def _cases(
    diff: SchemaDiff, findings: tuple[SchemaDifference, ...]
) -> Iterator[tuple[str, list[SchemaDifference]]]:
    """The name of each case, with its findings: each column of either side, and the table."""
    columns = [
        *((pair.a.name, pair.b.name) for pair in diff.pairs),
        *((column.name, None) for column in diff.only_in_a),
        *((None, column.name) for column in diff.only_in_b),
    ]
    for one, other in columns:
        problems = [each for each in findings if (each.column_a, each.column_b) == (one, other)]
        yield f"column {one or other}", problems
    yield "table", [each for each in findings if each.column_a is each.column_b is None]
