"""README.md begins as docs/comparing.md does, and the saved file of docs/skillian.md is one."""

from __future__ import annotations

import yaml
from tests.support.pages import ROOT, blocks_of

from skillian.data.declare.saved import SavedFile

README = ROOT / "README.md"
DOCS = ROOT / "docs"


def test_the_readme_has_the_first_example() -> None:
    first = next(each for each in blocks_of(DOCS / "comparing.md") if each.kind == "console")
    assert next(each for each in blocks_of(README) if each.kind == "console").text == first.text
    assert README.read_text(encoding="utf-8").count("\n") <= 150


def test_the_saved_file_on_the_page_is_one() -> None:
    [block] = [
        each
        for each in blocks_of(DOCS / "skillian.md")
        if each.marks.get("file") == "specs/close.yaml"
    ]
    [comparison] = SavedFile.model_validate(yaml.safe_load(block.text)).compare
    assert (comparison.name, comparison.fail_on) == ("close", "major")
