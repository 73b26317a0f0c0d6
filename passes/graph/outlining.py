"""Ops moved into a function of their own, with the values that go in and out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.locations import adopt_location, fused_location
from stepwell.passes.analysis.symbol_sources import symbols_needed, symbols_of_type


@dataclass
class Outline:
    """Ops of a block that are to become a function, with the values that go in and out."""

    ops: Sequence[Operation]
    constants: Sequence[SSAValue]
    """The constants that are copied into the function."""
    inputs: list[SSAValue]
    """The other values from outside, in the order of their first use."""
    results: Sequence[SSAValue]
    """The values with uses outside."""
    missing: Sequence[str]
    """The symbols that the ops need and no input's shape contains."""

    @staticmethod
    def of(ops: Sequence[Operation], copied: Callable[[SSAValue], bool]) -> Outline:
        """The outline of ops; `copied` says which constants the function has itself."""
        inside = set(ops)
        read = (value for op in ops for value in _read_by(op) if _comes_from_outside(value, inside))
        values = dict.fromkeys(read)
        constants = [v for v in values if isinstance(v.owner, graph.ConstantOp) and copied(v)]
        inputs = [value for value in values if value not in constants]
        known = {symbol for value in inputs for symbol in symbols_of_type(value.type)}
        known |= {name for op in ops for inner in op.walk() for name, _ in defined_symbols(inner)}
        missing = [symbol for symbol in dict.fromkeys(symbols_needed(ops)) if symbol not in known]
        results = [result for op in ops for result in op.results if _is_read_outside(result, inside)]
        return Outline(ops, constants, inputs, results, missing)

    def function(self, name: str) -> FuncOp:
        """A private function with copies of the ops, whose arguments and results have the values' names."""
        types = ([v.type for v in self.inputs], [r.type for r in self.results])
        func = FuncOp(name, types, visibility="private")
        block = func.body.block
        copies: dict[SSAValue, SSAValue] = dict(zip(self.inputs, block.args, strict=True))
        for value, arg in copies.items():
            arg.name_hint = value.name_hint
        for op in (*(value.owner for value in self.constants), *self.ops):
            assert isinstance(op, Operation)
            block.add_op(op.clone(copies))
        block.add_op(ReturnOp(*(copies[result] for result in self.results)))
        adopt_location(func, fused_location(self.ops))
        return func

    def replace_by(self, call: Operation) -> None:
        """Replace the ops by a call of the function, at the place of the first one."""
        IRBuilder(InsertPoint.before(self.ops[0]), fused_location(self.ops)).insert(call)
        for result, new in zip(self.results, call.results, strict=True):
            new.name_hint = result.name_hint
            result.replace_all_uses_with(new)
        for op in reversed(self.ops):
            op.detach()
            op.erase()


def _read_by(op: Operation) -> Iterator[SSAValue]:
    for inner in op.walk():
        yield from inner.operands


def _comes_from_outside(value: SSAValue, inside: set[Operation]) -> bool:
    owner = value.owner
    op = owner.parent_op() if isinstance(owner, Block) else owner
    while op is not None and op not in inside:
        op = op.parent_op()
    return op is None


def _is_read_outside(value: SSAValue, inside: set[Operation]) -> bool:
    for use in value.uses:
        op: Operation | None = use.operation
        while op is not None and op not in inside:
            op = op.parent_op()
        if op is None:
            return True
    return False
