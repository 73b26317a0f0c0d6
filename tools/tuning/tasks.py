"""Tasks of a model: its kernels, each once, with inputs to measure them on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, prod
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.locations import node_names
from stepwell.dialects.sched_kernel import kernel_of
from stepwell.dialects.tensor_ir.structured import Structured, tensor_element, tensor_shape
from stepwell.dialects.types import DimsAttr, Tensor, dims_of, element_bytes
from stepwell.lowering.interpret import Signature, interpret, numpy_dtype
from stepwell.passes.instruments import module_text
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.measuring.trials import MAX_COPIES
from stepwell.tools.check.function_inputs import inputs_of_function
from stepwell.tools.driver.compilation import is_bytecode, is_functional, kernels_of, main_of
from stepwell.tools.driver.levels import to_level_1
from stepwell.tools.driver.program import Program
from stepwell.tools.driver.reading import start
from stepwell.tools.driver.tensor_program import to_level_2
from stepwell.tools.records.apply import task_of
from stepwell.tools.records.record import TaskRecord

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions, Model

HINTS = (1, 7, 64, 1000)
"""The values of open sizes for which a kernel is measured, unless `--input-shape` fixes them."""
_MOST_CASE_BYTES = 64 << 20
"""Larger cases are left out where there are smaller ones: these pass the caches too, and take less time."""
_INTERPRETED_FLOPS = 10_000_000
"""Larger kernels are compared with the chooser's code: interpreting them takes seconds."""
_TIMES_CACHE = 2
"""Weights pass a last-level cache of so many times its size before a call finds the same ones again."""


@dataclass(frozen=True, eq=False)
class Case:
    """Values of the symbols of a kernel, with arrays for its inputs and results, made when they are used."""

    kernel: func.FuncOp
    symbols: Mapping[str, int]
    bytes: int
    """The bytes of all arrays."""

    @cached_property
    def inputs(self) -> Sequence[Array]:
        """Made-up inputs."""
        arrays = inputs_of_function(self.kernel, self.symbols)[: Signature.of(self.kernel).inputs]
        return [np.ascontiguousarray(array) for array in arrays]

    @cached_property
    def outputs(self) -> Sequence[Array]:
        """Arrays of the shapes of the results."""
        shaped = zip(self.kernel.function_type.outputs.data, _result_dims(self.kernel), strict=True)
        return [
            np.zeros([dim.evaluate(self.symbols) for dim in dims], numpy_dtype(type)) for type, dims in shaped
        ]


@dataclass(eq=False)
class Task:
    """A kernel to tune, of a number of threads, for a target."""

    digest: str
    kernel: func.FuncOp
    """The function, named `kernel`."""
    text: str
    target: TargetDescription
    threads: int = 1
    calls: int = 1
    """How often the model calls it."""
    nodes: tuple[str, ...] = ()
    seconds: float = 0.0
    """The time of a call of the chooser's code, once it was measured."""
    cases: Sequence[Case] = field(default_factory=list[Case])
    flops: int = 0
    bytes: int = 0
    cold: tuple[int, ...] = ()
    """The numbers of the inputs that are weights of a model whose weights exceed the last-level cache."""

    @property
    def module_text(self) -> str:
        """The kernel as a module."""
        return module_text(ModuleOp([self.kernel.clone()]))

    @property
    def memory_bytes(self) -> int:
        """The bytes of the arrays of the largest case, with the copies of cold inputs."""
        copied = _TIMES_CACHE * self.target.l3_bytes if self.cold else 0
        return max((case.bytes + copied for case in self.cases), default=0)

    def inputs_among(self, operands: Sequence[int]) -> tuple[int, ...]:
        """Those numbers of operands that are inputs."""
        count = Signature.of(self.kernel).inputs
        return tuple(n for n in operands if n < count)

    def copies(self, case: Case) -> int:
        """The copies of a case's cold inputs among which calls take turns, so that none is in a cache."""
        bytes = sum(case.inputs[n].nbytes for n in self.cold)
        return min(MAX_COPIES, ceil(_TIMES_CACHE * self.target.l3_bytes / bytes)) if bytes else 1

    @property
    def weight(self) -> float:
        """The seconds of the model's time in it."""
        return self.calls * self.seconds

    @property
    def name(self) -> str:
        """The model's nodes that it computes, for a reader."""
        return ", ".join(self.nodes) or self.digest[:8]

    @property
    def record(self) -> TaskRecord:
        """The task as a database has it."""
        return TaskRecord(self.digest, self.text, self.flops, self.bytes, self.name[:200], cold=self.cold)

    def expected(self, inputs: Sequence[Array], case: Case) -> list[Array] | None:
        """The results that the kernel means; None where interpreting it takes too long."""
        if self.flops > _INTERPRETED_FLOPS:
            return None
        values = [*inputs, *(np.array(n) for n in case.symbols.values())]
        module = ModuleOp([self.kernel.clone()])
        try:
            return [np.asarray(each) for each in interpret(module, StepwellContext(), "kernel", values)]
        except StepwellError:
            return None


class Extracted(NamedTuple):
    """The kernels of a model, equal ones once, in their order; and its program of level 2."""

    tasks: Sequence[Task]
    program: Program


def copy_of(model: Model) -> Model:
    """A model whose compilation leaves the given one as it is: a program would be compiled in place."""
    return Program(model.module.clone(), model.ctx) if isinstance(model, Program) else model


