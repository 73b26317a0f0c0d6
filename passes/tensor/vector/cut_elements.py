"""Patterns of `unroll-vectors` on values: elementwise ops, constants, moved and combined elements, loops."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import cast

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.ir_builder import IRBuilder, dense_attr
from stepwell.dialects.tensor_ir.combiners import reduce_vectors
from stepwell.dialects.tensor_ir.pieces import Layout, Pieces, broadcast, extract, from_scalars, insert
from stepwell.dialects.tensor_ir.transfers import vector_type
from stepwell.dialects.tensor_ir.transposes import assembled
from stepwell.dialects.vector import MultiReductionOp, ShapeCastOp
from stepwell.passes.context import remark
from stepwell.passes.tensor.vector.cut_vectors import CutVectors, VectorPattern
from stepwell.passes.tensor.vector.divisions import Reciprocals
from stepwell.patterns.driver.one_to_many import SplitFor
from stepwell.runtime.errors import StepwellError


class CutFor(SplitFor[Pieces]):
    """
    A loop that carries a value for each piece of a vector, with a remark where registers are too few.

    ```mlir
    %v = vector.broadcast %s : f32 to vector<2x8xf32>
    %r = scf.for %i = %a to %b step %c iter_args(%x = %v) -> (vector<2x8xf32>) {
      %z = arith.addf %x, %v : vector<2x8xf32>
      scf.yield %z : vector<2x8xf32>
    }
    %y = vector.extract %r[1, 3] : f32 from vector<2x8xf32>
    // ->
    %w = vector.broadcast %s : f32 to vector<8xf32>
    %r0, %r1 = scf.for %i = %a to %b step %c iter_args(%x0 = %w, %x1 = %w) -> (vector<8xf32>, vector<8xf32>) {
      %z0 = arith.addf %x0, %w : vector<8xf32>
      %z1 = arith.addf %x1, %w : vector<8xf32>
      scf.yield %z0, %z1 : vector<8xf32>, vector<8xf32>
    }
    %y = vector.extract %r1[3] : f32 from vector<8xf32>
    ```
    """

    def __init__(self, vectors: CutVectors):
        super().__init__(vectors)
        self.vectors = vectors

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter) -> None:
        values = (value for value in op.iter_args if self.vectors.is_split(value.type))
        carried = sum(len(self.vectors.layout(value).positions) for value in values)
        if carried > self.vectors.registers:
            found = f"the loop carries {carried} vectors in {self.vectors.registers} registers"
            remark(op, f"{found}: some will spill")
        super().match_and_rewrite(op, rewriter)


class CutBroadcast(VectorPattern):
    """
    A scalar repeated once for all pieces of one width, or the pieces of a vector repeated.

    ```mlir
    %v = vector.broadcast %x : vector<8xf32> to vector<2x8xf32>
    %w = vector.broadcast %s : f32 to vector<2x8xf32>
    %z = arith.addf %v, %w : vector<2x8xf32>
    %y = vector.extract %z[1, 3] : f32 from vector<2x8xf32>
    // ->
    %a = vector.broadcast %s : f32 to vector<8xf32>
    %b = arith.addf %x, %a : vector<8xf32>
    %y = vector.extract %b[3] : f32 from vector<8xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.BroadcastOp, rewriter: PatternRewriter) -> None:
        build, layout, source = self.vectors.builder, self.vectors.layout(op.vector), op.source
        if isinstance(source.type, VectorType):
            self.vectors.replace(op, repeat(build, self.vectors.pieces(source), layout))
            return
        made = {size: broadcast(build, source, size) for size in {size for _, _, size in layout.positions}}
        self.vectors.replace(op, Pieces(layout, [made[size] for _, _, size in layout.positions]))


class CutShapeCast(VectorPattern):
    """
    The same pieces, where rows are as long as before; else pieces gathered from all elements.

    ```mlir
    %v = vector.shape_cast %x : vector<8xf32> to vector<1x8xf32>
    %y = vector.extract %v[0, 5] : f32 from vector<1x8xf32>
    // ->
    %y = vector.extract %x[5] : f32 from vector<8xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ShapeCastOp, rewriter: PatternRewriter) -> None:
        vectors, build = self.vectors, self.vectors.builder
        layout, source = vectors.layout(op.result), vectors.pieces(op.source)
        if layout.width == source.layout.width:
            vectors.replace(op, Pieces(layout, source.all(build)))
        else:
            vectors.replace(op, from_scalars(build, layout, source.scalars(build)))


