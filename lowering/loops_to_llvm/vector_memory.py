"""Vectors in memory: loads, stores, transfers and masks."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import cast

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    VectorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.llvm.intrinsics import SMaxOp, SMinOp
from stepwell.dialects.llvm.memory import MaskedLoadOp, PrefetchOp
from stepwell.dialects.sched import PREFETCH
from stepwell.dialects.types import element_bytes, int_attr
from stepwell.dialects.vector import alignment_of
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.half import like
from stepwell.lowering.loops_to_llvm.memory import from_memory, to_memory
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.state import I1, I32, Extent, Layout, converted_type, memory_type
from stepwell.lowering.loops_to_llvm.vectors import broadcast, lane_count
from stepwell.runtime.errors import StepwellError

_SIGNED_LESS = int_attr(llvm.ICmpPredicateFlag.SLT.to_int())


class LoadLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %v = vector.load %m[%i] : memref<64xf32>, vector<16xf32>
    // ->
    %p = llvm.getelementptr inbounds %m[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.LoadOp, rewriter: PatternRewriter) -> None:
        """Load consecutive elements at the address of the indices."""
        code, layout = self.code_at(op), self.state.layout(op.base, op)
        type = converted_type(op.result.type)
        result = load(op, code, op.base, list(op.indices), layout, type, least=alignment_of(op))
        rewriter.replace(op, code.ops, [result])


class StoreLowering(LoopsToLLVMPattern):
    """
    ```mlir
    vector.store %v, %m[%i] : memref<64xf32>, vector<16xf32>
    // ->
    %p = llvm.getelementptr inbounds %m[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %v, %p {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.StoreOp, rewriter: PatternRewriter) -> None:
        """Store consecutive elements, past the caches if the op is nontemporal."""
        code, layout = self.code_at(op), self.state.layout(op.base, op)
        store(op, code, op.vector, op.base, list(op.indices), layout, least=alignment_of(op))
        if op.nontemporal.value.data:
            code.ops[-1].properties["nontemporal"] = UnitAttr()
        rewriter.replace(op, code.ops, [])


class MaskedLoadLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %v = vector.maskedload %m[%i], %mask, %zero
        : memref<64xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
    // ->
    %v = llvm.intr.masked.load(%p, %mask, %zero) {alignment = 4 : i32}
        : (!llvm.ptr, vector<16xi1>, vector<16xf32>) -> vector<16xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.MaskedLoadOp, rewriter: PatternRewriter) -> None:
        """Load the elements of set lanes; the others get the pass-through value."""
        code, layout = self.code_at(op), self.state.layout(op.base, op)
        result = load(op, code, op.base, list(op.indices), layout, op.pass_thru.type, (op.mask, op.pass_thru))
        rewriter.replace(op, code.ops, [result])


class MaskedStoreLowering(LoopsToLLVMPattern):
    """
    ```mlir
    vector.maskedstore %m[%i], %mask, %v : memref<64xf32>, vector<16xi1>, vector<16xf32>
    // ->
    llvm.intr.masked.store %v, %p, %mask {alignment = 4 : i32} : vector<16xf32>, vector<16xi1> into !llvm.ptr
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.MaskedStoreOp, rewriter: PatternRewriter) -> None:
        """Store the elements of set lanes."""
        code, layout = self.code_at(op), self.state.layout(op.base, op)
        store(op, code, op.value_to_store, op.base, list(op.indices), layout, op.mask)
        rewriter.replace(op, code.ops, [])


