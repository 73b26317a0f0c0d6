"""The base of level-0 ops: opset, row of the version table, attributes with defaults."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import BaseAttr, IRDLOperation
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.onnx.types import string_bytes
from stepwell.dialects.onnx.versions import LATEST, VERSIONS
from stepwell.runtime.errors import StepwellError

OPSETS = "onnx.opsets"
"""Attribute of a module or function: the opset of each domain."""
OPSET = "onnx.opset"
"""Attribute of an op whose opset is not that of its module: it came out of a function with its own opsets."""
REFS = "onnx.refs"
"""Attribute of an op in a function: attributes that take the value of the function's, with their kind."""

PREFIXES: Mapping[str, str] = {
    "": "onnx.",
    "ai.onnx.ml": "onnx.ml.",
    "ai.onnx.preview": "onnx.preview.",
    "ai.onnx.preview.training": "onnx.training.",
}
"""Domain -> prefix of its ops' names in the IR."""
_DOMAINS = {prefix: domain for domain, prefix in PREFIXES.items()}

IntAttribute: TypeAlias = IntegerAttr[IntegerType]
FloatAttribute: TypeAlias = FloatAttr[AnyFloat]

# What the fields of the op classes share.
INTS = DenseArrayBase.constr(i64)
FLOATS = DenseArrayBase.constr(f32) | BaseAttr[ArrayAttr[Attribute]](ArrayAttr)
STRING = BaseAttr(StringAttr) | BaseAttr(BytesAttr)
STRINGS = BaseAttr[ArrayAttr[Attribute]](ArrayAttr)


@dataclass(frozen=True)
class Parameter:
    """A formal input or output at one version: name in the op class, and number of occurrences."""

    name: str
    optional: bool
    variadic: bool
    min_arity: int


@dataclass(frozen=True)
class AttributeSpec:
    """
    An attribute at one version: kind (`int`, `ints`, …, `graph`), whether it is required, default.
    """

    kind: str
    required: bool
    default: Attribute | None


@dataclass(frozen=True)
class Signature:
    """An operator at one version."""

    since: int
    deprecated: bool
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    attributes: Mapping[str, AttributeSpec]


def parameters(text: str) -> tuple[Parameter, ...]:
    """The formal parameters in a column of the version table."""
    words = (word.partition("*") for word in text.split())
    return tuple(
        Parameter(name.rstrip("?"), name.endswith("?"), bool(star), int(arity or 0))
        for name, star, arity in words
    )


def default_attribute(kind: str, value: object) -> Attribute | None:
    """A default of the version table as an attribute."""
    match value:
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f32)
        case str():
            return StringAttr(value)
        case tuple() if kind == "ints":
            return DenseArrayBase.from_list(i64, cast("tuple[int, ...]", value))
        case tuple() if kind == "floats":
            return DenseArrayBase.from_list(f32, cast("tuple[float, ...]", value))
        case tuple():
            return ArrayAttr([StringAttr(v) for v in cast("tuple[str, ...]", value)])
        case _:
            return None


@cache
def _signatures(op_name: str) -> tuple[Signature, ...]:
    return tuple(
        Signature(
            since,
            bool(deprecated),
            parameters(inputs),
            parameters(outputs),
            {
                name: AttributeSpec(kind, value is ..., default_attribute(kind, value))
                for name, kind, value in attributes
            },
        )
        for since, deprecated, inputs, outputs, attributes in VERSIONS[op_name]
    )


@cache
def signature(op_name: str, opset: int) -> Signature | None:
    """
    The operator (`"onnx.Conv"`) as an opset of its domain has it; None when the opset does not have it yet.
    """
    versions = _signatures(op_name)
    index = bisect_right(versions, opset, key=lambda row: row.since)
    return versions[index - 1] if index else None


def domain_of(op_name: str) -> str:
    """The ONNX domain of an op's name: `"onnx.ml.Scaler"` belongs to `"ai.onnx.ml"`."""
    return _DOMAINS[op_name[: op_name.rindex(".") + 1]]


