"""Results of code, bounded for a model to read."""

from __future__ import annotations

import json
from decimal import Decimal

import pandas as pd

from skillian.bundled.code_results import (
    LONGEST_ERROR,
    LONGEST_VALUE,
    MOST_FILES,
    ArtifactCache,
    read_result,
)
from tinyagent import Artifact
from tinyagent.core import ExecutionResult

FRAME = pd.DataFrame({"key": ["a", None], "n": [1.5, float("nan")], "d": [Decimal("1.10"), None]})


def result_of(value: object, **more: object) -> dict[str, object]:
    result = ExecutionResult(value=value, value_text=repr(value), **more)  # type: ignore[arg-type]
    data = read_result(result, ArtifactCache())
    json.dumps(data, allow_nan=False)
    return data


def test_a_data_frame_is_a_table_of_exact_values() -> None:
    assert result_of(FRAME)["tables"] == [
        {
            "columns": ["key", "n", "d"],
            "rows": [["a", 1.5, "1.10"], [None, None, None]],
            "total_rows": 2,
        }
    ]
    assert result_of(FRAME)["value"] is None


def test_an_index_with_a_name_is_a_column() -> None:
    table = result_of(FRAME.set_index("key"))["tables"]
    assert isinstance(table, list)
    assert table[0]["columns"] == ["key", "n", "d"]


def test_tables_within_a_value_are_bounded() -> None:
    long = pd.DataFrame({f"c{at}": range(1000) for at in range(20)})
    tables = result_of({"a": long, "b": long, "c": long, "d": long, "e": 1})["tables"]
    assert isinstance(tables, list)
    assert [len(table["rows"]) for table in tables] == [20, 20, 20]
    assert tables[0]["total_rows"] == 1000
    wide = result_of(pd.DataFrame({"c": ["x" * 1000] * 50}))["tables"]
    assert isinstance(wide, list)
    assert 10 < len(wide[0]["rows"]) < 20


def test_other_values_are_text_that_is_cut() -> None:
    assert result_of(None)["value"] is None
    assert result_of(Decimal("1.10"))["value"] == "Decimal('1.10')"
    cut = result_of("x" * 5000)["value"]
    assert isinstance(cut, str)
    assert len(cut) < LONGEST_VALUE + 50
    assert "5002 characters" in cut


def test_a_final_answer_is_the_value() -> None:
    data = result_of(None, is_final=True, final_value=FRAME)
    assert data["tables"] == result_of(FRAME)["tables"]


def test_an_error_of_the_code_is_a_result() -> None:
    long = result_of(None, error="x" * 9000 + "ValueError: no")["code_error"]
    assert isinstance(long, str)
    assert len(long) == LONGEST_ERROR
    assert long.endswith("ValueError: no")
    data = result_of(None, error="ZeroDivisionError", output="before")
    assert (data["code_error"], data["output"]) == ("ZeroDivisionError", "before")
    assert "error" not in data


def test_files_have_their_own_ids() -> None:
    files = ArtifactCache()
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
