"""Cells of recurrent layers as ops of one step, and layers as loops over steps or `graph.rnn`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Region
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.loops import INDEX_TYPE
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.graph_ir.annotations import in_bounds
from stepwell.lowering.tflite_to_graph.support import Call
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.dims import Dim

_CELL_FUNCTIONS = {"NONE": "affine", "RELU": "relu", "TANH": "tanh"}
"""The functions of `graph.rnn` by those of TFLite."""
_EPSILON = 1e-8
"""What LiteRT adds to the variance of a gate."""
States = tuple[Value, ...]


def activated(call: Call, x: Value, kind: str) -> Value:
    """An activation inside of a cell. Raises: StepwellError `unsupported`."""
    match kind:
        case "NONE":
            return x
        case "TANH":
            return x.apply(graph.TanhOp)
        case "RELU":
            return x.apply(graph.ReluOp)
        case "RELU6":
            return x.clip(0.0, 6.0)
        case "RELU_N1_TO_1":
            return x.clip(-1.0, 1.0)
        case _:
            raise call.unsupported(f"the activation {kind} of a cell")


@dataclass(frozen=True)
class Cell(ABC):
    """A cell: weights of the input and of the output before, the gates beside each other."""

    call: Call
    w: Value
    """[G * H, I]"""
    r: Value
    """[G * H, P]"""
    activation: str

    def step(self, x: Value, states: States) -> States:
        """The next states, the output first. Args: `x` is [N, I]."""
        sums = x.matmul(self.w.transpose([1, 0])) + states[0].matmul(self.r.transpose([1, 0]))
        return self.next(sums, states)

    @abstractmethod
    def next(self, sums: Value, states: States) -> States:
        """The next states from the products [N, G * H]."""

    @abstractmethod
    def layer(self, x: Value, states: States, direction: str) -> graph.RnnOp | None:
        """The layer over a sequence as one op; None where the cell has more than the op."""

    def sequence(self, x: Value, states: States, *, backward: bool = False) -> States:
        """The outputs [T, N, P] of a layer over x [T, N, I], and the last states."""
        op = self.layer(x, states, "reverse" if backward else "forward")
        if op is None:
            return self._loop(x, states, backward=backward)
        y, *last = self.call.insert(op)
        return (_without(y, 1), *(_without(each, 0) for each in last))

    def _loop(self, x: Value, states: States, *, backward: bool) -> States:
        """A loop over the steps: one product for the inputs of all, the others inside."""
        at = x.formula
        (steps, batch), width = x.dims[:2], states[0].dims[-1]
        products, r = x.matmul(self.w.transpose([1, 0])), self.r.transpose([1, 0])
        count = at.extent(steps, i64)
        last = count - 1 if backward else None
        outputs = at.full(0.0, [steps, batch, width], x.element)
        inits = [outputs.ssa, *(each.ssa for each in states)]
        block = Block(arg_types=[INDEX_TYPE, *(each.type for each in inits)])
        end = graph.YieldOp([])
        block.add_op(end)
        inner = Formula(at.lowering, PatternRewriter(end))
        number, collected, *before = (inner.value(argument) for argument in block.args)
        if last is not None:
            number = -number + last
        row = inner.op(graph.GatherOp(products.ssa, number.ssa, 0, bounds="clip"))
        after = self.next(row + before[0].matmul(r), tuple(before))
        name = fresh_symbols(self.call.op, 1)[0]
        inner.rewriter.insert(graph.BindSizesOp(number.ssa, [name]))
        offsets = [Dim.symbol(name), Dim.of(0), Dim.of(0)]
        insert = graph.InsertSliceOp(collected.ssa, after[0].unsqueeze(0).ssa, offsets)
        end.operands = [inner.op(in_bounds(insert)).ssa, *(each.ssa for each in after)]
        loop = graph.ForOp(
            count.ssa, inits, Region(block), (), lambda count: fresh_symbols(self.call.op, count)
        )
        return tuple(self.call.insert(loop)[: len(inits)])


@dataclass(frozen=True)
class PlainCell(Cell):
    """A function of the sums and a bias: `h = f(x w + h r + b)`."""

    bias: Value

    def next(self, sums: Value, states: States) -> States:
        """The next state."""
        return (activated(self.call, sums + self.bias, self.activation),)

    def layer(self, x: Value, states: States, direction: str) -> graph.RnnOp | None:
        """The op for activations that it has."""
        if self.activation not in _CELL_FUNCTIONS:
            return None
        return _rnn(self, "rnn", x, states, direction, [_CELL_FUNCTIONS[self.activation]], bias=self.bias)


@dataclass(frozen=True)
class LstmCell(Cell):
    """Gates i, o, f and a new value, the order of `graph.rnn`; states are the output and the cell."""

    bias: Sequence[Value]
    """[H] for each gate."""
    peepholes: Sequence[Value]
    """[H] for i, o and f; none."""
    norms: Sequence[Value]
    """The coefficients of normalized gates, [H] for each; none."""
    projection: Value | None
    projection_bias: Value | None
    cell_clip: float
    projection_clip: float

    def next(self, sums: Value, states: States) -> States:
        """The next output and cell."""
        _, cell = states
        width = cell.dims[-1]
        i, o, f, new = (sums.slice(1, width * k, width * (k + 1)) for k in range(4))
        keep = self._gate(2, f, cell).apply(graph.SigmoidOp) * cell
        value = self._gate(0, i, cell).apply(graph.SigmoidOp) * self._active(self._gate(3, new, None))
        cell = _clipped(keep + value, self.cell_clip)
        output = self._gate(1, o, cell).apply(graph.SigmoidOp) * self._active(cell)
        if self.projection is not None:
            output = output.matmul(self.projection.transpose([1, 0]))
            if self.projection_bias is not None:
                output = output + self.projection_bias
            output = _clipped(output, self.projection_clip)
        return output, cell

    def layer(self, x: Value, states: States, direction: str) -> graph.RnnOp | None:
        """The op for a cell without normalization, projection and bounds."""
        is_more = self.projection is not None or bool(self.norms) or self.cell_clip > 0.0
        if is_more or self.activation not in _CELL_FUNCTIONS:
            return None
        at, own = x.formula, _CELL_FUNCTIONS[self.activation]
        functions, bias = ["sigmoid", own, own], at.concat(self.bias, 0)
        peepholes = at.concat(self.peepholes, 0) if self.peepholes else None
        return _rnn(self, "lstm", x, states, direction, functions, bias=bias, p=peepholes)

    def _active(self, x: Value) -> Value:
        return activated(self.call, x, self.activation)

    def _gate(self, number: int, x: Value, cell: Value | None) -> Value:
        """The argument of a gate's function."""
        if self.peepholes and cell is not None:
            x = x + cell * self.peepholes[number]
        if self.norms:
            centered = x - x.reduce("mean", [1], keep_dims=True)
            variance = (centered * centered).reduce("mean", [1], keep_dims=True)
            x = centered * (variance + _EPSILON).apply(graph.RsqrtOp) * self.norms[number]
        return x + self.bias[number]


