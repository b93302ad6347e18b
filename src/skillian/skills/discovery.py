"""Finds skills: in this package, in configured folders, and in installed packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from skillian.errors import ConfigurationError, Fault, SkillianError
from skillian.skills.front_matter import FILE
from skillian.skills.library import make_library
from skillian.skills.loader import BUNDLED, load_skill
from skillian.skills.registry import SkillRegistry

ENTRY_POINTS = "skillian.skills"


def load_registry(services: object, paths: Iterable[Path] = ()) -> SkillRegistry:
    """Load all skills, and the library that searches them.

    Args:
        services: The argument of each skill's `tools(services)`.
        paths: Folders of skills, or folders of such folders.

    Raises:
        ConfigurationError: The faults of all skills, with their lines.
        SkillianError: Two skills or tools have the same name, or an entry point is wrong.
    """
    registry = SkillRegistry()
    faults: list[Fault] = []
    for folder in find_skills(paths):
        try:
            registry.register(load_skill(folder, services))
        except ConfigurationError as error:
            faults += error.faults
    if faults:
        raise ConfigurationError(faults)
    library = make_library(registry)
    if library is not None:
        registry.register(library)
    return registry


def find_skills(paths: Iterable[Path] = ()) -> tuple[Path, ...]:
    """The folders of the skills in the package, in `paths`, and of entry points.

    Args:
        paths: Folders of skills, or folders of such folders.

    Raises:
        ConfigurationError: A path has no skill, or a skill in it is a link.
        SkillianError: An entry point is wrong.
    """
    configured = [folder for path in paths for folder in skills_in(path)]
    installed = [_folder_of(each) for each in entry_points(group=ENTRY_POINTS)]
    return tuple(dict.fromkeys((*skills_in(BUNDLED), *configured, *installed)))


def skills_in(path: Path) -> Iterator[Path]:
    """The skill in this folder, or the skills in its folders.

    Raises:
        ConfigurationError: There is no skill, or one of them is a link.
    """
    root = path.expanduser().resolve()
    if (root / FILE).exists():
        yield root
        return
    folders = sorted(file.parent for file in root.glob(f"*/{FILE}"))
    links = [folder for folder in folders if folder.is_symlink()]
    if links:
        raise ConfigurationError(
            Fault(str(folder), 1, "it is a link", "name the folder that it points to instead")
            for folder in links
        )
    if not folders:
        raise ConfigurationError(
            [Fault(str(path), 1, "there is no skill", f"a skill is a folder with a {FILE}")]
        )
    yield from folders


def _folder_of(point: EntryPoint) -> Path:
    """The folder of an entry point, which is a path or a function that returns one."""
    try:
        target: object = point.load()
        path = target() if callable(target) else target
    except (ImportError, AttributeError) as error:
        raise SkillianError(f"the entry point {point.value!r} cannot be loaded: {error}") from None
    if not isinstance(path, str | Path) or not (Path(path) / FILE).exists():
        raise SkillianError(
            f"the entry point {point.value!r} of {ENTRY_POINTS!r} is not a folder with a {FILE}"
        )
    return Path(path)
