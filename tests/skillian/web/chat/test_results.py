from __future__ import annotations

from typing import Any

import pytest
from nicegui import ui
from tests.skillian.web.views import sees, viewed, written

from skillian.api.problems import ProblemError
from skillian.api.service import Service
from skillian.bundled.code_results import ArtifactCache
from skillian.skills.registry import SkillRegistry
from skillian.skills.skill import Skill, SkillTool
from skillian.web.chat.results import plot_response, show_plots, show_result
from tinyagent import Artifact

PICTURE = Artifact("plot.png", b"png", "image/png")
TABLE = Artifact("rows.csv", b"a,b", "text/csv")


class Holding(ArtifactCache):
    """Files as `run_python` keeps them."""

    def find_artifact(self, name: str) -> Artifact | None:
        return self.find(name)

    async def aclose(self) -> None:
        """Nothing to close."""


def keeping(service: Service, *artifacts: Artifact) -> list[dict[str, Any]]:
    """Make the service keep these files; returns what a result says about them."""
    files = Holding()
    tool = SkillTool("t", "t", object, object, state=files)  # type: ignore[arg-type]
    service.skills = SkillRegistry([Skill("s", "s", "s", (tool,))])
    return files.add(artifacts)


async def test_a_result_shows_all_of_its_parts(service: Service) -> None:
    result = {
        "output": "hello <b>",
        "value": "[1, 2]",
        "code_error": "ValueError: <i>",
        "tables": [{"columns": ["<k>"], "rows": [[1]], "total_rows": 9}],
        "artifacts": keeping(service, PICTURE, TABLE),
    }

    async def view() -> None:
        show_result(service, "run_python", result)
        show_plots(service, result)

    async with viewed(view) as user:
        for words in (
            "Output",
            "Value",
            "Error",
            "Download plot.png",
            "Download rows.csv",
        ):
            await sees(user, words)
        assert "Download plot.png (3 bytes)" in written(user)
        shown = "".join(str(one.content) for one in user.find(ui.html).elements)
        for escaped in ("hello &lt;b&gt;", "ValueError: &lt;i&gt;", "1 of 9 rows", "&lt;k&gt;"):
            assert escaped in shown
        pictures = [one for one in user.find(ui.element).elements if one.tag == "img"]
        [plot] = [one["id"] for one in result["artifacts"] if one["name"] == "plot.png"]  # type: ignore[index]
        assert [one.props["src"] for one in pictures] == [f"/ui/plots/{plot}"]
        assert pictures[0].props["alt"] == "Plot plot.png, drawn by the code above"


async def test_a_file_that_is_no_longer_available_is_reported(service: Service) -> None:
    files = keeping(service, PICTURE, TABLE)
    keeping(service)

    async def view() -> None:
        show_result(service, "run_python", {"artifacts": files})
        show_plots(service, {"artifacts": files})

    async with viewed(view) as user:
        await sees(user, "plot.png is no longer available. Run the code again.")
        await sees(user, "rows.csv is no longer available. Run the code again.")


async def test_only_pictures_are_served_as_plots(service: Service) -> None:
    picture, table = keeping(service, PICTURE, TABLE)
    answer = plot_response(service, picture["id"])
    assert (answer.media_type, answer.body) == ("image/png", b"png")
    assert "sandbox" in answer.headers["content-security-policy"]
    for name in (table["id"], "unknown"):
        with pytest.raises(ProblemError, match="not available"):
            plot_response(service, name)
