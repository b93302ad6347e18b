"""Answers and their verdicts. A wrong answer must never count as right."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skillian.evaluation.judging import AnswerCall, AnswerJudge, AnswerVerdict, GivenAnswer
from skillian.evaluation.questions import VerifiedQuestion
from skillian.skills.registry import SkillRegistry

RIGHT, WRONG, ASKED, REFUSED = AnswerVerdict
QUERY: dict[str, Any] = {
    "source": "fi_reporting",
    "measures": ["amount"],
    "filters": {"company": "1001", "period": {"gte": "2024001", "lte": "2024003"}},
}
COMPARE: dict[str, Any] = {
    "source_a": "fi_reporting",
    "source_b": "bpc_reporting",
    "measures": ["amount", "documents"],
    "align_on": ["company", "period"],
    "thresholds": {"match": {"absolute": 5}},
}


def _call(tool: str = "query_source", result: str = '{"rows": []}', **arguments: Any) -> AnswerCall:
    return AnswerCall(tool, arguments, result)


def _numbers(*numbers: str) -> VerifiedQuestion:
    return VerifiedQuestion.model_validate({"question": "How much is 7?", "numbers": numbers})


def _expected(tool: str, arguments: dict[str, Any] | None) -> VerifiedQuestion:
    call = {"tool": tool} if arguments is None else {"tool": tool, "arguments": arguments}
    return VerifiedQuestion.model_validate({"question": "What?", "call": call})


@pytest.mark.parametrize(
    ("number", "content", "verdict"),
    [
        ("1234.50", "It is 1,234.50 EUR.", RIGHT),
        ("1234.50", "It is 1.234,50 EUR.", RIGHT),
        ("1234.50", "It is 1234.5.", RIGHT),
        ("-12.30", "The gap is \u221212.30.", RIGHT),
        ("-12.30", "It is 12.30.", WRONG),
        ("12.30", "The gap is -12.30.", WRONG),
        ("1234.50", "It is about 1235.", WRONG),
        ("0.37", "It is 0.", WRONG),
        ("1234.50", "It is 11234.50.", WRONG),
        ("1234.50", "It is 1234.51.", WRONG),
        ("1234.50", "It is low.", WRONG),
    ],
)
def test_a_number_is_in_the_answer_with_all_its_digits(
    skills: SkillRegistry, number: str, content: str, verdict: AnswerVerdict
) -> None:
    answer = GivenAnswer(content, (_call(),))
    assert AnswerJudge(skills).judge(_numbers(number), answer).verdict is verdict


@pytest.mark.parametrize(
    ("result", "content", "verdict"),
    [
        ('{"rows": [["-12.30"]]}', "It is 12.30 lower.", RIGHT),
        ('{"rows": [["-12.30"]]}', "It is +12.30.", WRONG),
        ('{"rows": [["12.30"]]}', "It is 12.30 lower.", WRONG),
        ('{"rows": [["-12.304"]]}', "It is 12.30 lower.", WRONG),
        ('{"rows": [["12.30"]]}', "It is -12.30.", RIGHT),
    ],
)
def test_a_sign_in_words_is_the_one_of_the_result(
    skills: SkillRegistry, result: str, content: str, verdict: AnswerVerdict
) -> None:
    answer = GivenAnswer(content, (_call(result=result),))
    assert AnswerJudge(skills).judge(_numbers("-12.30"), answer).verdict is verdict


def test_all_numbers_must_be_there(skills: SkillRegistry) -> None:
    answer = GivenAnswer("1 and 2", (_call(),))
    judgement = AnswerJudge(skills).judge(_numbers("1", "2", "3", "4"), answer)
    assert (judgement.verdict, judgement.reason) == (WRONG, "not in the answer: 3, 4")


@pytest.mark.parametrize(
    ("numbers", "content", "missing"),
    [
        (("12", "-12", "12.0"), "12 and then -12", ""),
        (("12", "-12", "12.0"), "-12", "12, 12.0"),
        (("12", "-12"), "12 or nothing", ""),
        (("12.5", "12.4"), "12.5 or about 12", "12.4"),
        (("12.50", "12.5"), "12.500", ""),
    ],
)
def test_numbers_that_differ_in_sign_or_zeros(
    skills: SkillRegistry, numbers: tuple[str, ...], content: str, missing: str
) -> None:
    answer = GivenAnswer(content, (_call(result='{"rows": [[-12]]}'),))
    judgement = AnswerJudge(skills).judge(_numbers(*numbers), answer)
    assert judgement.reason == (f"not in the answer: {missing}" if missing else "")


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (GivenAnswer("Which measure should be compared?", ()), ASKED),
        (GivenAnswer("I found two sources.\nDo you mean the first?", ()), ASKED),
        (GivenAnswer("I cannot say that.", ()), REFUSED),
        (GivenAnswer("I cannot say that.", (_call("list_sources"),)), REFUSED),
        (GivenAnswer("", ()), REFUSED),
        (GivenAnswer("I know nothing about 7.", ()), REFUSED),
        (GivenAnswer("It is 42.", ()), WRONG),
        (GivenAnswer("Do you mean 2024 or 2025?", ()), ASKED),
        (GivenAnswer("It is low.", (_call(),)), WRONG),
        (GivenAnswer("It is low?", (_call(),)), WRONG),
        (GivenAnswer("That failed.", (_call(result='{"error": true}'),)), REFUSED),
        (GivenAnswer("I did not understand: VAT.", (_call(),), "question"), ASKED),
        (GivenAnswer("The tool failed.\nIs it 12?", (_call(),), "failure"), REFUSED),
        (GivenAnswer("It is 12.", (_call(),), "question"), ASKED),
    ],
)
def test_what_is_not_right(
    skills: SkillRegistry, answer: GivenAnswer, verdict: AnswerVerdict
) -> None:
    assert AnswerJudge(skills).judge(_numbers("12"), answer).verdict is verdict


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, RIGHT),
        ({"measures": "amount"}, WRONG),
        ({"filters": {"company": ["1001"], "period": {"between": ["2024001", "2024003"]}}}, RIGHT),
        ({"filters": {"period": {"lte": 2024003, "gte": 2024001}, "company": 1001}}, RIGHT),
        ({"dimensions": [], "order": None, "limit": 50}, RIGHT),
        ({"dimensions": ["company"]}, RIGHT),  # the filter leaves one
        ({"dimensions": ["company"], "order": ["company"]}, RIGHT),
        ({"dimensions": ["period"]}, WRONG),
        ({"dimensions": ["company", "account"]}, WRONG),
        ({"filters": {"company": "1001"}}, WRONG),
        ({"filters": {**QUERY["filters"], "account": "1"}}, WRONG),
        ({"filters": {**QUERY["filters"], "company": {"ne": "1001"}}}, WRONG),
        ({"source": "bpc_reporting"}, WRONG),
        ({"limit": 5}, WRONG),
    ],
)
def test_a_query_has_the_expected_arguments(
    skills: SkillRegistry, changes: dict[str, Any], verdict: AnswerVerdict
) -> None:
    answer = GivenAnswer("Here it is.", (_call(**{**QUERY, **changes}),))
    assert AnswerJudge(skills).judge(_expected("query_source", QUERY), answer).verdict is verdict


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"measures": ["documents", "amount"], "align_on": ["period", "company"]}, RIGHT),
        ({"thresholds": {"match": {"absolute": "5.00"}}}, RIGHT),
        ({"thresholds": {"match": {"percentage": 5}}}, WRONG),
        ({"thresholds": None}, WRONG),
        ({"source_a": "bpc_reporting", "source_b": "fi_reporting"}, WRONG),
    ],
)
def test_a_comparison_has_the_expected_arguments(
    skills: SkillRegistry, changes: dict[str, Any], verdict: AnswerVerdict
) -> None:
    answer = GivenAnswer("Here it is.", (_call("compare_sources", **{**COMPARE, **changes}),))
    assert (
        AnswerJudge(skills).judge(_expected("compare_sources", COMPARE), answer).verdict is verdict
    )


def test_the_order_of_rows_matters(skills: SkillRegistry) -> None:
    wanted: dict[str, Any] = {**QUERY, "order": ["-amount", "period"]}
    made: dict[str, Any] = {**QUERY, "order": ["period", "-amount"]}
    answer = GivenAnswer("Here.", (_call(**made),))
    assert AnswerJudge(skills).judge(_expected("query_source", wanted), answer).verdict is WRONG


def test_the_last_call_that_succeeded_counts(skills: SkillRegistry) -> None:
    judge, expected = AnswerJudge(skills), _expected("query_source", QUERY)
    right, other = _call(**QUERY), _call(**{**QUERY, "source": "bpc_reporting"})
    failed = _call(result=json.dumps({"error": True}), **QUERY)
    assert judge.judge(expected, GivenAnswer("Here.", (other, right))).verdict is RIGHT
    assert judge.judge(expected, GivenAnswer("Here.", (right, other))).verdict is WRONG
    assert judge.judge(expected, GivenAnswer("Here.", (other, failed))).verdict is WRONG
    assert judge.judge(expected, GivenAnswer("Here.", (failed,))).verdict is REFUSED


def test_without_arguments_any_call_of_the_tool_will_do(skills: SkillRegistry) -> None:
    judge, expected = AnswerJudge(skills), _expected("query_source", None)
    assert judge.judge(expected, GivenAnswer("Here.", (_call(**QUERY),))).verdict is RIGHT
    assert judge.judge(expected, GivenAnswer("Here.", (_call("drill_down"),))).verdict is WRONG


def test_numbers_and_a_call_are_both_needed(skills: SkillRegistry) -> None:
    expected = _expected("query_source", QUERY).model_copy(
        update={"numbers": _numbers("5").numbers}
    )
    judge = AnswerJudge(skills)
    assert judge.judge(expected, GivenAnswer("5", (_call(**QUERY),))).verdict is RIGHT
    assert judge.judge(expected, GivenAnswer("6", (_call(**QUERY),))).verdict is WRONG
    assert judge.judge(expected, GivenAnswer("5", (_call(source="x"),))).verdict is WRONG


FORM: list[tuple[dict[str, Any], AnswerVerdict]] = [
    ({"dimensions": ["account"], "order": ["-amount"], "limit": 5}, RIGHT),
    ({"filters": {"company": "1001"}}, WRONG),
    ({"measures": ["documents"]}, WRONG),
]


@pytest.mark.parametrize(("changes", "verdict"), FORM)
def test_with_the_right_numbers_the_form_of_the_call_decides_nothing(
    skills: SkillRegistry, changes: dict[str, Any], verdict: AnswerVerdict
) -> None:
    call = {"tool": "query_source", "arguments": QUERY}
    stated = {"question": "What?", "numbers": ["12.50"], "call": call}
    answer = GivenAnswer("It is 12.50.", (_call(**{**QUERY, **changes}),))
    expected = VerifiedQuestion.model_validate(stated)
    assert AnswerJudge(skills).judge(expected, answer).verdict is verdict


@pytest.mark.parametrize(("groups", "verdict"), [(["company"], WRONG), (["period"], RIGHT)])
def test_one_total_is_not_the_groups_of_the_configuration(
    skills: SkillRegistry, groups: list[str], verdict: AnswerVerdict
) -> None:
    sides: dict[str, Any] = {
        "source_a": "fi_reporting",
        "source_b": "bpc_reporting",
        "measures": ["amount"],
    }
    asked = {**sides, "filters": {"company": "1001"}}
    wanted = asked if groups == ["company"] else {**asked, "align_on": ["company", "period"]}
    made = _call("compare_sources", **{**asked, "align_on": groups})
    judge = AnswerJudge(skills)
    answer = GivenAnswer("Here it is.", (made,))
    assert judge.judge(_expected("compare_sources", wanted), answer).verdict is verdict
