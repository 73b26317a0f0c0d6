"""A compiled program: its bytecode runs on the machine, its segments are native code."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import save
from stepwell.runtime.image import ARRAY_CALLS, MAIN, NATIVE, ModelImage
from stepwell.runtime.machine.loader import Library
from stepwell.runtime.machine.variants import variant_of
from stepwell.runtime.model import CompiledModel, expect_artifact_name
from stepwell.runtime.values.program import LimitedProgram
from stepwell.runtime.vm.array_calls import ArrayCalls, has_expected_layout
from stepwell.runtime.vm.bytecode import decode
from stepwell.runtime.vm.machine import MAX_DEPTH, Limits, Machine
from stepwell.runtime.vm.native import NativeMachine
from stepwell.runtime.vm.program import Program
from stepwell.runtime.vm.steps import PackedFunction

if TYPE_CHECKING:
    from stepwell.runtime.model_source import ModelSource


_FOR_NATIVE = 'compile it with executor="native", which says why it has none'


class CompiledProgram(LimitedProgram):
    """
    A program with functions, data or cells, compiled.

    `program(x, …)` takes and returns Python values by the types of its `@main`: arrays, lists, tuples, None
    for no value, data of `program.data`, functions. Calls from several threads at once are safe.
    """

    source: ModelSource | None = None
    """The program that it was compiled from; None for an artifact."""

    def __init__(
        self,
        image: ModelImage,
        *,
        threads: int | None = None,
        executor: str = "auto",
        **limits: Unpack[Limits],
    ):
        """
        Args: `image` of the compiler or an artifact; `threads` is the number of threads for kernels (default:
        all cores); `executor` is `auto`, `native` or `vm`; the limits are those of `Machine`.
        Raises: StepwellError `wrong-cpu`, `bad-bytecode`, `bad-artifact`; `unsupported` without native
        functions where they are asked for.
        """
        self.image, self._threads, self._executor = image, threads, executor
        if image.weight_check is not None:
            image.weight_check.wait()
        self.segments = {
            name: CompiledModel(image._replace(functions={MAIN: entry}, program=b""), threads=threads)
            for name, entry in image.segments.items()
        }
        """The segments by name, each a compiled model of tensors."""
        calls = {name: segment.fixed_call() or segment for name, segment in self.segments.items()}
        program = decode(image.program, image.weights)
        super().__init__(self._machine(program, calls, limits))

    def _machine(
        self, program: Program, calls: Mapping[str, PackedFunction], limits: Limits
    ) -> Machine | NativeMachine:
        """The executor: native functions where there are some and nothing observes instructions."""
        native = self.image.functions.get(NATIVE)
        if native is None and self._executor == "native":
            raise StepwellError("unsupported", None, "the program has no native functions", help=_FOR_NATIVE)
        if (
            native is None
            or self._executor == "vm"
            or limits.get("hooks")
            or limits.get("max_instructions") is not None
        ):
            return Machine(program, calls, array_calls=self._array_calls(), **limits)
        library = Library(variant_of(native).code)
        depth, memory = limits.get("max_depth", MAX_DEPTH), limits.get("max_memory")
        return NativeMachine(program, library, calls, self.segments, max_depth=depth, max_memory=memory)

    def _array_calls(self) -> ArrayCalls | None:
        """The native function for calls of segments on arrays; None without one."""
        entry = self.image.functions.get(ARRAY_CALLS)
        return (
            ArrayCalls(Library(variant_of(entry).code))
            if entry is not None and has_expected_layout()
            else None
        )

    def with_limits(self, **limits: Unpack[Limits]) -> CompiledProgram:
        """The same program with other limits. Raises: StepwellError `bad-option`."""
        return CompiledProgram(self.image, threads=self._threads, executor=self._executor, **limits)

    def run(self, function: str, /, *arguments: object, **named: object) -> object:
        """
        The result of a public function, without cyclic garbage collection meanwhile: data and frames are no
        cycles, and visiting them again and again takes as long as all the rest.

        Raises: StepwellError as of `ProgramModel`.
        """
        with collector_paused():
            return super().run(function, *arguments, **named)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program as one artifact. Raises: StepwellError `cannot-write`, `unknown-file-type`."""
        expect_artifact_name(path)
        save(self.image, path)
