"""
Windows: a part of `@main` as a program of its own, with values from outside as its inputs.

The kernels of a window are in the cache, since the whole program was compiled before; its short `@main` alone
is compiled. This is how single kernels run, runs go on with changed values, and models run in little memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IndexType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.constants import inline_attr
from stepwell.dialects.graph.host import is_opaque
from stepwell.dialects.graph.symbols import symbol_sources
from stepwell.dialects.sched_kernel import symbols_of
from stepwell.dialects.sched_program import PROGRAM, ProgramAttr
from stepwell.dialects.types import DimsAttr
from stepwell.lowering.main_to_buffers import input_symbols, inputs_of
from stepwell.passes.analysis.call_graph import call_graph
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.tools.debug.kept_model import KeptModel, KeptRun
from stepwell.tools.debug.program import DebugProgram, calls_of, compiled_as_it_is, result_number
from stepwell.tools.debug.recorded import Recorded
from stepwell.tools.driver.compilation import Compilation, main_of
from stepwell.tools.driver.compile import TURN
from stepwell.tools.driver.model_interface import read_interface
from stepwell.tools.driver.options import CompileOptions


@dataclass(frozen=True)
class Window:
    """A part of `@main`, compiled."""

    model: KeptModel
    inputs: Mapping[str, SSAValue]
    """The values of level 1 from outside, by name of the window's input."""
    results: Sequence[SSAValue]
    """The values of level 1 that it computes, in the order of its buffers."""

    def run(self, recorded: Recorded) -> KeptRun:
        """Run on recorded values. Raises: StepwellError `no-value` for one that is not recorded."""
        feeds: dict[str, object] = dict(recorded.feeds)
        for name, value in self.inputs.items():
            if (array := recorded.array(value)) is None:
                raise StepwellError("no-value", value.owner, "a value that the kernel reads was not recorded")
            feeds[name] = np.asarray(array, order="C")
        return self.model.run_kept(feeds)


