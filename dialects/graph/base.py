"""The base of `graph` ops: a fusion kind, a type relation (`infer`), constraints (`check`), a meaning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import ClassVar, Self, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    OptOperandDef,
    VarOperandDef,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.irdl.constraints import VerificationContext
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects._xdsl import set_type
from stepwell.dialects.incomplete import is_incomplete
from stepwell.dialects.type_variables import HoleType, VarType
from stepwell.dialects.types import DimsAttr, Tensor, dims_of, dtype_of, int_attr
from stepwell.runtime.errors import StepwellError

Property: TypeAlias = Attribute | bool | int | str | Sequence[int]
"""A property of an op: an attribute, or the Python value of one."""


KnownT = TypeVar("KnownT", bound=Attribute, covariant=True)


class OrUnknown(BaseAttr[KnownT]):
    """
    The constraint of a type of one class, or a hole or a type variable for it.

    Python code sees the class alone: an op with a hole among its types is asked nothing (`infer-types`
    comes first), and a variable has been substituted before sizes are needed.
    """

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not (isinstance(attr, self.attr) or isinstance(attr, (HoleType, VarType))):
            super().verify(attr, constraint_context)

    def get_bases(self) -> set[type[Attribute]] | None:
        return {self.attr, HoleType, VarType}


AnyTensor: OrUnknown[TensorType[Attribute]] = OrUnknown(TensorType)
"""A tensor; a hole or a type variable where its type is not known yet."""


class Kind(IntEnum):
    """The fusion kind of an op: elementwise < broadcast < injective < reduction < contraction."""

    ELEMENTWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    REDUCTION = 3
    CONTRACTION = 4
    ROW = 5
    OPAQUE = 6
    STRUCTURE = 7
    """Computes nothing by itself: constants, tuples, calls; never in a kernel of its own."""


_INFERRED: dict[tuple[Hashable, ...], tuple[object, Sequence[Attribute]]] = {}
_MOST_INFERRED = 2048


class GraphOp(IRDLOperation, ABC):
    """
    An op of level 1. Its subclass says, beside its definition:

    - `KIND`: how it can join a kernel;
    - `infer()`: its type relation, from operand types and properties to result types, which can be partly
      known;
    - `check()`: constraints on operands and properties that IRDL cannot express, in label order (C1), (C2),
      …;
    - its meaning in numpy, in `stepwell.runtime.meaning`, under the op's name.
    """

    KIND: ClassVar[Kind]

    @property
    def fusion_kind(self) -> Kind:
        """The fusion kind of this op, by default the `KIND` of its class."""
        return self.KIND

    def initialize(
        self,
        operands: Sequence[SSAValue | Operation | Sequence[SSAValue | Operation] | None],
        properties: Mapping[str, Property | None] | None = None,
        result_types: Sequence[Attribute | Sequence[Attribute] | None] | None = None,
    ) -> None:
        """
        Set operands and properties, in constructors, then the result types by `infer`.

        Args: an op among `operands` stands for its result; `result_types` says how many results there are,
        if not one; their types are inferred.
        Raises: VerifyException when operands or properties violate a constraint.
        """
        if result_types is None:
            (first, *_) = operands
            value = first if isinstance(first, SSAValue | Operation) else next(iter(first or ()))
            result_types = [SSAValue.get(value).type]
        attributes = {name: _attribute(value) for name, value in (properties or {}).items()}
        super().__init__(operands=operands, result_types=result_types, properties=attributes)
        self.set_result_types()

    @abstractmethod
    def infer(self) -> Attribute | Sequence[Attribute]:
        """The result types, or that of the only result, from operand types and properties alone."""

    def inferred_types(self) -> Sequence[Attribute]:
        """
        The types that `infer` gives, one a result. Raises: VerifyException when it gives anything else.
        """
        inferred = cast("object", self.infer())
        types = (inferred,) if isinstance(inferred, Attribute) else inferred
        each = cast("Sequence[object]", types if isinstance(types, Sequence) else [None])
        if not all(isinstance(type, Attribute) for type in each):
            raise VerifyException(f"`infer` of {type(self).__name__} must give types, found {inferred!r}")
        if len(each) != (count := len(self.results)):
            found = ", ".join(map(str, each)) or "none"
            raise VerifyException(
                f"`infer` of {type(self).__name__} must give the types of {count} results, found {found}"
            )
        return cast("Sequence[Attribute]", each)

    def check(self) -> None:
        """Constraints on operands and properties. Raises: VerifyException, worded for the model's author."""

    def infer_operands(
        self, results: Sequence[Attribute], operands: Sequence[Attribute]
    ) -> Sequence[Attribute | None]:
        """
        Types that the results force on the operands, one each; None, and `?` for an extent, force nothing.

        Types that are partly known have holes and solver symbols, `tensor<*xf32>` where the rank is unknown.
        May raise whatever such types lead to: nothing is forced then.
        """
        return ()

    def equal_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        """
        Pairs of types that must be equal, among the values of the op and of its regions; they can be partly
        known.
        """
        return ()

    def likely_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        """Pairs of types to assume equal at the end of inference, such as of branches and results."""
        return ()

    def verify_(self) -> None:
        try:
            self.check()
            for result, expected in zip(self.results, self.inferred_types(), strict=True):
                expect_type(result, expected)
        except Exception as error:
            if is_incomplete(self):
                return
            if isinstance(error, (VerifyException, StepwellError)):
                raise
            # Python code of relations sees tensors alone: it breaks on a variable where it needs a tensor.
            types = (value.type for value in (*self.operands, *self.results))
            if (variable := next((type for type in types if isinstance(type, VarType)), None)) is None:
                raise
            raise VerifyException(f"the type variable {variable} is used as a tensor") from None

    def on(self, operands: Sequence[SSAValue], **properties: Attribute) -> Self:
        """This op again on other operands, with these properties changed; its results are typed anew."""
        made = type(self).create(
            operands=operands,
            result_types=self.result_types,
            properties={**self.properties, **properties},
            attributes=dict(self.attributes),
        )
        made.set_result_types()
        return made

    def set_result_types(self) -> None:
        """Give the results the types that the type relation infers: in constructors, after a change."""
        for result, inferred in zip(self.results, self._inferred(), strict=True):
            if result.type is not inferred:
                set_type(result, inferred)

    def _inferred(self) -> Sequence[Attribute]:
        """
        The checked result types, cached by operand types and properties, since a network repeats its layers.

        The key has identities of objects, which stay alive, since hashing a type takes as long as inference.
        """
        if self.regions or self.attributes or not self.operands:
            self.check()
            return self.inferred_types()
        parts = (type(self), *self.operand_types, *self.properties.values())
        key = (len(self.operands), *self.properties, *map(id, parts))
        if (known := _INFERRED.get(key)) is not None:
            return known[1]
        self.check()
        types = self.inferred_types()
        if len(_INFERRED) >= _MOST_INFERRED:
            _INFERRED.clear()
        _INFERRED[key] = parts, types
        return types


