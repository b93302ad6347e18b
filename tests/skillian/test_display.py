from __future__ import annotations

import io

from rich.console import Console

from skillian.display import (
    cells_in_words,
    printable,
    show_call,
    show_differences,
    show_result,
)


def shown(tool: str, **result: object) -> str:
    console = Console(file=io.StringIO(), width=80)
    show_result(console, tool, result)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_what_code_came_to_is_shown() -> None:
    table = {"columns": ["key", "n"], "rows": [["a", None]], "total_rows": 1}
    said = shown(
        "run_python",
        output="printed\x1b[2J\n",
        value="Decimal('1.10')",
        tables=[table],
        artifacts=[{"id": "x", "name": "plot.png", "media_type": "image/png", "bytes": 7}],
        code_error="ZeroDivisionError",
    )
    lines = said.split()
    assert {"printed\ufffd[2J", "Decimal('1.10')", "ZeroDivisionError", "key"} <= set(lines)
    assert "plot.png (7 bytes)" in said


def test_a_call_is_wrapped_at_the_width_of_the_terminal() -> None:
    console = Console(file=io.StringIO(), width=80)
    show_call(console, "compare_sources", {"source_a": "a" * 20, "source_b": "b" * 20, "x": "[y]"})
    file = console.file
    assert isinstance(file, io.StringIO)
    lines = file.getvalue().splitlines()
    assert lines[0].startswith('→ compare_sources {"source_a"')
    assert [len(line) <= 80 for line in lines] == [True, True]


def test_a_failure_is_shown_as_one() -> None:
    assert "not_found: none" in shown("any", error=True, type="not_found", message="none")


def test_what_would_turn_the_order_of_letters_round_is_escaped() -> None:
    for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C):
        assert printable(f"a{chr(code)}b") == f"a\\u{code:04x}b"
    assert printable("\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd") == (
        "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd"
    )


def test_a_comparison_of_rows_is_shown_in_words() -> None:
    assert "1 row differs" in shown(
        "compare_sources", kind="rows", interpretation=["1 row differs"]
    )


def test_cells_that_differ_are_seen_to_differ() -> None:
    for a, b, expected in (
        ("Bob", "Bobby", ("Bob", "Bobby")),
        (None, "NULL", ("NULL", "'NULL'")),
        ("", "(empty)", ("(empty)", "'(empty)'")),
        ("-", None, ("-", "NULL")),
        ("Eve", "eve ", ("Eve", "eve ")),
        ("Ann ", "Ann", ("'Ann '", "'Ann'")),
        ("a\r\nb", "a\nb", (r"'a\r\nb'", r"'a\nb'")),
        ("Ann\u00a0Lee", "Ann Lee", (r"'Ann\xa0Lee'", "'Ann Lee'")),
        ("Zo\u00eb", "Zoe\u0308", (r"'Zo\xeb'", r"'Zoe\u0308'")),
        ("x" * 61, "y" * 61, ("x" * 60 + "…", "y" * 60 + "…")),
        ("x" * 70 + "a", "x" * 70 + "b", ("…" + "x" * 20 + "a", "…" + "x" * 20 + "b")),
        ("x" * 70 + "a" * 70, "x" * 70, ("…" + "x" * 20 + "a" * 40 + "…", "…" + "x" * 20)),
    ):
        assert cells_in_words(a, b) == expected


def test_rows_of_one_side_show_null_as_no_text() -> None:
    rows = [{"key": {"id": key}, "rows_a": 1, "rows_b": 0} for key in (None, "-", "", "NULL")]
    samples = {"differing": [], "only_in_a": rows, "only_in_b": [], "duplicates": []}
    counts = {"differing": 0, "only_in_a": 4, "only_in_b": 0}
    console = Console(file=io.StringIO(), width=80)
    comparison = {"source_a": "a", "source_b": "b", "samples": samples, "rows": counts}
    show_differences(console, {**comparison, "key": {"columns": ["id"]}})
    file = console.file
    assert isinstance(file, io.StringIO)
    assert file.getvalue().split()[-4:] == ["NULL", "-", "(empty)", "'NULL'"]
