"""Partitions, and single ops, as ONNX models: a single op's model is how an engine is asked for support."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.graph.relations import element_of_value, is_float
from stepwell.dialects.types import dims_attr, dims_of, dtype_of, tensor_type
from stepwell.frontend import export_onnx
from stepwell.lowering.graph_to_onnx import ConvertGraphToOnnxPass
from stepwell.passes.analysis.symbol_sources import SYMBOLS, symbols_needed, symbols_of_type
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore


def onnx_model(func: FuncOp, weights: WeightStore) -> bytes:
    """
    A function of the graph level as an ONNX model. Changes the function.

    Raises: StepwellError `unsupported-op` for an op without counterpart in ONNX.
    """
    if func.parent is not None:
        func.detach()
    module, ctx = ModuleOp([func]), StepwellContext()
    ctx.weights = weights
    ConvertGraphToOnnxPass().apply(ctx, module)
    return export_onnx(module, ctx).SerializeToString()


def model_of(op: Operation) -> bytes | None:
    """An op on arguments as an ONNX model; None when ONNX has no counterpart."""
    types = list(op.operand_types)
    known = {name for type in types for name in symbols_of_type(type)}
    missing = [name for name in dict.fromkeys(symbols_needed([op])) if name not in known]
    about = [DictionaryAttr({}) for _ in types]
    if missing:
        types.append(tensor_type(i64, [len(missing)]))
        about.append(DictionaryAttr({SYMBOLS: dims_attr(missing)}))
    func = FuncOp("main", (types, op.result_types))
    func.properties["arg_attrs"] = ArrayAttr(about)
    block = func.body.block
    copy = op.clone(dict(zip(op.operands, block.args, strict=False)))
    block.add_ops([copy, ReturnOp(*copy.results)])
    func.properties["function_type"] = FunctionType.from_lists(types, list(copy.result_types))
    try:
        return onnx_model(func, WeightStore())
    except StepwellError:
        return None


def key_of(op: Operation) -> Hashable:
    """The key of an op without regions for the cache of `supports`: name, properties and types."""
    properties = frozenset(op.properties.items())
    return (op.name, properties, tuple(op.operand_types), tuple(op.result_types))


def computing_ops(op: Operation) -> list[Operation]:
    """The ops inside a kernel or composite, without constants; any other op itself."""
    if not isinstance(op, graph.ClosedRegionOp):
        return [op]
    return [inner for inner in op.body.block.ops if not isinstance(inner, graph.ConstantOp | graph.YieldOp)]


def departs(op: Operation) -> bool:
    """
    Whether ONNX Runtime computes an op with other results than its meaning, or would end the process.

    Integer quotients end in a signal for MIN / -1 and in an error for zero; padding by the tensor's own
    elements must be smaller than the tensor; numpy has no arrays of the small floats.
    """
    values = [*op.operands, *op.results]
    if any(dtype_of(element_of_value(value)).isbuiltin != 1 for value in values):
        return True
    match op:
        case graph.DivideOp() | graph.RemainderOp() | graph.PowerOp():
            return not is_float(element_of_value(op.lhs))
        case graph.PadOp():
            return op.mode.data != "constant" and not _repeats_once(op)
        case graph.EinsumOp():
            return op.equation.data != op.equation.data.lower()
        case _:
            return False


def _repeats_once(op: graph.PadOp) -> bool:
    """Whether padding by the tensor's own elements needs each of them at most once on either side."""
    dims = dims_of(op.input.type)
    if op.pads is None or not all(dim.is_static for dim in (*dims, *op.pads.get())):
        return False
    least = 1 if op.mode.data == "reflect" else 0
    pads = [dim.value for dim in op.pads.get()]
    ends = zip(dims, pads[: len(dims)], pads[len(dims) :], strict=True)
    return op.mode.data == "edge" or all(max(low, high) <= dim.value - least for dim, low, high in ends)