def opset_of(op: Operation, domain: str | None = None) -> int:
    """
    The opset of an op: that of an attribute when the op came out of a function, else that of the function
    or module around it; the latest known one when nothing says it.

    Args: `domain` is asked for instead of the op's own.
    """
    domain = domain_of(op.name) if domain is None else domain
    own = op.attributes.get(OPSET)
    if isinstance(own, IntegerAttr):
        return cast(IntAttribute, own).value.data
    parent: Operation | None = op
    while parent is not None:
        opsets = parent.attributes.get(OPSETS)
        if isinstance(opsets, DictionaryAttr):
            opset = opsets.data.get(domain)
            if isinstance(opset, IntegerAttr):
                return cast(IntAttribute, opset).value.data
        parent = parent.parent_op()
    return LATEST.get(domain, 1)


class OnnxOp(IRDLOperation):
    """
    An operator of ONNX, with the operands, results and attributes of all its versions; the opset of a model
    decides which of them are allowed.

    Attributes of ONNX are properties under their own name; graphs are regions; an absent optional operand or
    result is not there at all. Bookkeeping of the file (node and value names) is in the attribute
    dictionary.
    """

    @property
    def op_type(self) -> str:
        """ONNX's name of the operator."""
        return self.name[self.name.rindex(".") + 1 :]

    @property
    def signature(self) -> Signature:
        """
        The operator at the opset of the model.

        Raises: StepwellError `unknown-opset` when the opset does not have the operator yet.
        """
        opset = opset_of(self)
        if (found := signature(self.name, opset)) is None:
            raise StepwellError(
                "unknown-opset",
                self,
                f"{self.op_type} does not exist in opset {opset} of domain {domain_of(self.name)!r}",
                note=f"it exists from opset {VERSIONS[self.name][0][0]} on",
            )
        return found

    def attribute(self, name: str) -> Attribute | None:
        """An attribute of ONNX: as the model gives it, else the default at the model's opset, else None."""
        if (value := self.properties.get(name)) is not None:
            return value
        spec = self.signature.attributes.get(name)
        return spec.default if spec is not None else None

    def has(self, name: str) -> bool:
        """Whether an attribute has a value, given or by default."""
        return self.attribute(name) is not None

    def integer(self, name: str) -> int:
        """An attribute of kind `int`. Raises: StepwellError when it has no value or is of another kind."""
        match self.attribute(name):
            case IntegerAttr() as value:
                return cast(IntAttribute, value).value.data
            case value:
                raise self._wrong_attribute(name, "int", value)

    def floating(self, name: str) -> float:
        """An attribute of kind `float`. Raises: StepwellError when it has no value or is of another kind."""
        match self.attribute(name):
            case FloatAttr() as value:
                return value.value.data
            case value:
                raise self._wrong_attribute(name, "float", value)

    def string(self, name: str) -> str:
        """An attribute of kind `string`. Raises: StepwellError when it has no value or is of another kind."""
        match self.attribute(name):
            case StringAttr() as value:
                return value.data
            case value:
                raise self._wrong_attribute(name, "string", value)

    def integers(self, name: str) -> tuple[int, ...]:
        """An attribute of kind `ints`. Raises: StepwellError when it has no value or is of another kind."""
        match self.attribute(name):
            case DenseArrayBase() as value:
                return tuple(cast("DenseArrayBase[IntegerType]", value).get_values())
            case value:
                raise self._wrong_attribute(name, "ints", value)

    def floats(self, name: str) -> tuple[float, ...]:
        """An attribute of kind `floats`. Raises: StepwellError when it has no value or is of another kind."""
        match self.attribute(name):
            case DenseArrayBase() as value:
                return tuple(cast("DenseArrayBase[AnyFloat]", value).get_values())
            case ArrayAttr() as value:
                return tuple(v.value.data for v in cast("ArrayAttr[FloatAttribute]", value))
            case value:
                raise self._wrong_attribute(name, "floats", value)

    def strings(self, name: str) -> tuple[bytes, ...]:
        """
        An attribute of kind `strings`. Raises: StepwellError when it has no value or is of another kind.
        """
        match self.attribute(name):
            case ArrayAttr() as value:
                return tuple(string_bytes(v) for v in value)
            case value:
                raise self._wrong_attribute(name, "strings", value)

    def _wrong_attribute(self, name: str, kind: str, value: Attribute | None) -> StepwellError:
        found = "it is missing" if value is None else f"found {value}"
        return StepwellError(
            "invalid-model", self, f"{self.op_type} needs attribute `{name}` of kind {kind}, {found}"
        )

    def verify_(self) -> None:
        try:
            row = self.signature
        except StepwellError as error:
            raise VerifyException(error.message) from None
        operands, results = parameter_names(type(self))
        self._verify_parameters("input", operands, row.inputs, row.since)
        self._verify_parameters("output", results, row.outputs, row.since)
        self._verify_attributes(row)

    def _verify_parameters(
        self, what: str, names: tuple[str, ...], formal: tuple[Parameter, ...], since: int
    ) -> None:
        allowed = {parameter.name: parameter for parameter in formal}
        for name in names:
            count = group_size(self, name)
            parameter = allowed.get(name)
            if parameter is None:
                if count:
                    raise VerifyException(f"{self.op_type} has no {what} `{name}` at version {since}")
            elif count < parameter.min_arity:
                least = f"at least {parameter.min_arity} at version {since}"
                raise VerifyException(f"{self.op_type} needs {least} of {what} `{name}`, found {count}")

    def _verify_attributes(self, row: Signature) -> None:
        refs = self.attributes.get(REFS)
        given = {*self.properties, *(refs.data if isinstance(refs, DictionaryAttr) else ())}
        for name in given - row.attributes.keys() - SEGMENTS:
            raise VerifyException(f"{self.op_type} has no attribute `{name}` at version {row.since}")
        for name, spec in row.attributes.items():
            if spec.required and spec.kind != "graph" and name not in given:
                raise VerifyException(f"{self.op_type} needs attribute `{name}` at version {row.since}")
            value = self.properties.get(name)
            if value is not None and not isinstance(value, ATTRIBUTE_CLASSES[spec.kind]):
                raise VerifyException(f"attribute `{name}` must be of kind {spec.kind}, found {value}")


