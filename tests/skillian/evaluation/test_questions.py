"""Files of verified questions: what they hold, and their faults with lines."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from skillian.data.declare import document
from skillian.errors import ConfigurationError
from skillian.evaluation.questions import MAX_QUESTIONS, question_key, read_questions
from skillian.skills.registry import SkillRegistry

QUERY = "  - question: x\n    call:\n      tool: query_source\n      arguments:\n        "
COMPARE = QUERY.replace("query_source", "compare_sources")
Write = Callable[[str], Path]
LEDGER = "SELECT sum(HSL) FROM fi_ledger"
PLANNING = "SELECT sum(signed_data) FROM bpc_planning"
# The SQL behind each question of the demo, in the order of the file.
STATEMENTS = (
    (LEDGER,),
    (f"{PLANNING} WHERE entity = 1003",),
    (f"{LEDGER} GROUP BY BUKRS ORDER BY BUKRS",),
    (f"{LEDGER} WHERE BUKRS = '1001' AND FISCPER = '2024006'",),
    ("SELECT count(DISTINCT BELNR) FROM fi_ledger WHERE BUKRS = '1003'",),
    (
        """
        SELECT unnest([RACCT::DECIMAL(18, 2), sum(HSL)]) FROM fi_ledger GROUP BY RACCT
        HAVING sum(HSL) >= ALL (SELECT sum(HSL) FROM fi_ledger GROUP BY RACCT)
        """,
    ),
    (f'{PLANNING} GROUP BY upper(trim("cost centre")) ORDER BY upper(trim("cost centre"))',),
    (
        """
        SELECT max(abs(coalesce(b, 0) - a))
        FROM (SELECT FISCPER, sum(HSL) AS a FROM fi_ledger WHERE BUKRS = '1001' GROUP BY ALL)
        LEFT JOIN (
            SELECT time, sum(signed_data) AS b FROM bpc_planning WHERE entity = 1001 GROUP BY ALL
        ) ON time = FISCPER
        """,
    ),
    (LEDGER, PLANNING, f"SELECT ({PLANNING}) - ({LEDGER})"),
    (
        """
        SELECT unnest([time::DECIMAL(18, 2), sum(signed_data)]) FROM bpc_planning GROUP BY time
        HAVING sum(signed_data) <= ALL (SELECT sum(signed_data) FROM bpc_planning GROUP BY time)
        """,
    ),
)


def _faults(path: Path, skills: SkillRegistry | None = None) -> list[str]:
    def read() -> None:
        questions = read_questions(path)
        if skills is not None:
            questions.check_calls(skills)

    with pytest.raises(ConfigurationError) as caught:
        read()
    return [f"{fault.line}: {fault.message}" for fault in caught.value.faults]


def test_the_numbers_of_the_demo_are_those_of_plain_sql(demo: Path) -> None:
    questions = read_questions(demo / "questions.yaml").questions
    with duckdb.connect(demo / "ledger.duckdb", read_only=True) as connection:
        computed = [
            tuple(
                Decimal(str(number))
                for statement in statements
                for (number,) in connection.execute(statement).fetchall()
            )
            for statements in STATEMENTS
        ]
    assert [question.numbers for question in questions] == computed


def test_the_calls_of_the_demo_are_valid(demo: Path, skills: SkillRegistry) -> None:
    read_questions(demo / "questions.yaml").check_calls(skills)


def test_a_question_has_numbers_with_all_their_digits_or_a_call(written: Write) -> None:
    questions = read_questions(
        written(
            "  - {question: ' How much? ', numbers: [0.10, -1234567890123456789.01, 1e3]}\n"
            "  - {question: 'Which?', call: {tool: query_source, arguments: {filters: {a: 001}}}}\n"
        )
    ).questions
    assert questions[0].question == "How much?"
    assert [str(each) for each in questions[0].numbers] == [
        "0.10",
        "-1234567890123456789.01",
        "1E+3",
    ]
    assert questions[1].call is not None
    assert questions[1].call.arguments == {"filters": {"a": "001"}}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("  - question: How much?\n", "3: `questions.0`: it has neither `numbers` nor `call`"),
        ("  - question: How much?\n    number: [1]\n", "4: unknown key `number`"),
        ("  - numbers: [1]\n", "3: `question` is missing"),
        ("  - question: ' '\n    numbers: [1]\n", "3: `questions.0.question`"),
        ("  - question: x\n    numbers: [1, NaN]\n", "4: `questions.0.numbers.1`"),
        ("  - question: x\n    numbers: [Infinity]\n", "4: `questions.0.numbers.0`"),
        ("  - question: x\n    numbers: [1e99999999]\n", "4: `questions.0.numbers.0`"),
        ("  - question: x\n    numbers: [1,2,3]x\n", "4: this is not YAML"),
        ("  - question: x\n    call: {}\n", "4: `tool` is missing"),
        ("  - question: x\n    call: {tool: t, args: {}}\n", "4: unknown key `args`"),
        (
            "  - {question: 'Sum A?', numbers: [1]}\n  - {question: sum  a, numbers: [2]}\n",
            "4: the question is repeated from line 3",
        ),
        (
            f"{QUERY}source: fi_reportin\n",
            "7: there is no source 'fi_reportin'; sources, nearest first: fi_reporting",
        ),
        (
            f"{QUERY}source: fi_reporting\n        measures: [amount, amont]\n",
            "8: there is no measure 'amont' in fi_reporting",
        ),
        (
            f"{COMPARE}source_a: fi_reporting\n        filters: {{compny: '1'}}\n",
            "8: there is no dimension 'compny' in fi_reporting",
        ),
        ("  - {question: x, numbers: [1]}\n  - {question: X, numbers: [1]}\n", "4: the question"),
        ("  - question: !!python/object:os.system x\n    numbers: [1]\n", "3: the tag"),
    ],
)
def test_each_fault_has_its_line(
    written: Write, skills: SkillRegistry, text: str, fault: str
) -> None:
    assert [each for each in _faults(written(text), skills) if each.startswith(fault)]


def test_faults_of_questions_names_and_calls_are_reported_at_once(
    written: Write, skills: SkillRegistry
) -> None:
    text = (
        "  - {question: x, numbers: [1]}\n  - {question: X, call: {tool: no}}\n"
        "  - {question: y, call: {tool: query_source, arguments: {source: no, more: 1}}}\n"
    )
    found = " ".join(_faults(written(text), skills))
    parts = ("4: the question is repeated", "4: there is no tool", "5: there is no source")
    assert [part for part in (*parts, "`more`") if part not in found] == []


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ("{tool: query_sorce}", "3: there is no tool 'query_sorce'"),
        (
            "{tool: query_source, arguments: {source: fi_reporting, filter: {}}}",
            "3: `filter` of query_source: Extra inputs are not permitted; known: source",
        ),
        ("{tool: query_source, arguments: {measures: [a]}}", "3: `source` of query_source"),
    ],
)
def test_calls_are_checked_against_the_tools(
    written: Write, skills: SkillRegistry, call: str, fault: str
) -> None:
    [found] = _faults(written(f"  - {{question: x, call: {call}}}\n"), skills)
    assert found.startswith(fault)


def test_the_sources_must_exist(tmp_path: Path) -> None:
    path = tmp_path / "q.yaml"
    path.write_text("sources: gone.yaml\nquestions: [{question: x, numbers: [1]}]\n")
    assert _faults(path) == ["1: there is no file `gone.yaml`"]


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "q.yaml"
    assert _faults(path) == ["1: No such file or directory"]
    path.write_bytes(b"\xff\xfe")
    assert _faults(path) == ["1: this is not UTF-8 text"]
    monkeypatch.setattr(document, "MAX_BYTES", 100)
    path.write_text("#" * 101)
    assert _faults(path) == ["1: the file has more than 100 bytes"]


def test_there_are_at_most_a_thousand_questions(written: Write) -> None:
    lines = (f"  - {{question: q{each}, numbers: [1]}}\n" for each in range(MAX_QUESTIONS + 1))
    [fault] = _faults(written("".join(lines)))
    assert "more than 1000 entries" in fault


@pytest.mark.parametrize("text", ["How  much?", "how much", " HOW MUCH ?! "])
def test_a_question_is_recognised_in_spite_of_case_spaces_and_marks(text: str) -> None:
    assert question_key(text) == "how much"
