"""
Building blocks of the conversion to `linalg`: extents from symbols, structured ops from maps and bodies.

During the conversion of a kernel its tensors keep their dimension names and integer signs, for the patterns
that query them; `convert-graph-to-linalg` drops both at its end. Bodies get scalars in the type that they
compute in: signless integers, and f32 for the narrower floats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar, cast

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import AffineMapAttr, DenseIntOrFPElementsAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value, shape_text
from stepwell.dialects.ir_builder import INDEX, IRBuilder
from stepwell.dialects.linalg_builder.scalars import Constant, Scalars, scalar_constant, signless
from stepwell.dialects.sched_kernel import symbols_of
from stepwell.dialects.tensor_ir.structured import projection as projection
from stepwell.dialects.types import Tensor, dims_of, tensor_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

Body: TypeAlias = Callable[[Sequence[SSAValue]], SSAValue]
"""Emits a structured op's body: from a scalar of each operand and the init's old element to the new one."""
Read: TypeAlias = "tuple[SSAValue, AffineMap]"
"""An operand of a structured op and its index map: from loops to its dimensions."""

PARALLEL = IteratorTypeAttr.parallel()
REDUCTION = IteratorTypeAttr.reduction()


class SymbolRewriter(PatternRewriter):
    """A rewriter that knows the values of more symbols than the arguments of the kernel are."""

    def __init__(self, op: Operation, symbols: Mapping[str, SSAValue]):
        super().__init__(op)
        self.symbols = symbols


def extent(dim: Dim, rewriter: PatternRewriter) -> SSAValue:
    """
    The value of a dimension, computed from the symbol arguments of the kernel.

    Raises: StepwellError `unsupported` for an unknown dimension.
    """
    kernel = enclosing_kernel(rewriter)
    if dim.is_unknown:
        raise StepwellError(
            "unsupported",
            kernel,
            "a kernel cannot compute the size of an unknown dimension",
            help="give the model's inputs fixed shapes, or equal names to equal dimensions",
        )
    is_own = isinstance(rewriter, SymbolRewriter)
    symbols = rewriter.symbols if is_own else dict(symbol_arguments(kernel))
    return IRBuilder.on(rewriter, symbols=symbols).extent(dim)


Emitted = TypeVar("Emitted")


def inserted(emit: Callable[[], Emitted], rewriter: PatternRewriter) -> Emitted:
    """
    The result of `emit`, which appends to an implicit builder; its ops go to the rewriter's insertion point.
    """
    with ImplicitBuilder(rewriter):
        return emit()


def is_returned(value: SSAValue) -> bool:
    """Whether a value is a result of its kernel."""
    return any(isinstance(use.operation, ReturnOp) for use in value.uses)


def enclosing_kernel(rewriter: PatternRewriter) -> FuncOp:
    """The function that contains the rewriter's insertion point."""
    parent = rewriter.insertion_point.block.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        parent = parent.parent_op()
    assert parent is not None, "patterns run inside functions"
    return parent


def symbol_arguments(function: FuncOp) -> list[tuple[str, SSAValue]]:
    """The symbols of a function, each with the index argument that has its value."""
    names = symbols_of(function)
    return list(zip(names, function.args[len(function.args) - len(names) :], strict=True))


def empty(type: Tensor, rewriter: PatternRewriter) -> SSAValue:
    """A `tensor.empty` of a type, with dynamic extents computed from the symbols."""
    sizes = [extent(dim, rewriter) for dim in dims_of(type) if not dim.is_static]
    return rewriter.insert(tensor.EmptyOp(sizes, type)).tensor


