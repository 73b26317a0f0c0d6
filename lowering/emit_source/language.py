"""A language of shaders: spellings of types, literals, statements and ops, and the frame of a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, cast

from xdsl.dialects.builtin import Float16Type, Float32Type, Float64Type, IndexType, IntegerType
from xdsl.ir import Attribute, Operation

from stepwell.lowering.emit_source.views import Packed, Term, View
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.named_target import Target


@dataclass(frozen=True)
class BufferParameter:
    """A buffer among the parameters of a kernel."""

    name: str
    element: str
    """The type of an element in the language."""
    is_written: bool


@dataclass(frozen=True)
class ScalarParameter:
    """A number among the parameters of a kernel."""

    name: str
    type: str
    argument: int
    """The argument of the kernel that has the number."""
    dim: int | None = None
    """The dimension of that argument whose size it is; None for the argument itself."""


@dataclass
class Parts:
    """The parts of a kernel's text, collected while its body is written."""

    name: str
    block: Sequence[int]
    nodes: Sequence[str]
    buffers: list[BufferParameter] = field(default_factory=list[BufferParameter])
    scalars: list[ScalarParameter] = field(default_factory=list[ScalarParameter])
    shared: list[str] = field(default_factory=list[str])
    """Declarations of the memory of a block."""
    lines: list[str] = field(default_factory=list[str])
    helpers: dict[str, None] = field(default_factory=dict[str, None])
    """Names of functions that the body calls."""
    needs_infinity: bool = False
    in_arena: bool = False
    """Whether buffers are pieces of larger memory, so that each has an offset."""


