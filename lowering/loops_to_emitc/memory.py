"""`memref` → pointers: accesses are subscripts, memory on the stack is an array, weights are globals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.emitc import EmitC_ArrayType, EmitC_PointerType
from xdsl.ir import Attribute, Block, Region, SSAValue, TypeAttribute
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import emitc
from stepwell.dialects.emitc import expressions
from stepwell.dialects.ir_builder import Index, number_attr
from stepwell.dialects.sched_program import WEIGHT
from stepwell.lowering.loops_to_emitc.pattern import (
    BYTES,
    I1,
    I8,
    I64,
    INDEX,
    Code,
    Layout,
    LoopsToEmitCPattern,
    dense_layout,
    memory_type,
    pointer_type,
)
from stepwell.runtime.errors import StepwellError


class LoadLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %x = memref.load %m[%i] : memref<8xf32>
    // ->
    %e = emitc.subscript %m[%i] : (!emitc.ptr<f32>, index) -> !emitc.lvalue<f32>
    %x = emitc.load %e : !emitc.lvalue<f32> to f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.LoadOp, rewriter: PatternRewriter) -> None:
        """Load an element; a byte other than 0 is true."""
        layout, code = self.state.layout(op.memref, op), Code.before(op)
        value = code.value(emitc.LoadOp(code.element(op.memref, list(op.indices), layout)))
        if layout.element == I1:
            zero = code.value(emitc.ConstantOp(number_attr(0, value.type)))
            value = code.value(emitc.CmpOp("ne", value, zero))
        rewriter.replace(op, code.ops, [code.cast(value, op.res.type)])


class StoreLowering(LoopsToEmitCPattern):
    """
    ```mlir
    memref.store %x, %m[%i] : memref<8xf32>
    // ->
    %e = emitc.subscript %m[%i] : (!emitc.ptr<f32>, index) -> !emitc.lvalue<f32>
    emitc.assign %x : f32 to %e : !emitc.lvalue<f32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.StoreOp, rewriter: PatternRewriter) -> None:
        """Assign to an element."""
        layout, code = self.state.layout(op.memref, op), Code.before(op)
        element = code.element(op.memref, list(op.indices), layout)
        value = code.cast(op.value, expressions.element_type(op.memref.type))
        code.insert(emitc.AssignOp(value, element))
        rewriter.replace(op, code.ops, [])


class AllocaLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %m = memref.alloca() : memref<6x16xf32>
    // ->
    %m = emitc.variable : !emitc.array<96xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.AllocaOp, rewriter: PatternRewriter) -> None:
        """Declare an array of a size that is known."""
        type = cast("MemRefType[Attribute]", op.memref.type)
        if any(size < 0 for size in type.get_shape()):
            raise StepwellError("unsupported", op, "memref.alloca of a size known at run time only")
        code, count = Code.before(op), max(1, prod(type.get_shape()))
        if type.element_type == I8 and any(isinstance(u.operation, memref.ViewOp) for u in op.memref.uses):
            self._bytes(op, code, count, rewriter)
            return
        element = memory_type(type.element_type)
        array = code.value(emitc.VariableOp(EmitC_ArrayType([count], element), "local"))  # pyright: ignore
        self.state.layouts[array] = dense_layout(op, code, type.element_type, type.get_shape())
        rewriter.replace(op, code.ops, [array])

    def _bytes(self, op: memref.AllocaOp, code: Code, count: int, rewriter: PatternRewriter) -> None:
        """Declare bytes that views read as other types: an array of i64 has the alignment of all of them."""
        array = code.value(emitc.VariableOp(EmitC_ArrayType([-(-count // 8)], I64), "local"))
        pointer = code.value(emitc.CastOp(array, BYTES))
        self.state.layouts[pointer] = Layout(I8, (count,), (1,))
        rewriter.replace(op, code.ops, [pointer])


class GlobalLowering(LoopsToEmitCPattern):
    """
    ```mlir
    "memref.global"() <{sym_name = "w0", type = memref<4xf32>, …}> {sched.weight = dense<…>} : () -> ()
    // ->
    emitc.global const @w0 : !emitc.array<4xf32> = dense<…>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.GlobalOp, rewriter: PatternRewriter) -> None:
        """Define a constant array, with the weight or its elements as its value."""
        type = op.type
        element = memory_type(type.element_type)
        array = EmitC_ArrayType([max(1, prod(type.get_shape()))], element)  # pyright: ignore
        value = op.attributes.get(WEIGHT, op.initial_value)
        rewriter.replace(op, emitc.GlobalOp(op.sym_name.data, array, value), [])


class GetGlobalLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %w = memref.get_global @w1 : memref<4xf32>
    // ->
    %w = emitc.get_global @w1 : !emitc.ptr<f32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.GetGlobalOp, rewriter: PatternRewriter) -> None:
        """Name the constant array."""
        name, type = op.name_.string_value(), cast("MemRefType[Attribute]", op.memref.type)
        if name not in self.state.weights:
            raise StepwellError("unsupported", op, f"@{name} is no weight")
        code = Code.before(op)
        pointer = code.value(emitc.GetGlobalOp(name, pointer_type(type)))
        self.state.layouts[pointer] = dense_layout(op, code, type.element_type, type.get_shape())
        rewriter.replace(op, code.ops, [pointer])


class CopyLowering(LoopsToEmitCPattern):
    """
    ```mlir
    "memref.copy"(%a, %b) : (memref<4xf32>, memref<4xf32>) -> ()
    // ->
    emitc.for(%zero, %four, %one) {
    ^bb0(%i: index):
      … emitc.assign %x : f32 to %e : !emitc.lvalue<f32>
      emitc.yield
    }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.CopyOp, rewriter: PatternRewriter) -> None:
        """Write a loop for each dimension; one for all where both sides are dense."""
        layouts = self.state.layout(op.source, op), self.state.layout(op.destination, op)
        code = Code.before(op)
        pairs = zip(layouts[0].sizes, layouts[1].sizes, strict=True)
        known = [a if isinstance(a, int) or b is None else b for a, b in pairs]
        sizes = [size for size in known if size is not None]
        if len(sizes) != len(known):
            raise StepwellError("unsupported", op, "memref.copy of a size that is not known here")
        if all(layout.is_dense for layout in layouts) and len(sizes) > 1:
            total: Index = 1
            for size in sizes:
                total = code.times(total, size)
            sizes = [total]
            source, target = (Layout(each.element, (total,), (1,)) for each in layouts)
        else:
            source, target = layouts

        def copy(inner: Code, indices: Sequence[SSAValue]) -> None:
            value = inner.value(emitc.LoadOp(inner.element(op.source, indices, source)))
            inner.insert(emitc.AssignOp(value, inner.element(op.destination, indices, target)))

        _nest(code, sizes, [], copy)
        rewriter.replace(op, code.ops, [])


_Body = Callable[[Code, Sequence[SSAValue]], None]


def _nest(code: Code, sizes: Sequence[Index], indices: list[SSAValue], body: _Body) -> None:
    """Loops from 0 to some sizes around a body."""
    if not sizes:
        body(code, indices)
        return
    block = Block(arg_types=[INDEX])
    block.args[0].name_hint = "i"
    bounds = [code.materialize(bound) for bound in (0, sizes[0], 1)]
    inner = Code.at_end(block, code.location)
    _nest(inner, sizes[1:], [*indices, block.args[0]], body)
    inner.insert(emitc.YieldOp())
    code.insert(emitc.ForOp(*bounds, Region(block)))


class ViewLowering(LoopsToEmitCPattern):
    """
    Bytes as an array of another type.

    ```mlir
    %v = memref.view %arena[%offset][%n] : memref<?xi8> to memref<?x64xf32>
    // ->
    %p = emitc.add %arena, %offset : (!emitc.ptr<ui8>, index) -> !emitc.ptr<ui8>
    %v = emitc.cast %p : !emitc.ptr<ui8> to !emitc.ptr<f32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.ViewOp, rewriter: PatternRewriter) -> None:
        """Offset the pointer and cast it."""
        code, type = Code.before(op), cast("MemRefType[Attribute]", op.result_types[0])
        dynamic = iter(op.sizes)
        sizes = [code.number_of(next(dynamic)) if s < 0 else s for s in type.get_shape()]
        pointer = moved(code, op.source, code.number_of(op.byte_shift))
        pointer = code.value(emitc.CastOp(pointer, pointer_type(type)))
        self.state.layouts[pointer] = dense_layout(op, code, type.element_type, sizes)
        rewriter.replace(op, code.ops, [pointer])


def moved(code: Code, pointer: SSAValue, offset: Index) -> SSAValue:
    """A pointer some elements further, as a value of its own."""
    type = EmitC_PointerType(cast(TypeAttribute, expressions.element_type(pointer.type)))
    if offset == 0:
        return code.value(emitc.CastOp(pointer, type))
    start = code.cast(pointer, type)
    return code.value(expressions.AddOp(start, code.materialize(offset)))
