"""A compilation under way: the program with its context, counts and times; questions about its level."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    FunctionType,
    MemRefType,
    ModuleOp,
    TensorType,
    TupleType,
    UnrankedTensorType,
)
from xdsl.ir import Operation

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.foreign.model_dialect import model_dialect
from stepwell.dialects.incomplete import has_holes
from stepwell.dialects.onnx.input_shapes import Resized
from stepwell.dialects.sched_kernel import START_BELOW_LEVEL_2, called_on_tensors, is_kernel, symbols_of
from stepwell.dialects.type_variables import types_inside
from stepwell.dialects.types import Tensor, check_extents, dims_of
from stepwell.lowering.main_to_buffers import inputs_of
from stepwell.passes import run_pipeline
from stepwell.passes.analysis.call_graph import call_graph, recursive_functions
from stepwell.passes.pipelines import FROM_MODELS, STATES_PIPELINE
from stepwell.passes.reproducer import Reproducer
from stepwell.passes.trace_events import span
from stepwell.runtime.errors import StepwellError

MODEL = "sched.model"
"""Key of the module attribute that only programs of level 3 and below have."""


@dataclass
class Compilation:
    """The state of a compilation: the module at its current level, counts, and times by level."""

    module: ModuleOp
    ctx: StepwellContext
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    on_host: Sequence[str] = ()
    """The ops that the host computes in place of the device, each with the reason."""
    parts: Sequence[Mapping[str, object]] = ()
    """The parts on devices, as `described_parts` describes them."""
    precision: str = "f32"
    """The precision of products: results are approximate unless it is `f32`."""
    resized: Sequence[Resized] = ()
    """The dimensions of inputs that have another size than in the model's file."""
    owns_weights: bool = False
    """Whether the context's weights serve no other program, and may go when they are not needed any more."""
    reproducer: Reproducer | None = None
    """That of the passes that ran so far; None again when anything else changes the module."""

    @contextmanager
    def timed(self, level: str) -> Generator[None]:
        """Add the time of a `with` block to that of a level."""
        start = perf_counter()
        with span(level, "level"):
            yield
        self.seconds[level] = self.seconds.get(level, 0.0) + perf_counter() - start

    def run(self, level: str, pipeline: str) -> None:
        """Run passes on the module, and add their time to that of a level."""
        with self.timed(level):
            if self.reproducer is None:
                self.reproducer = Reproducer.of_copy(self.module)
            run_pipeline(self.module, pipeline, self.ctx, self.reproducer)


def main_of(module: ModuleOp) -> func.FuncOp:
    """The function `@main` of a module. Raises: StepwellError `no-main` when it has none, or only a name."""
    functions = [f for f in module.ops if isinstance(f, func.FuncOp)]
    main = next((f for f in functions if f.sym_name.data == "main"), None)
    if main is None or not main.body.blocks:
        raise StepwellError(
            "no-main",
            module,
            "a program needs a function @main with a body",
            note=f"functions: {', '.join(f'@{f.sym_name.data}' for f in functions) or 'none'}",
        )
    return main


def conversion_of(module: ModuleOp) -> str:
    """
    The pipeline that converts a module of level 0 to level 1: by the dialect of its model.

    Raises: StepwellError `mixed-dialects`.
    """
    return FROM_MODELS[model_dialect(module) or "onnx"]


def passes_to_level_1(module: ModuleOp) -> str:
    """
    The pipeline from level 0 to level 1: the conversion, and the passes on states after it.

    Raises: StepwellError `mixed-dialects`.
    """
    return f"{conversion_of(module)},{STATES_PIPELINE}"


def check_main(module: ModuleOp) -> None:
    """
    Require `@main` to be compilable: a single block, a final `func.return`, tensors that fit into memory.

    Raises: StepwellError `no-main`, `bad-main`, `too-large`.
    """
    main = main_of(module)
    if len(main.body.blocks) > 1 or not isinstance(main.body.block.last_op, func.ReturnOp):
        raise StepwellError("bad-main", main, "@main must be one block that ends in func.return")
    if (kernel := next((each for each in kernels_of(module) if _is_on_buffers(each)), None)) is not None:
        raise called_on_tensors(kernel, kernel)
    given = [arg.type for arg in inputs_of(main)]
    if len(main.args) - len(given) != len(symbols_of(main)):
        raise StepwellError("bad-main", main, "each index argument of @main is named by its #sched.program")
    for type in (*given, *main.function_type.outputs):
        if isinstance(type, TensorType):
            tensor = cast(Tensor, type)
            try:
                check_extents(tensor.element_type, dims_of(tensor))
            except StepwellError as error:
                raise error.at(main) from None
        elif not isinstance(type, UnrankedTensorType) and not type.name.startswith("onnx."):  # of a model
            raise StepwellError(
                "bad-main",
                main,
                f"@main takes and returns tensors, found {type}",
                help="return the fields of a tuple, each as a result of its own"
                if isinstance(type, TupleType)
                else START_BELOW_LEVEL_2,
            )


def _is_on_buffers(kernel: func.FuncOp) -> bool:
    return any(isinstance(type, MemRefType) for type in kernel.function_type.inputs)


def kernels_of(module: ModuleOp) -> list[func.FuncOp]:
    """The kernel functions of a level-2 module, in order."""
    return [f for f in module.ops if isinstance(f, func.FuncOp) and is_kernel(f)]


def is_on_loops(module: ModuleOp) -> bool:
    """Whether a module is on level 3, or below."""
    return MODEL in module.attributes


def is_lowered(module: ModuleOp) -> bool:
    """Whether a module is on level 2, or below."""
    return is_on_loops(module) or bool(kernels_of(module))


_FUNCTIONAL_OPS = (
    graph.CallOp,
    graph.ClosureOp,
    graph.FunctionOp,
    graph.LambdaOp,
    graph.VjpOp,
    graph.GradientOp,
)
_FUNCTIONAL_DIALECTS = ("adt.", "ref.")
_FUNCTIONAL_TYPES = ("adt.data", "ref.cell", FunctionType.name)


def is_bytecode(module: ModuleOp) -> bool:
    """Whether a module is on the level of the machine: functions of instructions, and segments."""
    return any(op.name == "vm.func" for op in module.ops)


def is_functional(module: ModuleOp) -> bool:
    """
    Whether a module of level 1 has calls, function values, data, cells, tuples of branches, holes, or
    recursion.
    """
    if has_holes(module):
        return True
    has_calls = False
    for op in module.walk():
        if _is_functional(op):
            return True
        has_calls = has_calls or isinstance(op, func.CallOp)
    return has_calls and bool(recursive_functions(call_graph(module)))


def _is_functional(op: Operation) -> bool:
    if isinstance(op, func.FuncOp):
        types = (*op.function_type.inputs, *op.function_type.outputs)
        return any(part.name in _FUNCTIONAL_TYPES for type in types for part in types_inside(type))
    if isinstance(op, graph.ControlFlowOp) and any(isinstance(type, TupleType) for type in op.result_types):
        return True  # kernels have no tuples, instructions do
    return isinstance(op, _FUNCTIONAL_OPS) or op.name.startswith(_FUNCTIONAL_DIALECTS)
