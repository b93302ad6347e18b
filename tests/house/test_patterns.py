"""The tool that finds patterns that backtrack: what it must find, and what it must let pass.

`make check` runs it on all of `src`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.patterns import growth, uses

_HEADER = rb"([A-Za-z0-9-]{1,200}):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*"


@pytest.mark.parametrize(
    ("bad", "good", "method"),
    [
        (r"(\w+)+!", r"(\w+)!", "match"),
        (r"(a*)*b", r"a*+b", "match"),
        (r"(a|a)*b", r"(a|c)*b", "fullmatch"),
        (r"(?:a{1,30}){1,30}b", r"(?:a{1,30},){1,30}b", "match"),
        (r"([a-z]+\.)*[a-z.]+!", r"([a-z]+\.)*[a-z]+!", "fullmatch"),
        (r"\s*\n\s*x", r"[ ]*\n\s*x", "match"),
        (r".*,.*,x", r"[^,]*,[^,]*,x", "match"),
        (r"a.*b", r"a.*b", "search|match"),
        (r"[ \t]*+x", r"^[ \t]*+x", "search"),
        (r"(?m)^\s*import", r"(?m)^[ \t]*import", "search"),
        (r"\s+$", r"(?<!\s)\s+$", "sub"),
        (r"<tool>(.*?)</tool>", r"(?s)<tool>(.*?)(?:</tool>|\Z)", "search"),
        (r"(?=.*b)a", r"(?=.b)a", "findall"),
        (r"'(?:[^'\\]|\\.)*'", r"'(?:[^'\\]++|\\.)*+'?", "finditer"),
        (r"[\w.-]+@", r"[\w.-]{1,64}@", "search"),
        (_HEADER, rb"([A-Za-z0-9-]{1,200}):[ \t]*+([^\x00-\x08\x0a-\x1f\x7f]*+)", "fullmatch"),
        (r"((?i:ab)|AB)*!", r"(ab|AB)*!", "match"),
    ],
)
def test_work_that_grows_too_fast_is_found(bad: Any, good: Any, method: str) -> None:
    first, _, second = method.partition("|")
    # It is measured: a machine that pauses in the middle of it may hide the growth.
    assert any(growth(re.compile(bad), [first]) for _ in range(3))
    assert growth(re.compile(good), [second or first]) == ""


def test_patterns_are_found_wherever_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "patterned.py").write_text(
        "import re\n"
        "_PART = '[a-z]'\n"
        "_WHOLE = re.compile(f'{_PART}+')\n"
        "_SEVERAL = tuple(re.compile(part) for part in ('a', 'b'))\n"
        "def _made():\n    return re.compile(re.escape('c'))\n"
        "_MADE = {'c': _made()}\n"
        "def use(text, part):\n"
        "    return _WHOLE.fullmatch(text), re.sub('d', '', text), re.search(part, text)\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    found = [(use.pattern and use.pattern.pattern, set(use.methods)) for use in uses(tmp_path)]
    assert ("[a-z]+", {"fullmatch"}) in found
    assert ("d", {"sub"}) in found
    assert (None, set()) in found  # to be listed
    assert {"a", "b", "c"} <= {pattern for pattern, _ in found}
