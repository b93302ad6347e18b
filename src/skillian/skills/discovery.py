"""Where skills are found: in the package, in folders that are named, in installed packages."""

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
    """All skills there are, over these services, and a library to read in them.

    Raises:
        ConfigurationError: the faults of all skills, with their lines.
        SkillianError: a name of a skill or tool is taken twice, or an entry point is wrong.
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
    """The folders of skills: those of the package, those in `paths`, those of entry points.

    Args:
        paths: folders of skills, or folders of such folders.

    Raises:
        ConfigurationError: a path holds no skill, or a skill in it is a link.
        SkillianError: an entry point is wrong.
    """
    named = [folder for path in paths for folder in skills_in(path)]
    installed = [_folder_of(each) for each in entry_points(group=ENTRY_POINTS)]
    return tuple(dict.fromkeys((*skills_in(BUNDLED), *named, *installed)))


def skills_in(path: Path) -> Iterator[Path]:
    """The skill in this folder, or those in the folders in it.

    Raises:
        ConfigurationError: there is none, or one in it is a link.
    """
    root = path.expanduser().resolve()
    if (root / FILE).exists():
        yield root
        return
    found = sorted(file.parent for file in root.glob(f"*/{FILE}"))
    links = [folder for folder in found if folder.is_symlink()]
    if links:
        raise ConfigurationError(
            Fault(str(folder), 1, "it is a link", "name the folder that it leads to instead")
            for folder in links
        )
    if not found:
        raise ConfigurationError(
            [Fault(str(path), 1, "there is no skill", f"a skill is a folder with a {FILE}")]
        )
    yield from found


def _folder_of(point: EntryPoint) -> Path:
    """What an entry point names: a path, or a function that gives one."""
    try:
        named: object = point.load()
        given = named() if callable(named) else named
    except (ImportError, AttributeError) as error:
        raise SkillianError(f"the entry point {point.value!r} cannot be loaded: {error}") from None
    if not isinstance(given, str | Path) or not (Path(given) / FILE).exists():
        raise SkillianError(
            f"the entry point {point.value!r} of {ENTRY_POINTS!r} gives no folder with a {FILE}"
        )
    return Path(given)