class CutExtract(VectorPattern):
    """
    A lane of the piece that contains an element.

    ```mlir
    %v = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : vector<2x2xf32>
    %y = vector.extract %v[1, 0] : f32 from vector<2x2xf32>
    // ->
    %b = arith.constant dense<[3.0, 4.0]> : vector<2xf32>
    %y = vector.extract %b[0] : f32 from vector<2xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.ExtractOp, rewriter: PatternRewriter) -> None:
        build, source = self.vectors.builder, self.vectors.pieces(op.vector)
        number, lane = self.vectors.piece_and_lane(source.layout, op.static_position)
        self.vectors.replace(op, extract(build, source.get(build, number), lane))


class CutInsert(VectorPattern):
    """
    The piece that contains an element, with the element inserted; the other pieces as they are.

    ```mlir
    %v = vector.shape_cast %x : vector<8xf32> to vector<1x8xf32>
    %w = vector.insert %s, %v[0, 5] : f32 into vector<1x8xf32>
    %y = vector.shape_cast %w : vector<1x8xf32> to vector<8xf32>
    // ->
    %y = vector.insert %s, %x[5] : f32 into vector<8xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.InsertOp, rewriter: PatternRewriter) -> None:
        build, dest = self.vectors.builder, self.vectors.pieces(op.dest)
        number, lane = self.vectors.piece_and_lane(dest.layout, op.static_position)
        pieces = dest.all(build)
        pieces[number] = insert(build, op.source, pieces[number], lane)
        self.vectors.replace(op, Pieces(dest.layout, pieces))


class CutShuffle(VectorPattern):
    """
    Pieces of a shuffle, each assembled from the operand pieces that contain its lanes.

    ```mlir
    %v = vector.transfer_read %x[%i], %p {in_bounds = [true]} : tensor<32xf32>, vector<16xf32>
    %w = vector.shuffle %v, %v [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14]
      : vector<16xf32>, vector<16xf32>
    %y = vector.extract %w[2] : f32 from vector<16xf32>
    // ->
    %zero = arith.constant 0.0 : f32
    %a = vector.transfer_read %x[%i], %zero {in_bounds = [true]} : tensor<32xf32>, vector<8xf32>
    %b = vector.shuffle %a, %a [1, 0, 3, 2, 5, 4, 7, 6] : vector<8xf32>, vector<8xf32>
    %y = vector.extract %b[2] : f32 from vector<8xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.ShuffleOp, rewriter: PatternRewriter) -> None:
        vectors, build = self.vectors, self.vectors.builder
        layout, sources = vectors.layout(op.result), [vectors.pieces(op.v1), vectors.pieces(op.v2)]
        lanes = [int(lane) for lane in cast("DenseArrayBase[IntegerType]", op.mask).get_values()]
        if any(s.layout.types() != layout.types() or layout.width % vectors.lanes for s in sources):
            for value, source in zip((op.v1, op.v2), sources, strict=True):
                vectors.expect_one_piece(value, source.layout)
        pieces = [piece for source in sources for piece in source.all(build)]
        values = [assembled(build, pieces, lanes[at : at + size]) for _, at, size in layout.positions]
        vectors.replace(op, Pieces(layout, values))


