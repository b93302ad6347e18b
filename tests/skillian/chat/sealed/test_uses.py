"""What a model that reads stand-ins still answers, exactly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.skillian.chat.sealed.making import (
    COMPARE,
    NAMES,
    answered,
    code,
    read_by,
    results_in,
    write,
)

from tinyagent import scripted_call

SMALL = ", ".join(reversed(NAMES[2:]))


def last_output(results: list[dict[str, Any]]) -> str:
    return str(results[-1]["output"])


async def test_the_customers_with_the_largest_gap_are_named(tmp_path: Path) -> None:
    def named(results: list[dict[str, Any]]) -> str:
        top = results[0]["top_differences"][:3]
        return ", ".join(f"{each['key']['customer']} {each['gap']}" for each in top)

    response, model, _ = await answered(write(tmp_path, NAMES), COMPARE, named)
    assert response.content.endswith("Old Mill Inc 50, Green Hill AG 40, O'Neil Brothers 30")
    assert "Mill" not in read_by(model.requests[-1])


async def test_a_sentence_of_a_result_is_repeated_with_its_names(tmp_path: Path) -> None:
    response, _, _ = await answered(
        write(tmp_path, NAMES), COMPARE, lambda results: results[0]["interpretation"][3]
    )
    assert response.content.endswith(
        "The largest difference beyond the match limits in amount is 50, at customer Old Mill Inc."
    )


async def test_code_groups_sorts_and_filters(tmp_path: Path) -> None:
    program = (
        "top = comparison.sort_values('amount_gap', ascending=False).head(3)\n"
        "print('The three:', ', '.join(top.customer))\n"
        "for row in top.itertuples():\n"
        "    print(f'{row.customer}: {row.amount_gap:,.2f} EUR')\n"
        "print('Sum of all:', comparison.groupby('customer').amount_gap.sum().sum())\n"
        "print(comparison[comparison.customer.str.contains('Mill')].amount_gap.sum())"
    )
    path = write(tmp_path, NAMES)
    response, model, _ = await answered(path, COMPARE, code(program), last_output)
    assert response.content.splitlines()[-6:] == [
        f"The three: {SMALL}",
        "Old Mill Inc: 50.00 EUR",
        "Green Hill AG: 40.00 EUR",
        "O'Neil Brothers: 30.00 EUR",
        "Sum of all: 150",
        "50",
    ]
    read = read_by(model.requests[-1])
    assert "50.00 EUR" in read
    assert "Green" not in read


async def test_a_table_of_code_is_read_with_its_numbers_and_repeated_with_its_names(
    tmp_path: Path,
) -> None:
    def table(results: list[dict[str, Any]]) -> str:
        (made,) = results[-1]["tables"]
        assert made["columns"] == ["customer", "share"]
        return "; ".join(f"{name} {share}" for name, share in made["rows"])

    program = "comparison.assign(share=comparison.amount_gap / 10)[['customer', 'share']].head(2)"
    response, _, _ = await answered(write(tmp_path, NAMES), COMPARE, code(program), table)
    assert response.content.endswith("Old Mill Inc 5; Green Hill AG 4")


async def test_code_and_other_tools_take_a_name_for_its_text(tmp_path: Path) -> None:
    def filtered(results: list[dict[str, Any]]) -> Any:
        name = results[0]["top_differences"][2]["key"]["customer"]
        return code(f"print(comparison[comparison.customer == '{name}'].amount_gap.iloc[0])")

    def rows(results: list[dict[str, Any]]) -> Any:
        assert results[-1]["output"] == "30\n"
        found = results[0]
        key = found["top_differences"][2]["key"]
        return scripted_call("get_comparison_rows", cache_key=found["cache_key"], key=key)

    def said(results: list[dict[str, Any]]) -> str:
        side = results[-1]["b"]
        return f"{side['rows'][0][1]} has {side['rows'][0][3]}"

    response, model, _ = await answered(write(tmp_path, NAMES), COMPARE, filtered, rows, said)
    assert response.content.endswith("O'Neil Brothers has 3030")
    assert "Neil" not in read_by(model.requests[-1])
    assert response.tool_calls_made[-1].arguments["key"] == {"customer": "O'Neil Brothers"}


async def test_what_the_user_has_named_is_plain(tmp_path: Path) -> None:
    path = write(tmp_path, NAMES)
    _, _, before = await answered(path, "Hello.", question="I work for old mill inc")
    _, model, _ = await answered(
        path, COMPARE, code("print(list(comparison.customer))"), "Done.", before=before
    )
    first, second = results_in(model.requests[-1])
    assert first["top_differences"][0]["key"] == {"customer": "Old Mill Inc"}
    assert "'Old Mill Inc'" in second["output"]
    assert "Green" not in read_by(model.requests[-1])


async def test_numbers_dates_codes_and_members_are_plain(tmp_path: Path) -> None:
    plain = ("1001", "2024-03-31", "INV-10023", "CC100", "North", "-5.20")
    _, model, _ = await answered(write(tmp_path, plain), COMPARE, "Done.")
    (result,) = results_in(model.requests[-1])
    keys = {each["key"]["customer"] for each in result["top_differences"]}
    assert keys == set(plain)


async def test_an_error_of_code_can_be_corrected(tmp_path: Path) -> None:
    path = write(tmp_path, NAMES)
    _, model, _ = await answered(path, COMPARE, code("comparison.amount_gapp.sum()"), "No.")
    error = results_in(model.requests[-1])[-1]["code_error"]
    assert "AttributeError: 'DataFrame' object has no attribute 'amount_gapp'" in error


async def test_the_user_sees_what_code_has_printed(tmp_path: Path) -> None:
    program = "print(comparison.customer.iloc[0])\ncomparison[['customer']].head(1)"
    response, _, _ = await answered(write(tmp_path, NAMES), COMPARE, code(program), "Done.")
    result = response.tool_calls_made[-1].result
    assert json.loads(result)["output"] == "Old Mill Inc\n"
    assert json.loads(result)["tables"][0]["rows"] == [["Old Mill Inc"]]


async def test_a_later_turn_knows_the_names_of_an_earlier_one(tmp_path: Path) -> None:
    path = write(tmp_path, NAMES)

    def first(results: list[dict[str, Any]]) -> str:
        return f"It is {results[0]['top_differences'][0]['key']['customer']}."

    response, _, before = await answered(path, COMPARE, first)
    assert response.content.endswith("It is Old Mill Inc.")

    def again(results: list[dict[str, Any]]) -> str:
        return f"Again: {results[0]['top_differences'][0]['key']['customer']}"

    response, model, _ = await answered(path, again, question="Which one?", before=before)
    assert response.content.endswith("Again: Old Mill Inc")
    assert "Mill" not in read_by(model.requests[0])