COMMON: Mapping[str, str] = {
    "arith.addi": "({0} + {1})",
    "arith.subi": "({0} - {1})",
    "arith.muli": "({0} * {1})",
    "arith.divsi": "({0} / {1})",
    "arith.remsi": "({0} % {1})",
    "arith.floordivsi": "sw_floordiv({0}, {1})",
    "arith.ceildivsi": "sw_ceildiv({0}, {1})",
    "arith.andi": "({0} & {1})",
    "arith.ori": "({0} | {1})",
    "arith.minsi": "min({0}, {1})",
    "arith.maxsi": "max({0}, {1})",
    "arith.addf": "({0} + {1})",
    "arith.subf": "({0} - {1})",
    "arith.mulf": "({0} * {1})",
    "arith.divf": "({0} / {1})",
    "arith.negf": "(-{0})",
    "arith.maximumf": "sw_max({0}, {1})",
    "arith.minimumf": "sw_min({0}, {1})",
    "arith.maxnumf": "sw_maxnum({0}, {1})",
    "arith.minnumf": "sw_minnum({0}, {1})",
    "arith.scale": "sw_scale({0}, {1})",
    "math.absi": "abs({0})",
    "math.ceil": "ceil({0})",
    "math.copysign": "sw_copysign({0}, {1})",
    "math.floor": "floor({0})",
    "math.fma": "fma({0}, {1}, {2})",
    "math.sqrt": "sqrt({0})",
    "math.trunc": "trunc({0})",
}
"""
Ops with one spelling: operands by number, the result's type `T` and its unsigned one `U`, the operand's `V`.
"""
SIGNED = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""The predicates of `arith.cmpi` by number."""
ORDERED = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
"""The predicates of `arith.cmpf` by number."""
OPERATORS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


_FEATURES: Mapping[type[Attribute] | int, str] = {Float16Type: "f16", Float64Type: "f64", 64: "i64"}
"""The feature that a target needs for values of a type."""


class Language(ABC):
    """A language of kernels for a kind of target."""

    name: ClassVar[str]
    kind: ClassVar[str]
    """The kind of targets that take it."""
    suffix: ClassVar[str]
    types: ClassVar[Mapping[type[Attribute] | int, str]]
    """Spellings of types: of integers by width, of others by class."""
    expressions: ClassVar[Mapping[str, str]]
    helpers: ClassVar[Mapping[str, str]]
    """Functions that expressions call, by name."""
    reserved: ClassVar[frozenset[str]]
    positions: ClassVar[Mapping[str, str]]
    """The spelling of each op with a position, `{axis}` being x, y or z."""
    barrier: ClassVar[str]
    lanes: ClassVar[Sequence[str]]
    """The names of the elements of a vector, as many as one may have."""
    needed: ClassVar[Mapping[type[Attribute] | int, str]] = _FEATURES
    """The feature that a target needs for values of a type."""

    def __init__(self, target: Target):
        self.target = target
        self.features = tuple(map(str, target.attrs.get("features", ())))  # pyright: ignore[reportArgumentType]

    @property
    def has_long_integers(self) -> bool:
        """Whether integers may have 64 bits."""
        return 64 in self.types and _FEATURES[64] in self.features

    def type(self, type: Attribute, op: Operation) -> str:
        """The spelling of a type. Raises: StepwellError `unsupported`."""
        key = width_of(type) or type.__class__
        needed = self.needed.get(key)
        if key not in self.types or (needed is not None and needed not in self.features):
            message = f"{self.target} has no values of {type}"
            raise StepwellError(
                "unsupported", op, message, help="compute them on the host, or in another type"
            )
        return self.types[key]

    def unsigned(self, type: Attribute) -> str:
        """The spelling of the unsigned type of the same size."""
        return "uint"

    def template(self, op: Operation) -> str | None:
        """The spelling of an op's result; None for an op that the language lacks."""
        return self.expressions.get(op.name) or COMMON.get(op.name)

    def comparison(self, predicate: str, a: str, b: str, type: Attribute) -> str:
        """A comparison of floats; those that hold for NaN ask for it by bits."""
        if predicate in ("true", "false"):
            return predicate
        nan = f"(sw_isnan({a}) || sw_isnan({b}))"
        if predicate in ("uno", "ord"):
            return nan if predicate == "uno" else f"!{nan}"
        operator = OPERATORS[predicate[1:]]
        plain = f"({a} {operator} {b})"
        if predicate == "one":
            return f"(!{nan} && {plain})"
        return plain if predicate[0] == "o" else f"({nan} || {plain})"

    @abstractmethod
    def literal(self, value: float | bool, type: Attribute, parts: Parts) -> str:
        """A constant."""

    @abstractmethod
    def let(self, name: str, type: str, value: str) -> str:
        """The definition of a value."""

    @abstractmethod
    def variable(self, name: str, type: str, value: str | None) -> str:
        """The definition of a variable."""

    def compare_integers(self, predicate: str, a: str, b: str, type: Attribute) -> str:
        """A comparison of integers."""
        if predicate[0] == "u":
            a, b = (self.as_unsigned(each, type) for each in (a, b))
        operator = OPERATORS[predicate.lstrip("su") if len(predicate) > 2 else predicate]
        return f"({a} {operator} {b})"

    def as_unsigned(self, text: str, type: Attribute) -> str:
        """A number by its bits, without a sign."""
        return f"({self.unsigned(type)}){text}"

    def passed(self, name: str, type: Attribute, op: Operation) -> tuple[str, str]:
        """The type of a number that a launch passes, and its value. Raises: StepwellError `unsupported`."""
        return self.type(type, op), name

    def packed(self, element: Attribute, is_stored: bool) -> Packed | None:
        """The 32 bits that elements of a buffer share; None where each has memory of its own."""
        return None

    def load(self, view: View, place: Term) -> str:
        """An element in memory."""
        return f"{view.array}[{place}]"

    def store(self, view: View, place: Term, value: str) -> str:
        """A statement that stores an element."""
        return f"{view.array}[{place}] = {value};"

    @abstractmethod
    def buffer_lanes(self, common: int, element: str) -> int:
        """
        The neighbouring elements of a buffer that a statement may access.

        Args: `common` divides the elements of each access, as of `common_lanes`; `element` is their type.
        """

    def buffer_element(self, element: str, lanes: int) -> str:
        """The element type of a buffer's array whose accesses are vectors of `lanes` elements."""
        return element

    @abstractmethod
    def load_vector(self, view: View, place: Term, name: str, element: str, lanes: int) -> str:
        """A statement that loads elements in a row, as a vector of some name."""

    @abstractmethod
    def store_vector(
        self, view: View, place: Term, name: str, element: str, values: Sequence[str]
    ) -> list[str]:
        """Statements that store elements in a row; no other vector has the name."""

    @abstractmethod
    def array(self, name: str, element: str, size: int) -> str:
        """The definition of memory of a thread."""

    @abstractmethod
    def shared(self, name: str, element: str, size: int) -> str:
        """The definition of memory of a block."""

    @abstractmethod
    def text(self, parts: Parts) -> str:
        """The text of a kernel."""

    def used_helpers(self, parts: Parts) -> list[str]:
        """The helper functions of a body, directly or through other helpers, callees first."""
        found: dict[str, None] = {}

        def add(text: str) -> None:
            for name, body in self.helpers.items():
                if f"{name}(" in text and name not in found:
                    add(body.partition("{")[2])
                    found[name] = None

        add("\n".join(parts.lines))
        return [self.helpers[name] for name in found]


def width_of(type: Attribute) -> int | None:
    """The bits of an integer's type; None for others."""
    return cast(int, type.width.data) if isinstance(type, IntegerType) else None  # pyright: ignore[reportUnknownMemberType]


def is_float(type: Attribute) -> bool:
    """Whether values of a type are floats."""
    return isinstance(type, Float16Type | Float32Type | Float64Type)


def is_index(type: Attribute) -> bool:
    """Whether values of a type count elements: 32 bits on devices."""
    return isinstance(type, IndexType)
