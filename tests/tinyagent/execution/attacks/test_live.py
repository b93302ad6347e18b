"""Each attack does in plain Python what it is said to do: what stops it is the sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tinyagent.execution.attacks.canaries import Canaries, is_root
from tests.tinyagent.execution.attacks.cases import Attack, Proof
from tests.tinyagent.execution.attacks.everything import ALL, LOCAL
from tests.tinyagent.execution.attacks.running import PlainPython, proves

PROVED = [attack for attack in ALL + LOCAL if attack.proof is not Proof.NONE]


@pytest.mark.parametrize("attack", PROVED, ids=lambda attack: attack.id)
def test_attack_is_one(
    attack: Attack, canaries: Canaries, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if attack.root and not is_root():
        pytest.skip("its proof needs root")
    place = "plain_with_libraries" if attack.libraries else "plain_python"
    plain: PlainPython = request.getfixturevalue(place)
    ran = plain.run(attack, tmp_path)
    assert proves(ran, attack.proof), ran


def test_names_are_unique() -> None:
    assert len({attack.id for attack in ALL + LOCAL}) == len(ALL + LOCAL)
