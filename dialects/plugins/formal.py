"""The formal inputs and attributes of a plugin's operator, from a Python function or an op class."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, cast, get_args, get_origin

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, BytesAttr, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, OptionalDef

from stepwell.dialects._xdsl import running_weights
from stepwell.dialects.attributes import python_value
from stepwell.dialects.constants import array_of
from stepwell.dialects.onnx.base import AttributeSpec, Parameter
from stepwell.dialects.onnx.structure import CallOp, with_absent
from stepwell.dialects.onnx.types import kind_of
from stepwell.dialects.plugins.ops import is_variadic
from stepwell.dialects.types import WeightAttr
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.plugins import described, place_of

Binding: TypeAlias = tuple[list[SSAValue | None], dict[str, object]]

_ANY = "any"
_LISTS = {"int": "ints", "float": "floats", "string": "strings"}
_KINDS: Mapping[object, str] = {bool: "int", int: "int", float: "float", str: "string", bytes: "string"}
_REWRITERS = ("rewriter", "_rewriter", "_")


@dataclass(frozen=True)
class Formal:
    """The inputs and attributes that a node of an operator has."""

    defined: object
    inputs: tuple[Parameter, ...]
    attributes: Mapping[str, AttributeSpec]
    is_open: bool = False
    """Whether a node may have other attributes too."""
    as_written: bool = False
    """Whether attributes are passed as attributes of the IR, not as Python values."""

    def bind(self, call: CallOp) -> Binding:
        """
        The inputs of a node by position, None for absent ones, and its attributes by name.

        Raises: StepwellError `invalid-model` for a node that does not fit.
        """
        return self._inputs(call), self._attributes(call)

    def _inputs(self, call: CallOp) -> list[SSAValue | None]:
        given = with_absent(call.inputs, call.absent, None)
        names = ", ".join(parameter.name for parameter in self.inputs)
        is_variadic = bool(self.inputs) and self.inputs[-1].variadic
        if len(given) > len(self.inputs) and not is_variadic:
            raise self._invalid(call, f"takes {self._count()} ({names}), found {len(given)}")
        inputs = [*given, *[None] * (len(self.inputs) - is_variadic - len(given))]
        for value, parameter in zip(inputs, self.inputs, strict=False):
            if value is None and not parameter.optional and not parameter.variadic:
                raise self._invalid(call, f"needs the input `{parameter.name}`; its inputs are {names}")
        return inputs

    def _count(self) -> str:
        optional = sum(parameter.optional for parameter in self.inputs)
        least, most = len(self.inputs) - optional, len(self.inputs)
        return f"{least} to {most} inputs" if optional else "1 input" if most == 1 else f"{most} inputs"

    def _attributes(self, call: CallOp) -> dict[str, object]:
        given = call.arguments.data
        if call.graphs is not None:
            raise self._invalid(call, "has a graph as attribute, which only a rewrite pattern can lower")
        for name, value in given.items():
            if (spec := self.attributes.get(name)) is not None:
                self._expect_kind(call, name, value, spec)
            elif not self.is_open:
                known = ", ".join(self.attributes) or "none"
                help = f"{did_you_mean(name, self.attributes)}its attributes are: {known}"
                raise self._invalid(call, f"has no attribute `{name}`", help)
        if missing := [n for n, spec in self.attributes.items() if spec.required and n not in given]:
            raise self._invalid(call, f"needs the attribute `{missing[0]}`")
        return {name: value if self.as_written else _plain(value) for name, value in given.items()}

    def _expect_kind(self, call: CallOp, name: str, value: Attribute, spec: AttributeSpec) -> None:
        found = kind_of(value)
        is_empty_list = isinstance(value, ArrayAttr) and not cast("ArrayAttr[Attribute]", value).data
        if spec.kind in (_ANY, found) or (is_empty_list and spec.kind in _LISTS.values()):
            return
        raise self._invalid(call, f"needs attribute `{name}` of kind {spec.kind}, found {found}")

    def _invalid(self, call: CallOp, what: str, help: str | None = None) -> StepwellError:
        message = f"{call.title} {what}"
        note = f"the plugin defines it by {described(self.defined)}"
        return StepwellError("invalid-model", call, message, note=note, help=help)


def formal_of_function(function: object) -> Formal:
    """
    The inputs (positional parameters after the rewriter) and attributes (keyword-only ones) of a lowering.

    Raises: StepwellError `bad-plugin` for a function that does not have the rewriter first.
    """
    parameters = list(_signature(function).parameters.values())
    if not parameters or parameters[0].name not in _REWRITERS:
        found = f"found {parameters[0].name!r}" if parameters else "it has none"
        raise StepwellError(
            "bad-plugin",
            place_of(function),
            f"the first parameter of a lowering is `rewriter`, {found}",
            help="write it as `def lower(rewriter, x, *, scale=1.0)`: inputs, then attributes by keyword",
        )
    inputs: list[Parameter] = []
    attributes: dict[str, AttributeSpec] = {}
    is_open = False
    for each in parameters[1:]:
        is_optional = each.default is not inspect.Parameter.empty
        match each.kind:
            case inspect.Parameter.KEYWORD_ONLY:
                attributes[each.name] = AttributeSpec(_expected_kind(each), not is_optional, None)
            case inspect.Parameter.VAR_KEYWORD:
                is_open = True
            case kind:
                inputs.append(Parameter(each.name, is_optional, kind is inspect.Parameter.VAR_POSITIONAL, 0))
    return Formal(function, tuple(inputs), attributes, is_open)


def _signature(function: object) -> inspect.Signature:
    """The signature of a function, with annotations evaluated where they can be."""
    called = cast("Any", function)
    try:
        return inspect.signature(called, eval_str=True)
    except (NameError, AttributeError, SyntaxError, TypeError):  # a name that only type checkers import
        return inspect.signature(called)


def _expected_kind(parameter: inspect.Parameter) -> str:
    """The kind of attribute for a parameter, by its annotation or its default."""
    empty = inspect.Parameter.empty
    if parameter.annotation is not empty:
        return _kind_of_annotation(parameter.annotation)
    default = parameter.default
    if isinstance(default, list | tuple) and default:
        return _LISTS.get(_KINDS.get(type(cast("Sequence[object]", default)[0]), ""), _ANY)
    return "tensor" if isinstance(default, np.ndarray) else _KINDS.get(type(cast("object", default)), _ANY)


def _kind_of_annotation(annotation: object) -> str:
    """The kind of attribute that an annotation describes: `list[int]`, `Sequence[int]`, `int | None`, ..."""
    if annotation in _KINDS:
        return _KINDS[annotation]
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        kinds = {_kind_of_annotation(arg) for arg in args if arg is not NoneType}
        return kinds.pop() if len(kinds) == 1 else _ANY
    if origin is np.ndarray or annotation is np.ndarray:
        return "tensor"
    return _LISTS.get(_KINDS.get(args[0], ""), _ANY) if args and origin is not None else _ANY


def formal_of_op(op_class: type[IRDLOperation]) -> Formal:
    """
    The operands of an op class as inputs, its properties and attributes as a node's attributes.

    Raises: StepwellError `bad-plugin` for a class without definition, or with a variadic operand that is not
    the last one.
    """
    try:
        definition = op_class.get_irdl_definition()
    except AttributeError:
        definition = None
    if definition is None:
        message = f"class {op_class.__name__} has no definition yet"
        help = "put @op below @onnx_op, so that it comes first"
        raise StepwellError("bad-plugin", place_of(op_class), message, help=help)
    inputs = [
        Parameter(name, isinstance(d, OptionalDef), is_variadic(d), 0) for name, d in definition.operands
    ]
    if any(parameter.variadic for parameter in inputs[:-1]):
        message = f"only the last operand of {definition.name} may be variadic, as inputs of a node are"
        raise StepwellError("bad-plugin", place_of(op_class), message)
    attributes = {
        name: AttributeSpec(_ANY, not isinstance(d, OptionalDef) and d.default_value is None, None)
        for name, d in [*definition.properties.items(), *definition.attributes.items()]
        if not name.endswith("SegmentSizes")
    }
    return Formal(op_class, tuple(inputs), attributes, as_written=True)


def _plain(value: Attribute) -> object:
    """The value of a node's attribute in Python; attributes of rare kinds stay as they are."""
    match value:
        case BytesAttr():
            try:
                return value.data.decode()
            except UnicodeDecodeError:
                return value.data
        case ArrayAttr():
            return [_plain(item) for item in value]
        case DenseIntOrFPElementsAttr() | WeightAttr():
            return array_of(value, running_weights())
        case _:
            return python_value(value)