class CutReduction(VectorPattern):
    """
    Reductions of each row: registers are combined first, their lanes last.

    ```mlir
    %v = vector.transfer_read %x[%i], %p {in_bounds = [true]} : tensor<32xf32>, vector<16xf32>
    %y = vector.multi_reduction <add>, %v, %s [0] : vector<16xf32> to f32
    // ->
    %zero = arith.constant 0.0 : f32
    %c8 = arith.constant 8 : index
    %a = vector.transfer_read %x[%i], %zero {in_bounds = [true]} : tensor<32xf32>, vector<8xf32>
    %j = arith.addi %i, %c8 : index
    %b = vector.transfer_read %x[%j], %zero {in_bounds = [true]} : tensor<32xf32>, vector<8xf32>
    %c = arith.addf %a, %b : vector<8xf32>
    %d = vector.reduction <add>, %c fastmath<reassoc> : vector<8xf32> into f32
    %y = arith.addf %s, %d : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MultiReductionOp, rewriter: PatternRewriter) -> None:
        vectors, build = self.vectors, self.vectors.builder
        source, kind = vectors.pieces(op.source), op.kind.data
        rank = len(source.layout.leading) + 1
        if tuple(op.reduction_dims.get_values()) != (rank - 1,):
            raise StepwellError("unsupported", op, "only the last dimension of a vector is reduced so far")
        is_scalar = not isinstance(op.acc.type, VectorType)
        starts = [op.acc] if is_scalar else vectors.pieces(op.acc).scalars(build)
        row = len(source.layout.starts)
        pieces = source.all(build)
        sums = [
            reduce_vectors(build, kind, pieces[i * row : (i + 1) * row], start)
            for i, start in enumerate(starts)
        ]
        vectors.replace(op, sums[0] if is_scalar else from_scalars(build, vectors.layout(op.dest), sums))


class CutConstant(VectorPattern):
    """
    A constant for each piece.

    ```mlir
    %v = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : vector<2x2xf32>
    %n = arith.negf %v : vector<2x2xf32>
    %y = vector.extract %n[1, 0] : f32 from vector<2x2xf32>
    // ->
    %a = arith.constant dense<[3.0, 4.0]> : vector<2xf32>
    %b = arith.negf %a : vector<2xf32>
    %y = vector.extract %b[0] : f32 from vector<2xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.ConstantOp, rewriter: PatternRewriter) -> None:
        type: Attribute = op.result.type
        if not isinstance(type, VectorType):
            return
        layout = self.vectors.layout(op.result)
        if len(type.get_shape()) == 1 and len(layout.positions) == 1:
            return
        assert isinstance(op.value, DenseIntOrFPElementsAttr)
        numbers = cast(Sequence[float], op.value.get_values())
        values: list[SSAValue] = []
        for lead, start, size in layout.positions:
            first = layout.index(lead, layout.starts[0]) // len(layout.starts) * layout.width + start
            type = vector_type(layout.element, (size,))
            attr = dense_attr(type, numbers[first : first + size])
            values.append(self.vectors.builder.constant(attr, type))
        self.vectors.replace(op, Pieces(layout, values))


class CutElementwise(VectorPattern):
    """
    An elementwise op for each piece; divisors that pieces share, such as a row's sum, become reciprocals.

    ```mlir
    %v = vector.broadcast %s : f32 to vector<2x8xf32>
    %w = vector.broadcast %x : vector<8xf32> to vector<2x8xf32>
    %z = arith.divf %w, %v : vector<2x8xf32>
    %y = vector.extract %z[1, 3] : f32 from vector<2x8xf32>
    // ->
    %one = arith.constant 1.0 : f32
    %a = arith.divf %one, %s : f32
    %b = vector.broadcast %a : f32 to vector<8xf32>
    %c = arith.mulf %x, %b : vector<8xf32>
    %y = vector.extract %c[3] : f32 from vector<8xf32>
    ```
    """

    takes = (Operation,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        vectors, build = self.vectors, self.vectors.builder
        if not op.operands or not _is_elementwise(op):
            return
        layouts = [vectors.layout(result) for result in op.results]
        types = [layout.types() for layout in layouts]
        is_whole = all([r.type] == [*t] for r, t in zip(op.results, types, strict=True))
        if is_whole:  # as long as a register, as in transforms of Winograd
            _use_only_pieces(vectors, op, rewriter)
            return
        pieces = {v: vectors.pieces(v) for v in op.operands if isinstance(v.type, VectorType)}
        made: dict[int, Operation] = {}
        reciprocals = Reciprocals(op, pieces, build)
        for i in _by_scalar(list(pieces.values()), len(layouts[0].positions)):
            operands = [pieces[v].get(build, i) if v in pieces else v for v in op.operands]
            op_type: type[Operation] = type(op)
            if (factor := reciprocals.factor(build, operands[-1])) is not None:
                op_type, operands = arith.MulfOp, [operands[0], factor]
            piece = op_type.create(
                operands=operands,
                result_types=[t[i] for t in types],
                properties=op.properties,
                attributes=op.attributes,
            )
            made[i] = build.insert(piece)
        values = ([made[i].results[n] for i in range(len(made))] for n in range(len(layouts)))
        vectors.replace(op, *(Pieces(layout, v) for layout, v in zip(layouts, values, strict=True)))


class UseOnlyPiece(VectorPattern):
    """Any other op on the only piece of each vector among its operands, which must fit a register."""

    takes = (Operation,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        _use_only_pieces(self.vectors, op, rewriter)


def _use_only_pieces(vectors: CutVectors, op: Operation, rewriter: PatternRewriter) -> None:
    """Replace the vectors among an op's operands by the only piece of each."""
    for index, value in enumerate(op.operands):
        if vectors.has_pieces(value):
            pieces = vectors.pieces(value)
            vectors.expect_one_piece(value, pieces.layout)
            op.operands[index] = pieces.get(vectors.builder, 0)
            rewriter.notify_op_modified(op)


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


def repeat(build: IRBuilder, source: Pieces, layout: Layout) -> Pieces:
    """A vector repeated along new leading dimensions, and along its dimensions of size 1."""
    skipped = len(layout.leading) - len(source.layout.leading)
    seen: dict[tuple[int, int], SSAValue] = {}
    values: list[SSAValue] = []
    for lead, start, size in layout.positions:
        own = [0 if n == 1 else i for i, n in zip(lead[skipped:], source.layout.leading, strict=True)]
        if source.layout.width == layout.width:
            values.append(source.get(build, source.layout.index(own, start)))
            continue
        number = source.layout.index(own, 0)
        if (number, size) not in seen:
            seen[number, size] = broadcast(build, extract(build, source.get(build, number), 0), size)
        values.append(seen[number, size])
    return Pieces(layout, values)
