"""Operators of the exported opset that have no bf16: they compute in f32 between casts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp, bf16, f32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph.host import is_opaque
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.graph_to_onnx import OPSET, cast_to, element_of
from stepwell.runtime.errors import StepwellError

_NARROW, _WIDE = "tensor(bfloat16)", "tensor(float)"


def widen_elements(module: ModuleOp) -> None:
    """
    Let operators without bf16 take and give f32.

    Raises: StepwellError `unsupported-op` for one without f32.
    """
    for op in [op for op in module.walk() if isinstance(op, onnx.OnnxOp)]:
        if any(map(_is_narrow, (*op.operands, *op.results))):
            _widen(op)


def _is_narrow(value: SSAValue) -> bool:
    return not is_opaque(value.type) and element_of(value) == bf16


def _widen(op: onnx.OnnxOp) -> None:
    """Cast the operands and results of an operator whose types lack bf16."""
    from onnx import defs

    if onnx.domain_of(op.name):
        return
    schema = defs.get_schema(op.op_type, OPSET, "")
    allowed = {row.type_param_str: set(row.allowed_type_strs) for row in schema.type_constraints}
    inputs = {formal.name: allowed.get(formal.type_str, {formal.type_str}) for formal in schema.inputs}
    outputs = {formal.name: allowed.get(formal.type_str, {formal.type_str}) for formal in schema.outputs}
    names = onnx.parameter_names(type(op))
    rewriter = PatternRewriter(op)
    for place, types in enumerate(_types_of(op, names[0], inputs)):
        if _is_narrow(value := op.operands[place]) and _needs_width(op, types):
            op.operands[place] = cast_to(value, f32, rewriter)
    rewriter.insertion_point = InsertPoint.after(op)
    for place, types in enumerate(_types_of(op, names[1], outputs)):
        result = op.results[place]
        if _is_narrow(result) and _needs_width(op, types):
            _narrow_after(result, rewriter)


def _narrow_after(result: SSAValue, rewriter: PatternRewriter) -> None:
    """Give a result the type f32, and replace its uses by a cast to the narrow type."""
    set_type(result, tensor_type(f32, dims_of(result.type)))
    narrow = cast_to(result, bf16, rewriter)
    result.replace_uses_with_if(narrow, lambda use: use.operation is not narrow.owner)


def _types_of(op: onnx.OnnxOp, names: Sequence[str], types: Mapping[str, set[str]]) -> Iterator[set[str]]:
    """The allowed types of each operand or result."""
    for name in names:
        for _ in range(onnx.group_size(op, name)):
            yield types[name]


def _needs_width(op: onnx.OnnxOp, types: set[str]) -> bool:
    """Whether f32 stands in for bf16. Raises: StepwellError `unsupported-op` where it cannot."""
    if _NARROW in types:
        return False
    if _WIDE not in types:
        raise StepwellError("unsupported-op", op, f"{op.op_type} of opset {OPSET} takes no bf16")
    return True
