"""Dimensions as data of an ONNX model: from shapes and computed sizes, by integer arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import dims_of
from stepwell.lowering.graph_to_onnx.nodes import insert_integers, insert_node, vector_type
from stepwell.passes.analysis.symbol_sources import SymbolSource, symbol_sources, symbols_of_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.integers.expression_text import Algebra

_ONE = vector_type(1)


def dims_vector(dims: Sequence[Dim], rewriter: PatternRewriter) -> SSAValue:
    """
    Dimension expressions as a vector of i64.

    Raises: StepwellError `unsupported` for a symbol that neither a shape nor a computed size determines.
    """
    if all(dim.is_static for dim in dims):
        return insert_integers(rewriter, [dim.value for dim in dims])
    sizes = _Sizes(rewriter)
    names = {name for dim in dims for name in dim.symbols()}
    if missing := sorted(name for name in names if not sizes.is_known(name)):
        raise StepwellError(
            "unsupported", None, f"no value of the ONNX model determines the size of {', '.join(missing)}"
        )
    algebra = _algebra(rewriter)
    pieces = [dim.build(sizes.vector, algebra) for dim in dims]
    if len(pieces) == 1:
        return pieces[0]
    return insert_node(rewriter, onnx.ConcatOp, pieces, vector_type(len(pieces)), axis=0)


class _Sizes:
    """
    The sizes of symbols, where a rewriter inserts: of arguments, of `graph.bind_sizes` and
    `graph.define_sizes`, and of values whose shape has the symbol.
    """

    def __init__(self, rewriter: PatternRewriter):
        self._rewriter = rewriter
        function = _function_around(rewriter.insertion_point.block)
        self._sources = symbol_sources(function) if function is not None else {}

    def is_known(self, name: str) -> bool:
        """Whether a symbol has a size here."""
        return name in self._sources or self._definition(name) is not None

    def vector(self, name: str) -> SSAValue:
        """The size of a symbol as a vector of one element."""
        if name in self._sources:
            return _size(self._sources[name], self._rewriter)
        found = self._definition(name)
        assert found is not None
        if isinstance(found, graph.DefineSizesOp):
            at = [symbol.data for symbol in found.symbols].index(name)
            return found.dims.get()[at].build(self.vector, _algebra(self._rewriter))
        if isinstance(found, graph.BindSizesOp):
            return _bound_size(found, name, self._rewriter)
        axis = [str(dim) for dim in dims_of(found.type)].index(name)
        return insert_node(self._rewriter, onnx.ShapeOp, [found], _ONE, start=axis, end=axis + 1)

    def _definition(self, name: str) -> graph.BindSizesOp | graph.DefineSizesOp | SSAValue | None:
        """The op that defines a symbol before the insertion point, or a value with it in its shape."""
        for op in _ops_before(self._rewriter):
            if isinstance(op, graph.BindSizesOp | graph.DefineSizesOp):
                if any(symbol.data == name for symbol in op.symbols):
                    return op
            elif value := next((v for v in op.results if name in symbols_of_type(v.type)), None):
                return value
        blocks = _blocks_around(self._rewriter.insertion_point.block)
        arguments = (arg for block in blocks for arg in block.args)
        return next((arg for arg in arguments if name in symbols_of_type(arg.type)), None)


def _ops_before(rewriter: PatternRewriter) -> Iterator[Operation]:
    """The ops before the insertion point, the nearest first, and those before the ops around it."""
    point = rewriter.insertion_point
    op = point.block.last_op if point.insert_before is None else point.insert_before.prev_op
    for block in _blocks_around(point.block):
        while op is not None:
            yield op
            op = op.prev_op
        around = block.parent_op()
        op = None if around is None else around.prev_op


def _blocks_around(block: Block | None) -> Iterator[Block]:
    """A block and the blocks around it, up to the function's."""
    while block is not None:
        yield block
        around = block.parent_op()
        block = None if around is None or isinstance(around, FuncOp) else around.parent


def _bound_size(op: graph.BindSizesOp, name: str, rewriter: PatternRewriter) -> SSAValue:
    """
    An element of the operand of `graph.bind_sizes` as a vector of one element.

    A signed element is the difference of two symbols: its positive part less its negative part.
    """
    at = [symbol.data for symbol in op.symbols].index(name)
    index = at if op.signed is None else at // 2
    flat = insert_node(
        rewriter, onnx.ReshapeOp, [op.input, insert_integers(rewriter, [-1])], vector_type(len(op.elements))
    )
    bounds = [insert_integers(rewriter, [number]) for number in (index, index + 1)]
    element = insert_node(rewriter, onnx.SliceOp, [flat, *bounds], _ONE)
    if op.signed is None:
        return element
    zero = insert_integers(rewriter, [0])
    if at % 2:
        element = insert_node(rewriter, onnx.NegOp, [element], _ONE)
    return insert_node(rewriter, onnx.MaxOp, [element, zero], _ONE)


def _function_around(block: Block) -> FuncOp | None:
    """The function that contains a block; None if there is none."""
    parent = block.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        parent = parent.parent_op()
    return parent


def _size(source: SymbolSource, rewriter: PatternRewriter) -> SSAValue:
    """The size of a symbol as a vector of one element: from a shape, or from an element of an input."""
    value, start = source.value, source.position
    if not source.is_element:
        return insert_node(rewriter, onnx.ShapeOp, [value], _ONE, start=start, end=start + 1)
    bounds = [insert_integers(rewriter, [at]) for at in (start, start + 1)]
    return insert_node(rewriter, onnx.SliceOp, [value, *bounds], _ONE)


def _algebra(rewriter: PatternRewriter) -> Algebra[SSAValue]:
    """Dimension arithmetic on vectors of one element."""

    def binary(op_class: type[onnx.OnnxOp], a: SSAValue, b: SSAValue) -> SSAValue:
        return insert_node(rewriter, op_class, [a, b], _ONE)

    def number(n: int) -> SSAValue:
        return insert_integers(rewriter, [n])

    def floordiv(a: SSAValue, b: SSAValue) -> SSAValue:
        # ONNX's `Div` truncates, so the remainder by `Mod`, with the divisor's sign, is subtracted first.
        return binary(onnx.DivOp, binary(onnx.SubOp, a, binary(onnx.ModOp, a, b)), b)

    def ceildiv(a: SSAValue, b: SSAValue) -> SSAValue:
        return binary(onnx.SubOp, number(0), floordiv(binary(onnx.SubOp, number(0), a), b))

    return Algebra(
        number=number,
        add=lambda a, b: binary(onnx.AddOp, a, b),
        multiply=lambda a, b: binary(onnx.MulOp, a, b),
        floordiv=floordiv,
        ceildiv=ceildiv,
        minimum=lambda a, b: binary(onnx.MinOp, a, b),
        maximum=lambda a, b: binary(onnx.MaxOp, a, b),
    )


def erase_sizes(module: ModuleOp) -> None:
    """
    Erase `graph.bind_sizes` and `graph.define_sizes`, whose symbols are computed by ONNX nodes now.

    Raises: StepwellError `unsupported-op` for one whose results are used.
    """
    named = [op for op in module.walk() if isinstance(op, graph.BindSizesOp | graph.DefineSizesOp)]
    for op in named:
        if any(result.uses for result in op.results):
            raise StepwellError("unsupported-op", op, f"no conversion for a use of {op.name} as a number")
        op.detach()
        op.erase()
