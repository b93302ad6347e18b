"""The domains."""

from __future__ import annotations

from . import errands, lab, lettings, repositories, shop
from .errands_attacks import ATTACKS as ERRANDS_ATTACKS
from .errands_detours import ATTACKS as ERRANDS_DETOURS
from .errands_tasks import TASKS as ERRANDS_TASKS
from .errands_tasks import WHO as ERRANDS_WHO
from .lab_attacks import ATTACKS as LAB_ATTACKS
from .lab_detours import ATTACKS as LAB_DETOURS
from .lab_tasks import TASKS as LAB_TASKS
from .lab_tasks import WHO as LAB_WHO
from .lettings_attacks import ATTACKS as LETTINGS_ATTACKS
from .lettings_detours import ATTACKS as LETTINGS_DETOURS
from .lettings_tasks import TASKS as LETTINGS_TASKS
from .lettings_tasks import WHO as LETTINGS_WHO
from .parts import Domain
from .repositories_attacks import ATTACKS as REPOSITORIES_ATTACKS
from .repositories_detours import ATTACKS as REPOSITORIES_DETOURS
from .repositories_tasks import TASKS as REPOSITORIES_TASKS
from .repositories_tasks import WHO as REPOSITORIES_WHO
from .shop_attacks import ATTACKS as SHOP_ATTACKS
from .shop_detours import ATTACKS as SHOP_DETOURS
from .shop_tasks import TASKS as SHOP_TASKS
from .shop_tasks import WHO as SHOP_WHO

DOMAINS = {
    "shop": Domain(
        name="shop",
        world=shop.world,
        tools=shop.tools,
        annotations=shop.ANNOTATIONS,
        writers=shop.WRITERS,
        own=shop.OWN,
        who=SHOP_WHO,
        tasks=SHOP_TASKS,
        attacks=(*SHOP_ATTACKS, *SHOP_DETOURS),
    ),
    "repositories": Domain(
        name="repositories",
        world=repositories.world,
        tools=repositories.tools,
        annotations=repositories.ANNOTATIONS,
        writers=repositories.WRITERS,
        own=repositories.OWN,
        who=REPOSITORIES_WHO,
        tasks=REPOSITORIES_TASKS,
        attacks=(*REPOSITORIES_ATTACKS, *REPOSITORIES_DETOURS),
    ),
    "errands": Domain(
        name="errands",
        world=errands.world,
        tools=errands.tools,
        annotations=errands.ANNOTATIONS,
        writers=errands.WRITERS,
        own=errands.OWN,
        who=ERRANDS_WHO,
        tasks=ERRANDS_TASKS,
        attacks=(*ERRANDS_ATTACKS, *ERRANDS_DETOURS),
    ),
    "lettings": Domain(
        name="lettings",
        world=lettings.world,
        tools=lettings.tools,
        annotations=lettings.ANNOTATIONS,
        writers=lettings.WRITERS,
        own=lettings.OWN,
        who=LETTINGS_WHO,
        tasks=LETTINGS_TASKS,
        attacks=(*LETTINGS_ATTACKS, *LETTINGS_DETOURS),
    ),
    "lab": Domain(
        name="lab",
        world=lab.world,
        tools=lab.tools,
        annotations=lab.ANNOTATIONS,
        writers=lab.WRITERS,
        own=lab.OWN,
        who=LAB_WHO,
        tasks=LAB_TASKS,
        attacks=(*LAB_ATTACKS, *LAB_DETOURS),
    ),
}
"""The domains by name, by which the ids of their tasks start."""
