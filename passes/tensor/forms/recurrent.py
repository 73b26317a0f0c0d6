"""
Recurrent layers as products for many steps, and a loop over the steps that carries the state.

The gates' products with the input do not depend on the state: `x · Wᵀ` is one `linalg.generic`. A step
multiplies the state by `Rᵀ` and computes the cell elementwise. States are f32 for 16-bit floats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.recurrent import FUNCTIONS, GATES
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.linalg_builder import activation
from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.linalg_builder.slices import cut, layer_of, paste, with_layer
from stepwell.dialects.linalg_builder.sums import accumulator, rounded, sum_of_products
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    Body,
    Read,
    counted_loop,
    empty,
    extent,
    filled,
    generic,
    identity,
    projection,
)
from stepwell.dialects.linalg_builder.views import join_dims, split_dims
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.runtime.dims import Dim


def rnn_by_steps(
    op: graph.RnnOp, inits: Sequence[SSAValue], sizes: Mapping[str, int], rewriter: PatternRewriter
) -> Sequence[SSAValue]:
    """
    For each direction a product over all steps and an `scf.for` over them; or both for blocks of `steps`.

    ```mlir
    %y, %h = scf.for %block … {
      %gates = linalg.generic … ins(%x, %w) …          // [steps, N, gates, H]
      scf.for %step … iter_args(%y, %h) {
        %r = linalg.generic … ins(%h, %r) …            // [N, gates, H], then the cell elementwise
      }
    }
    ```
    """
    y, *states = inits
    for direction in range(op.directions):
        layer = _Direction(op, direction, rewriter, sizes.get("steps"))
        y, last = layer.run(y)
        states = [
            paste(layer.with_direction(state), into, [Dim.of(direction), Dim.of(0), Dim.of(0)], rewriter)
            for state, into in zip(last, states, strict=False)
        ]
    return [y, *states]


@dataclass
class _Direction:
    """A layer in one direction: emits its ops at the rewriter's insertion point."""

    op: graph.RnnOp
    direction: int
    rewriter: PatternRewriter
    block: int | None
    """The steps whose products with the input are made together; None for all of them."""

    def __post_init__(self) -> None:
        self.steps, self.batch, self.width = dims_of(self.op.x.type)
        self.hidden = self.op.hidden
        self.cell = self.op.cell.data
        self.gates = GATES[self.cell]
        self.element = element_of_value(self.op.x)
        self.kept = accumulator(self.element)
        self.scalars = Scalars(self.kept)
        self.backwards = self.op.direction.data == "reverse" or self.direction == 1
        # GRU: the product with the state gets its bias before it meets the reset gate.
        self.bias_inside = self.cell == "gru" and bool(self.op.linear_before_reset.value.data)
        count = Dim.of(self.op.directions)
        self.bias = self._split_last(self.op.bias, [count], [Dim.of(2), Dim.of(self.gates), self.hidden])
        self.peepholes = self._split_last(self.op.peepholes, [count], [Dim.of(3), self.hidden])

    def _split_last(
        self, value: SSAValue | None, outer: Sequence[Dim], inner: Sequence[Dim]
    ) -> SSAValue | None:
        """A parameter tensor with its last dimension split into `inner`; None stays None."""
        return None if value is None else split_dims(value, [*([dim] for dim in outer), inner], self.rewriter)

    def run(self, y: SSAValue) -> tuple[SSAValue, list[SSAValue]]:
        """The tensor `y` with the outputs of all steps, and the last states."""
        block = self.block
        gates = self._input_gates(self.op.x) if block is None or self.steps == Dim.of(block) else None
        states = [self._initial(self.op.h0)]
        if self.cell == "lstm":
            states.append(self._initial(self.op.c0))
        if gates is not None:
            y, *states = self._over_steps(gates, None, [y, *states])
        else:
            assert block is not None
            y, *states = self._over_blocks(block, [y, *states])
        return y, [rounded(state, self.element, self.rewriter) for state in states]

    def _over_blocks(self, block: int, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The outputs and states after all steps, by blocks that divide them."""
        count, size, one = (extent(Dim.of(n), self.rewriter) for n in (self.steps // block, block, 1))

        def of_block(i: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            first = self.rewriter.insert(arith.MuliOp(self._in_order(i, count, one), size)).result
            x = layer_of(self.op.x, {0: first}, self.rewriter, {0: block})
            return self._over_steps(self._input_gates(x), first, carried)

        return counted_loop(count, carried, of_block, self.rewriter)

    def _over_steps(
        self, gates: SSAValue, first: SSAValue | None, carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The outputs and states after the steps of `gates`, the first of which is number `first` of all."""
        count, one = (extent(dim, self.rewriter) for dim in (dims_of(gates.type)[0], Dim.of(1)))

        def step(i: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            row = self._in_order(i, count, one)
            at = row if first is None else self.rewriter.insert(arith.AddiOp(first, row)).result
            return self._step(row, at, gates, carried[0], carried[1:])

        return counted_loop(count, carried, step, self.rewriter)

    def _in_order(self, i: SSAValue, count: SSAValue, one: SSAValue) -> SSAValue:
        """The number of an iteration's step or block: the last one first in a layer that runs backwards."""
        if not self.backwards:
            return i
        last = self.rewriter.insert(arith.SubiOp(count, one)).result
        return self.rewriter.insert(arith.SubiOp(last, i)).result

    def with_direction(self, state: SSAValue) -> SSAValue:
        """A state [N, H] as [1, N, H], a slice of the result for all directions."""
        return split_dims(state, [[Dim.of(1), self.batch], [self.hidden]], self.rewriter)

    def _initial(self, state: SSAValue | None) -> SSAValue:
        """
        The initial state as [N, H] in the accumulator type: zeros, or this direction's slice of `state`.
        """
        type = tensor_type(self.kept, [self.batch, self.hidden])
        if state is None:
            return filled(type, 0, self.rewriter)
        read = state, AffineMap(2, 0, (_at(self.direction), _loop(0), _loop(1)))
        return self._elementwise([read], lambda s: s[0])

    def _elementwise(self, reads: Sequence[Read], body: Body) -> SSAValue:
        """A tensor [N, H] of the accumulator type; `body` takes a scalar for each read."""
        write = empty(tensor_type(self.kept, [self.batch, self.hidden]), self.rewriter), identity(2)
        return generic(reads, write, [PARALLEL] * 2, lambda s: body(s[:-1]), self.rewriter)

    def _by_gate(self, w: SSAValue, first: int, count: int) -> SSAValue:
        """Weights with the gates as a dimension of their own, cut to `count` gates from `first` on."""
        groups = [[dim] for dim in dims_of(w.type)]
        groups[1] = [Dim.of(self.gates), self._columns()[0]]
        split = split_dims(w, groups, self.rewriter)
        if count == self.gates:
            return split
        sizes = list(dims_of(split.type))
        offsets = [Dim.of(0), Dim.of(first), *[Dim.of(0)] * (len(sizes) - 2)]
        sizes[1] = Dim.of(count)
        return cut(split, offsets, sizes, [1] * len(sizes), self.rewriter)

    def _columns(self) -> list[Dim]:
        """The loops along a state: [H], or panels and lanes where weights are packed."""
        panel = self.op.panel
        return [Dim.of(self.hidden.value // panel), Dim.of(panel)] if panel else [self.hidden]

    def _product(self, x: SSAValue, w: SSAValue, outer: Sequence[Dim]) -> SSAValue:
        """
        The product of `x` with weights by gate, [outer…, H]; loops [outer…, (panel,) lane, sum].

        The last dimension of `outer` is the gate, which `x` does not have.
        """
        groups = [*([dim] for dim in outer), self._columns()]
        dims = [dim for group in groups for dim in group]
        loops = len(dims) + 1
        *panels, lane, summed = (_loop(i) for i in range(len(outer) - 1, loops))
        ways = (*panels, summed, lane) if self.op.panel else (*panels, lane, summed)
        reads = (
            (x, projection(loops, [*range(len(outer) - 1), loops - 1])),
            (w, AffineMap(loops, 0, (_at(self.direction), *ways))),
        )
        product = sum_of_products(reads, self.kept, dims, 1, self.rewriter)
        return join_dims(product, groups, self.rewriter)

    def _input_gates(self, x: SSAValue) -> SSAValue:
        """x · Wᵀ plus the biases that do not depend on the state: [T, N, gates, H]."""
        dims = [dims_of(x.type)[0], self.batch, Dim.of(self.gates), self.hidden]
        w = self._by_gate(self.op.w, 0, self.gates)
        product = self._product(x, w, dims[:-1])
        if self.bias is None:
            return product
        biases = [self._bias(4, 0, _loop(2))] + ([] if self.bias_inside else [self._bias(4, 1, _loop(2))])
        return self._sum([(product, identity(4)), *biases], dims)

    def _sum(self, reads: Sequence[Read], dims: Sequence[Dim]) -> SSAValue:
        """The elementwise sum of several reads, as a tensor of `dims`."""

        def add(s: Sequence[SSAValue]) -> SSAValue:
            total = s[0]
            for term in s[1:-1]:
                total = self.scalars.add(total, term)
            return total

        write = empty(tensor_type(self.kept, dims), self.rewriter), identity(len(dims))
        return generic(reads, write, [PARALLEL] * len(dims), add, self.rewriter)

    def _bias(self, loops: int, which: int, gate: AffineExpr) -> Read:
        """The bias of `w` (which = 0) or `r` (1), indexed by a gate and the innermost loop."""
        assert self.bias is not None
        return self.bias, AffineMap(loops, 0, (_at(self.direction), _at(which), gate, _loop(loops - 1)))

    def _step(
        self, row: SSAValue, at: SSAValue, gates: SSAValue, y: SSAValue, states: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The new states after step `at`, row `row` of `gates`, preceded by `y` with the step's output."""
        seen = layer_of(gates, {0: row}, self.rewriter)
        inputs = [(seen, AffineMap(2, 0, (_at(0), _loop(0), _at(g), _loop(1)))) for g in range(self.gates)]
        cell = {"lstm": self._lstm, "gru": self._gru, "rnn": self._plain}[self.cell]
        new = cell(inputs, *states)
        output = new[0]
        if self.op.lengths is not None:
            valid = self._valid(at)
            new = [valid(state, old) for state, old in zip(new, states, strict=True)]
            output = valid(output, None)
        one = Dim.of(1)
        piece = rounded(output, self.element, self.rewriter)
        piece = split_dims(piece, [[one, one, self.batch], [self.hidden]], self.rewriter)
        return [with_layer(piece, y, {0: at, 1: self.direction}, self.rewriter), *new]

    def _valid(self, at: SSAValue) -> Callable[[SSAValue, SSAValue | None], SSAValue]:
        """An emitter that selects new values in sequences that reach this step, else old ones or 0."""
        assert self.op.lengths is not None
        lengths, numbers = self.op.lengths, Scalars(element_of_value(self.op.lengths))
        step = self.rewriter.insert(arith.IndexCastOp(at, i64)).result

        def choose(new: SSAValue, old: SSAValue | None) -> SSAValue:
            reads = [(lengths, projection(2, [0])), (new, identity(2))]
            reads += [] if old is None else [(old, identity(2))]

            def body(s: Sequence[SSAValue]) -> SSAValue:
                length = numbers.convert(s[0], Scalars(i64))
                inside = arith.CmpiOp(step, length, "slt").result
                return self.scalars.select(inside, s[1], self.scalars.constant(0) if old is None else s[2])

            return self._elementwise(reads, body)

        return choose

    def _times_r(self, state: SSAValue, first: int, count: int) -> SSAValue:
        """
        The product of a state with Rᵀ for some gates: [N, count, H]; for `linear_before_reset` with its bias.
        """
        dims = [self.batch, Dim.of(count), self.hidden]
        product = self._product(state, self._by_gate(self.op.r, first, count), dims[:-1])
        if self.bias is None or not self.bias_inside:
            return product
        return self._sum([(product, identity(3)), self._bias(3, 1, _loop(1))], dims)

    def _gate(self, product: SSAValue, gate: int) -> Read:
        """The read of one gate in a product [N, gates, H]."""
        return product, AffineMap(2, 0, (_loop(0), _at(gate), _loop(1)))

    def _activation(self, which: int) -> Callable[[SSAValue], SSAValue]:
        """An activation function of the cell; a clip applies before gates, not before the LSTM's output."""
        i = self.direction * FUNCTIONS[self.cell] + which
        name = self.op.activations.data[i].data
        alpha, beta = self.op.alphas.get_values()[i], self.op.betas.get_values()[i]
        clip = None if self.op.clip is None or which == 2 else self.op.clip.value.data

        def function(x: SSAValue) -> SSAValue:
            if clip is not None:
                x = self.scalars.maximum(x, self.scalars.constant(-clip))
                x = self.scalars.minimum(x, self.scalars.constant(clip))
            return activation.activate(self.scalars, name, x, alpha, beta)

        return function

    def _lstm(self, inputs: Sequence[Read], h: SSAValue, c: SSAValue) -> list[SSAValue]:
        """The new state and cell of an LSTM. Gates are in the order i, o, f, candidate."""
        f, g, out = (self._activation(which) for which in range(3))
        product, scalars = self._times_r(h, 0, 4), self.scalars
        gates = [[inputs[gate], self._gate(product, gate)] for gate in range(4)]
        peepholes = [self._peephole(gate) for gate in range(3)] if self.peepholes is not None else []
        coupled = bool(self.op.input_forget.value.data)

        def new_cell(s: Sequence[SSAValue]) -> SSAValue:
            i, forget = scalars.add(s[0], s[1]), scalars.add(s[2], s[3])
            old = s[6]
            if peepholes:
                i = scalars.add(i, scalars.multiply(s[7], old))
                forget = scalars.add(forget, scalars.multiply(s[8], old))
            i = f(i)
            forget = scalars.subtract(scalars.constant(1), i) if coupled else f(forget)
            candidate = scalars.multiply(i, g(scalars.add(s[4], s[5])))
            return scalars.add(scalars.multiply(forget, old), candidate)

        # The cell from the input and forget gates and the candidate, then the state from the output gate.
        reads = [*gates[0], *gates[2], *gates[3], (c, identity(2)), *peepholes[::2]]
        new_c = self._elementwise(reads, new_cell)

        def new_state(s: Sequence[SSAValue]) -> SSAValue:
            o = scalars.add(s[0], s[1])
            if peepholes:
                o = scalars.add(o, scalars.multiply(s[3], s[2]))
            return scalars.multiply(f(o), out(s[2]))

        return [self._elementwise([*gates[1], (new_c, identity(2)), *peepholes[1:2]], new_state), new_c]

    def _peephole(self, gate: int) -> Read:
        """The read of the peephole weights of gate i, o or f."""
        assert self.peepholes is not None
        return self.peepholes, AffineMap(2, 0, (_at(self.direction), _at(gate), _loop(1)))

    def _gru(self, inputs: Sequence[Read], h: SSAValue) -> list[SSAValue]:
        """The new state of a GRU. Gates are in the order z, r, candidate."""
        f, g = self._activation(0), self._activation(1)
        scalars, old = self.scalars, (h, identity(2))
        # The candidate's product is multiplied by the reset gate, or the state is before the product.
        if self.bias_inside:
            product = self._times_r(h, 0, 3)
            inner = [self._gate(product, 1), inputs[1], self._gate(product, 2)]
        else:
            product = self._times_r(h, 0, 2)
            reads = [inputs[1], self._gate(product, 1), old]
            reset = self._elementwise(reads, lambda s: scalars.multiply(f(scalars.add(s[0], s[1])), s[2]))
            inner = [self._gate(self._times_r(reset, 2, 1), 0)]

        def new_state(s: Sequence[SSAValue]) -> SSAValue:
            z = f(scalars.add(s[0], s[1]))
            hidden = s[4]
            if self.bias_inside:
                hidden = scalars.multiply(f(scalars.add(s[4], s[5])), s[6])
            candidate = g(scalars.add(s[2], hidden))
            kept = scalars.multiply(z, s[3])
            return scalars.add(scalars.multiply(scalars.subtract(scalars.constant(1), z), candidate), kept)

        return [self._elementwise([inputs[0], self._gate(product, 0), inputs[2], old, *inner], new_state)]

    def _plain(self, inputs: Sequence[Read], h: SSAValue) -> list[SSAValue]:
        """The new state of a simple RNN: the activation of the sum of both products."""
        f, product = self._activation(0), self._times_r(h, 0, 1)
        reads = [inputs[0], self._gate(product, 0)]
        return [self._elementwise(reads, lambda s: f(self.scalars.add(s[0], s[1])))]


def _loop(number: int) -> AffineExpr:
    return AffineExpr.dimension(number)


def _at(index: int) -> AffineExpr:
    return AffineExpr.constant(index)
