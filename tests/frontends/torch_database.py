"""The samples of torch's own database of operators: exported, converted, interpreted and compiled."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.torch.exported import read_torch
from stepwell.frontend.torch.tensors import array_of, tensor_of
from stepwell.lowering.interpret import Program
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_MODELS
from stepwell.runtime.errors import StepwellError
from stepwell.tools.api.module import Module
from tests.support.components import needs

torch = needs("torch")
needs("expecttest")  # of torch's database

DTYPES = {"f32": torch.float32, "i64": torch.int64, "bool": torch.bool, "bf16": torch.bfloat16}
LEFT_OUT = ("linalg.", "fft.", "sparse", "special", "to_sparse", "nn.functional.dropout", "torch.ops")
UNINITIALIZED = frozenset(
    "empty empty_like empty_permuted empty_strided new_empty new_empty_strided resize_as_".split()
)
"""Operators with results that have any elements."""
SAMPLES, LOOKED_AT = {"f32": 3, "i64": 2, "bool": 2, "bf16": 2}, 24
SPECIFIED = {
    "random": ("random numbers",),
    "training": ("in training", "statistics of the batch", "with dropout"),
    "complex": ("complex",),
    "strides": ("by strides",),
}
"""The words in errors about what the compiler refuses for good, by the reason."""
TOLERANCES = {torch.float32: (1e-4, 1e-4), torch.bfloat16: (1.6e-2, 1e-3)}
"""Relative and absolute tolerances; those of `assert_close` for other dtypes."""


@dataclass(eq=False)
class Case:
    """A sample of an operator: what came of it, and its converted program, which waits to be compiled."""

    outcome: str
    module: ModuleOp | None = None
    inputs: Sequence[Any] = ()
    wanted: Sequence[Any] = field(default_factory=list[Any])
    tie_axis: int | None = None
    """The axis along which the last result is positions in the first input, any of equal elements."""

    def ops(self) -> Iterable[Operation]:
        """All ops of the program."""
        return [] if self.module is None else self.module.walk()

    def agrees(self, found: Sequence[Any]) -> bool:
        """Whether results are those of eager mode."""
        found, wanted = list(found), list(self.wanted)
        if self.tie_axis is not None and self.inputs[0].ndim:
            positions = found[-1], wanted[-1].numpy()
            found[-1], elements = (
                np.take_along_axis(self.inputs[0], each, self.tie_axis) for each in positions
            )
            wanted[-1] = tensor_of(elements)
        return len(found) == len(wanted) and all(map(is_close, found, wanted))


def entries(dtype: str) -> list[Any]:
    """The operators of the database that have samples of a dtype."""
    from torch.testing._internal.common_methods_invocations import op_db

    return [op for op in op_db if DTYPES[dtype] in op.dtypes and not title(op).startswith(LEFT_OUT)]


def title(op: Any) -> str:
    """The operator's name, with that of its variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def outcomes(ops: Sequence[Any], dtype: str) -> list[list[str]]:
    """
    The outcomes of the samples of operators: `equal`, `refused: REASON`, `not exported`, `different`,
    `compiled different`, or `crashed: ERROR`.

    The programs whose interpretation is equal to eager mode are compiled together, as one program.
    """
    context = StepwellContext()
    cases = [_cases(op, dtype, context) for op in ops]
    waiting = [case for each in cases for case in each if case.module is not None]
    # Sizes that depend on data have the same names in all programs.
    alone = [case for case in waiting if any(op.name == "graph.bind_sizes" for op in case.ops())]
    for group in ([case for case in waiting if case not in alone], *([case] for case in alone)):
        _compile(group, context)
    return [[case.outcome for case in each] for each in cases]


def _cases(op: Any, dtype: str, context: StepwellContext) -> list[Case]:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [_case(op, sample, context) for sample in _samples(op, dtype)]
        except NotImplementedError:
            return []


def _samples(op: Any, dtype: str) -> Iterator[Any]:
    """A few samples of an operator, different in rank, keywords or number of arguments."""
    seen: set[object] = set()
    for sample in itertools.islice(op.sample_inputs("cpu", DTYPES[dtype]), LOOKED_AT):
        key = (getattr(sample.input, "ndim", 0), tuple(sorted(sample.kwargs)), len(sample.args))
        if key not in seen and len(seen) < SAMPLES[dtype]:
            seen.add(key)
            yield sample


def _case(op: Any, sample: Any, context: StepwellContext) -> Case:
    """A sample as far as the interpreter."""
    tensors, program, wanted = _exported(op, sample)
    if program is None:
        return Case("not exported")
    try:
        module = read_torch(program, context)
        run_pipeline(module, FROM_MODELS["torch"], context)
    except StepwellError as error:
        return Case(f"refused: {_reason(error)}")
    except Exception as error:
        return Case(f"crashed: {type(error).__name__}")
    inputs = [array_of(each, "") for each in tensors]
    try:
        found = Program(module, context, quick=True)(inputs, {})
    except Exception as error:
        return Case(f"crashed: {type(error).__name__}")
    if op.name in UNINITIALIZED:
        same = [each.shape for each in found] == [tuple(each.shape) for each in wanted]
        return Case("equal" if same else "different")
    case = Case("equal", module, inputs, wanted, _axis_of_ties(op, sample))
    return case if case.agrees(found) else Case("different")


