"""The kernels of a model, each with the inputs of its first call in a run: what tries of edits start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np
from xdsl.dialects.func import FuncOp

from stepwell.dialects import graph
from stepwell.runtime.interface import Array
from stepwell.tools.check.observed import with_elements_of
from stepwell.tools.debug.session import DebugSession, debug
from stepwell.tools.driver.compilation import kernels_of
from stepwell.tools.driver.image import deduplicate
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.explore.kernels import text_of_kernel
from stepwell.tools.inputs import completed_inputs


@dataclass(frozen=True)
class KernelCase:
    """
    A kernel of level 2 as the text of a module, with locations, and the inputs of its first call.

    `inputs` is None where the model was not run, or does not call the kernel.
    """

    text: str
    inputs: Sequence[Array] | None

    def packed_inputs(self) -> bytes:
        """The inputs as an .npz file, by their positions; nothing where there are none."""
        if self.inputs is None:
            return b""
        np.savez(file := BytesIO(), *(np.ascontiguousarray(array) for array in self.inputs))
        return file.getvalue()


def kernel_cases(
    model: Path,
    options: CompileOptions,
    feeds: Mapping[str, object],
    *,
    run: bool = True,
    threads: int | None = None,
) -> dict[str, KernelCase]:
    """
    The kernels of a model by the name that they have in the explorer's data.

    Args: as of `collect`. Raises: StepwellError of the step that failed.
    """
    session = debug(model, replace(options, profile=False), threads=threads)
    if run:
        session.run(completed_inputs(session.model.interface, feeds))
    module = session.program.shared.clone()
    deduplicate(module, session.program.ctx.target)
    inputs = _first_inputs(session) if run else {}
    return {
        kernel.sym_name.data: KernelCase(text_of_kernel(kernel), _fitting(inputs, kernel))
        for kernel in kernels_of(module)
    }


def _first_inputs(session: DebugSession) -> dict[str, Sequence[Array]]:
    """The inputs of each kernel in its first call that ran."""
    found: dict[str, Sequence[Array]] = {}
    for op in session.program.calls:
        name = f"k_{session.program.hash_of(op)}"
        if isinstance(op, graph.FusedOp) and name not in found and session.recorded.ran(op):
            if (arrays := session.found.inputs(op, session.recorded)) is not None:
                found[name] = arrays
    return found


def _fitting(inputs: Mapping[str, Sequence[Array]], kernel: FuncOp) -> Sequence[Array] | None:
    arrays = inputs.get(kernel.sym_name.data)
    return None if arrays is None else with_elements_of(arrays, kernel.function_type.inputs.data)
