"""Figures: what the code has saved does not come back a second time."""

from __future__ import annotations

import pytest
from tests.support.execution import isolated

PLOT = "import matplotlib.pyplot as plt\nfigure = plt.figure()\nplt.plot([1, 2])\n"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("plt.savefig('a.png')", ["a.png"]),
        ("figure.savefig('a.png', dpi=50, bbox_inches='tight')", ["a.png"]),
        ("figure.savefig('a.svg')", ["a.svg"]),
        ("figure.savefig('a.pdf')", ["a.pdf"]),
        ("plt.show()", ["step-1-figure-1.png"]),
        ("figure.canvas.draw()", ["step-1-figure-1.png"]),
        ("import io\nplt.savefig(io.BytesIO())", ["step-1-figure-1.png"]),
        ("plt.savefig('a.png')\nplt.figure()\nplt.plot([3])", ["a.png", "step-1-figure-2.png"]),
        ("plt.savefig('a.png')\nplt.close()\nplt.plot([3])", ["a.png", "step-1-figure-1.png"]),
    ],
)
@pytest.mark.parametrize("imports", [(), ("*",)])
@pytest.mark.filterwarnings("ignore")
async def test_a_figure_that_the_code_saves_comes_back_once(
    code: str, names: list[str], imports: tuple[str, ...]
) -> None:
    async with isolated(imports=imports) as executor:
        result = await executor.run(PLOT + code)
    assert result.error is None
    assert sorted(artifact.name for artifact in result.artifacts) == names


async def test_so_does_one_of_pandas() -> None:
    async with isolated() as executor:
        result = await executor.run(
            "import pandas as pd\nax = pd.Series([1, 2]).plot()\nax.figure.savefig('a.png')"
        )
    assert [artifact.name for artifact in result.artifacts] == ["a.png"]