def extract_tasks(model: Model, options: CompileOptions, threads: int = 1) -> Extracted:
    """
    The tasks of a model; open sizes, which `options.input_shapes` does not fix, take `HINTS`.

    Raises: StepwellError of the step that failed; `unsupported` for a program of functions or data.
    """
    compilation = start(copy_of(model), options)
    if is_functional(compilation.module) or is_bytecode(compilation.module):
        message = "only programs of tensors are tuned, and this one has functions or data"
        raise StepwellError("unsupported", compilation.module, message)
    to_level_1(compilation, options)
    to_level_2(compilation, options)
    calls: dict[str, int] = {}
    nodes: dict[str, tuple[str, ...]] = {}
    main = main_of(compilation.module)
    for op in main.walk():
        if isinstance(op, func.CallOp):
            name = op.callee.string_value()
            calls[name] = calls.get(name, 0) + 1
            nodes.setdefault(name, tuple(node_names(op.location)))
    cold = _cold_inputs(main, compilation.ctx.target)
    found: dict[str, Task] = {}
    for kernel in kernels_of(compilation.module):
        name = kernel.sym_name.data
        digest, _ = task_of(kernel)
        if digest in found:
            found[digest].calls += calls.get(name, 0)
        elif (task := task_of_kernel(kernel, compilation.ctx.target, threads)) is not None:
            task.calls, task.nodes = calls.get(name, 0), nodes.get(name, ())
            task.cold = task.inputs_among(cold.get(name, ()))
            found[digest] = task
    return Extracted(list(found.values()), Program(compilation.module, compilation.ctx))


def _cold_inputs(main: func.FuncOp, target: TargetDescription) -> Mapping[str, Sequence[int]]:
    """
    The operands of calls that are weights, by the called kernel; none where a cache has room for all weights.

    A call of the model reads each of them once: what fits the last-level cache stays there from call to call.
    """
    found: dict[str, set[int]] = {}
    weights: dict[SSAValue, int] = {}
    for call in main.walk():
        if not isinstance(call, func.CallOp):
            continue
        for n, value in enumerate(call.operands):
            if isinstance(value.owner, graph.ConstantOp) and isinstance(value.type, TensorType):
                found.setdefault(call.callee.string_value(), set()).add(n)
                weights[value] = prod(tensor_shape(value)) * element_bytes(tensor_element(value))
    if sum(weights.values()) <= target.l3_bytes:
        return {}
    return {name: sorted(each) for name, each in found.items()}


def task_of_kernel(kernel: func.FuncOp, target: TargetDescription, threads: int) -> Task | None:
    """The task of a kernel of level 2; None for one that cannot be called alone."""
    digest, text = task_of(kernel)
    alone = kernel.clone()
    alone.properties["sym_name"] = StringAttr("kernel")
    cases = _cases(alone)
    if not cases:
        return None
    task = Task(digest, alone, text, target, threads, cases=cases)
    task.bytes = max(case.bytes for case in cases)
    task.flops = max(_flops(alone, case) for case in cases)
    return task


def _cases(kernel: func.FuncOp) -> list[Case]:
    """The cases in which a kernel is measured."""
    interface, signature = kernel_of(kernel), Signature.of(kernel)
    assert interface is not None
    names = interface.symbol_names
    sized = {symbol for dims in signature.dims for dim in dims for symbol in dim.symbols()}
    if not set(names) <= sized:
        return []
    bounds = interface.symbol_bounds
    values = [{name: _within(bounds.get(name), n) for name in names} for n in HINTS]
    unique = list({tuple(each.items()): each for each in values}.values())
    cases = [case for each in unique if (case := _case(kernel, signature, each)) is not None]
    return [case for case in cases if case.bytes <= _MOST_CASE_BYTES] or cases[:1]


def _within(bounds: tuple[int, int] | None, number: int) -> int:
    return number if bounds is None else min(max(number, bounds[0]), bounds[1])


def _case(kernel: func.FuncOp, signature: Signature, symbols: Mapping[str, int]) -> Case | None:
    """A case of some sizes; None where they make no shapes."""
    types = *signature.types[: signature.inputs], *kernel.function_type.outputs.data
    dims = *signature.dims[: signature.inputs], *_result_dims(kernel)
    try:
        shapes = [[dim.evaluate(symbols) for dim in each] for each in dims]
        sizes = [numpy_dtype(type).itemsize for type in types]
    except (KeyError, ValueError, ZeroDivisionError, StepwellError):
        return None
    if any(extent < 0 for shape in shapes for extent in shape):
        return None
    bytes = sum(prod(shape) * size for shape, size in zip(shapes, sizes, strict=True))
    return Case(kernel, symbols, bytes)


def _result_dims(kernel: func.FuncOp) -> list[Sequence[Dim]]:
    """The dimensions of the results of a kernel."""
    types = kernel.function_type.outputs.data
    said = kernel.res_attrs.data if kernel.res_attrs is not None else [DictionaryAttr({})] * len(types)
    found: list[Sequence[Dim]] = []
    for type, attributes in zip(types, said, strict=True):
        declared = attributes.data.get("graph.dims")
        found.append(declared.get() if isinstance(declared, DimsAttr) else dims_of(cast(Tensor, type)))
    return found


def _flops(kernel: func.FuncOp, case: Case) -> int:
    """About the number of operations: the largest iteration space, twice."""
    views = [view for op in kernel.walk() if (view := Structured.of(op)) is not None]
    largest = max(case.symbols.values(), default=1)
    return 2 * max((prod(n or largest for n in view.extents) for view in views), default=0)
