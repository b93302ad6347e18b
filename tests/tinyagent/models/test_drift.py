from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tinyagent import Message, ToolCall
from tinyagent.core import ModelRequest, RequestFormat
from tinyagent.models.drift import difference, digest, nearest


def _conversation(*ids: str, task: str = "Add 1 and 2.", given: str = "3") -> ModelRequest:
    """A task, a call for each id, and the results."""
    calls = tuple(ToolCall(call_id, "add", {"a": 1}) for call_id in ids)
    results = [Message("tool", given, tool_call_id=call_id) for call_id in ids]
    messages = (Message("user", task), Message("assistant", "", calls), *results)
    return ModelRequest(messages, RequestFormat(({"name": "add"},)))


@given(st.lists(st.text(), min_size=3, max_size=3, unique=True))
def test_call_ids_count_by_their_place_only(ids: list[str]) -> None:
    assert digest(_conversation(*ids)) == digest(_conversation("a", "b", "c"))


def test_which_call_a_result_belongs_to_does_count() -> None:
    request = _conversation("a", "b")
    one, two, first, second = request.messages
    crossed = replace(request, messages=(one, two, second, first))
    assert digest(crossed) != digest(request)
    assert "result of call" in difference(request, crossed)


def test_an_id_that_comes_again_later_is_another_call() -> None:
    def twice(first: str, second: str) -> ModelRequest:
        return ModelRequest((*_conversation(first).messages, *_conversation(second).messages))

    assert digest(twice("0", "0")) == digest(twice("x", "y"))


@given(st.text(), st.text())
def test_another_text_is_another_request_and_its_difference_is_shown(one: str, two: str) -> None:
    before, after = _conversation("a", task=one), _conversation("a", task=two)
    assert (digest(before) == digest(after)) == (one == two)
    assert (difference(before, after) == "") == (one == two)


def test_every_part_of_a_request_counts() -> None:
    request = _conversation("a")
    others = [
        replace(request, temperature=0.0),
        replace(request, max_tokens=5),
        replace(request, format=RequestFormat()),
        replace(request, format=replace(request.format, response_format={"type": "json"})),
        replace(request, format=replace(request.format, tool_choice="none")),
        replace(request, format=replace(request.format, instructions="Be brief.")),
        replace(request, messages=request.messages[:-1]),
    ]
    assert len({digest(each) for each in [request, *others]}) == 8
    assert [difference(request, other).splitlines()[3:] for other in others[:2]] == [
        ['   {"name": "add"}', "+[temperature]", "+  0.0"],
        ['   {"name": "add"}', "+[max_tokens]", "+  5"],
    ]


def test_the_difference_is_a_diff() -> None:
    assert difference(_conversation("a"), _conversation("b", task="Add 1 and 3.")).splitlines() == [
        "--- recorded",
        "+++ requested now",
        "@@",
        " [user]",
        "-  Add 1 and 2.",
        "+  Add 1 and 3.",
        " [assistant]",
    ]


def test_a_faulty_call_shows_its_fault() -> None:
    call = ToolCall("x", "add", {"_unreadable": "{"}, "cut off")
    request = ModelRequest((Message("assistant", "", (call,)),))
    shown = difference(ModelRequest(()), request)
    assert '+  call 1: add {"_unreadable": "{"} (faulty: cut off)' in shown


def test_the_difference_stays_short_and_shows_the_place_in_a_long_line() -> None:
    text = "one two three " * 100_000
    place = text.index("two", 700_000)
    changed = f"{text[:place]}TWO{text[place + 3 :]}"
    before, after = _conversation("a", given=text), _conversation("a", given=changed)
    lines = difference(before, after).split("\n")
    assert len(lines) == 7
    assert max(len(line) for line in lines) < 110
    assert [(line[:2], "TWO" in line) for line in lines[4:6]] == [("-…", False), ("+…", True)]


def test_each_side_of_a_long_change_is_shown() -> None:
    before = _conversation("a", given="\n".join("abcdefgh" * 500))
    after = _conversation("a", given="\n".join("12345678" * 500))
    assert difference(before, after).splitlines()[4:] == [
        *(f"-  {letter}" for letter in "abcdef"),
        "-  … (3994 more lines)",
        *(f"+  {letter}" for letter in "123456"),
        "+  … (3994 more lines)",
        " [tool]",
    ]


def test_many_changes_are_cut_off() -> None:
    def numbered(sign: str) -> str:
        return "\n".join(f"{number}\n{number}{sign}\n" for number in range(50))

    changes = difference(
        _conversation("a", given=numbered("")), _conversation("a", given=numbered("x"))
    )
    assert len(changes.splitlines()) == 27
    assert changes.endswith("more lines)")


def test_the_nearest_request_is_the_one_that_was_meant() -> None:
    first, other = ModelRequest(_conversation("a").messages[:1]), _conversation("a", task="Sing.")
    recorded = [other, first, _conversation("a"), _conversation("a", "b")]
    assert nearest(_conversation("a", given="4"), recorded) == 2
    assert nearest(_conversation("a", task="Add 1 and 3."), recorded[1:]) == 1
    assert nearest(ModelRequest((Message("user", "Add 2 and 2."),)), recorded) == 1
    assert nearest(ModelRequest(()), [other, other]) == 0
