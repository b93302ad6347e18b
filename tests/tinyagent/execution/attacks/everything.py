"""All attacks."""

from __future__ import annotations

from tests.tinyagent.execution.attacks.cases import Attack
from tests.tinyagent.execution.attacks.corpus import (
    floods,
    frames,
    helpers,
    inputs,
    kernel,
    libraries,
    lingering,
    local,
    network,
    objects,
    reads,
    resources,
    shared,
    signals,
    walks,
    writes,
)

ALL: tuple[Attack, ...] = (
    *(reads.FILES + reads.HIDDEN + reads.PROCESSES + reads.DESCRIPTORS),
    *(writes.WRITES + network.NETWORK),
    *(signals.SIGNALS + signals.BOMBS + lingering.LINGERING),
    *floods.FLOODS,
    *(frames.FRAMES + helpers.ANSWERS + helpers.HELPERS + objects.OBJECTS + objects.TOOLS),
    *(walks.WALKS + walks.IMPORTS + walks.LOADING),
    *(resources.MEMORY + resources.FILLING + resources.PROCESSOR),
    *(inputs.OUTPUT + inputs.PARSER + inputs.STACK),
    *(kernel.CALLS + kernel.MAPPED + shared.SHARED),
    *(libraries.NUMPY + libraries.PANDAS + libraries.FIGURES + libraries.DATABASES),
)

LOCAL: tuple[Attack, ...] = local.ENDING + local.ENDLESS
