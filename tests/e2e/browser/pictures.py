"""Makes the pictures of README.md and docs/: `make pictures`.

Pictures of the page and of a report are taken in Chromium; recordings of the terminal show what
commands wrote. Every view is taken in all sizes and both themes into .cache/pictures/, with a sheet
of all views for each size and theme; those that the documentation shows, as
images/page/VIEW-SIZE-THEME.png, are copied from there. To take some views:

    python tests/e2e/browser/pictures.py --views FOLDER VIEW ...
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from math import ceil
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from PIL import Image, ImageDraw
from playwright.sync_api import Browser

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))
from tests.e2e.browser.views import VIEWS, Seed, seed, seed_plot, seed_rows, seed_runs  # noqa: E402 - found from here on
from tests.support.browser import chromium  # noqa: E402
from tests.support.careful import write_careful  # noqa: E402
from tests.support.customers import write_customers  # noqa: E402
from tests.support.paced_model import by_model, paced_model  # noqa: E402
from tests.support.serving import COMMAND, running, serving  # noqa: E402
from tests.support.terminal import record  # noqa: E402

from skillian.demo.ledger import write_demo  # noqa: E402

IMAGES = ROOT / "docs" / "images"
ALL = ROOT / ".cache" / "pictures"
SHOWN = re.compile(r"\]\((?:docs/|\.\./)*images/(?P<name>[\w/-]+\.(?:png|svg))\)")
SIZES = {"laptop": (1440, 900), "wide": (1280, 800), "narrow": (390, 780)}
THEMES: Sequence[Literal["light", "dark"]] = ("light", "dark")
COLOURS = 256
SHEET_COLUMNS, SHEET_PIXELS, CAPTION_PIXELS = 6, 480, 16
"""How many pictures a sheet has side by side, how wide each is at most, and the room above it."""
TO_TAB = """() => {
  const tab = document.querySelector("[role=tab][aria-selected=true]");
  const top = tab?.getBoundingClientRect().top;
  if (tab?.previousElementSibling && top > innerHeight * 0.6) scrollTo(0, scrollY + top - 64);
}"""
"""On a phone, scrolls to a tab that was opened."""
KEY = "a-key-for-pictures-0123456789"
REPORT = """\
sources: sources.yaml
compare:
  - {name: Month end close, a: fi_reporting, b: bpc_reporting, measures: [amount]}
"""
OLD = "company,period,amount\n1001,2024-01,100.00\n1001,2024-02,250.50\n1002,2024-01,75.25\n"
NEW = "company,period,amount\n1001,2024-01,100.00\n1001,2024-02,250.40\n1003,2024-01,75.25\n"
RECORDINGS: Mapping[str, str] = MappingProxyType(
    {
        "demo": "skillian demo",
        "compare": "skillian compare old.csv new.csv --measure amount --by company --by period",
        "run": "tinyagent run 'What is the capital of Portugal?' --stream",
    }
)
"""What is recorded, by the name of its picture."""


class Picture(NamedTuple):
    """A picture of a view."""

    view: str
    size: str
    theme: str

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.view}-{self.size}-{self.theme}.png"


def documented() -> set[str]:
    """The paths below docs/images/ of the pictures that the documentation shows."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = (page.read_text(encoding="utf-8") for page in pages)
    return {each["name"] for text in texts for each in SHOWN.finditer(text)}


def picture_of(name: str) -> Picture:
    """The picture with a name such as `rows-rules-wide-dark.png`.

    Raises:
        ValueError: There is none of this view, size or theme.
    """
    view, size, theme = name.removesuffix(".png").rsplit("-", 2)
    if view not in VIEWS or size not in SIZES or theme not in THEMES:
        raise ValueError(f"{name} is not a picture of a view")
    return Picture(view, size, theme)


@contextmanager
def servers(folder: Path, names: set[str]) -> Generator[dict[str, Seed]]:
    """Start these servers of the views, with data to show."""
    with ExitStack() as stack:
        sources = write_demo(folder / "sources")
        model = stack.enter_context(paced_model())

        def over(sources: Path, **settings: str) -> str:
            return stack.enter_context(serving(sources, **settings)).url

        def demo() -> Seed:
            command: list[str | Path] = [COMMAND, "demo", "--serve", "--port", "0"]
            return seed(stack.enter_context(running(command, folder)).url)

        def customers() -> Seed:
            written = write_customers(folder / "customers")
            return seed_rows(over(written, **by_model(model)), model)

        def scripted() -> Seed:
            skills = str(write_careful(folder))
            return seed_plot(over(sources, SKILLIAN_SKILLS=skills, **by_model(model)), model)

        starts: dict[str, Callable[[], Seed]] = {
            "demo": demo,
            "scripted": scripted,
            "customers": customers,
            "durable": lambda: seed_runs(over(sources, SKILLIAN_DURABLE="true")),
            "locked": lambda: Seed(over(sources, SKILLIAN_API_KEYS=KEY)),
        }
        yield {name: start() for name, start in starts.items() if name in names}


