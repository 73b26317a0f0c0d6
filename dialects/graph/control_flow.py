"""The base of ops with regions, `graph.if` first: regions see outer values, and may define symbols."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from typing import ClassVar, Self, TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    StringAttr,
    TensorType,
    TupleType,
    UnrankedTensorType,
    i1,
)
from xdsl.ir import Attribute, Region, SSAValue, TypeAttribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, region_def, traits_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph.structure import YieldOp
from stepwell.dialects.onnx.types import OptionalType, SequenceType
from stepwell.dialects.types import Tensor, dims_of, tensor_type
from stepwell.runtime.dims import UNKNOWN, Dim

Fresh: TypeAlias = Callable[[int], Sequence[str]]
"""Makes so many names for symbols."""
CONDITION_TYPE = tensor_type(i1, [])


def joined_type(a: Attribute, b: Attribute) -> Attribute | None:
    """
    The join of two types: dimensions in which they may differ are unknown.

    None when no type says both: other element types, ranks, or kinds of values.
    """
    if a == b:
        return a
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        left, right = cast(Tensor, a), cast(Tensor, b)
        if left.element_type != right.element_type or len(dims_of(left)) != len(dims_of(right)):
            return None
        pairs = zip(dims_of(left), dims_of(right), strict=True)
        return tensor_type(left.element_type, [x if x.proves_equal(y) else UNKNOWN for x, y in pairs])
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.types) == len(b.types):
        fields = [joined_type(x, y) for x, y in zip(a.types, b.types, strict=True)]
        if all(field is not None for field in fields):
            return TupleType(tuple(cast("list[TypeAttribute]", fields)))
    return _joined_container(cast(Attribute, a), cast(Attribute, b))


def _joined_container(a: Attribute, b: Attribute) -> Attribute | None:
    """Of lists and optional values of the host, whose elements may be tensors of any rank."""
    if isinstance(a, SequenceType) and isinstance(b, SequenceType):
        element = _joined_element(a.element, b.element)
        return None if element is None else SequenceType(element)
    if isinstance(a, OptionalType) or isinstance(b, OptionalType):
        parts = [type.element if isinstance(type, OptionalType) else type for type in (a, b)]
        element = _joined_element(*parts)
        return None if element is None else OptionalType(element)
    return None


def _joined_element(a: Attribute, b: Attribute) -> Attribute | None:
    if (joined := joined_type(a, b)) is not None:
        return joined
    shaped = (TensorType.name, UnrankedTensorType.name)
    if a.name not in shaped or b.name not in shaped:
        return None
    elements = [cast(Tensor, type).element_type for type in (a, b)]
    return UnrankedTensorType(elements[0]) if elements[0] == elements[1] else None


class ControlFlowOp(GraphOp, ABC):
    """
    An op whose regions see the values around it, and give its results by `graph.yield`.

    Sizes that are known only when it has run get names by `symbols`, whose values are the last results.
    """

    KIND: ClassVar[Kind] = Kind.STRUCTURE

    outputs = var_result_def()
    symbols = opt_prop_def(ArrayAttr[StringAttr])

    traits = traits_def(RecursiveMemoryEffect())

    @property
    def names(self) -> tuple[str, ...]:
        """The symbols that the op defines; their values are the last results."""
        return names_of(self.symbols)

    @property
    def values(self) -> Sequence[SSAValue]:
        """The results but for the values of symbols."""
        return self.results[: len(self.results) - len(self.names)]

    def sizes(self) -> list[Attribute]:
        """The types of the results that are the values of symbols."""
        return [IndexType()] * len(self.names)


def with_names(
    types: Sequence[Attribute], nameable: Sequence[Sequence[bool]], fresh: Fresh | None
) -> tuple[list[Attribute], list[str]]:
    """Types whose unknown dimensions, where `nameable` says so, are new symbols; and those symbols."""
    if fresh is None:
        return list(types), []
    names: list[str] = []
    named: list[Attribute] = []
    for type, allowed in zip(types, nameable, strict=True):
        if not isinstance(type, TensorType):
            named.append(type)
            continue
        tensor = cast(Tensor, type)
        dims = list(dims_of(tensor))
        for axis, may_be in enumerate(allowed):
            if may_be and dims[axis].is_unknown:
                names += fresh(1)
                dims[axis] = Dim.symbol(names[-1])
        named.append(tensor_type(tensor.element_type, dims))
    return named, names


def _differ(a: Attribute, b: Attribute) -> list[bool]:
    """The dimensions of two types that are both known, and different."""
    if not (isinstance(a, TensorType) and isinstance(b, TensorType)):
        return []
    pairs = zip(dims_of(cast(Tensor, a)), dims_of(cast(Tensor, b)), strict=False)
    return [not x.is_unknown and not y.is_unknown for x, y in pairs]


def names_of(symbols: ArrayAttr[StringAttr] | None) -> tuple[str, ...]:
    """The names in a property that may be absent."""
    return tuple(name.data for name in symbols) if symbols is not None else ()


def names_attr(names: Sequence[str]) -> ArrayAttr[StringAttr] | None:
    """Names as a property; None, which leaves it absent, for no names."""
    return ArrayAttr([StringAttr(name) for name in names]) if names else None


def yield_of(region: Region) -> YieldOp:
    """The `graph.yield` at the end of a region."""
    return cast(YieldOp, region.block.last_op)


def expect_yield(region: Region, count: int) -> None:
    """Require a region to end in a `graph.yield` of so many values. Raises: VerifyException."""
    if not isinstance(last := region.block.last_op, YieldOp):
        raise VerifyException(f"the region must end in graph.yield, found {last.name if last else 'none'}")
    if len(last.operands) != count:
        raise VerifyException(f"expected {count} yielded values, found {len(last.operands)}")


def yielded_and_given(
    regions: Sequence[Region], results: Sequence[SSAValue]
) -> list[tuple[Attribute, Attribute]]:
    """Pairs of a yielded type and the type of the result, for each region."""
    return [
        (value.type, result.type)
        for region in regions
        for value, result in zip(yield_of(region).operands, results, strict=False)
    ]


def print_outcome(op: ControlFlowOp, printer: Printer) -> None:
    """Print `defines ["n"] -> (types) attributes {…}`."""
    if op.symbols is not None:
        printer.print_string(" defines ")
        printer.print_attribute(op.symbols)
    printer.print_string(" -> ")
    with printer.in_parens():
        printer.print_list(op.result_types, printer.print_attribute)
    printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" ")


def parse_outcome(parser: Parser) -> tuple[dict[str, Attribute], Sequence[Attribute], dict[str, Attribute]]:
    """Properties, result types and attributes, as `print_outcome` writes them."""
    properties = {"symbols": parser.parse_attribute()} if parser.parse_optional_keyword("defines") else {}
    parser.parse_punctuation("->")
    types = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return properties, types, dict(attributes.data) if attributes is not None else {}


@irdl_op_definition
class IfOp(ControlFlowOp):
    """
    The values of one of two regions. Both see the values around the op; only the taken one runs.

    ```mlir
    %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
      graph.yield %a : tensor<4xf32>
    } else {
      graph.yield %b : tensor<4xf32>
    }
    ```
    Where the branches' types differ in a dimension, the result's is unknown, or a symbol that the op
    defines: `graph.if %c : tensor<i1> defines ["n"] -> (tensor<?xf32, #graph.dims<["n"]>>, index)`.

    Constraints:
      (C1) the condition has rank 0.
      (C2) both regions, without arguments, end in a `graph.yield` of one value a result.
      (C3) values yielded at one place have one element type and rank.
    """

    name = "graph.if"

    condition = operand_def()
    then_region = region_def("single_block")
    else_region = region_def("single_block")

    def __init__(
        self, condition: SSAValue, then_region: Region, else_region: Region, fresh: Fresh | None = None
    ):
        """
        Result types are inferred from what the regions yield; `fresh` names their sizes that differ.

        Raises: VerifyException.
        """
        pairs = list(zip(*(yield_of(r).operand_types for r in (then_region, else_region)), strict=False))
        joined = [joined_type(a, b) or a for a, b in pairs]  # one that does not fit is refused below
        types, names = with_names(joined, [_differ(a, b) for a, b in pairs], fresh)
        super().__init__(
            operands=[condition],
            properties={"symbols": names_attr(names)},
            result_types=[[*types, *[IndexType()] * len(names)]],
            regions=[then_region, else_region],
        )
        self.verify_()

    def infer(self) -> Sequence[Attribute]:
        pairs = zip(*(yield_of(region).operand_types for region in self.regions), strict=True)
        return [*(cast(Attribute, joined_type(a, b)) for a, b in pairs), *self.sizes()]

    def equal_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        return [(self.condition.type, CONDITION_TYPE)]

    def likely_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        return yielded_and_given(self.regions, self.values)

    def check(self) -> None:
        if self.condition.type != CONDITION_TYPE:  # (C1)
            raise VerifyException(f"the condition must be {CONDITION_TYPE}, found {self.condition.type}")
        for region in self.regions:  # (C2)
            if region.block.args:
                raise VerifyException("a branch takes no arguments: it sees the values around it")
            expect_yield(region, len(self.values))
        types = (yield_of(region).operand_types for region in self.regions)
        for place, (a, b) in enumerate(zip(*types, strict=True)):
            if joined_type(a, b) is None:  # (C3)
                raise VerifyException(f"the branches yield {a} and {b} as value {place}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(condition, parser.parse_type())
        properties, types, attributes = parse_outcome(parser)
        then_region = parser.parse_region()
        parser.parse_keyword("else")
        regions = [then_region, parser.parse_region()]
        return cls.create(
            operands=[operand],
            result_types=types,
            properties=properties,
            attributes=attributes,
            regions=regions,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.condition)
        printer.print_string(" : ")
        printer.print_attribute(self.condition.type)
        print_outcome(self, printer)
        printer.print_region(self.then_region)
        printer.print_string(" else ")
        printer.print_region(self.else_region)
