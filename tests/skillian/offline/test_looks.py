"""Looks into a comparison with other clauses: the call has the effects of all, or asks back."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.skillian.offline.test_composition import CONDITIONS, PLANNER, PLURALS, VALUES

from skillian.offline.calls import PlannedCall
from skillian.offline.earlier import COMPARE, Earlier, with_result
from tinyagent import ToolCall

NAMES = sorted(VALUES)
LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "why?": ("explain_difference", {}),
    "explain the difference": ("explain_difference", {}),
    "why do switch and rating differ": ("explain_difference", {}),
    "show the rows behind the largest difference": ("drill_down", {"place": 0}),
    "show the rows behind the second largest difference": ("drill_down", {"place": 1}),
    "drill down into {d} {a}": ("drill_down", {"place": None}),
    "which ones match?": ("get_comparison_rows", {"status": "match"}),
    "which {ds} match": ("get_comparison_rows", {"status": "match"}),
    "which are missing in rating": ("get_comparison_rows", {"status": "missing_in_b"}),
    "what is only in rating": ("get_comparison_rows", {"status": "missing_in_a"}),
    "show the major differences": ("get_comparison_rows", {"status": "major_diff"}),
    "list the 3 largest differences": ("get_comparison_rows", {"limit": 3}),
    "show the largest difference": ("get_comparison_rows", {"limit": 1}),
}
DROPPED = (
    *("for calls", "not rating", "with archive", "without tolerance"),
    *("the other way round", "smallest first", "tolerance of 5 %", "before June 2024"),
    *("for all countries", "drop the country", "sorted by minutes"),
)
"""What no look can do: a call must be another comparison, if it is one at all."""


@st.composite
def asked(draw: st.DrawFn) -> tuple[str, Earlier, str, dict[str, Any], bool]:
    """A question, what was compared, and the look with its arguments, unless it loses a part."""
    groups = draw(st.permutations(NAMES))[: draw(st.integers(1, 2))]
    form = draw(st.sampled_from(sorted(LOOKS)))
    groups = groups[:1] if "{ds}" in form else groups  # "which countries match?"
    keys = [{name: VALUES[name][at] for name in groups} for at in (2, 0, 1)]
    arguments = {
        "source_a": "switch",
        "source_b": "rating",
        "measures": ["minutes"],
        "align_on": groups,
    }
    result = {"cache_key": "k", "top_differences": [{"key": key} for key in keys]}
    call = ToolCall("c", COMPARE, arguments)
    earlier = with_result(Earlier(), call, json.dumps(result), result)
    name, value = groups[0], keys[0][groups[0]]
    look = form.format(d=name, ds=PLURALS[name], a=value)
    tool, wanted = LOOKS[form][0], dict(LOOKS[form][1])
    if tool == "drill_down":
        wanted = {"key": keys[wanted["place"] or 0]}
    is_lost = False
    clauses = [look]
    for _ in range(draw(st.integers(0, 1))):
        other = draw(st.sampled_from(NAMES))
        is_of_key = tool == "drill_down" and other in groups
        kind = draw(st.sampled_from(["group", "dropped"] + ["condition"] * (not is_of_key)))
        a, b = draw(st.permutations(VALUES[other]))[:2]
        texts = {
            "group": f"by {other}",
            "condition": draw(st.sampled_from(sorted(CONDITIONS))).format(
                a=a, b=b, d=other, ds=PLURALS[other]
            ),
            "dropped": draw(st.sampled_from(DROPPED)),
        }
        is_kept = kind == "group" and (tool == "explain_difference" or groups == [other])
        wanted |= {"dimensions": [other]} if tool == "explain_difference" and is_kept else {}
        is_lost |= not is_kept
        clauses.insert(draw(st.integers(0, 1)), texts[kind])
    mark = draw(st.sampled_from([" ", ", ", ", and "]))
    return mark.join(clauses), earlier, tool, wanted, is_lost


@settings(deadline=None, max_examples=200)
@given(asked())
def test_no_clause_is_lost(asked: tuple[str, Earlier, str, dict[str, Any], bool]) -> None:
    question, earlier, tool, wanted, is_lost = asked
    planned = PLANNER.plan(question, earlier)
    if isinstance(planned, PlannedCall) and planned.tool != COMPARE:
        assert planned.tool == tool, question
        named = {name: each for name, each in planned.arguments.items() if name != "cache_key"}
        assert not is_lost, (question, named)
        assert named == wanted, question


def test_each_look_is_answered() -> None:
    arguments = {"source_a": "switch", "source_b": "rating", "measures": ["minutes"]}
    result = {"cache_key": "k", "top_differences": [{"key": {"country": c}} for c in ("NO", "US")]}
    earlier = with_result(Earlier(), ToolCall("c", COMPARE, arguments), json.dumps(result), result)
    for form, (tool, _) in LOOKS.items():
        planned = PLANNER.plan(form.format(d="country", ds="countries", a="NO"), earlier)
        assert isinstance(planned, PlannedCall), form
        assert planned.tool == tool, form