def take(browser: Browser, seeds: dict[str, Seed], view: str, size: str, folder: Path) -> None:
    """Take a picture of a view in each theme."""
    shown = VIEWS[view]
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, reduced_motion="reduce", locale="en-GB"
    )
    page = context.new_page()
    page.goto(shown.address(seeds[shown.at]))
    shown.come(page)
    page.mouse.move(0, 0)
    page.evaluate(TO_TAB)
    for theme in THEMES:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.wait_for_timeout(500)  # until animations end
        file = folder / Picture(view, size, theme).name
        page.screenshot(path=file)
        make_small(file)
    context.close()


def make_small(file: Path) -> None:
    """Reduce the colours of a picture, to save space."""
    with Image.open(file) as picture:
        small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(file, optimize=True)


def take_views(views: Iterable[str], folder: Path) -> None:
    """Take pictures of views in all sizes and themes, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = sorted(views)
    with (
        tempfile.TemporaryDirectory() as scratch,
        servers(Path(scratch), {VIEWS[view].at for view in wanted}) as seeds,
        chromium() as browser,
    ):
        for view in wanted:
            for size in SIZES:
                take(browser, seeds, view, size, folder)


def make_sheets(folder: Path) -> None:
    """Put the pictures of each size and theme side by side, in sheet-SIZE-THEME.png."""
    for size, pixels in SIZES.items():
        for theme in THEMES:
            end = f"-{size}-{theme}.png"
            files = [file for file in sorted(folder.glob(f"*{end}")) if file.name != f"sheet{end}"]
            _sheet(files, pixels, end).save(folder / f"sheet{end}", optimize=True)


def _sheet(files: Sequence[Path], pixels: tuple[int, int], end: str) -> Image.Image:
    width = min(SHEET_PIXELS, pixels[0])
    height = pixels[1] * width // pixels[0]
    rows = ceil(len(files) / SHEET_COLUMNS)
    sheet = Image.new("RGB", (SHEET_COLUMNS * width, rows * (height + CAPTION_PIXELS)), "gray")
    draw = ImageDraw.Draw(sheet)
    for number, file in enumerate(files):
        x, y = number % SHEET_COLUMNS * width, number // SHEET_COLUMNS * (height + CAPTION_PIXELS)
        draw.text((x + 4, y + 2), file.name.removesuffix(end), fill="white")
        with Image.open(file) as picture:
            sheet.paste(picture.convert("RGB").resize((width, height)), (x, y + CAPTION_PIXELS))
    return sheet


def take_report(file: Path) -> None:
    """Take a picture of a report in HTML."""
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        folder = write_demo(Path(scratch)).parent
        (folder / "close.yaml").write_text(REPORT, encoding="utf-8")
        command = [str(COMMAND), "compare", "close.yaml", "--output", "report.html"]
        quiet = subprocess.DEVNULL  # it ends with 1, because of the findings
        subprocess.run(command, cwd=folder, check=False, stdout=quiet, stderr=quiet)
        page = browser.new_page(viewport={"width": 1100, "height": 1000})
        page.goto((folder / "report.html").as_uri())
        page.screenshot(path=file)
    make_small(file)


def record_commands(names: Iterable[str], folder: Path) -> None:
    """Record commands in the terminal, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, small_model() as base_url:
        for name, text in (("old.csv", OLD), ("new.csv", NEW)):
            (Path(scratch) / name).write_text(text, encoding="utf-8")
        environment = {
            "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": scratch,
            "OPENAI_BASE_URL": base_url,
        }
        for name in sorted(names):
            record(RECORDINGS[name], Path(scratch), folder / f"{name}.svg", environment)


@contextmanager
def small_model() -> Generator[str]:
    """A server of the small model of the tests; its base URL."""
    command = [sys.executable, str(ROOT / "tests" / "support" / "small_model.py")]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def main() -> None:
    """Make all pictures of the documentation, and of the views that it does not show."""
    shown = {Path(name) for name in documented()}
    shutil.rmtree(ALL, ignore_errors=True)
    take_views(VIEWS, ALL)
    make_sheets(ALL)
    for path in shown:
        if path.parent.name == "page":
            shutil.copy(ALL / path.name, IMAGES / "page" / picture_of(path.name).name)
    take_report(IMAGES / "report.png")
    record_commands(
        (path.stem for path in shown if path.parent.name == "terminal"), IMAGES / "terminal"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--views", type=Path, metavar="FOLDER", help="take the views into FOLDER")
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(VIEWS)}; default all")
    arguments = parser.parse_args()
    if arguments.views is None:
        main()
    else:
        take_views(arguments.names or VIEWS, arguments.views)
