"""Runs of programs of the `npu` dialect on the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stepwell.dialects import npu
from stepwell.lowering.backends.npu.program_file import encoded
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.npu.encoded import Encoded
from stepwell.runtime.npu.simulator import Report, Simulator

Array = npt.NDArray[Any]


def run_program(program: npu.ProgramOp | npu.BinaryOp, arrays: Sequence[Array]) -> list[Array]:
    """
    The arrays after a run of a program, or of its bytes, on copies of them.

    Raises: StepwellError `bad-inputs`, `npu-hazard`, `bad-npu-program`.
    """
    found = program.encoded() if isinstance(program, npu.BinaryOp) else program
    return simulate(found, arrays)[0]


def simulate(
    program: npu.ProgramOp | Encoded, arrays: Sequence[Array], seed: int | None = None
) -> tuple[list[Array], Report]:
    """
    The arrays after a run of a program on copies of them, and the cycles.

    Args: `seed` chooses an order of instructions among those that tokens allow.
    Raises: StepwellError `bad-inputs` for other arrays than the program takes; as `Simulator.run` does.
    """
    found = encoded(program) if isinstance(program, npu.ProgramOp) else program
    given = [np.array(array, order="C") for array in arrays]
    wanted = [f"{'x'.join(map(str, shape))} of {dtype}" for shape, dtype in found.arguments]
    have = [f"{'x'.join(map(str, a.shape))} of {a.dtype.kind}{8 * a.dtype.itemsize}" for a in given]
    if have != wanted:
        text = f"the program @{found.name} takes {', '.join(wanted)}, found {', '.join(have)}"
        raise StepwellError("bad-inputs", None, text)
    simulator = Simulator(found.sizes(), found.instructions, found.uops)
    simulator.run(given, seed)
    return given, simulator.report
