"""Ops of level 3 that are ours, or that MLIR types in another way, as ops of upstream MLIR."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import cf, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, NoneAttr, StridedLayoutAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from stepwell.dialects import runtime_calls
from stepwell.dialects.tensor_ir.memref_views import groups_of

MemRef = MemRefType[Attribute]


def rewrite_buffer_ops(module: ModuleOp) -> None:
    """Replace what `@main` asks of the runtime, and correct the types of collapsed buffers."""
    for op in list(module.walk()):
        match op:
            case runtime_calls.CheckOp():
                Rewriter.replace_op(op, cf.AssertOp(op.ok, f"check {op.row.value.data} of the program"))
            case runtime_calls.AllocateOp():
                made = memref.AllocOp.get(op.memory.type.get_element_type(), 64, [DYNAMIC_INDEX], [op.bytes])
                Rewriter.replace_op(op, made)
            case runtime_calls.PublishOp():
                _call(module, op, f"publish{op.place.value.data}")
            case runtime_calls.HostCallOp():
                _call(module, op, f"host_call{op.callee.value.data}")
            case memref.CollapseShapeOp():
                _correct(op)
            case _:
                pass


def _call(module: ModuleOp, op: Operation, name: str) -> None:
    """Replace an op by the call of a function that the program declares and does not define."""
    if all(f.sym_name.data != name for f in module.ops if isinstance(f, FuncOp)):
        module.body.block.add_op(FuncOp.external(name, list(op.operand_types), list(op.result_types)))
    Rewriter.replace_op(op, CallOp(name, op.operands, op.result_types))


def _correct(op: memref.CollapseShapeOp) -> None:
    """
    Give a collapsed buffer the strides that MLIR computes; its users get ours, by casts.

    They differ where all merged dimensions are 1: then our stride is 1, and MLIR's is the stride of the first
    of them.
    """
    source, ours = cast(MemRef, op.src.type), op.result.type
    if isinstance(ours.layout, NoneAttr):
        return
    groups = groups_of(op.reassociation)
    extents, strides = source.get_shape(), source.get_strides()
    if strides is None:
        return
    merged = [strides[next((i for i in reversed(g) if extents[i] != 1), g[0])] for g in groups]
    theirs = MemRefType(ours.element_type, ours.get_shape(), StridedLayoutAttr(merged, _offset(ours)))
    if theirs == ours:
        return
    open_type = MemRefType(
        ours.element_type, ours.get_shape(), StridedLayoutAttr([None] * len(groups), _offset(ours))
    )
    corrected = memref.CollapseShapeOp.build(
        operands=[op.src], properties={"reassociation": op.reassociation}, result_types=[theirs]
    )
    opened = memref.CastOp.get(corrected.result, open_type)
    Rewriter.replace_op(op, [corrected, opened, memref.CastOp.get(opened.dest, ours)])


def _offset(type: MemRef) -> int | None:
    return type.get_offset()
