"""Recurrent layers as loops over arithmetic, which have derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.loops import INDEX_TYPE
from stepwell.dialects.graph.recurrent import FUNCTIONS
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.graph_ir.annotations import in_bounds
from stepwell.dialects.types import dtype_of, tensor_of
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore


@dataclass
class ExpandRnn(RewritePattern):
    """
    Expand a recurrent layer to one product for the whole sequence and, for each direction, a loop over steps.

    The loop carries the state and y, to which each step writes a row; 16-bit floats are computed in f32.
    Layers with packed weights stay: those are made by a later pass.

    ```mlir
    %y, %h = graph.rnn %x, %w, %r cell "rnn" direction "forward" activations ["tanh"] … :
      (tensor<5x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<5x1x2x4xf32>, tensor<1x2x4xf32>
    // ->
    %g = graph.matmul %x, %w0 transpose_b true : (tensor<5x2x8xf32>, tensor<4x8xf32>) -> tensor<5x2x4xf32>
    %y0, %h0, %c0 = graph.for %t to %n (%a = %zeros : tensor<5x2x4xf32>, %b = %zero : tensor<2x4xf32>, …) … {
      %i = graph.gather %g, %t axis 0 batch_dims 0 bounds "check" : …
      %u = graph.matmul %b, %r0 transpose_b true : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %s = graph.add %i, %u : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
      %v = graph.tanh %s : tensor<2x4xf32> -> tensor<2x4xf32>
      %d = graph.insert_slice %row into %a at <["data_0", 0, 0]> : …
      graph.yield %d, %v, … : …
    }
    %y = graph.expand_dims %y0 axes [1] : tensor<5x2x4xf32> -> tensor<5x1x2x4xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.RnnOp, rewriter: PatternRewriter) -> None:
        if op.panel:
            return
        b = GradientBuilder(rewriter, self.weights)
        element = tensor_of(op.x).element_type
        wide = f32 if dtype_of(element).itemsize < dtype_of(f32).itemsize else element
        directions = [_direction(op, d, _Operands(op, d, b, wide), b) for d in range(op.directions)]
        axes = (1, 0, 0)
        results = [
            b.insert(graph.ConcatOp([b.expand(each[i], [axes[i]]) for each in directions], axes[i]))
            for i in range(len(op.outputs))
        ]
        rewriter.replace(op, [], [b.cast(result, element) for result in results])


class _Operands:
    """The operands of a direction of a layer, without the axis of directions."""

    def __init__(self, op: graph.RnnOp, number: int, b: GradientBuilder, wide: Attribute):
        self._number, self._b, self._wide = number, b, wide
        self.x = self._cast(op.x)
        self.w, self.r = self._of(op.w), self._of(op.r)
        self.bias, self.peepholes = self._optional(op.bias), self._optional(op.peepholes)
        rows = b.dims(op.x)[1], op.hidden
        self.h = self._state(op.h0, rows)
        self.c = self._state(op.c0, rows)
        self.lengths = op.lengths

    def _cast(self, value: SSAValue) -> SSAValue:
        return self._b.cast(value, self._wide)

    def _of(self, value: SSAValue) -> SSAValue:
        dims = self._b.dims(value)
        number, rest = self._number, [0] * (len(dims) - 1)
        piece = self._b.slice(value, [number, *rest], [number + 1, *dims[1:]])
        return self._cast(self._b.squeeze(piece, [0]))

    def _optional(self, value: SSAValue | None) -> SSAValue | None:
        return None if value is None else self._of(value)

    def _state(self, value: SSAValue | None, dims: Sequence[Dim]) -> SSAValue:
        if value is not None:
            return self._of(value)
        return self._b.insert(graph.FullOp(self._b.scalar(0.0, self.x), dims))


def _direction(op: graph.RnnOp, number: int, of: _Operands, b: GradientBuilder) -> list[SSAValue]:
    """y [T, N, H], and the last h and c [N, H] of a direction."""
    steps, batch, _ = b.dims(op.x)
    rows, hidden = b.dims(of.w)[0], op.hidden
    gates = b.matmul(of.x, of.w, tb=True)
    recurrent_bias: SSAValue | None = None
    if of.bias is not None:
        gates = b.add(gates, b.slice(of.bias, [0], [rows]))
        recurrent_bias = b.slice(of.bias, [rows], [rows * 2])
    count = b.number(steps.value) if steps.is_static else b.squeeze(b.insert(graph.ExtentsOp([steps])), [0])
    y = b.insert(graph.FullOp(b.scalar(0.0, of.x), [steps, batch, hidden]))
    inits = [y, of.h, of.c]
    block = Block([last := graph.YieldOp([])], arg_types=[INDEX_TYPE, *(value.type for value in inits)])
    at, carried_y, h, c = block.args
    inner = b.before(last)
    if op.direction.data == "reverse" or number == 1:
        at = inner.subtract(inner.subtract(count, inner.number(1)), at)
    given = inner.insert(graph.GatherOp(gates, at, 0))
    cell = {"lstm": _lstm, "gru": _gru, "rnn": _plain}[op.cell.data]
    made = cell(_Step(op, number, of, recurrent_bias, inner), given, h, c)
    stored, state = _within_lengths(of, at, made, (h, c), inner)
    (name,) = fresh_symbols(op, 1)
    inner.rewriter.insert(graph.BindSizesOp(at, [name]))
    row = inner.expand(stored, [0])
    update = graph.InsertSliceOp(carried_y, row, [Dim.symbol(name), 0, 0])
    carried_y = inner.insert(in_bounds(update))
    last.operands = [carried_y, *state]
    loop = graph.ForOp(count, inits, Region(block))
    b.rewriter.insert(loop)
    return list(loop.results)


def _within_lengths(
    of: _Operands, at: SSAValue, made: Sequence[SSAValue], before: Sequence[SSAValue], b: GradientBuilder
) -> tuple[SSAValue, Sequence[SSAValue]]:
    """The stored result of a step, and its state: after a sequence's end 0, and the state before."""
    if of.lengths is None:
        return made[0], made
    lengths = b.cast(of.lengths, tensor_of(at).element_type)
    is_valid = b.expand(b.less(at, lengths), [1])
    stored = b.only_where(is_valid, made[0])
    return stored, [b.where(is_valid, new, old) for new, old in zip(made, before, strict=True)]


@dataclass(frozen=True)
class _Step:
    """The arithmetic of a step."""

    op: graph.RnnOp
    direction: int
    of: _Operands
    bias: SSAValue | None
    b: GradientBuilder

    def columns(self, value: SSAValue, first: int, count: int = 1) -> SSAValue:
        """The columns of `count` gates of [N, G H]."""
        hidden = self.op.hidden
        return self.b.slice(value, [0, hidden * first], [self.b.dims(value)[0], hidden * (first + count)])

    def recurrent(self, h: SSAValue, first: int, count: int) -> SSAValue:
        """h Rᵀ + Rb for the rows of `count` gates."""
        hidden = self.op.hidden
        rows = self.b.slice(self.of.r, [hidden * first, 0], [hidden * (first + count), hidden])
        product = self.b.matmul(h, rows, tb=True)
        if self.bias is None:
            return product
        return self.b.add(product, self.b.slice(self.bias, [hidden * first], [hidden * (first + count)]))

    def peephole(self, number: int, c: SSAValue, gate: SSAValue) -> SSAValue:
        """A gate plus its peephole times the cell."""
        if self.of.peepholes is None:
            return gate
        hidden = self.op.hidden
        weights = self.b.slice(self.of.peepholes, [hidden * number], [hidden * (number + 1)])
        return self.b.add(gate, self.b.multiply(weights, c))

    def activated(self, number: int, x: SSAValue) -> SSAValue:
        """An activation function of the direction; the arguments of gates' functions are clipped."""
        at = self.direction * FUNCTIONS[self.op.cell.data] + number
        if self.op.clip is not None and number < 2:  # the third function is applied to the cell
            limit = self.op.clip.value.data
            x = self.b.insert(graph.ClipOp(x, self.b.scalar(-limit, x), self.b.scalar(limit, x)))
        name = self.op.activations.data[at].data
        alpha, beta = (float(each.get_values()[at]) for each in (self.op.alphas, self.op.betas))
        return _activation(name, alpha, beta, x, self.b)


def _lstm(step: _Step, given: SSAValue, h: SSAValue, c: SSAValue) -> tuple[SSAValue, SSAValue]:
    b = step.b
    gates = b.add(given, step.recurrent(h, 0, 4))
    i, o, forget, cell = (step.columns(gates, gate) for gate in range(4))
    i = step.activated(0, step.peephole(0, c, i))
    if step.op.input_forget:
        forget = b.subtract(b.scalar(1.0, i), i)
    else:
        forget = step.activated(0, step.peephole(2, c, forget))
    c = b.add(b.multiply(forget, c), b.multiply(i, step.activated(1, cell)))
    return b.multiply(step.activated(0, step.peephole(1, c, o)), step.activated(2, c)), c


def _gru(step: _Step, given: SSAValue, h: SSAValue, c: SSAValue) -> tuple[SSAValue, SSAValue]:
    b = step.b
    both = step.activated(0, b.add(step.columns(given, 0, 2), step.recurrent(h, 0, 2)))
    z, reset = step.columns(both, 0), step.columns(both, 1)
    if step.op.linear_before_reset:
        inner = b.multiply(reset, step.recurrent(h, 2, 1))
    else:
        inner = step.recurrent(b.multiply(reset, h), 2, 1)
    new = step.activated(1, b.add(step.columns(given, 2), inner))
    return b.add(b.multiply(b.subtract(b.scalar(1.0, z), z), new), b.multiply(z, h)), c


def _plain(step: _Step, given: SSAValue, h: SSAValue, c: SSAValue) -> tuple[SSAValue, SSAValue]:
    return step.activated(0, step.b.add(given, step.recurrent(h, 0, 1))), c


def _activation(name: str, alpha: float, beta: float, x: SSAValue, b: GradientBuilder) -> SSAValue:
    """An activation function of a cell."""
    match name:
        case "sigmoid":
            return b.insert(graph.SigmoidOp(x))
        case "tanh":
            return b.insert(graph.TanhOp(x))
        case "relu":
            return b.insert(graph.ReluOp(x))
        case "affine":
            return b.plus(b.scaled(x, alpha), beta)
        case "leaky_relu":
            return b.insert(graph.LeakyReluOp(x, alpha))
        case "thresholded_relu":
            return b.only_where(b.less(b.scalar(alpha, x), x), x)
        case "scaled_tanh":
            return b.scaled(b.insert(graph.TanhOp(b.scaled(x, beta))), alpha)
        case "hard_sigmoid":
            line = b.plus(b.scaled(x, alpha), beta)
            return b.insert(graph.ClipOp(line, b.scalar(0.0, x), b.scalar(1.0, x)))
        case "elu":
            return b.insert(graph.EluOp(x, alpha))
        case "softsign":
            return b.divide(x, b.plus(b.insert(graph.AbsOp(x)), 1.0))
        case _:
            return b.insert(graph.SoftplusOp(x))