@cache
def parameter_names(op_class: type[OnnxOp]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the operands and of the results of an op class, over all versions."""
    definition = op_class.get_irdl_definition()
    return tuple(name for name, _ in definition.operands), tuple(name for name, _ in definition.results)


def group_size(op: OnnxOp, name: str) -> int:
    """The number of values of an operand or result definition."""
    value = cast("SSAValue | Sequence[SSAValue] | None", getattr(op, name))
    return 0 if value is None else 1 if isinstance(value, SSAValue) else len(value)


SEGMENTS = frozenset({"operandSegmentSizes", "resultSegmentSizes", "regionSegmentSizes"})
"""Properties that are xDSL's, not ONNX's."""

ATTRIBUTE_CLASSES: Mapping[str, tuple[type[Attribute], ...]] = {
    "int": (IntegerAttr,),
    "float": (FloatAttr,),
    "string": (StringAttr, BytesAttr),
    "ints": (DenseArrayBase,),
    "floats": (DenseArrayBase, ArrayAttr),
    "strings": (ArrayAttr,),
    "tensor": (Attribute,),
    "sparse_tensor": (Attribute,),
    "type": (Attribute,),
}
"""
Kind of an ONNX attribute -> what it may be in the IR. `floats` with NaN or Inf, which xDSL prints in
`array<f32: …>` but does not read, are an array of attributes.
"""
