"""An evaluation as JSON and as JUnit XML."""

from __future__ import annotations

from datetime import date
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from skillian.evaluation.judging import AnswerVerdict
from skillian.evaluation.running import Evaluation, QuestionResult
from skillian.history.findings import Standing
from skillian.reports.as_junit import xml_text

VERSION = 1


def evaluation_json(
    evaluation: Evaluation, standing: Standing | None, today: date
) -> dict[str, Any]:
    """The evaluation as JSON; docs/questions.md describes the keys."""
    return {
        "version": VERSION,
        "name": evaluation.name,
        "model": evaluation.model,
        "started": evaluation.started.isoformat(timespec="seconds"),
        "counts": {
            verdict.replace(" ", "_"): evaluation.count(verdict) for verdict in AnswerVerdict
        },
        "questions": [_result_json(result) for result in evaluation.results],
        "history": None if standing is None else standing.to_dict(today),
    }


def evaluation_junit(evaluation: Evaluation) -> str:
    """The evaluation as XML with one suite, and a case for each question.

    A question that is not right is a failure, whose type is the verdict.
    """
    root = Element("testsuites")
    suite = SubElement(root, "testsuite")
    SubElement(suite, "properties")
    for result in evaluation.results:
        _add_case(suite, evaluation, result)
    SubElement(suite, "system-out").text = xml_text(f"{evaluation.model}: {evaluation.sentence}")
    SubElement(suite, "system-err")
    failures = len(evaluation.results) - evaluation.count(AnswerVerdict.RIGHT)
    suite.attrib |= {
        "name": xml_text(f"{evaluation.name}: {evaluation.model}"),
        "package": "skillian",
        "id": "0",
        "timestamp": evaluation.started.strftime("%Y-%m-%dT%H:%M:%S"),
        "hostname": "localhost",
        "tests": str(len(evaluation.results)),
        "failures": str(failures),
        "errors": "0",
        "skipped": "0",
        "time": f"{sum(result.seconds for result in evaluation.results):.3f}",
    }
    indent(root)
    written: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return written.decode() + "\n"


def _result_json(result: QuestionResult) -> dict[str, Any]:
    return {
        "question": result.expected.question,
        "verdict": result.judgement.verdict.replace(" ", "_"),
        "reason": result.judgement.reason or None,
        "answer": result.answer.content,
        "by_planner": result.answer.is_planned,
        "tool_calls": [
            {"tool": call.tool, "arguments": dict(call.arguments)} for call in result.answer.calls
        ],
        "seconds": round(result.seconds, 3),
    }


def _add_case(suite: Element, evaluation: Evaluation, result: QuestionResult) -> None:
    case = SubElement(
        suite,
        "testcase",
        name=xml_text(result.expected.question),
        classname=xml_text(evaluation.name),
        time=f"{result.seconds:.3f}",
    )
    judgement = result.judgement
    if judgement.verdict is not AnswerVerdict.RIGHT:
        message = xml_text(judgement.reason)
        failure = SubElement(case, "failure", type=judgement.verdict, message=message)
        failure.text = xml_text(f"{judgement.reason}\n\nThe answer:\n{result.answer.content}")
