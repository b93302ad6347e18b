from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

from skillian.reports.as_junit import write_junit
from skillian.reports.outcome import Compared, Outcome


def read(*outcomes: Outcome) -> ET.Element:
    return ET.fromstring(write_junit(outcomes))  # noqa: S314 - our own


def problems_of(suite: ET.Element, tag: str) -> dict[str, ET.Element]:
    problems = {}
    for case in suite.iter("testcase"):
        problem = case.find(tag)
        if problem is not None:
            problems[case.attrib["name"]] = problem
    return problems


def test_a_suite_has_a_case_for_each_measure_and_each_missing_side(
    close: Outcome, hostile: Outcome
) -> None:
    one, other = (
        [case.attrib["name"] for case in suite.iter("testcase")] for suite in read(close, hostile)
    )
    missing = [f"no group is missing in {name}" for name in ("fi_reporting", "bpc_reporting")]
    assert one == ["amount", *missing]
    assert other[:2] == ["v", "n"]


def test_failures_list_the_largest_differences(close: Outcome) -> None:
    [suite] = read(close)
    failures = problems_of(suite, "failure")
    assert set(failures) == {"amount", "no group is missing in bpc_reporting"}
    amount = failures["amount"]
    assert amount.attrib["message"].startswith("amount differs in 5 groups; net gap -140305.79")
    assert "company 1001, period 2024004: amount 192258.87 in a, 384517.74 in b" in str(amount.text)
    missing = failures["no group is missing in bpc_reporting"]
    assert missing.attrib["message"] == "1 group missing in bpc_reporting"
    assert "2024007" in str(missing.text)


def test_minor_differences_fail_only_if_they_are_findings(close: Outcome) -> None:
    assert isinstance(close, Compared)
    lenient = replace(close, comparison=close.comparison.model_copy(update={"fail_on": "major"}))
    [suite] = read(lenient)
    amount = problems_of(suite, "failure")["amount"]
    assert amount.attrib["message"].startswith("amount differs in 4 groups")
    assert "2024006" not in str(amount.text)


def test_a_failed_comparison_is_an_error(failed: Outcome, nothing: Outcome) -> None:
    for suite in read(failed, nothing):
        assert (suite.attrib["errors"], suite.attrib["failures"]) == ("1", "0")
        assert set(problems_of(suite, "error")) == {"comparison"}


def test_the_report_follows_the_schemas_of_jenkins_and_ant(
    close: Outcome, equal: Outcome, failed: Outcome, hostile: Outcome
) -> None:
    suites = read(close, equal, failed, hostile)
    assert (suites.tag, suites.attrib) == ("testsuites", {})
    for position, suite in enumerate(suites):
        order = [child.tag for child in suite if child.tag != "testcase"]
        assert order == ["properties", "system-out", "system-err"]
        assert suite[0].tag == "properties"
        assert suite.attrib["id"] == str(position)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
        cases = list(suite.iter("testcase"))
        assert int(suite.attrib["tests"]) == len(cases)
        assert int(suite.attrib["failures"]) == len(problems_of(suite, "failure"))
        for name in ("name", "package", "hostname", "errors", "time"):
            assert suite.attrib[name]
        for case in cases:
            assert set(case.attrib) == {"name", "classname", "time"}
            assert all({"type", "message"} == set(problem.attrib) for problem in case)


def test_characters_that_xml_cannot_hold_are_replaced(hostile: Outcome) -> None:
    text = write_junit([hostile])
    assert "\x1b" not in text
    assert "\x0b" not in text
    assert "<script>" not in text
    assert "window.pwned = 1" in "".join(read(hostile).itertext())
