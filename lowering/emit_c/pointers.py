"""The pointers of a module whose memory is written; all others are pointers to constants."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.emitc import EmitC_CallOpaqueOp, EmitC_PointerType
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import emitc
from stepwell.dialects.emitc import expressions


class Written:
    """The set of values that are pointers to memory which the module writes."""

    def __init__(self, values: Iterable[SSAValue]):
        self._values = frozenset(values)

    def __contains__(self, value: object) -> bool:
        return value in self._values

    @staticmethod
    def of(module: ModuleOp) -> Written:
        """Pointers that functions store through, with their source pointers."""
        functions = {f.sym_name.data: f for f in module.ops if isinstance(f, emitc.FuncOp)}
        found: set[SSAValue] = set()
        waiting: list[SSAValue] = []
        for op in module.walk():
            waiting += _stored(op)
        calls = [op for op in module.walk() if isinstance(op, emitc.CallOp)]
        while waiting:
            value = waiting.pop()
            if value in found or not isinstance(value.type, EmitC_PointerType):
                continue
            found.add(value)
            owner = value.owner
            if isinstance(owner, emitc.CastOp):
                waiting.append(owner.source)
            elif isinstance(owner, expressions.AddOp):
                waiting.append(owner.lhs)
            elif not isinstance(owner, Operation):  # an argument of a function
                for call in calls:
                    callee = functions.get(call.callee.string_value())
                    if callee is not None and callee.body.block is owner:
                        waiting.append(call.arguments[callee.body.block.args.index(value)])
        return Written(found)


def _stored(op: Operation) -> list[SSAValue]:
    """The pointers that an op itself writes through, or passes on to functions that may."""
    if isinstance(op, emitc.AssignOp) and isinstance(op.var.owner, expressions.SubscriptOp):
        return [op.var.owner.value]
    if isinstance(op, emitc.VerbatimOp):
        return list(op.fmt_args)
    if isinstance(op, EmitC_CallOpaqueOp):
        return [*op.call_args, *op.res]
    return []
