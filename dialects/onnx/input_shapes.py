"""Shapes of inputs fixed by name, and the symbols that they fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import FunctionType, StringAttr, TensorType, UnrankedTensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue

from stepwell.dialects.types import Tensor, dims_of, tensor_type
from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.errors import StepwellError


def set_input_shapes(main: FuncOp, shapes: Mapping[str, Sequence[int]]) -> None:
    """
    Fix the shapes of inputs by name, and every symbol that they fix.

    Raises: StepwellError `extra-input`, or `shape-mismatch` for a shape that the model's contradicts.
    """
    inputs = _inputs_by_name(main)
    symbols: dict[str, Dim] = {}
    for name, shape in shapes.items():
        if name not in inputs:
            known = ", ".join(inputs)
            raise StepwellError(
                "extra-input", None, f"the model has no input {name!r}", note=f"inputs: {known}"
            )
        _fix(inputs[name], name, shape, symbols)
    for value in (*main.args, *(result for op in main.walk() for result in op.results)):
        _retype(value, symbols)
    main.properties["function_type"] = FunctionType.from_lists(
        [arg.type for arg in main.args], [_substituted(t, symbols) for t in main.function_type.outputs]
    )


def _inputs_by_name(main: FuncOp) -> dict[str, BlockArgument]:
    attrs = main.arg_attrs.data if main.arg_attrs is not None else ()
    names = (a.data.get("graph.name") for a in attrs)
    return {n.data: arg for n, arg in zip(names, main.args, strict=False) if isinstance(n, StringAttr)}


def _fix(arg: BlockArgument, name: str, shape: Sequence[int], symbols: dict[str, Dim]) -> None:
    declared: Attribute = arg.type
    if not isinstance(declared, TensorType | UnrankedTensorType):
        raise StepwellError("shape-mismatch", None, f"input {name!r} is {declared}, which has no shape")
    tensor = cast("Tensor | UnrankedTensorType[Attribute]", declared)
    is_ranked = isinstance(tensor, TensorType)
    dims = dims_of(tensor) if is_ranked else [Dim.symbol(UNKNOWN)] * len(shape)
    fits = len(dims) == len(shape)
    for dim, size in zip(dims, shape, strict=False):
        text = str(dim)
        if text in dim.symbols() and not dim.is_unknown:
            dim = symbols.setdefault(text, Dim.of(size))
        fits &= not dim.is_static or dim == size
    if not fits:
        raise StepwellError(
            "shape-mismatch",
            None,
            f"input {name!r} is [{', '.join(map(str, dims))}] in the model, found {list(shape)}",
            help="give as many dimensions as the model has, and its own where it fixes them",
        )
    try:
        fixed = tensor_type(tensor.element_type, shape)
    except StepwellError as error:
        raise error.at(f"input {name!r}") from None
    arg._type = fixed  # pyright: ignore[reportPrivateUsage]


def _retype(value: SSAValue, symbols: Mapping[str, Dim]) -> None:
    value._type = _substituted(value.type, symbols)  # pyright: ignore[reportPrivateUsage]


def _substituted(type: Attribute, symbols: Mapping[str, Dim]) -> Attribute:
    if not isinstance(type, TensorType):
        return type
    tensor = cast(Tensor, type)
    return tensor_type(tensor.element_type, [d.substitute(symbols) for d in dims_of(tensor)])
