"""`torch.export` of a user's module, with the user's names of sizes, and errors that name the user's line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from stepwell.frontend.foreign_function import example_arguments
from stepwell.frontend.torch.stack import user_line
from stepwell.frontend.torch.tensors import torch_package
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.warned import warn


class ExportWarning(UserWarning):
    """A property of a module that changes its results, such as training mode."""


def exported_program(
    module: Any, example_inputs: object, dynamic_shapes: object
) -> tuple[Any, Mapping[str, str]]:
    """
    The exported program of a module, and the user's names of its symbols.

    Raises: StepwellError `export-failed`, `bad-model`.
    """
    torch = torch_package()
    args, kwargs = _distinct(example_arguments(example_inputs), torch)
    if module.training:
        warn("the module is in training mode: call .eval() for inference", ExportWarning)
    shapes = _with_dims(dynamic_shapes, torch)
    try:
        with torch.no_grad():
            program = torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=False)
    except Exception as error:  # torch.export raises exceptions of a dozen classes
        raise _failed(error) from None
    return program, _symbols(program, dynamic_shapes)


def _distinct(arguments: tuple[tuple[object, ...], dict[str, object]], torch: Any) -> Any:
    """
    The arguments, in which a tensor that is given twice is replaced by two equal tensors.

    Otherwise torch would export a program that reads only one of the two arguments.
    """
    seen: set[int] = set()

    def own(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or id(leaf) not in seen:
            seen.add(id(leaf))
            return leaf
        return leaf.detach().clone()

    return import_module("torch.utils._pytree").tree_map(own, arguments)


def _with_dims(shapes: object, torch: Any) -> Any:
    """The shapes with an open size of torch's for each name, whose range torch finds."""

    def replaced(value: object) -> object:
        if isinstance(value, str):
            return torch.export.Dim.DYNAMIC
        if isinstance(value, Mapping):
            return {key: replaced(item) for key, item in cast("Mapping[object, object]", value).items()}
        if isinstance(value, list | tuple):
            items = [replaced(item) for item in cast("Sequence[object]", value)]
            return items if isinstance(value, list) else tuple(items)
        return value

    return replaced(shapes)


def _symbols(program: Any, shapes: object) -> Mapping[str, str]:
    """The user's names of the program's symbols: each where a leaf of the shapes names a dimension."""
    names: dict[str, str] = {}
    tensors = [
        node.meta["val"]
        for spec in program.graph_signature.input_specs
        if spec.kind.name == "USER_INPUT"
        for node in program.graph.nodes
        if node.name == spec.arg.name
    ]
    leaves = list(_leaves(shapes))
    if len(leaves) != len(tensors):
        return names
    for tensor, leaf in zip(tensors, leaves, strict=True):
        for axis, dim in leaf.items():
            name = dim if isinstance(dim, str) else getattr(dim, "__name__", "")
            expression = getattr(getattr(tensor.shape[axis], "node", None), "expr", None)
            if name and expression is not None and expression.is_Symbol:
                names.setdefault(expression.name, name)
    return names


def _leaves(shapes: object) -> Sequence[Mapping[int, Any]]:
    """The named dimensions of each input, in order; empty for an input without named dimensions."""
    if shapes is None:
        return [{}]
    if isinstance(shapes, Mapping):
        mapping = cast("Mapping[Any, Any]", shapes)
        if mapping and all(isinstance(key, int) for key in mapping):
            return [mapping]
        return [leaf for value in mapping.values() for leaf in _leaves(value)]
    items = cast("Sequence[Any]", shapes)
    if items and not any(isinstance(item, Mapping | list | tuple) for item in items):
        return [dict(enumerate(items))]
    return [leaf for item in items for leaf in _leaves(item)]


_HELP = (
    'torch.compile(module, backend="stepwell") runs the parts that torch cannot export in Python; for one '
    "program use torch.cond where control flow depends on data, or compute that part outside"
)


def _failed(error: Exception) -> StepwellError:
    """The error for a module that torch cannot export: the first paragraph of torch's message."""
    text = str(error).strip().partition("\n\n")[0] or type(error).__name__
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    file, line = _line_of(error)
    where = f"{file}:{line}" if file else None
    return StepwellError("export-failed", where, lines[0], note=lines[1:6], help=_HELP)


def _line_of(error: Exception) -> tuple[str, int]:
    """The innermost line of the user's in a traceback."""
    frames: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(f'File "{trace.tb_frame.f_code.co_filename}", line {trace.tb_lineno}')
        trace = trace.tb_next
    return user_line("\n".join(each for each in frames if "stepwell" not in each))