class Windows:
    """The windows of a program by first and last unit, each compiled once."""

    def __init__(self, program: DebugProgram, options: CompileOptions, threads: int | None):
        self._program, self._options, self._threads = program, options, threads
        self._main = main_of(program.shared)
        calls = list(calls_of(program.shared))
        self._level_1 = dict(zip(calls, program.calls, strict=True))
        self._units = [op for op in calls if op.parent is self._main.body.block]
        self._sources = symbol_sources(self._main.body.block)
        self._known: dict[tuple[int, int, int | None], Window] = {}

    def get(self, first: int, last: int, count: int | None = None) -> Window:
        """
        The window of the units from `first` to before `last`.

        Args: `count` bounds the iterations of its only unit, a `graph.for`.
        Raises: StepwellError of the step that failed.
        """
        key = first, last, count
        if key not in self._known:
            with collector_paused(), TURN:
                self._known[key] = self._built(set(self._units[first:last]), self._units[last - 1], count)
        return self._known[key]

    def _built(self, units: set[Operation], last: Operation, count: int | None) -> Window:
        ops, outside = self._needed(units)
        inputs = inputs_of(self._main)
        named = {f"value {number}": value for number, value in enumerate(outside)}
        symbols = [arg for arg in self._main.args if isinstance(arg.type, IndexType)]
        arguments = [*inputs, *outside, *symbols]
        sizes = {name: self._input_dims(name, value) for name, value in named.items()}
        known = input_symbols(self._main)
        own = [str(dim) for dims in sizes.values() for dim in dims if not dim.symbols() <= known]
        block = Block(arg_types=[*(value.type for value in arguments), *[IndexType()] * len(own)])
        mapping: dict[SSAValue, SSAValue] = dict(zip(arguments, block.args, strict=False))
        for op in ops:
            block.add_op(copy := op.clone(mapping))
            mapping |= zip(op.results, copy.results, strict=True)
            if count is not None and isinstance(copy, graph.ForOp):
                limit = graph.ConstantOp(inline_attr(np.array(count, np.int64)))
                block.insert_op_before(limit, copy)
                copy.operands[0] = limit.result
        returned = [value for value in last.results if self._is_returned(value)]
        block.add_op(func.ReturnOp(*(mapping[value] for value in returned)))
        module = self._module(block, [value.type for value in returned])
        main = main_of(module)
        given = list(self._main.arg_attrs.data) if self._main.arg_attrs is not None else []
        given = given[: len(inputs)] or [DictionaryAttr({}) for _ in inputs]
        given += [_named(name, dims) for name, dims in sizes.items()]
        nothing = [DictionaryAttr({})] * (len(symbols) + len(own))
        main.properties["arg_attrs"] = ArrayAttr([*given, *nothing])
        results = enumerate(map(self._dims, returned))
        main.properties["res_attrs"] = ArrayAttr(
            [_named(f"result {number}", dims) for number, dims in results]
        )
        if names := [*symbols_of(self._main), *own]:
            main.attributes[PROGRAM] = ProgramAttr.of_symbols(names)
        compilation = Compilation(module, self._program.ctx)
        image = compiled_as_it_is(compilation, read_interface(main), self._options)
        calls = [op for unit in ops for op in unit.walk() if op in self._level_1]
        results = [result for op in calls for result in self._level_1[op].results]
        values = {name: self._at_level_1(value) for name, value in named.items()}
        return Window(KeptModel(image, threads=self._threads), values, results)

    def _needed(self, units: set[Operation]) -> tuple[list[Operation], list[SSAValue]]:
        """The ops of a window in order, and the tensors from outside among their operands."""
        block = self._main.body.block
        order = list(block.ops)
        places = sorted(order.index(unit) for unit in units)
        between = order[places[0] : places[-1]]
        needed: set[Operation] = {
            op
            for op in between
            if isinstance(op, graph.CheckAccessesOp | graph.CheckIndicesOp | graph.CheckOffsetsOp)
        }
        outside: dict[SSAValue, None] = {}
        waiting = [*units, *needed]
        needed |= units
        while waiting:
            op = waiting.pop()
            more = list(self._sources.get(op, []))
            for value in _read_by(op, block):
                owner = value.owner
                if isinstance(owner, BlockArgument | Block):
                    continue
                is_passed = owner in self._level_1 and not is_opaque(value.type)
                if is_passed and not isinstance(value.type, IndexType) and owner not in needed:
                    outside[value] = None
                else:
                    more.append(owner)
            waiting += [op for op in more if op not in needed]
            needed |= {*more}
        # A unit that was added for a size gives its tensors itself.
        return [op for op in order if op in needed], [v for v in outside if v.owner not in needed]

    def _module(self, block: Block, types: Sequence[Attribute]) -> ModuleOp:
        """A module with `@main` of a block, and the kernels that it calls."""
        main = func.FuncOp("main", (block.arg_types, types), Region(block))
        called = [op.callee.string_value() for op in main.walk() if isinstance(op, func.CallOp)]
        graph_of_calls = call_graph(self._program.shared)
        names: set[str] = set()
        while called:
            if (name := called.pop()) not in names:
                names.add(name)
                called += graph_of_calls.get(name, [])
        kept = [
            op
            for op in self._program.shared.ops
            if not isinstance(op, func.FuncOp) or op.sym_name.data in names
        ]
        module = ModuleOp([*(op.clone() for op in kept), main])
        module.attributes.update(self._program.shared.attributes)
        return module

    def _input_dims(self, name: str, value: SSAValue) -> list[Dim]:
        """The dimensions of a value from outside; symbols of its own stand for those that data gave."""
        known = input_symbols(self._main)
        return [
            dim if dim.symbols() <= known else Dim.symbol(f"{name.replace(' ', '_')}_{axis}")
            for axis, dim in enumerate(self._dims(value))
        ]

    def _is_returned(self, value: SSAValue) -> bool:
        if isinstance(value.type, IndexType) or is_opaque(value.type):
            return False
        return all(dim.symbols() <= input_symbols(self._main) for dim in self._dims(value))

    def _dims(self, value: SSAValue) -> Sequence[Dim]:
        """The dimensions of a result, which the types of level 2 do not all name."""
        number = self._program.results.index(self._at_level_1(value))
        return self._program.image.buffers[number].dims

    def _at_level_1(self, value: SSAValue) -> SSAValue:
        owner = value.owner
        assert isinstance(owner, Operation)
        return self._level_1[owner].results[result_number(value)]


def _named(name: str, dims: Sequence[Dim]) -> DictionaryAttr:
    """The name and dimensions of an input or output."""
    attributes: dict[str, Attribute] = {"graph.name": StringAttr(name)}
    if any(not dim.is_static for dim in dims):
        attributes["graph.dims"] = DimsAttr.of(dims)
    return DictionaryAttr(attributes)


def _read_by(op: Operation, block: Block) -> Iterator[SSAValue]:
    """The values of a block read by an op or inside its regions."""
    for inner in op.walk():
        for value in inner.operands:
            owner = value.owner
            if owner is block or (isinstance(owner, Operation) and owner.parent is block):
                yield value
