"""`check-bounds`: loads and stores of buffers are proved to be inside, or guarded by conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, ModuleOp, i1, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.linalg_builder.support import symbol_arguments
from stepwell.dialects.sched import ACCESS, FAULTS
from stepwell.dialects.sched_kernel import kernel_of
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.dialects.tensor_ir.sizes import declared_size
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count
from stepwell.passes.loop.loop_indices import LoopIndices
from stepwell.runtime.errors import StepwellError

_RECORD = MemRefType(i64, [3])
Access: TypeAlias = memref.LoadOp | memref.StoreOp


@dataclass(frozen=True)
class CheckBoundsPass(Pass):
    """
    Guard each load and store of a buffer of which an index is not provably inside: outside, a load gives 0
    and a store is left out.

    ```mlir
    scf.for %i = %c0 to %c8 step %c1 {
      %j = arith.addi %i, %c1 : index
      memref.store %v, %y[%j] : memref<8xf32>
    }
    // ->
    scf.for %i = %c0 to %c8 step %c1 {
      %j = arith.addi %i, %c1 : index
      %ok = arith.cmpi slt, %j, %c8 : index
      scf.if %ok {
        memref.store %v, %y[%j] : memref<8xf32>
      }
    }
    ```
    What ranges of loops and conditions around an access prove gets no test. In a function with `sched.faults`
    the first access outside that has `sched.access` is recorded in the last output: its number, the index
    and the extent.
    Class: exact for accesses inside.
    """

    name = "check-bounds"

    keep_proved: bool = False
    """Tests indices that are provably inside too."""
    marked: bool = False
    """Visits functions with `sched.faults` alone."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions_of(op):
            if func.body.blocks and (not self.marked or FAULTS in func.attributes):
                _Function(func, self.keep_proved).run()


class _Function:
    """The accesses of a function, and where those outside are recorded."""

    def __init__(self, func: FuncOp, keep_proved: bool):
        self._func, self._keep_proved = func, keep_proved
        self._indices = LoopIndices(func)
        self._symbols = dict(symbol_arguments(func)) if kernel_of(func) is not None else {}
        self._record = _record_of(func)

    def run(self) -> None:
        """Guard what is not proved."""
        for op in list(self._func.walk()):
            if isinstance(op, memref.LoadOp | memref.StoreOp) and op.memref is not self._record:
                self._check(op)
        erase_dead(self._func)

    def _check(self, op: Access) -> None:
        emit = IRBuilder.before(op, symbols=self._symbols)
        tests: list[tuple[SSAValue, SSAValue, SSAValue]] = []
        for axis, index in enumerate(op.indices):
            extent = self._extent(op.memref, axis, emit)
            if (ok := self._test(op, index, extent, emit)) is not None:
                tests.append((ok, index, extent))
        if tests:
            self._guard(op, tests, emit)
            count("checks")
        else:
            count("proved")

    def _extent(self, buffer: SSAValue, axis: int, emit: IRBuilder) -> SSAValue:
        """The extent of a dimension: a number, a size by its symbol, or that of an allocation."""
        type = cast("MemRefType[Attribute]", buffer.type)
        if (number := type.get_shape()[axis]) != DYNAMIC_INDEX:
            return emit.materialize(number)
        if (size := self._indices.size_of(buffer, axis)) is not None:
            return size
        dim = declared_size(buffer, axis)
        if dim is not None and not dim.is_unknown and dim.symbols() <= self._symbols.keys():
            return emit.extent(dim)
        return emit.value(memref.DimOp(buffer, emit.materialize(axis)))

    def _test(self, op: Access, index: SSAValue, extent: SSAValue, emit: IRBuilder) -> SSAValue | None:
        """A condition that holds for an index inside; None where it always does."""
        at, end = self._indices.text(index), self._indices.text(extent)
        analyzer = self._indices.analyzer(op, f"{at} + {end}")
        tests: list[SSAValue] = []
        for sign, predicate, other, text in (
            (">=", "sge", emit.materialize(0), "0"),
            ("<", "slt", extent, end),
        ):
            if self._keep_proved or analyzer.proves(f"{at} {sign} {text}") is not True:
                tests.append(emit.value(arith.CmpiOp(index, other, predicate)))
        return _both(tests, emit) if tests else None

    def _guard(
        self, op: Access, tests: Sequence[tuple[SSAValue, SSAValue, SSAValue]], emit: IRBuilder
    ) -> None:
        """Put an access under a condition, whose other side records it."""
        condition = _both([ok for ok, _, _ in tests], emit)
        inside, outside = emit.inside(Block()), emit.inside(Block())
        if self._record is not None and ACCESS in op.attributes:
            number = cast("IntegerAttr", op.attributes[ACCESS]).value.data
            self._write_record(outside, number, tests)
        copy = op.clone()
        inside.insert(copy)
        results = [result.type for result in op.results]
        other = [outside.number(0, type) for type in results]
        inside.insert(scf.YieldOp(*copy.results))
        outside.insert(scf.YieldOp(*other))
        other_side = outside.insertion_point.block
        is_needed = bool(results) or len(list(other_side.ops)) > 1
        guarded = emit.insert(
            scf.IfOp(
                condition,
                results,
                Region(inside.insertion_point.block),
                Region(other_side) if is_needed else None,
            )
        )
        Rewriter.replace_op(op, [], guarded.results)

    def _write_record(
        self, emit: IRBuilder, number: int, tests: Sequence[tuple[SSAValue, SSAValue, SSAValue]]
    ) -> None:
        """Record the number, index and extent of an access outside, unless there is a record already."""
        assert self._record is not None
        record, (_, index, extent) = self._record, tests[-1]
        for ok, earlier, size in tests[-2::-1]:
            index = emit.value(arith.SelectOp(ok, index, earlier))
            extent = emit.value(arith.SelectOp(ok, extent, size))
        known = emit.value(memref.LoadOp.get(record, [emit.materialize(0)]))
        is_first = emit.value(arith.CmpiOp(known, emit.number(0, i64), "eq"))
        then = emit.inside(Block())
        values = then.number(number, i64), *(then.value(arith.IndexCastOp(v, i64)) for v in (index, extent))
        for place, value in enumerate(values):
            then.insert(memref.StoreOp.get(value, record, [then.materialize(place)]))
        then.insert(scf.YieldOp())
        emit.insert(scf.IfOp(is_first, [], Region(then.insertion_point.block)))


def _record_of(func: FuncOp) -> SSAValue | None:
    """
    The output in which accesses outside are recorded; None for a function that has none.

    Raises: StepwellError `invalid-ir`.
    """
    kernel = kernel_of(func)
    if kernel is None or FAULTS not in func.attributes:
        return None
    record = func.args[kernel.inputs.data + kernel.outputs.data - 1]
    if kernel.outputs.data < 1 or record.type != _RECORD:
        raise StepwellError(
            "invalid-ir",
            func,
            f"a kernel with {FAULTS} has {_RECORD} as its last output, found {record.type}",
            help="its first number is that of the access, or 0, then index and extent",
        )
    return record


def _both(conditions: Sequence[SSAValue], emit: IRBuilder) -> SSAValue:
    first, *rest = conditions
    for other in rest:
        first = emit.value(arith.AndIOp(first, other, i1))
    return first
