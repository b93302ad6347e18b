"""The difference of two schemas as JSON, and as JUnit XML with a case for each column."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement

from skillian.data.results.rows import Proposal
from skillian.data.schema.diff import SchemaDiff, SchemaDifference
from skillian.reports.as_junit import xml_document, xml_text

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
    cases = list(_cases(diff, counted_differences(diff, every=every)))
    root = Element("testsuites")
    suite = SubElement(
        root,
        "testsuite",
        name=xml_text(f"schema of {diff.source_a} and {diff.source_b}"),
        package="skillian",
        id="0",
        timestamp=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        hostname="localhost",
        tests=str(len(cases)),
        failures=str(sum(bool(problems) for _, problems in cases)),
        errors="0",
        time="0",
    )
    SubElement(suite, "properties")
    for name, problems in cases:
        case = SubElement(
            suite, "testcase", name=xml_text(name), classname=suite.attrib["name"], time="0"
        )
        if problems:
            text = xml_text("\n".join(each.sentence for each in problems))
            failure = SubElement(case, "failure", type=problems[0].aspect, message=text)
            failure.text = text
    sentences = (*diff.sentences, *(each.sentence for each in proposals))
    SubElement(suite, "system-out").text = xml_text("\n".join(sentences))
    SubElement(suite, "system-err")
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
