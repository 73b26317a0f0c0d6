"""Texts of elements and indices for scripts, and which uses of a tensor need a copy of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.frontend.script.write_words import plain_number
from stepwell.runtime.errors import StepwellError

_SIGNS = {
    AffineBinaryOpKind.Add: "+",
    AffineBinaryOpKind.Mul: "*",
    AffineBinaryOpKind.FloorDiv: "//",
    AffineBinaryOpKind.Mod: "%",
}


def root_of(op: scf.IfOp, position: int) -> SSAValue:
    """The tensor from outside of which a branch returns a version."""
    last = op.true_region.block.last_op
    assert last is not None
    value = last.operands[position]
    while isinstance(owner := value.owner, Operation) and op.is_ancestor(owner):
        value = (
            root_of(owner, cast("OpResult", value).index)
            if isinstance(owner, scf.IfOp)
            else init_of(owner, value)
        )
    return value


def init_of(op: Operation, value: SSAValue) -> SSAValue:
    """The version of a tensor that an op changes. Raises: StepwellError `script-syntax`."""
    match op:
        case tensor.InsertOp():
            return op.dest
        case scf.ForOp():
            return op.iter_args[cast("OpResult", value).index]
        case _:
            raise StepwellError("script-syntax", op, f"a branch returns a tensor of {op.name}")


def is_after(use: Operation, op: Operation) -> bool:
    """Whether a tensor is used after an op changes it, or by the op itself at other elements."""
    ancestor: Operation | None = use
    while ancestor is not None and ancestor.parent is not op.parent:
        ancestor = ancestor.parent_op()
    if ancestor is None:
        return False
    if ancestor is op and isinstance(op, scf.IfOp):
        return False
    if ancestor is op:
        return use is not op or reads_other_elements(op)
    return op.is_before_in_block(ancestor)


def reads_other_elements(op: Operation) -> bool:
    """Whether a structured op reads its output at elements other than the written ones."""
    view = Structured.of(op)
    if view is None:
        return False
    pairs = list(zip(view.inputs, view.maps, strict=False))
    return any(
        value is init and (map != init_map or not all(view.parallel))
        for init, init_map in zip(view.inits, view.init_maps, strict=True)
        for value, map in pairs
    )


def needs_memory(use: Operation, value: SSAValue) -> bool:
    """Whether an op uses a new tensor for more than its extents, and does not compute into a slice."""
    if isinstance(use, FillOp):
        return not is_zero(use.inputs[0])
    if not isinstance(use, GenericOp):
        return True
    results = [r for r, init in zip(use.results, use.outputs, strict=True) if init is value]
    return any(not is_pasted(result) for result in results)


def is_pasted(result: SSAValue) -> bool:
    uses = list(result.uses)
    last = uses[0].operation if len(uses) == 1 else None
    return isinstance(last, tensor.InsertSliceOp) and last.source is result and has_unit_steps(last)


def is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name == "arith.constant"


def is_zero(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, Operation) and plain_number(owner) in ("0", "0.0", "False")


def tensor_type_of(value: SSAValue) -> TensorType[Attribute]:
    return cast("TensorType[Attribute]", value.type)


def has_unit_steps(op: tensor.ExtractSliceOp | tensor.InsertSliceOp) -> bool:
    return all(step == 1 for step in op.static_strides.get_values())


def grid_text(loops: Sequence[str], extents: Sequence[str]) -> str:
    word = "range" if len(loops) == 1 else "grid"
    return f"for {', '.join(loops)} in {word}({', '.join(extents)}):"


def element_text(name: str, place: Sequence[str], offsets: Sequence[str]) -> str:
    indices = (
        [sum_text(index, offset) for index, offset in zip(place, offsets, strict=True)] if offsets else place
    )
    return f"{name}[{', '.join(indices) or '()'}]"


def sum_text(a: str, b: str) -> str:
    return a if b == "0" else b if a == "0" else f"{a} + {b}"


def index_text(expr: AffineExpr, loops: Sequence[str]) -> str:
    match expr:
        case AffineDimExpr():
            return loops[expr.position]
        case AffineConstantExpr():
            return str(expr.value)
        case AffineBinaryOpExpr() if expr.kind in _SIGNS:
            left, right = index_text(expr.lhs, loops), index_text(expr.rhs, loops)
            text = f"{left} {_SIGNS[expr.kind]} {right}"
            return text if expr.kind is AffineBinaryOpKind.Add else f"({text})"
        case _:
            return str(expr)
