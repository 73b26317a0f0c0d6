"""An upper bound of the stack that a call takes, for compilers that keep each value once, in eight bytes."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.emitc import EmitC_ArrayType, EmitC_CallOpaqueOp
from xdsl.ir import Operation

from stepwell.dialects import emitc
from stepwell.dialects.emitc import expressions
from stepwell.dialects.types import element_bytes
from stepwell.lowering.emit_c.mathematics import mathematics_stack_bytes

_WORD_BYTES = 8
_FRAME_BYTES = 192
"""Saved registers, the return address, alignment, and the small frames of helpers."""
_ENTRY_BYTES = 512
"""The functions around `model_main`."""
_WITHOUT_PLACE = (emitc.ConstantOp, emitc.LiteralOp, expressions.SubscriptOp, emitc.GetGlobalOp)


def stack_bytes(module: ModuleOp) -> int:
    """The bound for the deepest chain of calls in a module, with the entry functions; a multiple of 64."""
    functions = {f.sym_name.data: f for f in module.ops if isinstance(f, emitc.FuncOp)}
    deepest: dict[str, int] = {}
    for name, function in functions.items():  # callees come before their callers
        calls = [op.callee.string_value() for op in function.walk() if isinstance(op, emitc.CallOp)]
        helpers = [op.callee.data for op in function.walk() if isinstance(op, EmitC_CallOpaqueOp)]
        stacks = [*(deepest[callee] for callee in calls), *map(mathematics_stack_bytes, helpers)]
        inner = max(stacks, default=0)
        deepest[name] = _frame(function) + inner
    total = max(deepest.values(), default=0) + _ENTRY_BYTES
    return -(-total // 64) * 64


def _frame(function: emitc.FuncOp) -> int:
    """The bytes of a function's own arrays and values."""
    values = sum(len(op.results) for op in function.walk() if not isinstance(op, _WITHOUT_PLACE))
    arrays = sum(map(_array_bytes, function.walk()))
    return arrays + _WORD_BYTES * (values + len(function.body.block.args)) + _FRAME_BYTES


def _array_bytes(op: Operation) -> int:
    if not isinstance(op, emitc.VariableOp) or not isinstance(type := op.result.type, EmitC_ArrayType):
        return 0
    size = element_bytes(type.element_type) * type.get_shape()[0]
    return -(-size // _WORD_BYTES) * _WORD_BYTES
