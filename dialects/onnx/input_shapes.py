"""Shapes of inputs fixed by name, and the symbols that they fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import FunctionType, StringAttr, TensorType, UnrankedTensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from stepwell.dialects._xdsl import set_type
from stepwell.dialects.foreign import ForeignOp
from stepwell.dialects.types import DimsAttr, Tensor, dims_of, tensor_type
from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.errors import StepwellError

_TYPED = ("coreml", "graph", "mxnet", "paddle", "stablehlo", "tflite", "torch")
"""Dialects whose values have their types before the conversion to level 1."""
_HELP_OF_GRAPH = "give the sizes where the model's own file is compiled"


@dataclass(frozen=True)
class Resized:
    """A dimension of an input that has another size than in the model's file."""

    name: str
    axis: int
    before: int
    after: int

    def __str__(self) -> str:
        return (
            f"dimension {self.axis} of {self.name!r} is {self.before} in the model's file, here {self.after}"
        )


def set_input_shapes(main: FuncOp, shapes: Mapping[str, Sequence[int]]) -> list[Resized]:
    """
    Fix the shapes of inputs by name, and every symbol that they fix.

    Returns: the dimensions of level 0 whose size the file fixes differently; the conversion to level 1, which
    infers types from the inputs' types, decides whether the model allows it.
    Raises: StepwellError `extra-input`, or `shape-mismatch` for a shape that the model's contradicts.
    """
    inputs = _inputs_by_name(main)
    symbols: dict[str, Dim] = {}
    resized: list[Resized] = []
    for name, shape in shapes.items():
        if name not in inputs:
            known = ", ".join(inputs)
            raise StepwellError(
                "extra-input", None, f"the model has no input {name!r}", note=f"inputs: {known}"
            )
        resized += _fix(inputs[name], name, shape, symbols)
    for value in (*main.args, *(result for op in main.walk() for result in op.results)):
        _retype(value, symbols)
    for op in main.walk():
        _substitute_attributes(op, symbols)
    main.properties["function_type"] = FunctionType.from_lists(
        [arg.type for arg in main.args], [_substituted(t, symbols) for t in main.function_type.outputs]
    )
    if resized and (typed := next((o for o in main.walk() if o.dialect_name() in _TYPED), None)):
        is_graph = typed.dialect_name() == "graph"
        help = _HELP_OF_GRAPH if is_graph else "export the program with an open size there"
        message = f"{resized[0]}: the types of its values are not inferred again"
        raise StepwellError("shape-mismatch", main, message, help=help)
    return resized


def _inputs_by_name(main: FuncOp) -> dict[str, BlockArgument]:
    attrs = main.arg_attrs.data if main.arg_attrs is not None else ()
    names = (a.data.get("graph.name") for a in attrs)
    return {n.data: arg for n, arg in zip(names, main.args, strict=False) if isinstance(n, StringAttr)}


def _fix(arg: BlockArgument, name: str, shape: Sequence[int], symbols: dict[str, Dim]) -> list[Resized]:
    """Set the shape of an input. Returns: the dimensions that had another size."""
    declared: Attribute = arg.type
    if not isinstance(declared, TensorType | UnrankedTensorType):
        raise StepwellError("shape-mismatch", None, f"input {name!r} is {declared}, which has no shape")
    tensor = cast("Tensor | UnrankedTensorType[Attribute]", declared)
    is_ranked = isinstance(tensor, TensorType)
    dims = dims_of(tensor) if is_ranked else [Dim.symbol(UNKNOWN)] * len(shape)
    _expect_fit(dims, name, shape, symbols)
    try:
        fixed = tensor_type(tensor.element_type, shape)
    except StepwellError as error:
        raise error.at(f"input {name!r}") from None
    set_type(arg, fixed)
    return [
        Resized(name, axis, dim.value, size)
        for axis, (dim, size) in enumerate(zip(dims, shape, strict=True))
        if dim.is_static and dim != size
    ]


def _expect_fit(dims: Sequence[Dim], name: str, shape: Sequence[int], symbols: dict[str, Dim]) -> None:
    """Require a shape to fit an input's, and keep the symbols that it fixes. Raises: `shape-mismatch`."""
    help = None if len(dims) == len(shape) else "give as many dimensions as the model has"
    for dim, size in zip(dims, shape, strict=False):
        text = str(dim)
        if text in dim.symbols() and not dim.is_unknown:
            if symbols.setdefault(text, Dim.of(size)) != size:
                help = help or f"give all dimensions named {text} one size: another one is {symbols[text]}"
    if help is not None:
        raise StepwellError(
            "shape-mismatch",
            None,
            f"input {name!r} is [{', '.join(map(str, dims))}] in the model, found {list(shape)}",
            help=help,
        )


def _retype(value: SSAValue, symbols: Mapping[str, Dim]) -> None:
    set_type(value, _substituted(value.type, symbols))


def _substitute_attributes(op: Operation, symbols: Mapping[str, Dim]) -> None:
    """Put sizes in place of symbols in the attributes of an op that are dimensions."""
    for table in (op.properties, op.attributes):
        for name, attribute in table.items():
            if isinstance(attribute, DimsAttr):
                table[name] = DimsAttr.of([dim.substitute(symbols) for dim in attribute.get()])
            elif op.name == "graph.assert" and name in ("lhs", "rhs") and isinstance(attribute, StringAttr):
                table[name] = StringAttr(str(Dim.of(attribute.data).substitute(symbols)))
    if isinstance(op, ForeignOp):
        op.substitute(symbols)


def _substituted(type: Attribute, symbols: Mapping[str, Dim]) -> Attribute:
    if not isinstance(type, TensorType):
        return type
    tensor = cast(Tensor, type)
    return tensor_type(tensor.element_type, [d.substitute(symbols) for d in dims_of(tensor)])
