"""Results of kernels that are written past the caches: legality, and the attribute that says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DictionaryAttr, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, Use

from stepwell.dialects.sched import STREAM
from stepwell.dialects.schedule_script import StreamOp
from stepwell.dialects.tensor_ir.structured import tensor_shape
from stepwell.passes.analysis.scripts.formula import listed
from stepwell.passes.analysis.scripts.stages import refused

_VIEWS = (tensor.CollapseShapeOp, tensor.ExpandShapeOp)


def streamable(op: Operation) -> int | str:
    """The number of the kernel's result that an op computes; the reason why none can be streamed as text."""
    if len(op.results) != 1:
        return f"computes {len(op.results)} tensors together"
    value = op.results[0]
    if DYNAMIC_INDEX in tensor_shape(value):
        return "has a size known at run time, stores past the caches are of whole cache lines"
    while isinstance(use := next(iter(cast("Sequence[Use]", list(value.uses))), None), Use):
        if isinstance(use.operation, ReturnOp):
            return use.index
        if not isinstance(use.operation, _VIEWS):
            break
        value = use.operation.results[0]
    return "is no result of the kernel, later stages read it from the caches"


def streamed(op: StreamOp, name: str, stages: Mapping[str, Operation]) -> int:
    """The number of the result that a step streams. Raises: StepwellError `illegal-schedule`."""
    found = streamable(stages[name])
    if isinstance(found, int):
        return found
    others = [other for other, each in stages.items() if isinstance(streamable(each), int)]
    help = f"the results are {listed(others)}" if others else None
    raise refused(op, f"stream({name}): {name} {found}", help=help)


def streamed_results(func: FuncOp) -> list[int]:
    """The numbers of the results that are written past the caches."""
    return [n for n, each in enumerate(_attributes(func)) if STREAM in each.data]


def write_streamed(func: FuncOp, numbers: Sequence[int]) -> None:
    """Let results be written past the caches, by an attribute of each."""
    if not numbers:
        return
    given = _attributes(func)
    func.properties["res_attrs"] = ArrayAttr(
        DictionaryAttr({**each.data, STREAM: UnitAttr()}) if number in numbers else each
        for number, each in enumerate(given)
    )


def _attributes(func: FuncOp) -> Sequence[DictionaryAttr]:
    count = len(func.function_type.outputs)
    return list(func.res_attrs.data) if func.res_attrs is not None else [DictionaryAttr({})] * count