def empty_like(value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """A `tensor.empty` of a value's type."""
    return empty(tensor_of(value), rewriter)


def filled(type: Tensor, number: float, rewriter: PatternRewriter) -> SSAValue:
    """A tensor with the same number everywhere, by `linalg.fill`."""
    scalar = rewriter.insert(arith.ConstantOp(scalar_constant(number, type.element_type))).result
    return rewriter.insert(FillOp([scalar], [empty(type, rewriter)])).res[0]


def identity(rank: int) -> AffineMap:
    """The index map of an operand that is indexed by all loops in order."""
    return AffineMap.identity(rank)


def broadcast_map(value: SSAValue, dims: Sequence[Dim], op: Operation) -> AffineMap:
    """
    The index map of a tensor broadcast to a shape: aligned at the right, index 0 for extents of 1.

    Raises: StepwellError `unsupported` for a dimension that could be 1 or the shape's when the model runs.
    """
    own = dims_of(value.type)
    offset = len(dims) - len(own)
    indices: list[AffineExpr] = []
    for loop, dim in enumerate(own, start=offset):
        if dim.proves_equal(dims[loop]):
            indices.append(AffineExpr.dimension(loop))
        elif dim == 1:
            indices.append(AffineExpr.constant(0))
        else:
            raise StepwellError(
                "unsupported",
                op,
                f"{op.name}: dimension {dim} of {shape_text(own)} may be 1 or {dims[loop]} at run time",
                help="give both dimensions one name or one number, for example with --input-shape",
            )
    return AffineMap(len(dims), 0, tuple(indices))


def elementwise(
    type: Tensor,
    operands: Sequence[SSAValue],
    body: Body,
    op: Operation,
    rewriter: PatternRewriter,
    *,
    stored: bool = False,
) -> SSAValue:
    """
    A tensor of `type`, computed element by element from operands that broadcast to its shape.

    `body` maps a scalar of each operand to the element; with `stored` these are in their storage types.
    """
    dims = dims_of(type)
    reads = [(value, broadcast_map(value, dims, op)) for value in operands]
    loops = [PARALLEL] * len(dims)
    init = empty(type, rewriter)
    write = (init, identity(len(dims)))
    return generic(reads, write, loops, lambda s: body(s[:-1]), rewriter, stored=stored)


def generic(
    reads: Sequence[Read],
    write: Read,
    loops: Sequence[IteratorTypeAttr],
    body: Body,
    rewriter: PatternRewriter,
    *,
    stored: bool = False,
) -> SSAValue:
    """
    A `linalg.generic` with one result.

    Constants of one element become constants of the body, unless a loop may take its extent from them. `body`
    takes a scalar of each operand of `reads` and the old element of `write`, in the types they compute in;
    its result is rounded to the type of `write`. With `stored` it gets elements in their storage types.
    """
    # Operands that become constants of the body, and those that remain.
    constants = [None if _uses_loops(map) else _constant_attribute(value) for value, map in reads]
    tensors = [read for read, constant in zip(reads, constants, strict=True) if constant is None]
    elements = [element_of_value(value) for value, _ in (*reads, write)]
    # The body: widen stored elements, compute, and narrow the result.
    block = Block(arg_types=[signless(element_of_value(value)) for value, _ in (*tensors, write)])
    with ImplicitBuilder(block):
        arguments = iter(block.args)
        kept: list[SSAValue] = [
            next(arguments) if constant is None else arith.ConstantOp(constant).result
            for constant in (*constants, None)
        ]
        types = [Scalars(element) for element in elements]
        scalars = kept if stored else [t.widen(s) for t, s in zip(types, kept, strict=True)]
        result = body(scalars)
        if not stored:
            result = _moved(result, scalars, kept, elements) or types[-1].narrow(result)
        YieldOp(result)
    _erase_unused(block)
    return rewriter.insert(
        GenericOp(
            [value for value, _ in tensors],
            [write[0]],
            Region(block),
            [AffineMapAttr(map) for _, map in (*tensors, write)],
            list(loops),
            [write[0].type],
        )
    ).res[0]


def _moved(
    result: SSAValue, scalars: Sequence[SSAValue], kept: Sequence[SSAValue], elements: Sequence[Attribute]
) -> SSAValue | None:
    """The stored element that a body returns unchanged to a result of the same type; else None."""
    for scalar, stored, element in zip(scalars, kept, elements, strict=True):
        if scalar is result and element == elements[-1]:
            return stored
    return None


def _erase_unused(block: Block) -> None:
    """Erase ops of a body without uses, such as the widening of an init's old element that nothing reads."""
    for op in reversed(list(block.ops)):
        if op.results and all(result.first_use is None for result in op.results):
            op.detach()
            op.erase()


def _uses_loops(map: AffineMap) -> bool:
    """Whether any index of a map depends on a loop."""
    return any(index.used_dims() for index in map.results)


def constant_number(value: SSAValue) -> float | None:
    """The number of a constant of one element; None for all other values."""
    if not isinstance(value.owner, graph.ConstantOp):
        return None
    dense = value.owner.value
    if not isinstance(dense, DenseIntOrFPElementsAttr):
        return None
    numbers = cast("DenseIntOrFPElementsAttr", dense).get_values()
    return cast(float, numbers[0]) if len(numbers) == 1 else None


def _constant_attribute(value: SSAValue) -> Constant | None:
    """A constant of one element as an attribute of its storage type; None for all other values."""
    number = constant_number(value)
    return None if number is None else scalar_constant(number, element_of_value(value))


def loop_index(loop: int) -> SSAValue:
    """The index of a loop, emitted inside a body."""
    return IndexOp(loop).result


def counted_loop(
    count: SSAValue,
    carried: Sequence[SSAValue],
    body: Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]],
    rewriter: PatternRewriter,
) -> list[SSAValue]:
    """An `scf.for` from 0 to `count` with carried values; `body` emits with the rewriter."""
    zero, one = extent(Dim.of(0), rewriter), extent(Dim.of(1), rewriter)
    block = Block(arg_types=[INDEX, *(value.type for value in carried)])
    loop = rewriter.insert(scf.ForOp(zero, count, one, carried, Region(block)))
    outside = rewriter.insertion_point
    rewriter.insertion_point = InsertPoint.at_end(block)
    rewriter.insert(scf.YieldOp(*body(block.args[0], block.args[1:])))
    rewriter.insertion_point = outside
    return list(loop.results)