class TransferReadLowering(LoopsToLLVMPattern):
    """
    A load of consecutive elements, masked if it may leave the memref, or of one element for all lanes.

    Elements that are no neighbours, of a slice with steps, are loaded one after the other.

    With `sched.prefetch`, a cache line at that distance after the elements is prefetched.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.TransferReadOp, rewriter: PatternRewriter) -> None:
        """Broadcast a single element, else load with a bounds mask, after a prefetch if there is one."""
        source, indices = op.source, list(op.indices)
        code, layout = self.code_at(op), self.state.layout(source, op)
        type = converted_type(op.result.type)
        along = _lane_dimension(op, layout, op.permutation_map.data.results)
        if along is None:
            pointer, alignment = code.address(source, indices, layout)
            loaded = code.load(pointer, memory_type(layout.element), alignment)
            element = from_memory(code, loaded, converted_type(layout.element))
            rewriter.replace(op, code.ops, [broadcast(code, element, type)])
            return
        mask = _bounds_mask(op, code, layout, along, op.in_bounds, op.mask, type, indices)
        masked = None if mask is None else (mask, broadcast(code, op.padding, type))
        if isinstance(ahead := op.attributes.get(PREFETCH), IntegerAttr):
            _prefetch(code, op, layout, ahead.value.data)
        if masked is None and isinstance(stride := layout.strides[-1], int) and stride != 1:
            pointer, alignment = code.address(source, indices, layout)
            alignment = min(alignment, element_bytes(layout.element))
            rewriter.replace(op, code.ops, [_load_each(code, pointer, stride, layout, type, alignment)])
            return
        if masked is None and memory_type(type) == type:
            _need_consecutive(op, layout)
            pointer, alignment = code.address(source, indices, layout)
            self.become_access(op, llvm.LoadOp, rewriter, code, [pointer], alignment)
            return
        result = load(op, code, source, indices, layout, type, masked)
        rewriter.replace(op, code.ops, [result])


class TransferWriteLowering(LoopsToLLVMPattern):
    """
    ```mlir
    vector.transfer_write %v, %m[%i] {in_bounds = [true]} : vector<16xf32>, memref<64xf32>
    // ->
    %p = llvm.getelementptr inbounds %m[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %v, %p {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.TransferWriteOp, rewriter: PatternRewriter) -> None:
        """Store consecutive elements with a bounds mask."""
        written, source, indices = op.vector, op.source, list(op.indices)
        code, layout = self.code_at(op), self.state.layout(source, op)
        along = _lane_dimension(op, layout, op.permutation_map.data.results)
        if along is None:
            raise StepwellError("unsupported", op, f"{op.name} of lanes that are all written to one element")
        mask = _bounds_mask(op, code, layout, along, op.in_bounds, op.mask, written.type, indices)
        if mask is None:
            _need_consecutive(op, layout)
            value = to_memory(code, written)
            pointer, alignment = code.address(source, indices, layout)
            self.become_access(op, llvm.StoreOp, rewriter, code, [value, pointer], alignment)
            return
        store(op, code, written, source, indices, layout, mask)
        rewriter.replace(op, code.ops, [])


def _load_each(
    code: Code, pointer: SSAValue, stride: int, layout: Layout, type: Attribute, alignment: int
) -> SSAValue:
    """A vector of elements that are `stride` apart, each of an alignment."""
    result, stored = code.poison(type), memory_type(layout.element)
    for lane in range(lane_count(type)):
        loaded = code.load(code.element_pointer(pointer, lane * stride, stored), stored, alignment)
        element = from_memory(code, loaded, converted_type(layout.element))
        result = code.make(llvm.InsertElementOp, [result, element, code.integer(lane)], type)
    return result


def _prefetch(code: Code, op: vector.TransferReadOp, layout: Layout, ahead: int) -> None:
    """Append a prefetch of the cache line `ahead` elements after the one read."""
    pointer, _ = code.address(op.source, list(op.indices), layout)
    line = code.element_pointer(pointer, ahead, memory_type(layout.element), inbounds=False)
    properties = {"rw": int_attr(0, 32), "hint": int_attr(3, 32)}
    code.insert(PrefetchOp.create(operands=[line], properties=properties))


def load(
    op: Operation,
    code: Code,
    base: SSAValue,
    indices: Sequence[Extent],
    layout: Layout,
    type: Attribute,
    masked: tuple[SSAValue, SSAValue] | None = None,
    least: int = 1,
) -> SSAValue:
    """
    A vector of consecutive elements.

    Args: `masked` is the mask, and the value of the other lanes; `least` is an alignment by the op itself.
    """
    _need_consecutive(op, layout)
    pointer, alignment = code.address(base, indices, layout)
    alignment = max(alignment, least)
    stored = memory_type(type)
    if masked is None:
        loaded = code.load(pointer, stored, alignment)
    else:
        mask, others = masked
        operands = [pointer, mask, to_memory(code, others)]
        loaded = code.make(MaskedLoadOp, operands, stored, {"alignment": int_attr(alignment, 32)})
    return from_memory(code, loaded, type)


def store(
    op: Operation,
    code: Code,
    value: SSAValue,
    base: SSAValue,
    indices: Sequence[Extent],
    layout: Layout,
    mask: SSAValue | None = None,
    least: int = 1,
) -> None:
    """Append a store of a vector to consecutive elements, those whose mask is set; `least` as for `load`."""
    _need_consecutive(op, layout)
    value = to_memory(code, value)
    pointer, alignment = code.address(base, indices, layout)
    alignment = max(alignment, least)
    if mask is None:
        code.store(value, pointer, alignment)
        return
    properties: dict[str, Attribute] = {"alignment": int_attr(alignment, 32)}
    code.insert(llvm.MaskedStoreOp.create(operands=[value, pointer, mask], properties=properties))


def _need_consecutive(op: Operation, layout: Layout) -> None:
    """Raise `unsupported` unless the last dimension of a memref has stride 1."""
    if not layout.strides or layout.strides[-1] != 1:
        raise StepwellError(
            "unsupported",
            op,
            f"{op.name} needs lanes that are consecutive in memory",
            note="the memref's last dimension has another stride than 1",
        )


def _lane_dimension(op: Operation, layout: Layout, results: Sequence[AffineExpr]) -> int | None:
    """The dimension along which a transfer's lanes run; None if all lanes are the same element."""
    match results:
        case [AffineConstantExpr()]:
            return None
        case [AffineDimExpr(position=position)] if position == len(layout.sizes) - 1:
            return position
        case _:
            raise StepwellError(
                "unsupported",
                op,
                f"{op.name}: lanes must run along the last dimension of the memref",
                help="run unroll-vectors first: machine code has vectors of one dimension",
            )


def _bounds_mask(
    op: Operation,
    code: Code,
    layout: Layout,
    along: int,
    in_bounds: ArrayAttr[IntegerAttr],
    mask: SSAValue | None,
    type: Attribute,
    indices: Sequence[SSAValue],
) -> SSAValue | None:
    """The mask of a transfer: its own, and that of the lanes inside the memref unless all are."""
    if all([flag.value.data for flag in in_bounds.data]):
        return mask
    if (size := layout.sizes[along]) is None:
        raise StepwellError("unsupported", op, f"{op.name} needs the memref's size to stay inside it")
    if isinstance(size, int) and (first := _constant(indices[along])) is not None:
        inside = _first_lanes(code, size - first, like(type, I1))
    else:
        left = code.make(llvm.SubOp, [code.materialize(size), indices[along]])
        inside = lanes_below(code, left, like(type, I1))
    return inside if mask is None else code.make(llvm.AndOp, [inside, mask])


def _constant(value: SSAValue) -> int | None:
    """The number of a constant; None for other values."""
    match value.owner:
        case llvm.ConstantOp(value=IntegerAttr(value=number)):
            return int(number.data)
        case _:
            return None


def _first_lanes(code: Code, count: int, type: Attribute) -> SSAValue:
    """The mask of the first `count` lanes as a constant."""
    vector = cast("VectorType[IntegerType]", type)
    mask = DenseIntOrFPElementsAttr.from_list(vector, [int(lane < count) for lane in range(lane_count(type))])
    return code.make(llvm.ConstantOp, [], type, {"value": mask})


def lanes_below(code: Code, count: SSAValue, type: Attribute) -> SSAValue:
    """The mask of the first `count` lanes: none for a negative count, all for a large one."""
    lanes = lane_count(type)
    numbers = like(type, I32)
    clamped = code.make(SMaxOp, [count, code.integer(0)])
    clamped = code.make(SMinOp, [clamped, code.integer(lanes)])
    limit = broadcast(code, code.make(llvm.TruncOp, [clamped], I32), numbers)
    steps = BytesAttr(struct.pack(f"<{lanes}I", *range(lanes)))
    constant = DenseIntOrFPElementsAttr(cast("VectorType[IntegerType]", numbers), steps)
    step = code.make(llvm.ConstantOp, [], numbers, {"value": constant})
    return code.make(llvm.ICmpOp, [step, limit], type, {"predicate": _SIGNED_LESS})


class CreateMaskLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %m = vector.create_mask %n : vector<16xi1>
    // ->
    %m = llvm.icmp "slt" %steps, %ns : vector<16xi32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.CreateMaskOp, rewriter: PatternRewriter) -> None:
        """Compare the lane numbers with the size."""
        type = converted_type(op.mask_vector.type)
        code = self.code_at(op)
        result = lanes_below(code, op.mask_dim_sizes[0], type)
        rewriter.replace(op, code.ops, [result])
