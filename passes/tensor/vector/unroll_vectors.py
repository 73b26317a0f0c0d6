"""Cut vectors of any shape into vectors of one dimension that fit the registers of the target."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, scf, tensor, vector
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerType, UnitAttr, VectorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from stepwell.dialects._xdsl import target_of
from stepwell.dialects.ir_builder import Constants, IRBuilder, dense_attr
from stepwell.dialects.sched import UNROLLED
from stepwell.dialects.tensor_ir import memory
from stepwell.dialects.tensor_ir.combiners import reduce_vectors
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.dialects.tensor_ir.pieces import Layout, Pieces, broadcast, extract, from_scalars, insert
from stepwell.dialects.tensor_ir.transfers import element_type, is_in_bounds, vector_of, vector_type
from stepwell.dialects.tensor_ir.transposes import assembled
from stepwell.dialects.types import element_bytes
from stepwell.dialects.vector import MultiReductionOp, ShapeCastOp
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import remark
from stepwell.passes.tensor.vector import short_rows
from stepwell.passes.tensor.vector.divisions import Reciprocals
from stepwell.passes.tensor.vector.short_rows import vectors_of_short_rows
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import target_from


@dataclass(frozen=True)
class UnrollVectorsPass(FunctionPass):
    """
    Replace vectors by as many of one dimension as they need, none longer than a register.

    Afterwards each vector is read from neighbours in memory or is one scalar in all lanes; slices have become
    indices of the tensors they were cut from, and loops carry one value for each accumulator register.
    Elements that are not contiguous along the lanes are gathered one by one: correct, but slow, so schedules
    avoid it.
    """

    name = "unroll-vectors"

    mcpu: str = ""
    """The target, as `stepwell compile --mcpu` takes it; without it, the one of the compilation."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if UNROLLED in func.attributes:  # text that went through here may come back
            return
        if any(isinstance(r.type, VectorType) for op in func.walk() for r in op.results):
            target = target_from(self.mcpu) if self.mcpu else target_of(ctx)
            lanes = max(1, target.lanes(_widest(func)))
            short = vectors_of_short_rows(func, lanes)
            _Unroller(Constants(func), lanes, target.vector_registers, short).run(func.body.block)
            erase_dead(func)
            func.attributes[UNROLLED] = UnitAttr()


def _widest(func: FuncOp) -> int:
    """Bytes of the largest element that vectors of a function carry from or to memory."""
    sizes = [1]
    for op in func.walk():
        if isinstance(op, vector.TransferReadOp | vector.TransferWriteOp):
            sizes.append(element_bytes(element_type(op.source.type)))
    return max(sizes)


