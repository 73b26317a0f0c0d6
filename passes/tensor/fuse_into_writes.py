"""`fuse-into-writes`: elementwise ops are computed on the vectors that loops are about to write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import scf, tensor, vector
from xdsl.dialects.builtin import AnyFloat, IntegerType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import Constants, IRBuilder
from stepwell.dialects.tensor_ir import transfers
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.dialects.tensor_ir.structured import Structured, single_dim, tensor_element
from stepwell.dialects.tensor_ir.transfers import dim_of, vector_of, vector_type
from stepwell.dialects.tensor_ir.vector_values import VectorValues, has_vector_form
from stepwell.passes.context import remark
from stepwell.passes.tensor.scheduling_pass import SchedulingPass

# Ops that may move before loops that they do not depend on.
_MOVABLE = ("arith.", "tensor.dim", "tensor.empty", "tensor.expand_shape", "tensor.collapse_shape")
_BITS_A_BYTE = 8


@dataclass(frozen=True)
class FuseIntoWritesPass(SchedulingPass):
    """
    Fuse each elementwise op into the loops that write its operand, on every vector before the write.

    ```mlir
    %1 = scf.for %i = %c0 to %c8 step %c1 iter_args(%o = %0) -> (tensor<8x16xf32>) {
      %v = …
      %w = vector.transfer_write %v, %o[%i, %c0] : vector<16xf32>, tensor<8x16xf32>
      scf.yield %w : tensor<8x16xf32>
    }
    %3 = linalg.generic {… (d0, d1) -> (d0, d1), (d0, d1) -> (d1), …} ins(%1, %bias) outs(%2) { addf }
    // ->
    %3 = scf.for %i = %c0 to %c8 step %c1 iter_args(%o = %0) -> (tensor<8x16xf32>) {
      %v = …
      %b = vector.transfer_read %bias[%c0] : tensor<16xf32>, vector<16xf32>
      %s = arith.addf %v, %b : vector<16xf32>
      %w = vector.transfer_write %s, %o[%i, %c0] : vector<16xf32>, tensor<8x16xf32>
      scf.yield %w : tensor<8x16xf32>
    }
    ```
    The loops must start from an empty tensor and only write it, in vectors along its last dimension; nothing
    else may use their results. An element that is written twice is computed twice. Class: exact.
    Source: Halide's `compute_at` for consumers; the epilogues of CUTLASS.
    """

    name = "fuse-into-writes"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        constants = Constants(func)
        for op in list(func.walk()):
            if isinstance(op, linalg.GenericOp) and (found := _Epilogue.of(op)) is not None:
                if (obstacle := found.obstacle()) is not None:
                    remark(op, f"not fused into the loops that write its operand: {obstacle}")
                else:
                    found.fuse(constants)
        erase_dead(func)


@dataclass(frozen=True)
class _Epilogue:
    """An elementwise op with an operand written by a loop nest, and that nest."""

    view: Structured
    position: int
    """The input that the loops wrote."""
    loops: scf.ForOp
    nest: _Nest

    @staticmethod
    def of(op: linalg.GenericOp) -> _Epilogue | None:
        """The op as an epilogue of a nest that wrote an input; None when it is not elementwise."""
        view = Structured.of(op)
        if view is None or not all(view.parallel) or len(op.results) != 1:
            return None
        identity = AffineMap.identity(view.rank)
        if view.init_maps[0] != identity or not isinstance(view.inits[0].owner, tensor.EmptyOp):
            return None
        for position, (value, map) in enumerate(zip(view.inputs, view.maps, strict=False)):
            if (
                isinstance(value, OpResult)
                and isinstance(loops := value.op, scf.ForOp)
                and loops.parent is op.parent
                and map == identity
                and value.has_one_use()
                and isinstance(loops.iter_args[value.index].owner, tensor.EmptyOp)
                and (nest := _Nest.of(loops, value.index)) is not None
            ):
                return _Epilogue(view, position, loops, nest)
        return None

    def obstacle(self) -> str | None:
        """The reason why the op cannot be computed inside the loops, for a remark; None when it can."""
        if not _is_whole_bytes(tensor_element(self.view.inits[0])):
            return f"elements of {tensor_element(self.view.inits[0])} are no vectors in memory"
        if any(dim_of(write) != (self.view.rank - 1,) or write.mask for write in self.nest.writes):
            return "not in vectors along the last dimension"
        for op in self.view.body.ops:
            if not isinstance(op, linalg.YieldOp) and not has_vector_form(op):
                return f"{op.name} has no form on vectors"
        if not self._can_be_defined_before(self.view.inits[0]):
            return "the size of its result is not known before the loops"
        for number, (value, map) in enumerate(zip(self.view.inputs, self.view.maps, strict=False)):
            if number != self.position and not (
                _reads_along_lanes(map) and self._can_be_defined_before(value)
            ):
                return f"its operand of type {value.type} is not known before the loops, or not by lanes"
        return None

    def _can_be_defined_before(self, value: SSAValue) -> bool:
        """Whether a value is defined before the loops, or its producers can be moved there."""
        owner = value.owner
        block = self.loops.parent
        if (
            not isinstance(owner, Operation)
            or owner.parent is not block
            or owner.is_before_in_block(self.loops)
        ):
            return True
        return owner.name.startswith(_MOVABLE) and all(self._can_be_defined_before(v) for v in owner.operands)

    def _move_before(self, value: SSAValue) -> None:
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not self.loops.parent:
            return
        if not owner.is_before_in_block(self.loops):
            for operand in owner.operands:
                self._move_before(operand)
            owner.detach()
            block = self.loops.parent
            assert block is not None
            block.insert_op_before(owner, self.loops)

    def fuse(self, constants: Constants) -> None:
        """Compute the op before each write of the nest, and replace its result by that of the loops."""
        # Other operands have to be defined before the loops.
        for value in self.view.op.operands:
            if value is not self.loops.results[self.nest.position]:
                self._move_before(value)
        # The op on each written vector; then the carried tensor gets the element type of the result.
        reads: dict[tuple[object, ...], SSAValue] = {}
        made = [self._change(write, constants, reads) for write in self.nest.writes]
        result, op = self.view.op.results[0], self.view.op
        if result.type != self.loops.results[self.nest.position].type:
            self.nest.retype(self.view.inits[0], made)
        result.replace_all_uses_with(self.loops.results[self.nest.position])
        op.detach()
        op.erase()

    def _change(
        self, write: vector.TransferWriteOp, constants: Constants, reads: dict[tuple[object, ...], SSAValue]
    ) -> SSAValue:
        """Replace a write by one of the op's result on the written vector; returns the tensor after it."""
        view, emit = self.view, IRBuilder.before(write, constants)
        shape = vector_of(write.vector).get_shape()
        values = VectorValues(emit, shape, {view.body.args[self.position]: write.vector})
        for number, (arg, value, map) in enumerate(zip(view.body.args, view.inputs, view.maps, strict=False)):
            if number != self.position and arg.first_use is not None:
                values[arg] = _operand(values, value, map, write, reads)
        last = view.body.last_op
        assert last is not None
        for op in view.body.ops:
            if op is not last:
                values.compute(op)
        changed = transfers.write(emit, values[last.operands[0]], write.source, write.indices, dim_of(write))
        assert write.result is not None
        write.result.replace_all_uses_with(changed)
        write.detach()
        write.erase()
        return changed


