"""Watching below level 1: the arithmetic of kernels, element by element, in the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from stepwell.dialects import graph
from stepwell.lowering.interpret import STEP_WATCHER
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.tools.debug.meaning import run_at_level
from stepwell.tools.debug.recorded import Recorded
from stepwell.tools.debug.values import Values
from stepwell.tools.debug.watch import Finding, Kind, Mask, Watched, suspect, value_range, watch_inputs

_DIALECTS = ("arith", "math", "vector")


def watch_at_level(values: Values, recorded: Recorded, kinds: Sequence[Kind], level: str) -> Watched:
    """
    The ops of kernels at a level that make suspect elements of clean operands, such as sums that overflow in
    between; first the model's inputs that have such elements.

    Ops that only move elements are left out. Each op is one finding, at its first suspect run.
    """
    findings = watch_inputs(values, recorded, kinds)
    program = values.program
    for kernel, name in program.kernel_names.items():
        inputs = values.inputs(kernel, recorded) if isinstance(kernel, graph.FusedOp) else None
        if inputs is None or not recorded.ran(kernel):
            continue
        watching = _Watching(values, kinds, name)
        token = STEP_WATCHER.set(watching)
        try:
            run_at_level(program.functions, program.ctx, name, level, inputs)
        except StepwellError:  # the interpreter cannot run it at this level
            continue
        finally:
            STEP_WATCHER.reset(token)
        findings += watching.found.values()
    return Watched(findings, 0)


class _Watching:
    def __init__(self, values: Values, kinds: Sequence[Kind], kernel: str):
        self._values, self._kinds, self._kernel = values, kinds, kernel
        self.found: dict[tuple[Operation, str], Finding] = {}

    def __call__(self, op: Operation, operands: Sequence[Any], outcome: Any) -> None:
        """Look at the result of an op."""
        if op.name.partition(".")[0] not in _DIALECTS or not op.operands or len(op.results) != 1:
            return
        if any(isinstance(operand.type, MemRefType) for operand in op.operands):
            return
        array = np.asarray(outcome)
        inputs = [np.asarray(operand) for operand in operands]
        for kind in self._kinds:
            if (op, kind.name) not in self.found and (mask := suspect(kind, array)) is not None:
                self._judge(op, kind, mask, inputs)

    def _judge(self, op: Operation, kind: Kind, mask: Mask, inputs: Sequence[Array]) -> None:
        if any(suspect(kind, array) is not None for array in inputs):
            return
        floats = [array for array in inputs if array.dtype.kind in "fV"]
        if kind.needs_finite_inputs or self.found:
            if not all(np.isfinite(array.astype(np.float64)).all() for array in floats):
                return
        node = self._values.program.origins.last_node(op)
        first = tuple(int(i) for i in np.unravel_index(int(mask.argmax()), mask.shape))
        count = int(mask.sum())
        ranges = tuple(value_range(array) for array in floats)
        self.found[op, kind.name] = Finding(
            op.results[0].name_hint or "", node, op.name, self._kernel, kind.name, first, count,
            count / mask.size, ranges,
        )  # fmt: skip
