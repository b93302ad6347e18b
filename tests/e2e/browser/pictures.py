"""Takes pictures of the views: `python tests/e2e/browser/pictures.py FOLDER [VIEW ...]`.

Each view is taken in the light and the dark theme, at the width of a screen and of a phone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Generator, Sequence
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

SIZES = {"wide": (1280, 800), "narrow": (390, 780)}
COLOURS = 128
KEY = "a-key-for-pictures-0123456789"


@contextmanager
def servers(folder: Path) -> Generator[dict[str, Seed]]:
    """Start the servers of the views, with data to show."""
    with ExitStack() as stack:
        sources = write_demo(folder / "sources")
        command: list[str | Path] = [COMMAND, "demo", "--serve", "--port", "0"]
        demo = stack.enter_context(running(command, folder))
        model = stack.enter_context(paced_model())
        scripted = stack.enter_context(serving(sources, **by_model(model)))
        customers = stack.enter_context(
            serving(write_customers(folder / "customers"), **by_model(model))
        )
        durable = stack.enter_context(serving(sources, SKILLIAN_DURABLE="true"))
        locked = stack.enter_context(serving(sources, SKILLIAN_API_KEYS=KEY))
        yield {
            "demo": seed(demo.url),
            "scripted": seed_plot(scripted.url, model),
            "customers": seed_rows(customers.url, model),
            "durable": seed_runs(durable.url),
            "locked": Seed(locked.url),
        }


def take(browser: Browser, seeds: dict[str, Seed], view: str, folder: Path) -> None:
    """Take all pictures of a view."""
    shown = VIEWS[view]
    for theme in ("light", "dark"):
        for size, (width, height) in SIZES.items():
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


def main(folder: Path, views: Sequence[str]) -> None:
    """Take the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        servers(Path(scratch)) as seeds,
        chromium() as browser,
    ):
        for view in views:
            take(browser, seeds, view, folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("views", nargs="*", help=f"some of {', '.join(VIEWS)}; default all")
    arguments = parser.parse_args()
    main(arguments.folder, arguments.views or list(VIEWS))
