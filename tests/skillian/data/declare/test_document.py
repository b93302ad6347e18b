from __future__ import annotations

import pytest

from skillian.data.declare.document import read_yaml, shown


def test_scalars_stay_text_and_every_part_has_its_line() -> None:
    document = read_yaml("a: 0.10\nb:\n  - 001\n  - ~\nc: {d: 'yes'}\n", "x.yaml")
    assert document.data == {"a": "0.10", "b": ["001", None], "c": {"d": "yes"}}
    assert document.faults == []
    assert document.lines["b", 1] == 4
    assert document.lines["c", "d"] == 5
    assert document.line_of(("b", 0, "deeper", "still")) == 3


@pytest.mark.parametrize("word", ["on", "yes", "No", "off", "true"])
def test_a_name_that_yaml_takes_for_a_boolean_is_a_fault(word: str) -> None:
    document = read_yaml(f"x: 1\n{word}: 2\ny: [{word}]\n", "x.yaml")
    assert [fault.line for fault in document.faults] == [2, 3]
    assert f'write "{word}" in quotes' in str(document.faults[0])


def test_aliases_repeat_what_they_stand_for() -> None:
    text = "a: &x {k: 1}\nb: *x\nc: {<<: *x, l: 2}\nd: {<<: [*x, {k: 3, m: 4}], l: *x}\n"
    document = read_yaml(text, "f.yaml")
    assert document.faults == []
    assert document.data == {
        "a": {"k": "1"},
        "b": {"k": "1"},
        "c": {"k": "1", "l": "2"},
        "d": {"k": "1", "m": "4", "l": {"k": "1"}},
    }


def levels(first: str, *parts: str) -> str:
    """30 lines, each of which repeats the one before."""
    lines = [f"a0: &a0 [{first}]"]
    lines += [f"a{n}: &a{n} [{', '.join(parts).format(n - 1)}]" for n in range(1, 30)]
    return "\n".join(lines)


FAULTS = (
    ("a: 1\nb: 2\na: 3\n", 3, "the key `a` is repeated from line 1"),
    ("a: &x [1]\nb: {<<: *x}\n", 2, "`<<` takes an alias of a mapping"),
    (levels("x, x, x, x, x, x, x, x, x", *["*a{0}"] * 9), 6, "more than 100000 values"),
    (levels("x", "*a{0}"), 20, "is nested more than 20 levels"),
    ("a: &a\n  b: *a\n", 2, "the alias `a` stands for itself"),
    ("a: 1\nb: *c\n", 2, "the alias `c` is not defined above this line"),
    ("[" * 100_000, 1, "more than 20"),  # without recursion
    ("a: 1\nb: [1\nc: 2\n", 3, "this is not YAML"),
    # Tags never run.
    ("a: !!python/object/apply:os.system [ls]\n", 1, "is not supported"),
    ("a: !x 1\n", 1, "is not supported"),
    ("? [1, 2]\n: x\n", 1, "a key must be a name"),
    ("~: y\n", 1, "a key must be a name"),
)


@pytest.mark.parametrize(("text", "line", "said"), FAULTS, ids=[said for *_, said in FAULTS])
def test_a_fault_has_its_line(text: str, line: int, said: str) -> None:
    [fault] = read_yaml(text, "x.yaml").faults
    assert (fault.line, said in fault.message) == (line, True), fault


def test_of_a_url_only_its_scheme_is_shown() -> None:
    assert shown("postgresql://me:hunter2@host/db") == "postgresql://…"
    assert shown("plain text") == "plain text"
