"""Runs a function of a module on numpy arrays: levels 1, 2 and 3."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.types import dims_of
from stepwell.lowering.interpret.engine import MAX_DEPTH, Compiler, Running, Scope, Steps, Value, drive
from stepwell.lowering.interpret.signature import Signature
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array

if TYPE_CHECKING:
    from stepwell.lowering.interpret.noise import Noise
    from stepwell.lowering.interpret.sampling import Sampling

CHECKS = ("races", "bounds", "barriers", "uninitialized")
"""The checks of kernels on level `gpu`."""
Launcher = Callable[[Operation, Sequence[int], Sequence[Value]], None]
"""Runs a `gpu.func` for a grid, which has blocks along x, y and z, with the values of its arguments."""

Observer = Callable[[Operation, Sequence[Value], Sequence[Value], Sequence[Value], Mapping[str, int]], None]
"""
Called after each `graph.fused`: `observe(op, operands, results, noisy results, symbols)`.
"""


def interpret(
    module: ModuleOp,
    ctx: Context,
    function: str = "main",
    inputs: Sequence[Array] = (),
    *,
    sampling: Sampling | None = None,
    observe: Observer | None = None,
    noise: Noise | None = None,
    max_depth: int = MAX_DEPTH,
    checks: Collection[str] = CHECKS,
    launcher: Launcher | None = None,
) -> list[Array]:
    """
    Run a function on arrays.

    Args: `inputs` are the function's tensors, or its input buffers, and are not changed; outputs, scratch and
    the values of symbols are added. `sampling` runs some iterations of loops only, `observe` is called with
    each kernel that ran, and `noise` changes the results of ops on level 1. `max_depth` limits nested calls.
    `checks` are those of kernels on level `gpu`, by default all but `banks`, of conflicts in memory; a
    `launcher` runs these kernels elsewhere.
    The function may be a program of an accelerator, such as `npu.program`: its simulator runs it.
    Returns: its results, or its output buffers; without `#sched.kernel`, the final contents of all buffers.
    Raises: StepwellError `unsupported-op`, `unknown-function`, `run-time` or `bad-inputs`; of kernels
    `data-race`, `divergent-barrier`, `out-of-bounds`, `uninitialized-read`; of an accelerator's simulator,
    `npu-hazard`; TooManyOps of `sampling`.
    """
    from stepwell.lowering.interpret.programs import programs_of  # which first answers need not

    if (run := programs_of(module).get(function)) is not None:
        return run(inputs)
    program = Program(
        module,
        ctx,
        function,
        sampling=sampling,
        observe=observe,
        noise=noise,
        max_depth=max_depth,
        checks=checks,
        launcher=launcher,
    )
    return program(inputs)


class Program:
    """A function of a module, prepared once; several threads may call it at the same time."""

    def __init__(
        self,
        module: ModuleOp,
        ctx: Context,
        function: str = "main",
        *,
        quick: bool = False,
        sampling: Sampling | None = None,
        observe: Observer | None = None,
        noise: Noise | None = None,
        max_depth: int = MAX_DEPTH,
        checks: Collection[str] = CHECKS,
        launcher: Launcher | None = None,
    ):
        """
        Args: `quick` computes some ops by quicker forms, which round in other places than their meanings;
        `sampling`, `observe`, `noise`, `max_depth`, `checks`, `launcher` as for `interpret`.
        Raises: StepwellError `unsupported-op`, `unknown-function`; `unsupported` for outputs of unknown size.
        """
        self._machine = _Machine(module, ctx, quick, sampling, observe, noise, max_depth)
        self._machine.checks, self._machine.launcher = frozenset(checks), launcher
        functions = self._machine.functions
        if function not in functions:
            from stepwell.lowering.interpret.programs import programs_of

            help = f"there are: {', '.join((*functions, *programs_of(module)))}"
            message = f"no function is named {function!r}"
            raise StepwellError("unknown-function", None, message, help=help)
        self._function = functions[function]
        self._signature = Signature.of(self._function)
        self._signature.expect_sizes()
        self._machine.prepared(function, self._function)

    def __call__(self, inputs: Sequence[Array], symbols: Mapping[str, int] | None = None) -> list[Array]:
        """
        The results, as of `interpret`.

        Args: `symbols` are the sizes in the shapes of inputs, which are not checked then.
        Raises: StepwellError `run-time`, `bad-inputs`; of an op.
        """
        symbols = dict(self._signature.symbols(inputs) if symbols is None else symbols)
        arguments = self._signature.arguments(inputs, symbols)
        name = self._function.sym_name.data
        with np.errstate(all="ignore"):
            results = self._machine.call(name, arguments, Scope(symbols), self._function)
        return self._signature.results(arguments, results)


class Kernels:
    """The kernels of a module of the gpu level, for launches by a device."""

    def __init__(self, module: ModuleOp, ctx: Context, checks: Collection[str] = CHECKS):
        self._machine = _Machine(module, ctx, False, None, None, None, MAX_DEPTH)
        self._machine.checks = frozenset(checks)
        self._functions = {
            str(op.properties["sym_name"].data): op  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
            for op in module.walk()
            if op.name == "gpu.func"
        }
        self._prepared: dict[str, Callable[[Sequence[int], Sequence[int], Sequence[Value], int], None]] = {}

    def launch(
        self,
        name: str,
        grid: Sequence[int],
        block: Sequence[int],
        values: Sequence[Value],
        shared_bytes: int = 0,
    ) -> None:
        """
        Run a kernel for a grid.

        Args: `shared_bytes` is the memory of each block that the launch passes.
        Raises: StepwellError `unknown-function`, `bad-launch`; of a check.
        """
        if name not in self._prepared:
            from stepwell.lowering.interpret.lanes.launch import prepared_kernel

            if name not in self._functions:
                raise StepwellError("unknown-function", None, f"no kernel is named {name!r}")
            self._prepared[name] = prepared_kernel(self._functions[name], self._machine)
        with np.errstate(all="ignore"):
            self._prepared[name](grid, block, values, shared_bytes)


def call_value(function: Value, inputs: Sequence[Value], max_depth: int = MAX_DEPTH) -> list[Value]:
    """The results of a function value that a program returned. Raises: as `interpret`."""
    with np.errstate(all="ignore"):
        return list(drive(function(inputs), None, max_depth))


class _Machine:
    """A module, its functions and weights, ready to be interpreted."""

    def __init__(
        self,
        module: ModuleOp,
        ctx: Context,
        quick: bool,
        sampling: Sampling | None,
        observe: Observer | None,
        noise: Noise | None,
        max_depth: int,
    ):
        self.module = module
        self.max_depth = max_depth
        self.weights = weights_of(ctx)
        self.quick = quick
        self.checks: frozenset[str] = frozenset(CHECKS)
        self.launcher: Launcher | None = None
        self.sampling = sampling
        self.observe = observe
        self.noise = noise
        self.functions = {f.sym_name.data: f for f in module.walk() if isinstance(f, func.FuncOp)}
        self._prepared: dict[str, tuple[Compiler, Steps]] = {}

    @contextmanager
    def noisy(self) -> Generator[None]:
        """A context in which ops of level 1 have noise."""
        from stepwell.lowering.interpret.noise import Noise

        self.noise, quiet = Noise(), self.noise
        try:
            yield
        finally:
            self.noise = quiet

    def prepared(self, name: str, at: Operation) -> tuple[Compiler, Steps]:
        """The steps of a function. Raises: StepwellError `unsupported-op`, `unknown-function`."""
        if name not in self._prepared:
            callee = self.functions.get(name)
            if callee is None or not callee.body.blocks:
                raise StepwellError("unknown-function", at, f"function @{name} has no body")
            compiler = Compiler(self)
            self._prepared[name] = compiler, compiler.steps(callee.body.block)
        return self._prepared[name]

    def call(self, name: str, values: Sequence[Value], scope: Scope, at: Operation) -> list[Value]:
        """Call a function of the module in a scope, the caller's or one of its own."""
        compiler, steps = self.prepared(name, at)
        return drive(steps.start(compiler.frame(scope), values), at, self.max_depth)

    def start(self, name: str, values: Sequence[Value], at: Operation) -> Running:
        """
        The running body of a function of level 1, in a scope of its own symbols, bound from the arguments'
        shapes. Raises: StepwellError `unknown-function`, `unsupported-op`.
        """
        callee = self.functions.get(name)
        if callee is None:
            raise StepwellError("unknown-function", at, f"no function is named @{name}")
        symbols: dict[str, int] = {}
        for type, value in zip(callee.function_type.inputs, values, strict=False):
            if type.name == TensorType.name:
                pairs = zip(dims_of(type), np.shape(value), strict=True)
                symbols |= {str(dim): size for dim, size in pairs if str(dim) in dim.symbols()}
        compiler, steps = self.prepared(name, at)
        return steps.start(compiler.frame(Scope(symbols)), values)