def _operand(
    values: VectorValues,
    value: SSAValue,
    map: AffineMap,
    write: vector.TransferWriteOp,
    reads: dict[tuple[object, ...], SSAValue],
) -> SSAValue:
    """Another operand's elements for a written vector, read once a block for writes that share them."""
    if not isinstance(value.type, TensorType):
        return values.broadcast(value)
    emit, element = values.emit, tensor_element(value)
    indices = [_index(expr, write.indices, emit) for expr in map.results]
    key = (write.parent, value, *indices)
    if key not in reads:
        if map.results and single_dim(map.results[-1]) == map.num_dims - 1:
            type = vector_type(element, values.shape)
            reads[key] = transfers.read(emit, value, indices, type, (len(indices) - 1,))
        else:
            one = tensor.ExtractOp.create(operands=[value, *indices], result_types=[element])
            reads[key] = values.broadcast(emit.value(one))
    return reads[key]


def _index(expr: AffineExpr, indices: Sequence[SSAValue], emit: IRBuilder) -> SSAValue:
    if isinstance(expr, AffineConstantExpr):
        return emit.materialize(expr.value)
    dim = single_dim(expr)
    assert dim is not None  # `obstacle` has seen to that
    return indices[dim]


def _reads_along_lanes(map: AffineMap) -> bool:
    """Whether a map indexes by single loops and constants, and uses the lanes in the last dimension only."""
    lanes = map.num_dims - 1
    plain = all(isinstance(e, AffineConstantExpr) or single_dim(e) is not None for e in map.results)
    return plain and all(single_dim(expr) != lanes for expr in map.results[:-1])


def _is_whole_bytes(element: Attribute) -> bool:
    if isinstance(element, IntegerType):
        return cast(IntegerType, element).width.data % _BITS_A_BYTE == 0
    return isinstance(element, AnyFloat)


Level: TypeAlias = tuple[scf.ForOp, int]
"""A loop and the number of the carried value that is the tensor."""


@dataclass(frozen=True)
class _Nest:
    """Loops that carry one tensor from write to write."""

    levels: Sequence[Level]
    """The outermost first."""
    writes: Sequence[vector.TransferWriteOp]

    @property
    def position(self) -> int:
        """The number of the tensor among the values that the outermost loop carries."""
        return self.levels[0][1]

    @staticmethod
    def of(loop: scf.ForOp, position: int) -> _Nest | None:
        """The loops and writes from a loop inwards; None when the tensor has other uses than writes."""
        levels: list[Level] = [(loop, position)]
        writes: list[vector.TransferWriteOp] = []
        value: SSAValue = loop.body.block.args[1 + position]
        while (use := value.get_unique_use()) is not None:
            op = use.operation
            if isinstance(op, vector.TransferWriteOp) and op.source is value and op.result is not None:
                writes.append(op)
                value = op.result
            elif isinstance(op, scf.ForOp) and use.index > 2:
                inner = _Nest.of(op, use.index - 3)
                if inner is None:
                    return None
                levels += inner.levels
                writes += inner.writes
                value = op.results[use.index - 3]
            elif isinstance(op, scf.YieldOp) and op.parent is loop.body.block and use.index == position:
                return _Nest(levels, writes)
            else:
                return None
        return None

    def retype(self, empty: SSAValue, written: Sequence[SSAValue]) -> None:
        """Start the loops from another empty tensor, and give the carried and written values its type."""
        loop, position = self.levels[0]
        loop.operands[3 + position] = empty
        arguments = [inner.body.block.args[1 + at] for inner, at in self.levels]
        results = [inner.results[at] for inner, at in self.levels]
        for value in (*arguments, *results, *written):
            Rewriter.replace_value_with_new_type(value, empty.type)
