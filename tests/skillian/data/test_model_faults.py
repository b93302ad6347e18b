from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel, ConfigDict

from skillian.data.model_faults import shown, validated
from skillian.data.yaml_lines import Document, read_yaml


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    limit: Decimal


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    secrets: dict[str, int] = {}
    inner: dict[str, Inner]


def faults(text: str) -> tuple[Outer | None, list[str]]:
    document: Document = read_yaml(text, "f.yaml")
    found = validated(Outer, document, secret="secrets")  # noqa: S106 - the name of a key
    return found, [str(fault) for fault in document.faults]


def test_what_fits_is_the_model() -> None:
    found, told = faults("inner: {x: {limit: 0.10}}")
    assert told == []
    assert found is not None
    assert found.inner["x"].limit == Decimal("0.10")


def test_unknown_and_missing_keys_are_told_with_the_mend() -> None:
    found, told = faults("inner:\n  x:\n    limt: 1\n")
    assert found is None
    assert sorted(told) == [
        "f.yaml:2: `limit` is missing in `inner.x`; add `limit:`",
        "f.yaml:3: unknown key `limt`; did you mean `limit`? known: limit",
    ]


def test_what_stands_there_is_repeated_but_no_secret() -> None:
    _, told = faults("secrets: {a: hunter2}\ninner:\n  x: {limit: much}\n")
    assert "got 'much'" in told[1]
    assert "hunter2" not in "".join(told)


def test_a_line_with_a_fault_of_yaml_has_no_second_one() -> None:
    _, told = faults("inner: {x: {limit: yes}}")
    assert len(told) == 1
    assert "boolean" in told[0]


def test_of_a_url_only_its_scheme_is_shown() -> None:
    assert shown("postgresql://me:hunter2@host/db") == "postgresql://…"
    assert shown("plain text") == "plain text"
