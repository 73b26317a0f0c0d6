"""Learning rates by the number of the step: constant, falling by a cosine, or in stairs, after a warm-up."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi

from stepwell.runtime.errors import StepwellError

Schedule = Callable[[int], float]
"""The learning rate of a step, counted from 0."""
SCHEDULES = ("constant", "cosine", "step")


def schedule_of(
    kind: str, lr: float, *, steps: int, warmup: int = 0, every: int = 0, gamma: float = 0.1
) -> Schedule:
    """
    A schedule for a training of some steps.

    Args: `cosine` falls to 0 at the last step (Loshchilov and Hutter, "SGDR", 2017); `step` multiplies the
    rate by `gamma` after each `every` steps; the first `warmup` steps grow to the rate by equal parts.
    Raises: StepwellError `bad-option`.
    """
    if kind not in SCHEDULES:
        help = f"it is one of {', '.join(SCHEDULES)}"
        raise StepwellError("bad-option", None, f"schedule is {kind!r}", help=help)
    if kind == "step" and every < 1:
        message = "schedule step needs the number of epochs after which the rate falls"
        raise StepwellError("bad-option", None, message, help="give it: --step-size N")

    def rate(step: int) -> float:
        if step < warmup:
            return lr * (step + 1) / warmup
        if kind == "cosine":
            share = (step - warmup) / max(1, steps - warmup)
            return lr * (1 + cos(pi * min(1.0, share))) / 2
        return lr * gamma ** (step // every) if kind == "step" else lr

    return rate
