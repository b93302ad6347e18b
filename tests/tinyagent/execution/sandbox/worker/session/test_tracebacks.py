# ruff: noqa: E501 - programs are kept as they are
from __future__ import annotations

import math
import re
from textwrap import dedent

import pytest

from tinyagent.execution.sandbox.worker.session.tracebacks import MAX_MESSAGE, describe, hint

FILENAME = "<step 2>"


def described(code: str, filename: str = FILENAME) -> str:
    """What is said of the error that the code ends with."""
    source = dedent(code).strip()
    try:
        exec(compile(source, filename, "exec"), {"__name__": "__main__"})  # noqa: S102
    except BaseException as error:  # noqa: BLE001
        return describe(error, source, FILENAME)
    pytest.fail("the code ends well")


def test_the_lines_of_the_code_are_shown_and_no_others() -> None:
    text = described(
        """
        def f(x):
            return 1 / x
        import json
        f(0)
        """
    )
    assert text == (
        "Traceback (most recent call last):\n  line 4\n    f(0)\n  line 2, in f\n"
        "    return 1 / x\nZeroDivisionError: division by zero\n"
    )


def test_frames_of_libraries_are_left_out() -> None:
    text = described("import json\njson.loads('{')")
    assert "line 2\n    json.loads('{')\njson.decoder.JSONDecodeError: " in text
    assert "decoder.py" not in text


def test_lines_of_earlier_steps_are_named() -> None:
    names: dict[str, object] = {}
    exec(compile("def f():\n    raise KeyError(3)", "<step 1>", "exec"), names)  # noqa: S102
    with pytest.raises(KeyError) as caught:
        exec(compile("f()", FILENAME, "exec"), names)  # noqa: S102
    text = describe(caught.value, "f()", FILENAME)
    assert text == (
        "Traceback (most recent call last):\n  line 1\n    f()\n  step 1, line 2, in f\nKeyError: 3\n"
    )


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = (1 +", "  line 1\n    x = (1 +\n        ^\nSyntaxError: '(' was never closed\n"),
        ("if 1:\n  a b c", "  line 2\n    a b c\n"),
        ("def f():\nreturn 1", "IndentationError: expected an indented block"),
        ("x = 'é\u200b' ?", "SyntaxError"),
        ("x = 1\x00", "null bytes"),
    ],
)
def test_a_syntax_error_shows_its_line_and_place(code: str, message: str) -> None:
    assert message in described(code)


def test_a_syntax_error_that_was_raised_is_an_ordinary_error() -> None:
    assert described("raise SyntaxError('mine')").endswith("SyntaxError: mine\n")


def test_a_recursion_is_shown_once() -> None:
    text = described("def f(): return f()\nf()")
    assert re.search(r"\[\.\.\. the same \d+ more times \.\.\.\]", text)
    assert len(text) < 600


def test_a_long_way_is_cut() -> None:
    lines = [f"def f{n}(): f{n + 1}()" for n in range(60)]
    text = described("\n".join([*lines, "def f60(): raise OSError('deep')", "f0()"]))
    assert "more lines ..." in text
    assert "in f60" in text
    assert text.count("\n") < 60


def test_causes_and_contexts_are_shown_in_their_order() -> None:
    text = described(
        """
        try:
            try: 1 / 0
            except ZeroDivisionError as e: raise ValueError('v') from e
        except ValueError:
            raise KeyError('k')
        """
    )
    places = [text.index(word) for word in ("ZeroDivisionError", "direct cause", "ValueError: v")]
    places += [text.index("While the above was handled"), text.index("KeyError: 'k'")]
    assert places == sorted(places)
    assert "ZeroDivision" not in described(
        "try: 1 / 0\nexcept Exception: raise OSError(1) from None"
    )


def test_a_long_chain_is_cut() -> None:
    text = described(
        """
        error = None
        for n in range(50):
            new = ValueError(n)
            new.__cause__ = error
            error = new
        raise error
        """
    )
    assert text.startswith("[...]")
    assert text.endswith("ValueError: 49\n")


def test_parts_of_a_group_and_notes_are_shown() -> None:
    text = described(
        """
        error = ExceptionGroup('g', [ValueError('v'), ExceptionGroup('h', [TypeError('t')])])
        error.add_note('a note')
        raise error
        """
    )
    assert "ExceptionGroup: g (2 sub-exceptions)\na note\n" in text
    assert (
        "  | ValueError: v\n  | ExceptionGroup: h (1 sub-exception)\n  |   | TypeError: t\n" in text
    )


def test_a_long_message_is_cut() -> None:
    assert len(described("raise ValueError('x' * 100_000)")) < MAX_MESSAGE + 500


def test_an_error_that_cannot_be_shown_is_named_by_its_type() -> None:
    text = described(
        """
        class Bad(Exception):
            def __str__(self): raise RuntimeError
        raise Bad
        """
    )
    assert "Bad: <exception str() failed>" in text


@pytest.mark.parametrize(
    "code",
    [
        "class E(NameError): name = property(lambda self: print('asked'))\nraise E",
        "class E(ImportError): name_from = property(lambda self: print('asked'))\nraise E",
        "class A:\n    def __dir__(self): print('asked')\nA().apend",
        "class E(NameError): name = property(lambda self: print('asked'))\nraise OSError from E()",
    ],
    ids=["name", "name_from", "dir", "cause"],
)
def test_what_the_code_wrote_is_not_asked_for_names_that_may_have_been_meant(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Did you mean" not in described(code)
    assert capsys.readouterr().out == ""


def test_an_error_without_lines_of_the_code_is_its_message() -> None:
    assert describe(ImportError("no"), "", FILENAME) == "ImportError: no\n"


def _error(code: str, **names: object) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever the code raises
        eval(code, dict(names))  # noqa: S307 - the code stands here
    return caught.value


def test_a_name_that_is_nearly_there() -> None:
    assert hint(_error("totl"), ["total", "other"]) == "Did you mean total?\n"


def test_a_built_in_name() -> None:
    assert "sorted" in hint(_error("sort([2, 1])"), [])


def test_an_attribute_of_an_object_and_of_a_module() -> None:
    assert "append" in hint(_error("[].apend(1)"), [])
    assert "floor" in hint(_error("math.flor(1)", math=math), [])


def test_nothing_is_near() -> None:
    assert hint(_error("qqqqzzzz"), ["total"]) == ""


def test_other_errors_have_no_hint() -> None:
    assert hint(_error("1 / 0"), ["total"]) == ""
