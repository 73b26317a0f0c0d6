"""Patterns of `unroll-vectors` on reads and writes of memory: a transfer for each piece."""

from __future__ import annotations

from xdsl.dialects import tensor, vector
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.tensor_ir import memory
from stepwell.dialects.tensor_ir.transfers import is_in_bounds
from stepwell.passes.tensor.vector import short_rows
from stepwell.passes.tensor.vector.cut_vectors import CutVectors, VectorPattern


class CutRead(VectorPattern):
    """
    A read by pieces, each from neighbours in memory, of the tensor that a slice was cut from.

    A scalar in all lanes is read once, and repeated. A piece is read where it is first used, unless the
    memory is overwritten meanwhile.

    ```mlir
    %v = vector.transfer_read %x[%i], %p {in_bounds = [true]} : tensor<32xf32>, vector<16xf32>
    %y = vector.extract %v[9] : f32 from vector<16xf32>
    // ->
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.0 : f32
    %j = arith.addi %i, %c8 : index
    %b = vector.transfer_read %x[%j], %zero {in_bounds = [true]} : tensor<32xf32>, vector<8xf32>
    %y = vector.extract %b[1] : f32 from vector<8xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.TransferReadOp, rewriter: PatternRewriter) -> None:
        vectors = self.vectors
        layout = vectors.layout(op.result)
        if not is_in_bounds(op):
            pieces = memory.reads_to_the_end(vectors.builder, op, layout)
        elif op.result in vectors.short_rows:
            pieces = short_rows.reads(vectors.builder, op, layout)
        else:
            pieces = memory.reads(vectors.builder, op, layout)
        vectors.replace(op, pieces)


class CutWrite(VectorPattern):
    """
    A write by pieces; the write of a tile that one `tensor.insert_slice` places is put off until then.

    ```mlir
    %v = vector.broadcast %s : f32 to vector<16xf32>
    %y = vector.transfer_write %v, %x[%i] {in_bounds = [true]} : vector<16xf32>, tensor<32xf32>
    // ->
    %c8 = arith.constant 8 : index
    %a = vector.broadcast %s : f32 to vector<8xf32>
    %w = vector.transfer_write %a, %x[%i] {in_bounds = [true]} : vector<8xf32>, tensor<32xf32>
    %j = arith.addi %i, %c8 : index
    %y = vector.transfer_write %a, %w[%j] {in_bounds = [true]} : vector<8xf32>, tensor<32xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.TransferWriteOp, rewriter: PatternRewriter) -> None:
        assert op.result is not None
        use = op.result.get_user_of_unique_use()
        if isinstance(use, tensor.InsertSliceOp) and use.source is op.result and use.parent is op.parent:
            self.vectors.put_off(op)
        else:
            self.vectors.replace(op, written(self.vectors, op, op.source))


class WriteToSlice(VectorPattern):
    """
    The pieces of a tile, written directly to the slice that the tile is inserted into.

    ```mlir
    %t = vector.transfer_write %v, %e[%i] {in_bounds = [true]} : vector<8xf32>, tensor<8xf32>
    %y = tensor.insert_slice %t into %x[%k] [8] [1] : tensor<8xf32> into tensor<32xf32>
    // ->
    %j = arith.addi %k, %i : index
    %y = vector.transfer_write %v, %x[%j] {in_bounds = [true]} : vector<8xf32>, tensor<32xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.InsertSliceOp, rewriter: PatternRewriter) -> None:
        write = self.vectors.op_put_off(op.source)
        if write is None:
            return
        assert isinstance(write, vector.TransferWriteOp)
        strides, kept = op.static_strides.get_values(), memory.kept_dims(op, op.source)
        view = memory.StridedView(op.dest, tuple(memory.slice_offsets(op)), strides, kept)
        self.vectors.replace(op, written(self.vectors, write, op.dest, view))


def written(
    vectors: CutVectors, op: vector.TransferWriteOp, into: SSAValue, view: memory.StridedView | None = None
) -> SSAValue:
    """Write the pieces of a vector to a tensor, or to a view of it; returns the tensor afterwards."""
    pieces = vectors.pieces(op.vector)
    if not is_in_bounds(op):
        return memory.write_to_the_end(vectors.builder, op, pieces, into)
    write = short_rows.write if op.vector in vectors.short_rows else memory.write
    return write(vectors.builder, op, pieces, into, view)
