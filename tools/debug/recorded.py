"""The values of a run: of inputs, constants, calls of `@main`, and what depends on them without a kernel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.types import Tensor, dims_of, dtype_of
from stepwell.lowering.main_to_buffers import VIEWS, inputs_of
from stepwell.runtime.interface import Array
from stepwell.tools.debug.kept_model import KeptRun
from stepwell.tools.debug.program import DebugProgram
from stepwell.tools.driver.compilation import main_of


class Recorded:
    """The arrays of a run by value of level 1."""

    def __init__(self, program: DebugProgram, feeds: Mapping[str, Array]):
        self.program = program
        self.feeds = dict(feeds)
        self.sizes: dict[str, int] = {}
        self._kept: dict[SSAValue, tuple[KeptRun, int]] = {}
        self._given: dict[SSAValue, Array] = {}
        self._definers = {name: op for op in main_of(program.graph).walk() for name, _ in defined_symbols(op)}
        self.inside: dict[Operation, Mapping[SSAValue, Array]] = {}
        """The values inside kernels, of as many of them as are remembered."""
        self.changed: dict[Operation, Mapping[SSAValue, Array]] = {}
        """The values inside kernels that are not those of the kernel's run."""
        self.arguments: Callable[[graph.ForOp], Mapping[SSAValue, Array]] | None = None
        """The arguments of the body of a loop in its last iteration."""
        self.fetch: Callable[[SSAValue], None] | None = None
        """Records a value that was given up to save memory, by another run."""

    def copy(self) -> Recorded:
        """A recording with the same values, which changes of this one do not reach."""
        other = copy(self)
        other.sizes, other.inside = dict(self.sizes), {}
        other._kept, other._given = dict(self._kept), dict(self._given)
        other.feeds, other.changed = dict(self.feeds), dict(self.changed)
        return other

    def record(
        self, run: KeptRun, results: Sequence[SSAValue], but: Collection[SSAValue] = frozenset()
    ) -> None:
        """Add the values of a call, whose memory is in the order of `results`, except those of `but`."""
        known = self.program.interface.symbols
        self.sizes |= {name: size for name, size in run.sizes.items() if name in known or not but}
        for number, value in enumerate(results):
            if value not in but:
                self._kept[value] = run, number
                self._given.pop(value, None)
                if isinstance(value.owner, Operation):
                    self.changed.pop(value.owner, None)

    def give(self, value: SSAValue, array: Array) -> None:
        """Let a value have an array, whatever was recorded."""
        self._given[value] = array

    def give_up(self, values: Sequence[SSAValue], keep: Sequence[SSAValue]) -> None:
        """Release the memory of values; copies of those to `keep` stay."""
        for value in keep:
            if value in self._kept and (array := self.array(value)) is not None:
                self._given[value] = array.copy()
        for value in values:
            self._kept.pop(value, None)

    def has(self, value: SSAValue) -> bool:
        """Whether the array of a call's result is recorded."""
        return value in self._given or value in self._kept

    def array(self, value: SSAValue) -> Array | None:
        """The array of a value outside of kernels, as the program stores it; None where it is not known."""
        if value in self._given:
            return self._given[value]
        owner = value.owner
        if not isinstance(owner, Operation):
            return self._argument(value)
        if isinstance(owner, graph.ConstantOp):
            return constant_array(owner, self.program.ctx.weights)
        if isinstance(owner, VIEWS):
            return self._view(value, owner)
        if not self.ran(owner):
            return None
        if value not in self._kept and self.fetch is not None:
            self.fetch(value)
        if (kept := self._kept.get(value)) is None:
            return self._given.get(value)
        run, number = kept
        array = run.array(number, self.size)
        # Buffers have integers without signs, which level 1 has.
        return None if array is None else array.view(dtype_of(cast(Tensor, value.type).element_type))

    def _argument(self, value: SSAValue) -> Array | None:
        arguments = inputs_of(main_of(self.program.graph))
        for argument, spec in zip(arguments, self.program.interface.inputs, strict=True):
            if argument is value:
                return self.feeds.get(spec.name)
        loop = value.owner.parent_op() if isinstance(value.owner, Block) else None
        if (
            isinstance(loop, graph.ForOp)
            and self.arguments is not None
            and self.ran(loop.body.block.first_op)
        ):
            self._given |= self.arguments(loop)
        return self._given.get(value)

    def ran(self, op: Operation | None) -> bool:
        """Whether a call ran, which in a branch not taken, or a loop without iterations, it did not."""
        block = None if op is None else op.parent
        outer = None if block is None else block.parent_op()
        if isinstance(outer, graph.IfOp) and (taken := self.array(outer.condition)) is not None:
            if block is not (outer.then_region if bool(taken) else outer.else_region).block:
                return False
        if isinstance(outer, graph.ForOp) and not self.iterations(outer):
            return False
        return not isinstance(outer, graph.ControlFlowOp) or self.ran(outer)

    def iterations(self, loop: graph.ForOp) -> int:
        """The number of iterations of a loop; 0 where that is not known."""
        count = self.array(loop.count)
        return 0 if count is None else max(0, int(count))

    def _view(self, value: SSAValue, op: Operation) -> Array | None:
        source = self.array(op.operands[0])
        shape = self.shape(value)
        if source is None or shape is None:
            return None
        dtype = dtype_of(cast(Tensor, value.type).element_type)
        return np.ascontiguousarray(source).reshape(-1).view(dtype).reshape(shape)

    def shape(self, value: SSAValue) -> tuple[int, ...] | None:
        """The shape of a tensor in this run; None where a size is not known."""
        if (type := value.type).name != TensorType.name:
            return None
        dims = dims_of(cast(Tensor, type))
        names = {name for dim in dims if not dim.is_unknown for name in dim.symbols()}
        sizes = {name: self.size(name) for name in names}
        if any(dim.is_unknown for dim in dims) or None in sizes.values():
            return None
        known = {name: size for name, size in sizes.items() if size is not None}
        return tuple(dim.evaluate(known) for dim in dims)

    def size(self, name: str) -> int | None:
        """The value of a symbol in this run, computed where it follows from a recorded value."""
        if name not in self.sizes and (definer := self._definers.get(name)) is not None:
            self._define(definer)
        return self.sizes.get(name)

    def _define(self, op: Operation) -> None:
        names = [name for name, _ in defined_symbols(op)]
        if isinstance(op, graph.BindSizesOp):
            array = self.array(op.input)
            numbers = [] if array is None else [int(n) for n in cast("list[int]", np.ravel(array).tolist())]
            if op.signed is not None:
                numbers = [part for n in numbers for part in (max(n, 0), max(-n, 0))]
            self.sizes |= zip(names, numbers, strict=False)
        elif isinstance(op, graph.DefineSizesOp):
            for name, dim in zip(names, op.dims.get(), strict=True):
                sizes = {symbol: self.size(symbol) for symbol in dim.symbols()}
                if None not in sizes.values():
                    self.sizes[name] = dim.evaluate({k: n for k, n in sizes.items() if n is not None})

    def known_sizes(self) -> Mapping[str, int]:
        """The values of all symbols that are known."""
        for name in self._definers:
            self.size(name)
        return self.sizes
