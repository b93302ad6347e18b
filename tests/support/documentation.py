"""Builds the documentation site into .cache/site/html, which opens offline: `make docs`.

Pages of docs/ link to a few files outside of it, which become pages of the site, and to source
files, which readers of a clone have; on the site these are plain text. Every warning of the
generator, every broken link and every file from another host is an error. `llms.txt` lists the
pages for language models (https://llmstxt.org), and `llms-full.txt` has their texts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[2]
BUILD = ROOT / ".cache" / "site"
PAGES = BUILD / "docs"
SITE = BUILD / "html"
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "reporting.md",
    "benchmarks/results.md": "benchmarks.md",
}
_SHIM = "javascripts/iframe-worker.js"
_SHIM_THERE = re.compile(r"https://[^\"\s]*/iframe-worker/shim")
_LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]\n]*)\]\((?P<target>[^)\s]+)\)")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


class Page(NamedTuple):
    """A page of the navigation: its sections, title, and path below docs/."""

    sections: tuple[str, ...]
    title: str
    path: str


def main() -> None:
    """Build the site, check it, and exit with a list of its faults if it has any."""
    config = tomllib.loads((ROOT / "docs" / "zensical.toml").read_text(encoding="utf-8"))["project"]
    pages = list(_pages(config["nav"]))
    copy_pages()
    faults = _unlisted(pages) + _build()
    _localize()
    write_llms(config, pages)
    faults += list(broken_links(SITE))
    if faults:
        sys.exit("\n".join(["the documentation has faults:", *faults]))
    print(f"{len(pages)} pages: {SITE.relative_to(ROOT)}/index.html")  # noqa: T201


def copy_pages() -> None:
    """Copy docs/ and the pages outside of it to the build folder, with links that hold there."""
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES)
    (PAGES / "zensical.toml").rename(BUILD / "zensical.toml")
    for source, name in OUTSIDE.items():
        shutil.copyfile(ROOT / source, PAGES / name)
    origins = {(ROOT / source).resolve(): name for source, name in OUTSIDE.items()}
    for path in PAGES.rglob("*.md"):
        name = path.relative_to(PAGES).as_posix()
        outside = next((source for source, page in OUTSIDE.items() if page == name), None)
        origin = ROOT / (outside or f"docs/{name}")
        path.write_text(_relinked(path.read_text(encoding="utf-8"), origin, name, origins))


def _relinked(text: str, origin: Path, name: str, origins: dict[Path, str]) -> str:
    """Change the links of a page that lead to a file outside of docs/."""

    def relink(found: re.Match[str]) -> str:
        target, _, anchor = found["target"].partition("#")
        if not target or urlsplit(target).scheme:
            return found[0]
        file = (origin.parent / target).resolve()
        page = origins.get(file)
        if page is None and file.is_relative_to(ROOT / "docs"):
            page = file.relative_to(ROOT / "docs").as_posix()
        if page is None:
            return found["text"] if file.exists() else found[0]
        there = os.path.relpath(page, Path(name).parent).replace(os.sep, "/")
        return f"{found['mark']}[{found['text']}]({there}{'#' if anchor else ''}{anchor})"

    parts = _FENCE.split(text)
    return "".join(part if at % 2 else _LINK.sub(relink, part) for at, part in enumerate(parts))


def _pages(nav: list[dict[str, Any]], sections: tuple[str, ...] = ()) -> Iterator[Page]:
    for entry in nav:
        ((title, value),) = entry.items()
        if isinstance(value, str):
            yield Page(sections, title, value)
        else:
            yield from _pages(value, (*sections, title))


def _unlisted(pages: list[Page]) -> list[str]:
    listed = {page.path for page in pages}
    there = {path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.md")}
    return [
        f"{name} is not in the navigation of docs/zensical.toml" for name in sorted(there - listed)
    ]


def _build() -> list[str]:
    """Run the generator; returns its warnings."""
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(
        command,
        cwd=BUILD,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).splitlines()
    usual = ("Build started", "Build finished", "No issues found", "Cleaning")
    unusual = [line for line in lines if line.strip() and not line.startswith(usual)]
    return unusual or ([f"the build ended with {done.returncode}"] if done.returncode else [])


def _localize() -> None:
    """Load the script for searching from file:// from the site, not from another host."""
    for path in SITE.rglob("*.html"):
        here = os.path.relpath(SITE / _SHIM, path.parent).replace(os.sep, "/")
        path.write_text(_SHIM_THERE.sub(here, path.read_text(encoding="utf-8")))


def write_llms(config: dict[str, Any], pages: list[Page]) -> None:
    """Write `llms.txt` and `llms-full.txt` into the site."""
    index = [f"# {config['site_name']}", "", f"> {config['site_description']}"]
    texts: list[str] = []
    section: tuple[str, ...] = ()
    for page in pages:
        if page.sections[:1] != section:
            section = page.sections[:1]
            index += ["", f"## {section[0]}", ""]
        elif len(index) == 3:
            index.append("")
        (SITE / page.path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PAGES / page.path, SITE / page.path)
        index.append(f"- [{': '.join((*page.sections[1:], page.title))}]({page.path})")
        texts.append((PAGES / page.path).read_text(encoding="utf-8").strip())
    (SITE / "llms.txt").write_text("\n".join(index) + "\n", encoding="utf-8")
    (SITE / "llms-full.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8")


class _Links(HTMLParser):
    """The ids of an HTML page, its links, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value is not None}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("canonical", "alternate"):
            self.loaded.append(values.get("href", ""))
        elif "src" in values:
            self.loaded.append(values["src"])


def broken_links(site: Path) -> Iterator[str]:
    """Find links to missing files and anchors, and files that come from another host."""
    parsed: dict[Path, _Links] = {}
    for path in sorted(site.rglob("*.html")):
        parsed[path] = _Links()
        parsed[path].feed(path.read_text(encoding="utf-8"))
    for path, page in parsed.items():
        name = path.relative_to(site).as_posix()
        for target in page.loaded:
            if urlsplit(target).netloc:
                yield f"{name} loads {target}"
        for target in (*page.links, *page.loaded):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or name == "404.html":
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.is_file():
                yield f"{name} links to {target}, which is not there"
            elif parts.fragment and file in parsed:
                ids = parsed[file].ids
                if not {parts.fragment, unquote(parts.fragment)} & ids:
                    yield f"{name} links to {target}, which has no such heading"


if __name__ == "__main__":
    main()
