"""What code came to, bounded for a model to read."""

from __future__ import annotations

import json
from decimal import Decimal

import pandas as pd  # type: ignore[import-untyped]

from skillian.bundled.code_results import (
    LONGEST_ERROR,
    LONGEST_VALUE,
    MOST_FILES,
    KeptFiles,
    read_result,
)
from tinyagent import Artifact
from tinyagent.core import ExecutionResult

FRAME = pd.DataFrame({"key": ["a", None], "n": [1.5, float("nan")], "d": [Decimal("1.10"), None]})


def told(value: object, **more: object) -> dict[str, object]:
    result = ExecutionResult(value=value, value_text=repr(value), **more)  # type: ignore[arg-type]
    found = read_result(result, KeptFiles())
    json.dumps(found, allow_nan=False)
    return found


def test_a_data_frame_is_a_table_of_exact_values() -> None:
    assert told(FRAME)["tables"] == [
        {
            "columns": ["key", "n", "d"],
            "rows": [["a", 1.5, "1.10"], [None, None, None]],
            "total_rows": 2,
        }
    ]
    assert told(FRAME)["value"] is None


def test_an_index_with_a_name_is_a_column() -> None:
    table = told(FRAME.set_index("key"))["tables"]
    assert isinstance(table, list)
    assert table[0]["columns"] == ["key", "n", "d"]


def test_tables_within_a_value_are_found_and_all_are_bounded() -> None:
    long = pd.DataFrame({f"c{at}": range(1000) for at in range(20)})
    tables = told({"a": long, "b": long, "c": long, "d": long, "e": 1})["tables"]
    assert isinstance(tables, list)
    assert [len(table["rows"]) for table in tables] == [20, 20, 20]
    assert tables[0]["total_rows"] == 1000
    wide = told(pd.DataFrame({"c": ["x" * 1000] * 50}))["tables"]
    assert isinstance(wide, list)
    assert 10 < len(wide[0]["rows"]) < 20


def test_other_values_are_text_cut_where_they_are_long() -> None:
    assert told(None)["value"] is None
    assert told(Decimal("1.10"))["value"] == "Decimal('1.10')"
    cut = told("x" * 5000)["value"]
    assert isinstance(cut, str)
    assert len(cut) < LONGEST_VALUE + 50
    assert "5002 characters" in cut


def test_an_answer_that_was_given_is_the_value() -> None:
    found = told(None, is_final=True, final_value=FRAME)
    assert found["tables"] == told(FRAME)["tables"]


def test_an_error_of_the_code_is_a_result() -> None:
    long = told(None, error="x" * 9000 + "ValueError: no")["code_error"]
    assert isinstance(long, str)
    assert len(long) == LONGEST_ERROR
    assert long.endswith("ValueError: no")
    found = told(None, error="ZeroDivisionError", output="before")
    assert (found["code_error"], found["output"]) == ("ZeroDivisionError", "before")
    assert "error" not in found


def test_files_are_kept_under_names_of_their_own() -> None:
    files = KeptFiles()
    plot = Artifact("../../a.png", b"png", "image/png")
    result = read_result(ExecutionResult(artifacts=(plot,) * (MOST_FILES + 1)), files)
    first, *others = result["artifacts"]
    assert first | {"id": ""} == {
        "id": "",
        "name": "../../a.png",
        "media_type": "image/png",
        "bytes": 3,
    }
    assert len(others) == MOST_FILES - 1
    assert files.find(first["id"]) == plot
    assert files.find("a.png") is None
