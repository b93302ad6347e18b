"""The choices about two files become the fields of a comparison."""

import pytest

from skillian.data.declare.saved import SavedComparison
from skillian.data.results.rows import Proposal
from skillian.web.match.matching import IGNORED, Matching, choices


def matched(*by_name: str, **asked: object) -> Matching:
    fields = {"name": "comparison", "a": "upload:a", "b": "upload:b", **asked}
    return Matching(SavedComparison.model_validate(fields), by_name)


def chosen(matching: Matching) -> dict[str, object]:
    question = matching.question({})
    assert (question.a, question.b) == ("upload:a", "upload:b")
    return question.model_dump(exclude_defaults=True, exclude={"name", "a", "b"})


def test_nothing_chosen_is_what_is_found_by_the_engine() -> None:
    assert chosen(matched("id")) == {}


def test_proposed_pairs_are_mapped_until_the_reader_parts_them() -> None:
    matching = matched("id")
    matching.propose([Proposal("nr", "no", "alike"), Proposal("x", "y", "alike")])
    assert chosen(matching) == {"map": {"nr": "no", "x": "y"}}
    matching.pair("x", "")
    assert chosen(matching) == {"map": {"nr": "no"}}
    assert matching.proposed == {"nr": "alike"}


def test_a_partner_leaves_its_former_column() -> None:
    matching = matched("name")
    matching.propose([Proposal("kunde", "customer", "alike")])
    matching.pair("name", "customer")
    assert chosen(matching) == {"map": {"name": "customer"}}


def test_columns_of_one_name_that_are_parted_are_not_compared() -> None:
    matching = matched("id", "note")
    matching.set_rule("note", "trim")
    matching.pair("note", "")
    assert chosen(matching) == {"ignore": ("note",)}
    matching.set_rule("note", "")
    matching.pair("id", "note")
    assert chosen(matching) == {"map": {"id": "note"}}


def test_the_key_is_switched_column_by_column() -> None:
    matching = matched("id", "line")
    matching.switch_key(("id",), "line", is_key=True)
    assert chosen(matching) == {"key": ("id", "line")}
    matching.switch_key(("id", "line"), "id", is_key=False)
    assert chosen(matching) == {"key": ("line",)}
    matching.multiset = True
    assert chosen(matching) == {"multiset": True}


@pytest.mark.parametrize(
    ("choice", "value", "rule"),
    [
        ("trim", "", {"trim": True}),
        ("trim ignore_case", "", {"trim": True, "ignore_case": True}),
        ("precision minute", "", {"precision": "minute"}),
        ("zone_b", "Europe/Berlin", {"zone_b": "Europe/Berlin"}),
        ("round", "2", {"round": 2}),
    ],
)
def test_a_choice_is_a_rule_of_its_column(choice: str, value: str, rule: dict[str, object]) -> None:
    matching = matched("x")
    matching.set_rule("x", choice, value)
    assert chosen(matching) == {"rules": {"columns": {"x": rule}}}
    matching.set_rule("x", "")
    assert chosen(matching) == {}
    matching.set_rule("x", IGNORED)
    assert chosen(matching) == {"ignore": ("x",)}


def test_percent_is_a_share() -> None:
    matching = matched("x")
    matching.set_rule("x", "relative", "2.5")
    assert str(matching.question({}).rules.columns["x"].relative) == "0.025"


@pytest.mark.parametrize(
    ("choice", "value"),
    [
        ("absolute", "much"),
        ("absolute", "-1"),
        ("absolute", ""),
        ("absolute", "0,005"),
        ("absolute", "9" * 20),
        ("absolute", "NaN"),
        ("relative", ""),
        ("round", "2.5"),
        ("zone_a", "Mars/Olympus"),
    ],
)
def test_a_value_that_is_not_valid_replaces_an_earlier_one(choice: str, value: str) -> None:
    matching = matched("x")
    matching.set_rule("x", "absolute", "0.01")
    matching.set_rule("x", choice, value)
    assert ([*matching.faults], matching.rule("x"), chosen(matching)) == (
        ["x"],
        (choice, value),
        {},
    )
    matching.set_rule("x", "absolute", "0.0099999")
    assert matching.faults == {}
    assert str(matching.question({}).rules.columns["x"].absolute) == "0.0099999"


def test_each_choice_of_each_type_is_a_rule_for_it() -> None:
    values = {"absolute": "1", "relative": "1", "round": "1", "seconds": "1"}
    for family in ("text", "number", "float", "timestamp", "date", "boolean"):
        for choice in choices(family):
            matching = matched("x")
            matching.set_rule("x", choice, values.get(choice, "UTC"))
            for rule in matching.question({}).rules.columns.values():
                assert rule.within(family) == rule


def test_what_was_asked_before_is_kept_and_can_be_changed() -> None:
    asked = {
        "key": ("id",),
        "map": {"kunde": "customer"},
        "ignore": ("note",),
        "filters": {"country": "DE"},
        "rules": {
            "all": {"trim": True},
            "columns": {"x": {"relative": "0.025"}, "y": {"factor": "100", "round": 2}},
        },
    }
    matching = matched("id", "x", "y", **asked)
    assert matching.question({}) == matched(**asked).question({})
    assert matching.rule("x") == ("relative", "2.500")
    assert list(choices("number", matching.rule("y")[0]))[:2] == ["", "asked"]
    kept = matching.question({}).rules
    assert kept.columns["y"].factor == 100
    assert kept.all.trim
    matching.set_rule("y", "")
    matching.pair("note", "note")
    assert matching.question({}).ignore == ()
    assert set(matching.question({}).rules.columns) == {"x"}