class _Unroller:
    """Walks blocks in order and stores the pieces of each vector that was replaced."""

    def __init__(self, constants: Constants, lanes: int, registers: int, short_rows: Set[SSAValue]):
        self._short_rows = short_rows
        self._constants = constants
        self._lanes = lanes
        self._registers = registers
        self._pieces: dict[SSAValue, Pieces] = {}
        self._writes: dict[SSAValue, vector.TransferWriteOp] = {}
        """Maps tiles to their writes, delayed until the `insert_slice` of the tile gives the offset."""
        self._replaced: list[Operation] = []
        self._arguments: list[tuple[Block, BlockArgument]] = []
        self._rules: dict[type[Operation], Callable[[IRBuilder, Operation], None]] = {
            vector.TransferReadOp: self._read,
            vector.TransferWriteOp: self._write,
            tensor.InsertSliceOp: self._insert_slice,
            vector.BroadcastOp: self._broadcast,
            ShapeCastOp: self._shape_cast,
            vector.ExtractOp: self._extract,
            vector.InsertOp: self._insert,
            vector.ShuffleOp: self._shuffle,
            MultiReductionOp: self._multi_reduction,
            arith.ConstantOp: self._constant,
            scf.ForOp: self._for,
        }

    def run(self, block: Block) -> None:
        """Replace all vectors of a function's body."""
        if (first := block.first_op) is not None:
            self._block(IRBuilder.before(first, self._constants), block)
        for op in reversed(self._replaced):
            op.detach()
            op.erase()
        for owner, argument in self._arguments:
            owner.erase_arg(argument)

    def _block(self, emit: IRBuilder, block: Block) -> None:
        for op in list(block.ops):
            emit.move_before(op)
            if (rule := self._rules.get(type(op))) is not None:
                rule(emit, op)
            elif _is_elementwise(op):
                self._elementwise(emit, op)
            elif not isinstance(op, scf.YieldOp):  # its loop replaces it
                self._take_pieces(emit, op)

    def _layout(self, value: SSAValue) -> Layout:
        return Layout(vector_of(value), self._lanes, joined=value in self._short_rows)

    def _of(self, value: SSAValue) -> Pieces:
        """The pieces of a vector; a vector without recorded pieces must fit a register as it is."""
        if value not in self._pieces:
            self._pieces[value] = Pieces(self._layout(value), [value])
            self._only_piece(value)
        return self._pieces[value]

    def _only_piece(self, value: SSAValue) -> Pieces:
        """The pieces of a vector that fits one register. Raises: StepwellError for a larger one."""
        pieces = self._pieces[value]
        if pieces.layout.leading or len(pieces.layout.positions) > 1:
            owner = value.owner if isinstance(value.owner, Operation) else None
            raise StepwellError(
                "unsupported", owner, f"no way to cut {value.type} for all that makes and uses it"
            )
        return pieces

    def _replace(self, op: Operation, pieces: Pieces) -> None:
        self._pieces[op.results[0]] = pieces
        self._replaced.append(op)

    def _read(self, emit: IRBuilder, op: Operation) -> None:
        assert isinstance(op, vector.TransferReadOp)
        if not is_in_bounds(op):
            self._replace(op, memory.reads_to_the_end(emit, op, self._layout(op.result)))
            return
        reads = short_rows.reads if op.result in self._short_rows else memory.reads
        self._replace(op, reads(emit, op, self._layout(op.result)))

    def _write(self, emit: IRBuilder, op: Operation) -> None:
        assert isinstance(op, vector.TransferWriteOp) and op.result is not None
        use = op.result.get_user_of_unique_use()
        if isinstance(use, tensor.InsertSliceOp) and use.source is op.result and use.parent is op.parent:
            self._writes[op.result] = op
        else:
            op.result.replace_all_uses_with(self._written(emit, op, op.source))
        self._replaced.append(op)

    def _insert_slice(self, emit: IRBuilder, op: Operation) -> None:
        """Write the pieces of a tile directly to the slice that the tile is inserted into."""
        assert isinstance(op, tensor.InsertSliceOp)
        write = self._writes.get(op.source)
        if write is None:
            return
        strides = op.static_strides.get_values()
        view = memory.StridedView(op.dest, tuple(memory.slice_offsets(op)), strides)
        op.result.replace_all_uses_with(self._written(emit, write, op.dest, view))
        self._replaced.append(op)

    def _written(
        self,
        emit: IRBuilder,
        op: vector.TransferWriteOp,
        into: SSAValue,
        view: memory.StridedView | None = None,
    ) -> SSAValue:
        if not is_in_bounds(op):
            return memory.write_to_the_end(emit, op, self._of(op.vector), into)
        write = short_rows.write if op.vector in self._short_rows else memory.write
        return write(emit, op, self._of(op.vector), into, view)

    def _broadcast(self, emit: IRBuilder, op: Operation) -> None:
        assert isinstance(op, vector.BroadcastOp)
        layout, source = self._layout(op.vector), op.source
        if isinstance(source.type, VectorType):
            self._replace(op, repeat(emit, self._of(source), layout))
            return
        made = {size: broadcast(emit, source, size) for size in {size for _, _, size in layout.positions}}
        self._replace(op, Pieces(layout, [made[size] for _, _, size in layout.positions]))

    def _shape_cast(self, emit: IRBuilder, op: Operation) -> None:
        assert isinstance(op, ShapeCastOp)
        layout, source = self._layout(op.result), self._of(op.source)
        if layout.width == source.layout.width:
            self._replace(op, Pieces(layout, source.all(emit)))
        else:
            self._replace(op, from_scalars(emit, layout, source.scalars(emit)))

    def _extract(self, emit: IRBuilder, op: Operation) -> None:
        """Replace `vector.extract` by an extract of a lane from the piece that contains it."""
        assert isinstance(op, vector.ExtractOp)
        source = self._of(op.vector)
        number, lane = self._piece_and_lane(source.layout, op.static_position)
        op.result.replace_all_uses_with(extract(emit, source.get(emit, number), lane))
        self._replaced.append(op)

    def _insert(self, emit: IRBuilder, op: Operation) -> None:
        """Replace `vector.insert` by an insert into the piece that contains the element."""
        assert isinstance(op, vector.InsertOp)
        dest = self._of(op.dest)
        number, lane = self._piece_and_lane(dest.layout, op.static_position)
        pieces = dest.all(emit)
        pieces[number] = insert(emit, op.source, pieces[number], lane)
        self._replace(op, Pieces(dest.layout, pieces))

    def _piece_and_lane(self, layout: Layout, position: DenseArrayBase[IntegerType]) -> tuple[int, int]:
        """The number of the piece that contains an element, and the lane in it."""
        *lead, last = (int(i) for i in position.get_values())
        start = last // self._lanes * self._lanes
        return layout.index(lead, start), last - start

    def _shuffle(self, emit: IRBuilder, op: Operation) -> None:
        """Replace `vector.shuffle`: each piece is assembled from operand pieces that contain its lanes."""
        assert isinstance(op, vector.ShuffleOp)
        layout, sources = self._layout(op.result), [self._of(op.v1), self._of(op.v2)]
        lanes = [int(lane) for lane in cast("DenseArrayBase[IntegerType]", op.mask).get_values()]
        if any(source.layout.types() != layout.types() or layout.width % self._lanes for source in sources):
            for source in (op.v1, op.v2):
                self._only_piece(source)
        pieces = [piece for source in sources for piece in source.all(emit)]
        values = [assembled(emit, pieces, lanes[start : start + size]) for _, start, size in layout.positions]
        self._replace(op, Pieces(layout, values))

    def _multi_reduction(self, emit: IRBuilder, op: Operation) -> None:
        assert isinstance(op, MultiReductionOp)
        source, kind = self._of(op.source), op.kind.data
        rank = len(source.layout.leading) + 1
        if tuple(op.reduction_dims.get_values()) != (rank - 1,):
            raise StepwellError("unsupported", op, "only the last dimension of a vector is reduced so far")
        is_scalar = not isinstance(op.acc.type, VectorType)
        starts = [op.acc] if is_scalar else self._of(op.acc).scalars(emit)
        row = len(source.layout.starts)
        pieces = source.all(emit)
        sums = [
            reduce_vectors(emit, kind, pieces[i * row : (i + 1) * row], start)
            for i, start in enumerate(starts)
        ]
        if is_scalar:
            op.dest.replace_all_uses_with(sums[0])
            self._replaced.append(op)
        else:
            self._replace(op, from_scalars(emit, self._layout(op.dest), sums))

    def _constant(self, emit: IRBuilder, op: Operation) -> None:
        assert isinstance(op, arith.ConstantOp)
        if not isinstance(op.result.type, VectorType):
            return
        layout = self._layout(op.result)
        if not layout.leading and len(layout.positions) == 1:
            return
        assert isinstance(op.value, DenseIntOrFPElementsAttr)
        numbers = cast(Sequence[float], op.value.get_values())
        values: list[SSAValue] = []
        for lead, start, size in layout.positions:
            first = layout.index(lead, layout.starts[0]) // len(layout.starts) * layout.width + start
            type = vector_type(layout.element, (size,))
            values.append(emit.constant(dense_attr(type, numbers[first : first + size]), type))
        self._replace(op, Pieces(layout, values))

    def _elementwise(self, emit: IRBuilder, op: Operation) -> None:
        """Replace an elementwise op by one for each piece; shared scalar divisors become reciprocals."""
        layouts = [self._layout(result) for result in op.results]
        types = [layout.types() for layout in layouts]
        pieces = {v: self._of(v) for v in op.operands if isinstance(v.type, VectorType)}
        made: dict[int, Operation] = {}
        reciprocals = Reciprocals(op, pieces, emit)
        for i in _by_scalar(list(pieces.values()), len(layouts[0].positions)):
            operands = [pieces[v].get(emit, i) if v in pieces else v for v in op.operands]
            op_type: type[Operation] = type(op)
            if (factor := reciprocals.factor(emit, operands[-1])) is not None:
                op_type, operands = arith.MulfOp, [operands[0], factor]
            piece = op_type.create(
                operands=operands,
                result_types=[t[i] for t in types],
                properties=op.properties.copy(),
                attributes=op.attributes.copy(),
            )
            made[i] = emit.insert(piece)
        for position, (result, layout) in enumerate(zip(op.results, layouts, strict=True)):
            values = [made[i].results[position] for i in range(len(made))]
            self._pieces[result] = Pieces(layout, values)
        self._replaced.append(op)

    def _take_pieces(self, emit: IRBuilder, op: Operation) -> None:
        """Replace vectors among the operands of any other op by their only piece."""
        for index, value in enumerate(op.operands):
            if value in self._pieces:
                op.operands[index] = self._only_piece(value).get(emit, 0)

    def _for(self, emit: IRBuilder, op: Operation) -> None:
        """Rebuild a loop so that it carries the pieces of each vector as separate values."""
        assert isinstance(op, scf.ForOp)
        # Initial values, block arguments and the body on pieces.
        block = op.body.block
        carried = self._expanded(emit, op.iter_args)
        if (vectors := sum(isinstance(v.type, VectorType) for v in carried)) > self._registers:
            remark(op, f"the loop carries {vectors} vectors in {self._registers} registers: some will spill")
        self._split_arguments(block)
        inside = emit.inside(block)
        self._block(inside, block)
        last = block.last_op
        assert isinstance(last, scf.YieldOp)
        inside.move_before(last)
        inside.insert(scf.YieldOp(*self._expanded(inside, last.arguments)))
        last.detach()
        last.erase()
        # The loop around the same region; its results are the pieces of the old ones.
        loop = scf.ForOp.create(
            operands=[op.lb, op.ub, op.step, *carried],
            result_types=[value.type for value in carried],
            attributes=op.attributes,
            regions=[op.detach_region(0)],
        )
        emit.insert(loop)
        self._collect(op.results, list(loop.results))
        self._replaced.append(op)

    def _expanded(self, emit: IRBuilder, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Values with each vector replaced by its pieces."""
        found: list[SSAValue] = []
        for value in values:
            found += self._of(value).all(emit) if isinstance(value.type, VectorType) else [value]
        return found

    def _split_arguments(self, block: Block) -> None:
        """Replace the vectors among a loop's block arguments by arguments for their pieces."""
        for old in [arg for arg in block.args if isinstance(arg.type, VectorType)]:
            layout = self._layout(old)
            pieces = [block.insert_arg(t, old.index + i) for i, t in enumerate(layout.types())]
            self._pieces[old] = Pieces(layout, pieces)
            self._arguments.append((block, old))

    def _collect(self, old: Sequence[SSAValue], new: list[SSAValue]) -> None:
        """Record the results of an expanded loop as the pieces of the vectors that the old loop returned."""
        for value in old:
            if not isinstance(value.type, VectorType):
                value.replace_all_uses_with(new.pop(0))
                continue
            layout = self._layout(value)
            self._pieces[value] = Pieces(layout, new[: len(layout.positions)])
            del new[: len(layout.positions)]


def _is_elementwise(op: Operation) -> bool:
    is_vector = any(isinstance(result.type, VectorType) for result in op.results)
    return is_vector and (op.name.startswith(("arith.", "math.")) or isinstance(op, vector.FMAOp))


def _by_scalar(operands: Sequence[Pieces], count: int) -> list[int]:
    """
    The order in which pieces are computed: pieces that share a broadcast scalar are consecutive.

    A broadcast scalar then occupies a register only while it is used; in another order all of them would.
    """
    for pieces in operands:
        if pieces.same is not None:
            first: dict[Hashable, int] = {}
            for number, key in enumerate(pieces.same):
                first.setdefault(key, number)
            return sorted(range(count), key=lambda i, same=pieces.same: first[same[i]])
    return list(range(count))


def repeat(emit: IRBuilder, source: Pieces, layout: Layout) -> Pieces:
    """A vector repeated along new leading dimensions, and along its dimensions of size 1."""
    skipped = len(layout.leading) - len(source.layout.leading)
    seen: dict[tuple[int, int], SSAValue] = {}
    values: list[SSAValue] = []
    for lead, start, size in layout.positions:
        own = [0 if n == 1 else i for i, n in zip(lead[skipped:], source.layout.leading, strict=True)]
        if source.layout.width == layout.width:
            values.append(source.get(emit, source.layout.index(own, start)))
            continue
        number = source.layout.index(own, 0)
        if (number, size) not in seen:
            seen[number, size] = broadcast(emit, extract(emit, source.get(emit, number), 0), size)
        values.append(seen[number, size])
    return Pieces(layout, values)
