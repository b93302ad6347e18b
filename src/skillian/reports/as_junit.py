"""A report for CI servers: JUnit XML with a suite for each comparison.

The cases of a comparison are: each measure agrees, and no group is missing on either side. The XML
is valid against the schemas of Jenkins and Ant; the latter requires a host name and a local time.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from skillian.data.results.groups import Difference, MeasureSummary
from skillian.data.results.result import ComparisonResult
from skillian.data.subjects import STATUS
from skillian.reports.outcome import Compared, Failed, Outcome
from skillian.reports.words import counted, key_words, number

# XML 1.0 cannot hold these, not even escaped.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(outcomes: Sequence[Outcome]) -> str:
    """The report as XML, without the characters that XML cannot hold."""
    root = Element("testsuites")
    for outcome in outcomes:
        cases = list(_cases(outcome))
        name, started = outcome.comparison.name, datetime.now(UTC)
        sentences: Sequence[str] = ()
        if not isinstance(outcome, Failed):
            result = outcome.result
            started, sentences = datetime.fromisoformat(result.started), result.sentences
            if outcome.is_accepted:
                cases = [(case, _known(problem)) for case, problem in cases]
        add_suite(root, name, cases, sentences, seconds=outcome.seconds, started=started)
    return xml_document(root)


_Case = tuple[str, Element | None]


def add_suite(
    root: Element,
    name: str,
    cases: Sequence[_Case],
    sentences: Iterable[str],
    *,
    seconds: float,
    started: datetime,
) -> None:
    """Add a suite of cases, all of which one statement computes."""
    suite = SubElement(root, "testsuite", name=xml_text(name), package="skillian")
    SubElement(suite, "properties")
    for case_name, problem in cases:
        case = SubElement(suite, "testcase", name=xml_text(case_name), classname=xml_text(name))
        case.set("time", f"{seconds / len(cases):.3f}")
        if problem is not None:
            case.append(problem)
    SubElement(suite, "system-out").text = xml_text("\n".join(sentences))
    SubElement(suite, "system-err")
    tags = [problem.tag for _, problem in cases if problem is not None]
    suite.attrib |= {
        "id": str(len(root) - 1),
        "timestamp": started.strftime("%Y-%m-%dT%H:%M:%S"),
        "hostname": "localhost",
        "tests": str(len(cases)),
        "failures": str(tags.count("failure")),
        "errors": str(tags.count("error")),
        "skipped": str(tags.count("skipped")),
        "time": f"{seconds:.3f}",
    }


def _cases(outcome: Outcome) -> Iterator[_Case]:
    """The name of each case, with its failure or error."""
    if isinstance(outcome, Failed) and outcome.verdict == "findings":
        yield "the table is on both sides", problem_of("failure", "table", outcome.reason)
    elif isinstance(outcome, Failed) or outcome.reason:
        yield "comparison", problem_of("error", "could not compare", outcome.reason or "")
    else:
        cases = _group_cases if outcome.result.measures else _row_cases
        yield from cases(outcome.result, outcome)
        for each in outcome.schema_findings:
            name = each.column_a or each.column_b or "the table"
            yield f"schema: {name}", problem_of("failure", each.aspect, each.sentence)


def _group_cases(result: ComparisonResult, outcome: Compared) -> Iterator[_Case]:
    """The cases of a result: each measure, and the groups of each side."""
    for measure in result.summary.measures:
        yield measure.name, _measure_problem(result, measure, minor=outcome.counts_minor)
    sides = ((outcome.comparison.a, "missing_in_a"), (outcome.comparison.b, "missing_in_b"))
    for source, status in sides:
        count = result.counts[status]
        differences = [_line(each) for each in result.top_differences if each.status == status]
        message = f"{counted(count)} missing in {source}"
        yield (
            f"no group is missing in {source}",
            problem_of("failure", status, message, differences) if count else None,
        )
    count = result.summary.row_findings
    if count:
        message = f"{counted(count)} with matching measures but different numbers of rows"
        yield "the rows of each group", problem_of("failure", "rows", message)


def _row_cases(result: ComparisonResult, _: Compared) -> Iterator[_Case]:
    """The cases of a comparison of rows: their classes, and each column."""
    rows = result.rows
    only = ((rows.only_in_a, result.source_a), (rows.only_in_b, result.source_b))
    for count, source in only:
        yield f"no row is only in {source}", _counted_problem(count, "only", f"only in {source}")
    duplicates = rows.duplicate_rows_a + rows.duplicate_rows_b
    yield "each key is unique", _counted_problem(duplicates, "duplicate", "with a repeated key")
    for column in result.columns:
        problem = None
        if column.mismatches:
            lines = [f"{pair.a!r} in a, {pair.b!r} in b: {pair.count}" for pair in column.pairs]
            message = f"{column.a} differs in {counted(column.mismatches, 'row')}"
            problem = problem_of("failure", "difference", message, lines)
        yield f"column {column.a}", problem
    for each in result.not_compared:
        yield f"column {each.column}", problem_of("failure", "not compared", each.reason)


def _counted_problem(count: int, kind: str, words: str) -> Element | None:
    return problem_of("failure", kind, f"{counted(count, 'row')} {words}") if count else None


def _measure_problem(
    result: ComparisonResult, measure: MeasureSummary, *, minor: bool
) -> Element | None:
    classes = measure.classes
    count = classes.major_diff + (classes.minor_diff if minor else 0)
    if not count:
        return None
    statuses = {"major_diff", "minor_diff"} if minor else {"major_diff"}
    differences = [
        _line(each)
        for each in result.top_differences
        if each.measure == measure.name and each.status in statuses
    ]
    message = (
        f"{measure.name} differs in {counted(count)}; net gap {number(measure.net_difference)},"
        f" gross gap {number(measure.gross_difference)}"
    )
    return problem_of("failure", "difference", message, differences)


def _known(problem: Element | None) -> Element | None:
    """A failure that the team knows about as a test that is skipped."""
    if problem is None:  # one without parts is false
        return None
    return Element("skipped", message=f"known: {problem.get('message', '')}")


def problem_of(tag: str, kind: str, message: str, lines: Iterable[str] = ()) -> Element:
    """A failure or an error, with its message above further lines."""
    problem = Element(tag, type=xml_text(kind), message=xml_text(message))
    problem.text = xml_text("\n".join([message, *lines]))
    return problem


def _line(each: Difference) -> str:
    return (
        f"{key_words(each.key)}: {each.measure} {number(each.a)} in a, {number(each.b)} in b,"
        f" gap {number(each.gap)}, {STATUS[each.status]}, rows {each.rows_a}:{each.rows_b}"
    )


def xml_document(root: Element) -> str:
    """The element and its declaration as text."""
    indent(root)
    written: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return written.decode() + "\n"


def xml_text(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _UNWRITABLE.sub("\ufffd", text)
