"""`stepwell.debug`: a session with a compiled model, in which its values can be seen and changed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

import numpy as np
from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.interface import Array
from stepwell.tools.debug.changes import change
from stepwell.tools.debug.iterations import go_to_iteration, loop_arguments
from stepwell.tools.debug.kept_model import KeptModel, KeptRun
from stepwell.tools.debug.meaning import LEVELS, run_at_level
from stepwell.tools.debug.program import DebugProgram, debug_program, result_number
from stepwell.tools.debug.recorded import Recorded
from stepwell.tools.debug.values import ValueInfo, Values
from stepwell.tools.debug.windows import Windows
from stepwell.tools.driver.compilation import main_of
from stepwell.tools.driver.options import CompileKeywords, CompileOptions, expect_source, options_with

if TYPE_CHECKING:
    from stepwell.tools.debug.compare import Comparison
    from stepwell.tools.debug.watch import Finding, Watched
    from stepwell.tools.driver.options import Model


def debug(
    model: Model,
    options: CompileOptions | None = None,
    *,
    threads: int | None = None,
    max_memory: int | None = None,
    **keywords: Unpack[CompileKeywords],
) -> DebugSession:
    """
    Compile a model for debugging: with the kernels of any other compilation, each with memory of its own.

    Args: `model` is a path, bytes or an `onnx.ModelProto`; options as of `stepwell.compile`; `max_memory` are
    the bytes of values from which on a run keeps only some at a time (default: half of the free memory).
    Raises: StepwellError `no-source` for an artifact; as `stepwell.compile`.
    """
    if isinstance(model, str | Path):
        expect_source(Path(model))
    keywords["keep_values"] = True
    chosen = options_with(options, keywords, ("threads", "max_memory"))
    return DebugSession(debug_program(model, chosen), model, chosen, threads, max_memory)


class DebugSession:
    """
    A model in the debugger, which runs, and whose values can be read and changed.

    Values have the names, shapes and order of axes that the model gives them.
    """

    def __init__(
        self,
        program: DebugProgram,
        source: Model,
        options: CompileOptions,
        threads: int | None = None,
        max_memory: int | None = None,
    ):
        self.program, self.source, self.options = program, source, options
        self.model = KeptModel(program.image, threads=threads)
        self.found = Values(program)
        self._max_memory = max_memory
        self._windows = Windows(program, options, threads)
        self._recorded: Recorded | None = None
        self._run: KeptRun | None = None
        """The run of the whole model in the recording, whose memory the next one uses."""
        self._next = 0
        """The unit that `step` runs."""
        self._changed = len(program.units)
        """The first unit after a value that `set` has changed."""

    # Runs

    def run(self, feeds: Mapping[str, object]) -> dict[str, Array]:
        """
        Run the model, and keep the values of all kernels.

        Returns: the outputs by name.
        Raises: StepwellError for a missing, extra, misshapen or mistyped input; of the run.
        """
        recorded, units = self._begin(feeds), len(self.program.units)
        shapes = tuple(array.shape for array in recorded.feeds.values())
        if units and self.model.interface.bind(shapes).arena_bytes > self.max_memory:
            from stepwell.tools.debug.little_memory import run_in_parts

            run_in_parts(self.program, self._windows, recorded, self.max_memory)
            found = self.outputs()
        else:
            self._run = run = self.model.run_kept(recorded.feeds)
            recorded.record(run, self.program.results)
            found = {name: copy(value) for name, value in run.outputs.items()}  # arrays, lists or maps
        self._next = units
        return found

    def _begin(self, feeds: Mapping[str, object]) -> Recorded:
        """Start a recording. Raises: StepwellError for inputs that do not fit."""
        specs = self.program.interface.inputs
        values = self.model.in_order((), dict(feeds))
        arrays = {spec.name: np.asarray(value) for spec, value in zip(specs, values, strict=True)}
        self._recorded = recorded = Recorded(self.program, arrays)
        if self._run is not None:
            self._run.release()
            self._run = None
        shapes = tuple(array.shape for array in arrays.values())
        recorded.sizes |= self.model.interface.bind(shapes).values
        recorded.arguments = lambda loop: self._last_arguments(recorded, loop)
        self._next = 0
        return recorded

    def _last_arguments(self, recorded: Recorded, loop: graph.ForOp) -> Mapping[SSAValue, Array]:
        """The arguments of a loop's body in the last iteration; none of a loop inside of another op."""
        if loop not in self.program.unit_numbers:
            return {}
        last = recorded.iterations(loop) - 1
        return loop_arguments(self.program, self._windows, recorded, loop, last)

    def iterate(self, number: int) -> None:
        """
        Let the values inside of loops be those of an iteration, counted from 0; after a run, of the last one.

        Raises: StepwellError `unsupported` where no loop has a number of iterations.
        """
        go_to_iteration(self.program, self._windows, self.recorded, number)

    def compare(self, against: str | Mapping[str, object] = "reference") -> Comparison:
        """
        Compare the last run with `reference` (ONNX's evaluator), `onnxruntime`, an .npz file or arrays.

        Raises: StepwellError `no-reference` for a model that is not ONNX or where nothing can be compared,
        `bad-option`, `bad-inputs`.
        """
        from stepwell.tools.debug.compare import compare_run
        from stepwell.tools.debug.references import reference_values

        reference = reference_values(against, self.source, self.recorded.feeds)
        comparison = compare_run(self.found, self.recorded, reference)
        comparison.expect_judged()
        return comparison

    def watch(self, *kinds: str, level: str = "graph") -> list[Finding]:
        """
        The ops that make suspect values, inside of kernels too; without kinds, `nan,overflow`.

        Args: `kinds` are `nan`, `inf`, `overflow`, `denormal`, `zeros`, `saturated`, `range=LO:HI`, or some
        with commas between; below `graph`, at `linalg`, `vector` or `loops`, each op of the kernels' loops is
        watched in the interpreter, which takes long.
        Raises: StepwellError `bad-option`.
        """
        return self.watched(*kinds, level=level).findings

    def watched(self, *kinds: str, level: str = "graph") -> Watched:
        """The findings of `watch`, with the number of later values."""
        from stepwell.tools.debug.watch import DEFAULT, kinds_of, watch_run

        chosen = kinds_of(*(kinds or (DEFAULT,)))
        if level == "graph":
            return watch_run(self.found, self.recorded, chosen)
        from stepwell.tools.debug.watch_levels import watch_at_level

        expect_level(level, LEVELS[1:])
        return watch_at_level(self.found, self.recorded, chosen, level)

    def write(self, folder: str | Path) -> None:
        """
        Write the run as `graph.json`, which has the keys of TVM's debug executor, and `values.npz`.

        Raises: StepwellError `cannot-write`.
        """
        from stepwell.tools.debug.dump import write_dump

        write_dump(self.found, self.recorded, Path(folder))

    def go_on(self) -> dict[str, Array]:
        """Run the kernels after the first value that `set` changed; returns the outputs by name."""
        if self._changed < len(self.program.units):
            self._run_units(self._changed, len(self.program.units))
        return self.outputs()

    @cached_property
    def max_memory(self) -> int:
        """The limit of the values of a run, in bytes."""
        return free_memory_bytes() // 2 if self._max_memory is None else self._max_memory

    @property
    def recorded(self) -> Recorded:
        """The values of the last run. Raises: StepwellError `no-value` before any."""
        if self._recorded is None:
            raise StepwellError(
                "no-value", None, "the session has run nothing yet", help="session.run(feeds)"
            )
        return self._recorded

    def outputs(self) -> dict[str, Array]:
        """The outputs of the last run by name; those that it has not come to are left out."""
        last = main_of(self.program.graph).body.block.last_op
        assert isinstance(last, func.ReturnOp)
        specs = self.program.interface.outputs
        found = zip((spec.name for spec in specs), map(self.recorded.array, last.operands), strict=True)
        return {name: array.copy() for name, array in found if array is not None}

    # Values

    def values(self) -> list[ValueInfo]:
        """All values of the model in its order, and how each is had."""
        return self.found.infos(self._recorded)

    def get(self, name: str) -> Array:
        """A copy of a value of the last run. Raises: StepwellError `no-value`."""
        return self.found.array(self.found.known(name), self.recorded)

    def set(self, name: str, array: Array) -> None:
        """
        Give a value another array, with which `run_from` and `step` go on.

        Inside of a kernel, the kernel's results become those of its ops' meanings with this value.

        Raises: StepwellError `no-value`, `shape-mismatch`, `type-mismatch`; `unsupported` for a constant, or
        inside of a loop or branch, which runs as a whole.
        """
        maker = self.program.kernel_of(self.found.expect(name))
        if maker is not None and maker not in self.program.unit_numbers:
            message = f'"{name}" is inside of a loop or branch, which runs as a whole'
            raise StepwellError("unsupported", None, message, help="set a value that it reads")
        change(self.found, self.recorded, name, np.asarray(array))
        self._changed = min(self._changed, 0 if maker is None else self.program.unit_of(maker) + 1)

    # Parts of a run

    def step(self, feeds: Mapping[str, object] | None = None) -> str:
        """
        Run the next kernel; after the last one, or with inputs, the first one.

        Returns: the kernel that ran.
        """
        if feeds is not None:
            self._begin(feeds)
        if self._next >= len(self.program.units):
            self._begin(self.recorded.feeds)
        return self._run_units(self._next, self._next + 1)

    def until(self, node: str, feeds: Mapping[str, object] | None = None) -> str:
        """
        Run up to and including the kernel of a node, as `step` does.

        Returns: the kernel that ran last.
        Raises: StepwellError `no-value` for a node that no kernel computes.
        """
        last = self.unit_of_node(node) + 1
        if feeds is not None or self._next >= last:
            self._begin(self.recorded.feeds if feeds is None else feeds)
        return self._run_units(self._next, last)

    def run_from(self, node: str) -> dict[str, Array]:
        """
        Run the kernel of a node and all after it, on the values as they are now.

        A kernel with a value that `set` changed inside of it has run, by its meaning.

        Returns: the outputs by name.
        Raises: StepwellError `no-value` for a node that no kernel computes.
        """
        first = self.unit_of_node(node)
        self._changed = first + (self.program.units[first] in self.recorded.changed)
        return self.go_on()

    def _run_units(self, first: int, last: int) -> str:
        window = self._windows.get(first, last)
        recorded = self.recorded
        recorded.record(window.run(recorded), window.results)
        recorded.inside.clear()
        self._next, self._changed = last, len(self.program.units)
        return self.program.name_of(self.program.units[last - 1])

    def run_node(self, node: str, inputs: Mapping[str, object] | None = None) -> dict[str, Array]:
        """
        Run the kernel of a node alone, on the recorded values but for the given ones.

        Returns: the kernel's outputs by name; the recording stays as it is.
        Raises: StepwellError `no-value`, as `set`.
        """
        return self._run_alone(self.unit_of_node(node), inputs)

    def run_kernel(
        self, kernel: str, inputs: Mapping[str, object] | None = None, *, level: str = "native"
    ) -> dict[str, Array]:
        """
        Run a kernel alone, compiled or at a level of the interpreter.

        Args: `level` is `native`, `loops`, `vector`, `linalg` or `graph`; inputs as for `run_node`.
        Returns: the outputs by name.
        Raises: StepwellError `unknown-function`, `bad-option`; of the interpreter.
        """
        expect_level(level, LEVELS)
        op = self._kernel(kernel)
        if level == "native":
            return self._run_alone(self.program.unit_of(op), inputs)
        recorded = self._with(inputs)
        if op in recorded.changed and level != "graph":
            message = f"a value inside of kernel {kernel} is changed, which level {level} does not have"
            raise StepwellError("unsupported", None, message, help="run it at level graph")
        arrays = self.found.inputs(op, recorded)
        if arrays is None:
            raise StepwellError("no-value", op, "an input of the kernel was not recorded")
        if level == "graph":
            changed = recorded.changed.get(op, {})
            body = self.found.body(op, tuple(changed))
            results = body([*arrays, *changed.values()], recorded.known_sizes())[1]
        else:
            results = run_at_level(self.program.functions, self.program.ctx, kernel, level, arrays)
        return dict(zip(map(self._name, op.results), results, strict=True))

    def _run_alone(self, unit: int, inputs: Mapping[str, object] | None) -> dict[str, Array]:
        recorded = self._with(inputs)
        if self.program.units[unit] not in recorded.changed:
            window = self._windows.get(unit, unit + 1)
            recorded.record(window.run(recorded), window.results)
        found = {self._name(v): recorded.array(v) for v in self.program.units[unit].results}
        return {name: array for name, array in found.items() if array is not None}

    def _with(self, inputs: Mapping[str, object] | None) -> Recorded:
        """The recording with other arrays for some values, as another one."""
        mine = self.recorded
        self._recorded = mine.copy()
        try:
            for name, array in (inputs or {}).items():
                change(self.found, self._recorded, name, cast(Array, np.asarray(array)))
            return self._recorded
        finally:
            self._recorded = mine

    # Names

    def unit_of_node(self, node: str) -> int:
        """The number of the call that computes a node's outputs. Raises: StepwellError `no-value`."""
        values = [value for value in self.program.origins.values if value.node == node]
        for value in values:
            located = self.found.located(value.name)
            kernel = None if located is None else self.program.kernel_of(located)
            if kernel is not None:
                return self.program.unit_of(kernel)
        if values:
            self.found.expect(values[0].name)  # raises the error of one that is gone
        nodes = [value.node for value in self.program.origins.values if value.weight is None]
        help = f"{did_you_mean(node, nodes)}--list has all nodes"
        raise StepwellError("no-value", None, f'no kernel computes a node "{node}"', help=help)

    def _kernel(self, name: str) -> graph.FusedOp:
        """The first call of a kernel. Raises: StepwellError `unknown-function`."""
        names = self.program.kernel_names
        for op, known in names.items():
            if known == name and isinstance(op, graph.FusedOp):
                return op
        kernels = list(dict.fromkeys(names.values()))
        help = f"{did_you_mean(name, kernels)}the kernels are {', '.join(kernels) or 'none'}"
        raise StepwellError("unknown-function", None, f"no kernel is named {name!r}", help=help)

    def _name(self, value: SSAValue) -> str:
        """The model's name of a kernel's result, else its name in the IR."""
        owner = value.owner
        if isinstance(owner, graph.FusedOp) and owner.body.block.last_op is not None:
            yielded = owner.body.block.last_op.operands[result_number(value)]
            value = yielded if value not in self.found.by_value else value
        assert isinstance(value.owner, Operation)
        return self.found.by_value.get(value) or value.name_hint or self.program.name_of(value.owner)


def expect_level(level: str, levels: Sequence[str]) -> None:
    """Require a level that kernels run at. Raises: StepwellError `bad-option`."""
    if level not in levels:
        message = f"a kernel does not run at level {level!r}"
        raise StepwellError("bad-option", None, message, help=f"the levels are {', '.join(levels)}")


def free_memory_bytes() -> int:
    """The machine's memory that is free."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
