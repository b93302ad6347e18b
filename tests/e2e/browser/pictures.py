"""Takes pictures of the views: `python tests/e2e/browser/pictures.py FOLDER [VIEW ...]`.

Each view is taken in the light and the dark theme, at the width of a screen and of a phone, and
with `--sizes` at that of a larger screen.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))
from tests.e2e.browser.views import VIEWS, Seed, seed, seed_plot, seed_rows, seed_runs  # noqa: E402 - found from here on
from tests.support.browser import chromium  # noqa: E402
from tests.support.customers import write_customers  # noqa: E402
from tests.support.paced_model import by_model, paced_model  # noqa: E402
from tests.support.serving import COMMAND, running, serving  # noqa: E402

from skillian.demo.ledger import write_demo  # noqa: E402

SIZES = {"laptop": (1440, 900), "wide": (1280, 800), "narrow": (390, 780)}
DOCUMENTED = ("wide", "narrow")
COLOURS = 128
KEY = "a-key-for-pictures-0123456789"


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

        starts: dict[str, Callable[[], Seed]] = {
            "demo": demo,
            "scripted": lambda: seed_plot(over(sources, **by_model(model)), model),
            "customers": customers,
            "durable": lambda: seed_runs(over(sources, SKILLIAN_DURABLE="true")),
            "locked": lambda: Seed(over(sources, SKILLIAN_API_KEYS=KEY)),
        }
        yield {name: start() for name, start in starts.items() if name in names}


def take(
    browser: Browser, seeds: dict[str, Seed], view: str, folder: Path, sizes: Sequence[str]
) -> None:
    """Take all pictures of a view."""
    shown = VIEWS[view]
    for theme in ("light", "dark"):
        for size in sizes:
            width, height = SIZES[size]
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if theme == "dark" else "light",
                reduced_motion="reduce",
                locale="en-GB",
            )
            page = context.new_page()
            page.goto(shown.address(seeds[shown.at]))
            shown.come(page)
            page.mouse.move(0, 0)
            page.wait_for_timeout(500)  # until animations end
            file = folder / f"{view}-{size}-{theme}.png"
            page.screenshot(path=file)
            context.close()
            make_small(file)


def make_small(file: Path) -> None:
    """Reduce the colours of a picture, to save space."""
    with Image.open(file) as picture:
        small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(file, optimize=True)


def main(folder: Path, views: Sequence[str], sizes: Sequence[str]) -> None:
    """Take the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        servers(Path(scratch), {VIEWS[view].at for view in views}) as seeds,
        chromium() as browser,
    ):
        for view in views:
            take(browser, seeds, view, folder, sizes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("views", nargs="*", help=f"some of {', '.join(VIEWS)}; default all")
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=DOCUMENTED)
    arguments = parser.parse_args()
    main(arguments.folder, arguments.views or list(VIEWS), arguments.sizes)
