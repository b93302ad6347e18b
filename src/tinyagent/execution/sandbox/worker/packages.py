"""The modules of a template for locked packages: those of the standard library only."""

from __future__ import annotations

import sys
import sysconfig
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder

_KEPT = frozenset({"__main__", "worker"})


def forget_host_packages() -> None:
    """Find modules in the standard library only.

    Modules that the host's start-up files have loaded are forgotten, and so are its finders.
    """
    standard = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    version = f"{sys.version_info.major}{sys.version_info.minor}"
    places = (*standard, *(f"{place.rpartition('/')[0]}/python{version}.zip" for place in standard))
    sys.path[:] = [path for path in sys.path if path.startswith(places) and "-packages" not in path]
    sys.meta_path[:] = [BuiltinImporter, FrozenImporter, PathFinder]
    sys.path_importer_cache.clear()
    for name in list(sys.modules):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in _KEPT:
            del sys.modules[name]
