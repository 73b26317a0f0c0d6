"""
A failing case as files: `python -m tests.fuzz.reproduce CASE FOLDER` writes its model and inputs, cut down.

The whole model is written first: cutting it down may crash the process as well.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.fuzz.generate import Program, random_groups, random_program
from tests.fuzz.models import minimised, opt_level_of
from tests.fuzz.process import FOREIGN

_LIMIT_S = 300


def reproduce(case: str, folder: Path) -> Path:
    """Write the files of a case in a process of its own; returns the model's place, which may be missing."""
    command = [sys.executable, "-m", "tests.fuzz.reproduce", case, str(folder)]
    try:
        subprocess.run(command, timeout=_LIMIT_S, capture_output=True, check=False)
    except subprocess.TimeoutExpired:
        pass  # what was written before is there
    return _place(case, folder)


def write(case: str, folder: Path) -> None:
    """Write `CASE.onnx`, and `CASE.npz` with the inputs of a random model; a folder for other frameworks."""
    kind, _, seed = case.rpartition(":")
    place = _place(case, folder)
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind == "file":
        from tests.fuzz.mutate import mutated

        place.write_bytes(mutated(int(seed)))
    elif kind in ("model", "groups"):
        program = (random_program if kind == "model" else random_groups)(int(seed))
        _save(program, place)
        _save(minimised(program, opt_level_of(int(seed))), place)
    elif kind in FOREIGN:
        from tests.fuzz.mutate_foreign import damaged

        place.mkdir(exist_ok=True)
        damaged(kind, int(seed), place)
    elif kind.startswith("pass:"):
        _save(random_program(int(seed), (5, 20)), place)


def _place(case: str, folder: Path) -> Path:
    name = "".join(c if c.isalnum() or c in "-_" else "_" for c in case)
    return folder / (name if case.partition(":")[0] in FOREIGN else f"{name}.onnx")


def _save(program: Program, place: Path) -> None:
    place.write_bytes(program.model.SerializeToString())
    np.savez(place.with_suffix(".npz"), **program.inputs)  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]))
