"""Epochs of training over arrays, with shuffled samples and progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.tools.driver.image import Progress
from stepwell.tools.training.schedules import Schedule
from stepwell.tools.training.trainer import Trainer

LABELS = ("labels", "targets")
"""Names that the targets of a model's only output may have."""


class Epoch(NamedTuple):
    """An epoch: the mean loss of the samples, each before its step, and the seconds."""

    loss: float
    seconds: float
    samples: int


def samples_of(
    arrays: Mapping[str, Array], inputs: Sequence[str], outputs: Sequence[str], where: str
) -> tuple[list[Array], Array]:
    """
    The inputs of a model and the targets, all with one first dimension.

    Raises: StepwellError `bad-inputs` that names what is missing.
    """
    names = [name for name in (*outputs[:1], *LABELS) if name in arrays]
    missing = [name for name in inputs if name not in arrays] or ([] if names else [LABELS[0]])
    if missing:
        message = f"there is no array {missing[0]!r}: found {', '.join(arrays) or 'none'}"
        help = f"write one for each input ({', '.join(inputs)}), and {' or '.join(LABELS)}"
        raise StepwellError("bad-inputs", where, message, help=help)
    found = [arrays[name] for name in inputs]
    targets = arrays[names[0]]
    lengths = {each.shape[0] if each.ndim else 0 for each in (*found, targets)}
    if len(lengths) != 1 or 0 in lengths:
        message = f"the arrays must have one number of samples, found {sorted(lengths)}"
        raise StepwellError("bad-inputs", where, message)
    return found, targets


def epochs(
    trainer: Trainer,
    inputs: Sequence[Array],
    targets: Array,
    *,
    count: int,
    batch: int,
    seed: int = 0,
    schedule: Schedule | None = None,
    progress: Progress | None = None,
) -> Iterator[Epoch]:
    """
    Train on all samples `count` times, in an order that the seed says; the last batch may be smaller.

    Args: `schedule` sets the learning rate of each step; `progress` is called after each step.
    """
    rng, samples, step = np.random.default_rng(seed), len(targets), 0
    for number in range(count):
        order, total, begin = rng.permutation(samples), 0.0, perf_counter()
        for start in range(0, samples, batch):
            chosen = order[start : start + batch]
            if schedule is not None:
                trainer.lr = schedule(step)
            step += 1
            loss = trainer.step(*(each[chosen] for each in inputs), targets[chosen])
            total += loss * len(chosen)
            if progress is not None:
                progress("samples", number * samples + min(start + batch, samples), count * samples)
        yield Epoch(total / samples, perf_counter() - begin, samples)
