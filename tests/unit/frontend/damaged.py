"""Files that lie: bytes changed or cut, and what must come of them."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_MODELS

Reader = Callable[[Path, StepwellContext], ModuleOp]


def mutated(data: bytes, rng: random.Random, kept: int = 0) -> bytes:
    """Bytes with a few of them or a number changed, or cut; the first `kept` bytes stay."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        position = rng.randrange(kept, max(len(changed) - 4, kept + 1))
        match rng.randrange(4):
            case 0:
                changed[position] = rng.randrange(256)
            case 1:
                extremes = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, len(changed))
                changed[position : position + 4] = struct.pack("<I", rng.choice(extremes))
            case 2:
                changed[position] ^= 1 << rng.randrange(8)
            case _:
                del changed[max(position, 8) :]
    return bytes(changed)


def survives(read: Reader, dialect: str, path: Path) -> bool:
    """Whether a damaged file is still a model; any failure but an error of ours ends the test."""
    context = StepwellContext()
    try:
        module = read(path, context)
        run_pipeline(module, FROM_MODELS[dialect], context)
    except stepwell.StepwellError as error:
        assert error.code != "internal", error.render()
        return False
    return True


def try_damaged(
    read: Reader, dialect: str, path: Path, damaged: Sequence[Path], count: int, seed: int
) -> None:
    """Damage one of some files of a model, `count` times, and read the model, each in little time."""
    rng, begin = random.Random(seed), time.perf_counter()
    whole = {each: each.read_bytes() for each in damaged}
    for _ in range(count):
        file = rng.choice(damaged)
        file.write_bytes(mutated(whole[file], rng))
        survives(read, dialect, path)
        file.write_bytes(whole[file])
    assert time.perf_counter() - begin < 10 * count