class SameTypeOp(GraphOp, ABC):
    """
    An op without effects whose only result has the type of its first operand, `input`.

    One with more operands declares `input` again: IRDL has the operands of a base class last.
    """

    input = operand_def(AnyTensor)
    result = result_def(AnyTensor)
    traits = traits_def(Pure())

    def infer(self) -> Sequence[Attribute]:
        return [self.input.type]


def _attribute(value: Property | None) -> Attribute | None:
    """A Python value as an attribute: bool i1, int i64, str, numbers `array<i64>`."""
    match value:
        case None | Attribute():
            return value
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return int_attr(value)
        case str():
            return StringAttr(value)
        case _:
            return DenseArrayBase.from_list(i64, value)


def expect_type(value: SSAValue, expected: Attribute) -> None:
    """
    Require a value's type to be what the type relation says: extents, element type and dimension names.

    A result may know less than the relation (`?`), never something else.
    Raises: VerifyException with both types.
    """
    actual = value.type
    if actual == expected:
        return
    if isinstance(actual, TensorType) and isinstance(expected, TensorType):
        found, wanted = cast(Tensor, actual), cast(Tensor, expected)
        if found.element_type == wanted.element_type and len(dims_of(found)) == len(dims_of(wanted)):
            pairs = zip(dims_of(found), dims_of(wanted), strict=True)
            if all(a == b or a.is_unknown or b.is_unknown for a, b in pairs):
                return
    raise VerifyException(f"result type must be {cast(Attribute, expected)}, found {value.type}")


def plain(attribute: Attribute | None, symbols: Mapping[str, int] = MappingProxyType({})) -> object:
    """
    An attribute as plain Python, as numpy meanings take it: int, float, bool, str, tuple, dtype for a type.

    Args: `symbols` gives the sizes of the symbols in dimension expressions, which become numbers.
    Raises: TypeError for an attribute that has no plain form; KeyError for a symbol without a size.
    """
    match attribute:
        case None | NoneAttr():
            return None
        case UnitAttr():
            return True
        case StringAttr():
            return attribute.data
        case IntegerAttr():
            value = attribute.value.data
            return bool(value) if cast(Attribute, attribute.type) == i1 else value
        case FloatAttr():
            return attribute.value.data
        case DenseArrayBase():
            return tuple(cast("DenseArrayBase[IntegerType]", attribute).get_values())
        case ArrayAttr():
            return tuple(plain(a, symbols) for a in attribute)
        case DimsAttr():
            return tuple(dim.evaluate(symbols) for dim in attribute.get())
        case _:
            return dtype_of(attribute)


def plain_properties(
    op: Operation, symbols: Mapping[str, int] = MappingProxyType({})
) -> Mapping[str, object]:
    """The properties of an op as keyword arguments of its numpy meaning (layout bookkeeping left out)."""
    return {
        name: plain(value, symbols) for name, value in op.properties.items() if name != "operandSegmentSizes"
    }


def operand_slots(op: IRDLOperation) -> list[SSAValue | None]:
    """The arguments of an op's numpy meaning: the operands, and None for absent optional ones."""
    slots: list[SSAValue | None] = []
    for name, definition in op.get_irdl_definition().operands:
        value = cast("SSAValue | Sequence[SSAValue] | None", getattr(op, name))
        if isinstance(definition, VarOperandDef) and not isinstance(definition, OptOperandDef):
            slots.extend(cast("Sequence[SSAValue]", value))
        else:
            slots.append(cast("SSAValue | None", value))
    return slots
