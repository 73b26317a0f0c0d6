"""Changes of values: what becomes of a run when a value of the model is another array."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.tools.check.origins import before_views
from stepwell.tools.debug.recorded import Recorded
from stepwell.tools.debug.values import Values


def change(found: Values, recorded: Recorded, name: str, array: Array) -> Operation | None:
    """
    Let a value of the model be another array in a recording.

    Inside of a kernel, the kernel's results become those of its meaning with this value.

    Returns: the call that computes the value; None for an input.
    Raises: StepwellError `no-value`, `shape-mismatch`, `type-mismatch`; `unsupported` for a constant.
    """
    name, array = found.known(name), array.copy()
    value = found.expect(name)
    border = found.border(value)
    if border is None:
        return _change_inside(found, recorded, name, array)
    if isinstance(border.owner, graph.ConstantOp):
        message = f'"{name}" is a constant of the program, part of its kernels'
        raise StepwellError("unsupported", None, message, help="set the values that are computed from it")
    stored = found.as_stored(name, border, array, recorded)
    if found.is_input(name):
        recorded.feeds[name] = array
    recorded.give(border, stored)
    recorded.inside.clear()
    return found.program.kernel_of(border)


def _change_inside(found: Values, recorded: Recorded, name: str, array: Array) -> graph.FusedOp:
    value = found.expect(name)
    kernel = found.program.kernel_of(value)
    assert isinstance(kernel, graph.FusedOp)
    inputs = found.inputs(kernel, recorded)
    if inputs is None or not recorded.ran(kernel):
        message = f'"{name}" is inside kernel {found.program.name_of(kernel)}, which has not run'
        raise StepwellError("no-value", None, message)
    # Blocks of channels are a value of their own, of which the model's shape is a view.
    source = next((v for v in before_views(value) if v in found.program.layouts), value)
    changed: dict[SSAValue, Array] = dict(recorded.changed.get(kernel, {}))
    changed[source] = found.as_stored(name, source, array, recorded)
    inside, results = found.body(kernel, tuple(changed))([*inputs, *changed.values()], recorded.known_sizes())
    recorded.changed[kernel] = changed
    recorded.inside.clear()
    recorded.inside[kernel] = inside
    for result, computed in zip(kernel.results, results, strict=True):
        recorded.give(result, np.ascontiguousarray(computed))
    return kernel
