"""PyTorch modules compiled as functions of tensors: nested arguments and results, memory that is shared."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Unpack

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.graph_ir.state import next_name
from stepwell.frontend.torch.export import exported_program
from stepwell.frontend.torch.exported import read_torch
from stepwell.frontend.torch.given_weights import given_weights
from stepwell.frontend.torch.records import result_of
from stepwell.frontend.torch.tensors import torch_package
from stepwell.frontend.torch.trees import input_names, tree_of_spec
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.sessions.session import Session
from stepwell.runtime.warned import warn
from stepwell.tools.driver.compile import compile as compile_model
from stepwell.tools.driver.options import CompileKeywords, CompileOptions, options_with
from stepwell.tools.driver.program import Program
from stepwell.tools.pytorch.exchange import tensor_reader, tensor_writer

_SHOWN = (bool, int, float, str, type(None))
"""The types of arguments that errors show."""


class GradientWarning(UserWarning):
    """A tensor whose gradient is wanted, where the result has none."""


def compile_module(
    module: Any,
    example_inputs: object,
    dynamic_shapes: object = None,
    *,
    weights_from: str | os.PathLike[str] | None = None,
    options: CompileOptions | None = None,
    threads: int | None = None,
    **keywords: Unpack[CompileKeywords],
) -> TorchModel:
    """
    A module as compiled code that takes and returns tensors, nested as those of the module.

    Args: as of `stepwell.compile`. A module that writes into buffers has them as its state.
    Raises: StepwellError as `stepwell.compile`.
    """
    chosen = options_with(options, keywords, ("options", "threads", "weights_from"))
    ctx = StepwellContext()
    ctx.target = chosen.description()
    with given_weights(module, None if weights_from is None else Path(weights_from), ctx):
        program, names = exported_program(module, example_inputs, dynamic_shapes)
    op = read_torch(program, ctx, names)
    model = compile_model(Program(op, ctx), chosen, threads=threads)
    return TorchModel(model, program)


class TorchModel:
    """
    A compiled module. `model` is the code, which takes arrays by name; `session` has the values of buffers.
    Tensors that the module writes are written.

    Arguments that are no tensors must be those of the example.
    """

    def __init__(self, model: CompiledModel, program: Any):
        """Args: `program` is the exported one, for the nesting of arguments and results."""
        self.model = model
        trees = import_module("torch.utils._pytree")
        self._flatten, self._unflatten = trees.tree_flatten, trees.tree_unflatten
        self._tensor: type = torch_package().Tensor
        args, kwargs = program.example_inputs
        leaves, self._in_spec = self._flatten((tuple(args), dict(kwargs)))
        self._constants = [None if isinstance(leaf, self._tensor) else (leaf,) for leaf in leaves]
        tensors = [leaf for leaf in leaves if isinstance(leaf, self._tensor)]
        specs = model.interface.inputs
        self._names = [spec.name for spec in specs]
        self._readers = [tensor_reader(t.dtype, name) for t, name in zip(tensors, self._names, strict=True)]
        self._constant_results, is_number = _results(program)
        outputs = model.interface.outputs
        numbers = {next_name(name): number for number, name in enumerate(self._names)}
        self._written = [numbers[spec.name] for spec in outputs[len(is_number) :]]
        """The tensors that the program writes, whose new values are the last outputs."""
        is_number = [*is_number, *(False for _ in self._written)]
        self._writers = [
            operator.methodcaller("item") if number else tensor_writer(spec.dtype)
            for number, spec in zip(is_number, outputs, strict=True)
        ]
        self._out_spec = program.call_spec.out_spec
        self._is_flat = not kwargs and len(args) == len(tensors) == len(leaves)
        call = program.module_call_graph[0].signature
        self._arguments: Sequence[str] = (call and call.forward_arg_names) or ()
        session = model.session()
        self.session: Session[CompiledModel] | None = session if session.state else None
        """The values of buffers that calls change; None for a module without."""
        self._warned = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """
        The results, as the module nests them. CPU tensors share their memory with the code.

        Raises: StepwellError `bad-inputs`, `missing-input`, `extra-input` for arguments of another nesting,
        `bad-inputs` for those on another device; as calling a `CompiledModel`.
        """
        is_flat = self._is_flat and not kwargs and len(args) == len(self._readers)
        tensors = (
            args if is_flat and all(isinstance(a, self._tensor) for a in args) else self._leaves(args, kwargs)
        )
        arrays = [self._read(number, tensor) for number, tensor in enumerate(tensors)]
        if self.session is None:
            found = self.model.invoke(arrays)
        else:
            made = self.session(*arrays)
            found = made if isinstance(made, tuple) else (made,)
        results = [write(array) for write, array in zip(self._writers, found, strict=True)]
        for number in reversed(self._written):
            tensors[number].detach().copy_(results.pop())
        for position, constant in self._constant_results:
            results.insert(position, constant)
        return self._unflatten(results, self._out_spec)

    def _read(self, number: int, tensor: Any) -> Any:
        if tensor.requires_grad and not self._warned:
            self._warned = True
            warn("the results have no gradients: use torch.compile to train", GradientWarning)
        if tensor.device.type != "cpu":
            message = f"{self._names[number]} is on the device {tensor.device}"
            raise StepwellError("bad-inputs", None, message, help="move it: x.cpu()")
        return self._readers[number](tensor)

    def _leaves(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Sequence[Any]:
        """The tensors in the arguments. Raises: StepwellError as `__call__`."""
        leaves, spec = self._flatten((tuple(args), kwargs))
        if spec != self._in_spec:
            raise self._other_nesting(spec)
        tensors: list[Any] = []
        for number, (constant, leaf) in enumerate(zip(self._constants, leaves, strict=True)):
            if constant is None and isinstance(leaf, self._tensor):
                tensors.append(leaf)
            elif constant is None or not _equals(leaf, constant[0]):
                wanted = "a tensor" if constant is None else repr(constant[0])
                found = repr(leaf) if isinstance(leaf, _SHOWN) else type(leaf).__name__
                name = self._leaf_names(self._in_spec)[number]
                message = f"{name}: expected {wanted} as in the example, found {found}"
                raise StepwellError("bad-inputs", None, message)
        return tensors

    def _other_nesting(self, spec: Any) -> StepwellError:
        """The error for arguments of another nesting, which names the first that is missing or too many."""
        wanted, found = self._leaf_names(self._in_spec), self._leaf_names(spec)
        note = f"expected {', '.join(wanted)}", f"found {', '.join(found)}"
        if extra := [name for name in found if name not in wanted]:
            return StepwellError("extra-input", None, f"the example has no argument {extra[0]}", note=note)
        if missing := [name for name in wanted if name not in found]:
            return StepwellError("missing-input", None, f"the argument {missing[0]} is missing", note=note)
        message = "the arguments are not nested as those of the example"
        note = f"expected {self._in_spec}", f"found {spec}"
        return StepwellError("bad-inputs", None, message, note=note)

    def _leaf_names(self, spec: Any) -> Sequence[str]:
        """The names of all arguments that are no collections, by their paths: `cache.0.key`."""
        return input_names(tree_of_spec(spec), self._arguments)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an artifact, which loads without torch and takes arrays. Raises: StepwellError."""
        self.model.save(path)


def _results(program: Any) -> tuple[Sequence[tuple[int, object]], Sequence[bool]]:
    """The positions of results that no model has, with their values, and which of the others are numbers."""
    constants: list[tuple[int, object]] = []
    is_number: list[bool] = []
    specs = (spec for spec in program.graph_signature.output_specs if spec.kind.name == "USER_OUTPUT")
    for position, spec in enumerate(specs):
        is_tensor = type(spec.arg).__name__ == "TensorArgument"
        if not is_tensor and hasattr(spec.arg, "value") and result_of(spec.arg.value) is None:
            constants.append((position, spec.arg.value))
        else:
            is_number.append(not is_tensor)
    return constants, is_number


def _equals(leaf: object, wanted: object) -> bool:
    """Whether an argument is a constant of the example; comparing a tensor or an array gives one of these."""
    same: Any = leaf == wanted
    return not getattr(same, "ndim", 0) and bool(same)
