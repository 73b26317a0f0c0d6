"""Sizes of tensors inside forms as dimensions over symbols, which prove more than values do."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.sched_kernel import symbols_of
from stepwell.dialects.tensor_ir.sizes import size_through_views
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.runtime.dims import Dim


class Extents:
    """The sizes of the operands of an op, and a builder before the op that knows the value of each symbol."""

    def __init__(self, op: Operation, emit: IRBuilder):
        parent = op.parent_op()
        while not isinstance(parent, FuncOp):
            assert parent is not None, "ops of level 2 are inside functions"
            parent = parent.parent_op()
        names = symbols_of(parent)
        values = parent.args[len(parent.args) - len(names) :]
        self.symbols: dict[str, SSAValue] = dict(zip(names, values, strict=True))
        self.emit = IRBuilder.before(op, emit.constants, self.symbols)

    def of(self, value: SSAValue, position: int) -> Dim:
        """The size of a dimension: an expression over symbols of the kernel, else a symbol of its own."""
        if (known := size_through_views(value, position)) is not None:
            return known
        if isinstance(size := dim_size(self.emit, value, position), int):
            return Dim.of(size)
        name = next((name for name, own in self.symbols.items() if own is size), f"size{len(self.symbols)}")
        self.symbols[name] = size
        return Dim.of(name)