def _clipped(x: Value, bound: float) -> Value:
    return x.clip(-bound, bound) if bound > 0.0 else x


def _rnn(
    cell: Cell,
    kind: str,
    x: Value,
    states: States,
    direction: str,
    functions: Sequence[str],
    *,
    bias: Value,
    p: Value | None = None,
) -> graph.RnnOp:
    """A layer as an op. Args: `bias` is [G * H], `p` are peepholes [3 * H]."""
    at = x.formula
    both = at.concat([bias, at.full(0.0, bias.dims, bias.element)], 0)
    return graph.RnnOp(
        x.ssa,
        cell.w.unsqueeze(0).ssa,
        cell.r.unsqueeze(0).ssa,
        cell=kind,
        direction=direction,
        activations=functions,
        alphas=[1.0 if each == "affine" else 0.0 for each in functions],
        betas=[0.0] * len(functions),
        bias=both.unsqueeze(0).ssa,
        h0=states[0].unsqueeze(0).ssa,
        c0=states[1].unsqueeze(0).ssa if len(states) > 1 else None,
        peepholes=None if p is None else p.unsqueeze(0).ssa,
    )


def _without(x: Value, axis: int) -> Value:
    """A value without a dimension of size 1."""
    return x.formula.op(graph.SqueezeOp(x.ssa, [axis]))