def _axis_of_ties(op: Any, sample: Any) -> int | None:
    """The axis of an operator that finds equal elements in any order; None for others."""
    number = {"argsort": 0, "sort": 0, "topk": 1}.get(op.name)
    if number is None or sample.kwargs.get("stable"):
        return None
    return sample.kwargs.get("dim", sample.args[number] if len(sample.args) > number else -1)


def _exported(op: Any, sample: Any) -> tuple[Sequence[Any], Any, Sequence[Any]]:
    """The tensors of a sample, its program, which is None where torch cannot export it, and its results."""
    from torch.utils._pytree import tree_flatten, tree_unflatten

    leaves, spec = tree_flatten(((sample.input, *sample.args), sample.kwargs))
    tensors = tuple(leaf.detach() for leaf in leaves if isinstance(leaf, torch.Tensor))

    class Sample(torch.nn.Module):
        def forward(self, *given: Any) -> Any:
            values = iter(given)
            args, kwargs = tree_unflatten(
                [next(values) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], spec
            )
            return op.op(*args, **kwargs)

    try:
        with torch.no_grad(), redirect_stderr(StringIO()), redirect_stdout(StringIO()):
            copies = [each.clone() for each in tensors]
            wanted = tree_flatten(Sample()(*copies))[0]
            program = torch.export.export(Sample().eval(), tensors, strict=False)
    except Exception:
        return tensors, None, ()
    if not all(isinstance(each, torch.Tensor) for each in wanted):
        return tensors, None, wanted
    return tensors, program, [*wanted, *_written(program, copies)]


def _written(program: Any, copies: Sequence[Any]) -> Iterator[Any]:
    """The new values of arguments that a program writes, which are results of ours."""
    calls = [node.target for node in program.graph.nodes if node.op == "call_function"]
    if not any(getattr(getattr(call, "_schema", None), "is_mutable", False) for call in calls):
        return
    signature = program.run_decompositions({}).graph_signature
    names = [spec.arg.name for spec in signature.input_specs if spec.kind.name == "USER_INPUT"]
    for spec in signature.output_specs:
        if spec.kind.name == "USER_INPUT_MUTATION":
            yield copies[names.index(spec.target)]


def _reason(error: StepwellError) -> str:
    """The reason of a refusal: one of those for good, or else the error's code."""
    text = str(error)
    for reason, words in SPECIFIED.items():
        if error.code == "unsupported" and any(word in text for word in words):
            return reason
    return error.code


def is_close(found: Any, wanted: Any) -> bool:
    """Whether an array has the values of a tensor, and its dtype."""
    rtol, atol = TOLERANCES.get(wanted.dtype, (None, None))
    try:
        tensor = tensor_of(np.array(found))
        torch.testing.assert_close(tensor, wanted.contiguous(), equal_nan=True, rtol=rtol, atol=atol)
    except (AssertionError, TypeError):
        return False
    return True


def _compile(cases: Sequence[Case], context: StepwellContext) -> None:
    """Compile programs as one, and note those whose results differ; where it fails, each of them alone."""
    if not cases:
        return
    try:
        model = Module(_merged([case.module for case in cases if case.module]), context=context).compile()
        found = iter(_results(model, [array for case in cases for array in case.inputs]))
    except Exception as error:
        if len(cases) == 1:
            cases[0].outcome = f"compiled: {getattr(error, 'code', type(error).__name__)}"
        else:
            for half in (cases[: len(cases) // 2], cases[len(cases) // 2 :]):
                _compile(half, context)
        return
    for case in cases:
        if not case.agrees(list(itertools.islice(found, len(case.wanted)))):
            case.outcome = "compiled: different"


def _results(model: Any, inputs: Sequence[Any]) -> Sequence[Any]:
    return model.run(None, {info.name: array for info, array in zip(model.inputs, inputs, strict=True)})


def _merged(modules: Sequence[ModuleOp]) -> ModuleOp:
    """A program with the inputs and the results of several, in their order."""
    mains = [op for module in modules for op in module.ops if isinstance(op, func.FuncOp)]
    block = Block(arg_types=[each for main in mains for each in main.function_type.inputs])
    arguments, results = iter(block.args), list[SSAValue]()
    for main in mains:
        body = main.body.block
        values: dict[SSAValue, SSAValue] = {argument: next(arguments) for argument in body.args}
        for op in body.ops:
            if isinstance(op, func.ReturnOp):
                results += [values[value] for value in op.operands]
            else:
                block.add_op(op.clone(value_mapper=values))
    block.add_op(func.ReturnOp(*results))
    inputs, outputs = list(block.arg_types), [each.type for each in results]
    function = func.FuncOp("main", FunctionType.from_lists(inputs, outputs), Region(block))
    function.arg_attrs, function.res_attrs = _names("x", len(inputs)), _names("y", len(outputs))
    return ModuleOp([function])


def _names(prefix: str, count: int) -> ArrayAttr[DictionaryAttr]:
    """The names of inputs or of results, as attributes of a function."""
    every = (StringAttr(f"{prefix}{number}") for number in range(count))
    return ArrayAttr([DictionaryAttr({"graph.name": name}) for name in every])
