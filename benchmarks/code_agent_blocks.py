"""What the code agents of the benchmark are sent: one tool call and one print a step.

It runs in the environments of other frameworks too, so it imports nothing of tinyagent.
"""

from __future__ import annotations

from floor import ANSWER

STEPS = 10


def block(number: int, count: int = STEPS) -> str:
    """The code of a step, from 0; the one behind the last gives the answer."""
    if number < count:
        return f"total = add({number}, 1)\nprint(total)"
    return f"final_answer({ANSWER!r})"
