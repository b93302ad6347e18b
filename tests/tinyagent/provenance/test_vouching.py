"""What is verbatim in the user's request vouches for a value, and nothing that is near it."""

from __future__ import annotations

import base64
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent.provenance.records import Record
from tinyagent.provenance.vouching import is_said_in, leaves

REQUEST = "Write to Anna (anna@example.com) about www.shop.example/offers at 10:00 on 2024-05-20."


@pytest.mark.parametrize(
    "value",
    [
        "anna@example.com",
        "Anna",
        "Write to Anna",
        "www.shop.example/offers",
        "2024-05-20",
    ],
)
def test_the_words_of_the_user_vouch(value: str) -> None:
    assert is_said_in(value, REQUEST)


ENCODED = {
    "base64": base64.b64encode(b"anna@example.com").decode(),
    "hex": b"anna@example.com".hex(),
    "reversed": "anna@example.com"[::-1],
    "zero width": "anna\u200b@example.com",
    "homoglyph": "\u0430nna@example.com",
    "full width": "\uff41nna@example.com",
    "percent": "anna%40example.com",
    "plus address": "anna+x@example.com",
}


@pytest.mark.parametrize("way", ENCODED)
def test_other_spellings_do_not(way: str) -> None:
    assert not is_said_in(ENCODED[way], REQUEST)


@pytest.mark.parametrize(
    "value",
    [
        "example.com",  # a part of an address
        "nna@example.com",
        "anna@example.co",
        "www.shop.example",  # a part of a URL
        "shop.example/offers",
        "10",  # a bare number
        "2024",
        "at",  # too short
        "2024-05-20 10:30",
        "2024-05-21 10:00",
        "",
        "ANNA@example.com",
        " anna@example.com ",
        "write to Anna",
        "Write  to Anna",
        "Write to\nAnna",
        "2024-05-20 10:00",
    ],
)
def test_parts_numbers_and_short_values_do_not(value: str) -> None:
    assert not is_said_in(value, REQUEST)


EXACT = {
    "case that folds to more": ("strasse", "Go to the straße"),
    "an old letter": ("Passau", "Fly to Pa\u017fsau"),
    "a sign that folds to a letter": ("Kelvin", "Write to \u212aelvin"),
    "another normal form": (unicodedata.normalize("NFD", "Café"), "Book the Café"),
    "a letter under the accent": ("Cafe", unicodedata.normalize("NFD", "Book the Café")),
    "case of a path": ("https://a.example/X", "Read https://a.example/x"),
    "end of an address": ("neil@example.com", "Write to mary.o'neil@example.com"),
    "beginning of an address": ("mary.o", "Write to mary.o'neil@example.com"),
    "address before an exclamation mark": ("a!b@example.com"[2:], "Write to a!b@example.com"),
} | {
    f"URL before {sign}": ("https://a.example/pay", f"Read https://a.example/pay{sign}id=7")
    for sign in ",(!;*&#"
}  # fmt: skip


@pytest.mark.parametrize("way", EXACT)
def test_every_character_counts(way: str) -> None:
    value, text = EXACT[way]
    assert not is_said_in(value, text)
    assert is_said_in(value, text + f' and "{value}".'), "as words of their own"


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        ("email", "anna@example.com", "Write to anna@Example.COM!"),
        ("url", "https://a.example/X", "Read HTTPS://A.example/X."),
        ("date", "2024-05-20T10:00:00", REQUEST),
        ("date", "2024-05-20 10:00", REQUEST),
        ("date", "2024-05-20 10:00", "on 2024-05-20T10:00:00"),
    ],
)
def test_a_form_says_what_may_be_spelled_otherwise(form: str, value: str, text: str) -> None:
    assert is_said_in(value, text, form)
    assert not is_said_in(value, text)


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        ("email", "Anna@example.com", "Write to anna@example.com"),
        ("url", "https://a.example/x", "Read https://a.example/X"),
        ("date", "2024-05-20 10:30", REQUEST),
        ("date", "2024-05-21 10:00", REQUEST),
    ],
)
def test_what_means_something_else_is_not_vouched_for(form: str, value: str, text: str) -> None:
    assert not is_said_in(value, text, form)


@given(st.text(min_size=1, max_size=40), st.text(max_size=60))
def test_what_is_not_in_the_text_is_never_vouched_for(value: str, text: str) -> None:
    if is_said_in(value, text):
        assert value in text


def test_a_field_of_a_result_vouches_for_whole_values_only() -> None:
    record = Record("contacts", [{"email": "anna@example.com", "note": "not thief@evil.example"}])
    assert record.holds("anna@example.com", "email")
    assert record.holds("anna@example.com", None)
    assert not record.holds("anna@example.com", "note")
    assert not record.holds("thief@evil.example", None)
    assert record.says("thief@evil.example", "note")
    assert not record.says("thief@evil.example", "email")


def test_numbers_are_vouched_for_by_a_named_field_only() -> None:
    record = Record("payments", [{"id": 7, "amount": 100.0}])
    assert record.holds(7, "id")
    assert not record.holds(7, "amount")
    assert not record.holds(7, None)
    assert not record.holds(value=True, name="id")


def test_names_of_keys_are_no_values_of_a_result() -> None:
    assert not Record("page", {"thief@evil.example": 1}).holds("thief@evil.example", None)


def test_each_value_of_an_argument_is_found_keys_included() -> None:
    value = {"a": ["x", {"b": ("y", None)}], "c": True}
    found = [leaf.value for leaf in leaves(value, "argument")]
    assert found == ["a", "x", "b", "y", None, "c", True]


def test_an_argument_that_is_nested_too_deeply_is_refused() -> None:
    value: object = "x"
    for _ in range(60):
        value = [value]
    with pytest.raises(ValueError, match="nested"):
        list(leaves(value, "argument"))
