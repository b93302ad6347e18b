"""A policy is checked before a run: what it names must exist, and each rule must be one."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tinyagent.provenance.conftest import Office, policy

from tinyagent.core import ConfigurationError
from tinyagent.core.provenance.rules import Between, Domains, Form, OneOf
from tinyagent.provenance import Provenance, Sink


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trusted": ["contact"]}, "'contact', which is not a tool"),
        ({"free": ["nothing"]}, "'nothing', which is not a tool"),
        ({"private": {"passport": ["user"]}}, "'passport', which is not a tool"),
        ({"sinks": {"send": Sink()}}, "'send', which is not a tool"),
        ({"sinks": {"send_mail": Sink(recipient=["user"])}}, "no argument 'recipient'"),
        ({"sinks": {"send_mail": Sink(to=["address_book"])}}, "'address_book', which is not"),
        ({"sinks": {"send_mail": Sink(readers="whom")}}, "readers names no argument"),
    ],
)
def test_a_policy_that_names_what_does_not_exist_is_an_error(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Office().run("Hello", guard=policy(**changes))


@pytest.mark.parametrize("rule", ["users", "", [], [""], [1], 5, None, {"user"}])
def test_what_is_not_a_rule_is_an_error(rule: Any) -> None:
    with pytest.raises(ConfigurationError, match="is not a rule"):
        Provenance(sinks={"send_mail": Sink(to=rule)})


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"trusted": "contacts"}, r"trusted must be list, got str; write a list: \['contacts'\]"),
        ({"free": "read_mail"}, "free must be list, got str"),
        ({"links": "example.com"}, "links must be list or None, got str"),
        ({"private": {"read_mail": "user"}}, "private.read_mail is a text"),
        ({"sinks": {"send_mail": {"to": ["user"]}}}, "is not a Sink; write Sink"),
    ],
)
def test_a_part_of_another_type_is_an_error(part: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Provenance(**part)


def test_a_tool_cannot_be_free_and_a_sink() -> None:
    with pytest.raises(ConfigurationError, match="both free and a sink"):
        Provenance(free=["send_mail"], sinks={"send_mail": Sink()})


def test_a_policy_file_has_the_same_rules() -> None:
    data = {
        "trusted": ["contacts"],
        "private": {"read_mail": ["user"]},
        "free": ["read_mail"],
        "sinks": {
            "send_mail": {
                "to": {"email": ["user", "contacts.email"]},
                "body": "readable",
                "readers": "to",
                "cc": {"one_of": ["boss@example.com"]},
            },
            "echo": "control",
        },
    }
    read = Provenance.from_dict(data).policy
    sink = read.sinks["send_mail"]
    assert read.trusted == {"contacts"}
    assert read.private == {"read_mail": {"user"}}
    assert sink == Sink(
        to=Form("email", ("user", "contacts.email")),
        body="readable",
        cc=OneOf(("boss@example.com",)),
        readers="to",
    )
    assert read.sinks["echo"].control == "trusted"


@pytest.mark.parametrize(
    "data",
    [
        {"sink": {}},
        {"sinks": []},
        {"sinks": {"a": 1}},
        {"sinks": {"a": {"control": "yes"}}},
        {"sinks": {"a": {"b": {"fuzzy": [1]}}}},
        {"sinks": {"a": {"b": {"between": [1]}}}},
        {"sinks": {"a": {"b": {"email": []}}}},
        {"free": "read"},
        {"private": {"a": "user"}},
    ],
)
def test_a_policy_file_with_an_error_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Provenance.from_dict(data)


@given(
    st.dictionaries(
        st.sampled_from(["trusted", "private", "free", "sinks", "x"]),
        st.recursive(
            st.none() | st.text(max_size=5) | st.integers(),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=5), inner, max_size=3)
            ),
            max_leaves=6,
        ),
    )
)
def test_any_other_data_is_a_configuration_error_or_a_policy(data: dict[str, Any]) -> None:
    with contextlib.suppress(ConfigurationError):
        Provenance.from_dict(data)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (OneOf(["r", 1]), ["r", 1], ["R", "rw", 1.0, True]),
        (Between(0, 10), [0, 10, 2.5], [-1, 11, "5", True, float("nan")]),
        (
            Domains(["a.example"]),
            ["https://a.example/x?y=1"],
            [
                "http://a.example/",
                "https://a.example.evil/",
                "https://user@a.example/",
                "https://a.example:444/",
                "https://evil/\\a.example",
                "https://a.example\u3002evil/",
                "//a.example/",
                "https://[a.example/",
            ],
        ),
        (Form("date"), ["2024-05-20", "2024-05-20T10:00:00Z"], ["May 20", "2024-05-20 x", 5]),
        (Form("email"), ["a.b+c@d.example"], ["a@b", "a@b.example, c@d.example", "a@b.example\n"]),
        (Form("url"), ["www.a.example/x", "https://a.example"], ["Alice", "javascript:alert(1)"]),
    ],
)
def test_narrow_checks(check: Any, good: list[Any], bad: list[Any]) -> None:
    assert all(check.accepts(value) for value in good)
    assert not any(check.accepts(value) for value in bad)
