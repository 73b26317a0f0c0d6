"""Inputs of kernels that are fetched ahead of their use: legality, and the attribute that says so."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DictionaryAttr, IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from stepwell.dialects.sched import PREFETCH
from stepwell.dialects.schedule_script.stage_primitives import PrefetchOp
from stepwell.dialects.tensor_ir.rewrites.copies import is_called
from stepwell.dialects.tensor_ir.structured import Structured, linear, tensor_shape
from stepwell.passes.analysis.scripts.formula import listed
from stepwell.passes.analysis.scripts.nest import Loop, Nest
from stepwell.passes.analysis.scripts.stages import refused


def prefetched(op: PrefetchOp, nest: Nest, loop: Loop) -> tuple[int, int]:
    """
    The number of the argument that a step fetches, and the distance in elements.

    Raises: StepwellError `illegal-schedule` with the reason.
    """
    name, ahead = op.tensor.data, op.ahead.value.data
    step = f"prefetch({name}, {loop.name}, {ahead})"
    view = nest.view
    inputs = [v for v in view.inputs if isinstance(v, BlockArgument)]
    value = next((v for v in inputs if is_called(v, name)), None)
    if value is None:
        known = listed(str(v.name_hint) for v in inputs)
        help = f"the inputs that it reads are {known}" if known else None
        raise refused(op, f"{step}: the stage reads no input {name} of the kernel", help=help)
    if ahead < 1:
        raise refused(op, f"{step}: a distance is a number of iterations from 1 on")
    stride = _strides(view, value).get(loop.dim)
    if stride is None:
        raise refused(op, f"{step}: the stride of {loop.name} in {name} is known at run time")
    if stride < 1:
        others = [nest.formula.loops[d] for d, each in _strides(view, value).items() if each]
        help = f"{listed(others)} move it" if others else None
        raise refused(op, f"{step}: {loop.name} does not move along {name}", help=help)
    return value.index, ahead * loop.step * stride


def _strides(view: Structured, value: SSAValue) -> Mapping[int, int]:
    """The elements by which a step of each loop moves a read of a tensor, where they are known."""
    shape, found = tensor_shape(value), dict.fromkeys(range(view.rank), 0)
    for position, expr in enumerate(view.maps[list(view.op.operands).index(value)].results):
        index, inner = linear(expr), shape[position + 1 :]
        for dim in expr.used_dims():
            factor = dict(index.terms).get(dim, 0) if index is not None else None
            if factor is None or DYNAMIC_INDEX in inner:
                found.pop(dim, None)
            elif dim in found:
                found[dim] += factor * prod(inner)
    return found


def write_prefetched(func: FuncOp, distances: Mapping[int, int]) -> None:
    """Let inputs be fetched ahead, by an attribute of each."""
    if distances:
        given = _attributes(func)
        func.properties["arg_attrs"] = ArrayAttr(
            DictionaryAttr({**each.data, PREFETCH: IntegerAttr(distances[n], i64)})
            if n in distances
            else each
            for n, each in enumerate(given)
        )


def fetched_inputs(func: FuncOp) -> dict[SSAValue, int]:
    """The inputs that are fetched ahead, with the distance in elements."""
    pairs = zip(func.body.block.args, _attributes(func), strict=True)
    found = ((arg, each.data.get(PREFETCH)) for arg, each in pairs)
    return {arg: distance.value.data for arg, distance in found if isinstance(distance, IntegerAttr)}


def loop_ahead(view: Structured, value: SSAValue, elements: int) -> tuple[int, int] | None:
    """A loop of an op, with the number of its steps that move a read by some elements; None without one."""
    strides = _strides(view, value)
    fitting = [dim for dim, stride in strides.items() if stride and elements % stride == 0]
    dim = max(fitting, key=lambda dim: strides[dim], default=None)
    return None if dim is None else (dim, elements // strides[dim])


def _attributes(func: FuncOp) -> list[DictionaryAttr]:
    count = len(func.function_type.inputs)
    return list(func.arg_attrs.data) if func.arg_attrs is not None else [DictionaryAttr({})] * count
