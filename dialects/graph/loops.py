"""Loops that carry values: `graph.while` and `graph.for`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import ArrayAttr, IndexType, StringAttr, TensorType, i64
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, region_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.control_flow import (
    CONDITION_TYPE,
    ControlFlowOp,
    Fresh,
    expect_yield,
    joined_type,
    names_attr,
    names_of,
    parse_outcome,
    print_outcome,
    with_names,
    yield_of,
)
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.types import Tensor, dims_of, tensor_type
from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.errors import StepwellError

INDEX_TYPE = tensor_type(i64, [])
"""Of a trip count, and of the number of an iteration."""


def invariant_type(initial: Attribute, carried: Attribute) -> Attribute:
    """The type of a carried value after the loop: dimensions that no iteration changes stay known."""
    if initial == carried or not (isinstance(initial, TensorType) and isinstance(carried, TensorType)):
        return carried
    before, inside = cast(Tensor, initial), cast(Tensor, carried)
    pairs = zip(dims_of(before), dims_of(inside), strict=True)
    return tensor_type(inside.element_type, [b if a.proves_equal(b) else UNKNOWN for a, b in pairs])


class LoopOp(ControlFlowOp, ABC):
    """
    The base of loops: carried values with an initial value, a type within the loop, and a final value.

    A carried value whose size changes has a type of its own in the loop. Names for its sizes there are in
    `carries`; their values are the last arguments of the regions.
    """

    inits = var_operand_def()
    carries = opt_prop_def(ArrayAttr[StringAttr])
    body = region_def("single_block")

    @property
    @abstractmethod
    def carried(self) -> Sequence[SSAValue]:
        """The block arguments of the body for the carried values."""

    @property
    def carried_names(self) -> tuple[str, ...]:
        """The symbols that each iteration defines anew."""
        return names_of(self.carries)

    @property
    def next_values(self) -> Sequence[SSAValue]:
        """The values that an iteration passes to the next."""
        return yield_of(self.body).operands

    def infer(self) -> Sequence[Attribute]:
        pairs = zip(self.inits, self.carried, strict=True)
        return [*(invariant_type(init.type, arg.type) for init, arg in pairs), *self.sizes()]

    @staticmethod
    def outcome(
        inits: Sequence[SSAValue], carried: Sequence[SSAValue], fresh: Fresh | None
    ) -> tuple[list[Attribute], list[str]]:
        """The types of the results, `fresh` names in them for sizes that iterations change; those names."""
        types = [invariant_type(i.type, c.type) for i, c in zip(inits, carried, strict=True)]
        return with_names(types, [_known(c.type) for c in carried], fresh)

    def likely_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        carried = [arg.type for arg in self.carried]
        pairs = [*zip(carried, (init.type for init in self.inits), strict=True)]
        pairs += zip(carried, (value.type for value in self.next_values), strict=True)
        return [*pairs, *zip(carried, (value.type for value in self.values), strict=True)]

    def check_carried(self) -> None:
        """Require what goes round to fit. Raises: VerifyException."""
        if len(self.carried) != len(self.inits):
            raise VerifyException(f"{len(self.inits)} values are carried, the body takes {len(self.carried)}")
        expect_yield(self.body, len(self.inits))
        triples = zip(self.inits, self.carried, self.next_values, strict=True)
        for place, (init, arg, value) in enumerate(triples):
            for given, what in ((init, "starts as"), (value, "goes on as")):
                if not may_carry(arg.type, given.type, init.type):
                    raise VerifyException(f"carried value {place} of type {arg.type} {what} {given.type}")


def _known(type: Attribute) -> list[bool]:
    if type.name != TensorType.name:
        return []
    return [not dim.is_unknown for dim in dims_of(type)]


def may_carry(carried: Attribute, given: Attribute, initial: Attribute) -> bool:
    """Whether a value of type `given` may be carried; a dimension with a name of its own takes any size."""
    if carried.name != TensorType.name:
        return carried == given or carried == joined_type(carried, given)
    if joined_type(carried, given) is None or joined_type(carried, initial) is None:
        return False
    types = (cast(Tensor, type) for type in (carried, given, initial))
    triples = zip(*(dims_of(type) for type in types), strict=True)
    return all(c.is_unknown or c.proves_equal(g) or _is_own(c, i) for c, g, i in triples)


def widened(op: Operation, what: str, carried: Attribute, given: Attribute, names: list[str]) -> Attribute:
    """
    A carried type with a new symbol, entered into `names`, for each size that may change.

    Args: `what` is the carried value in the error's text.
    Raises: StepwellError `unsupported-dynamic-rank` for another rank or element type.
    """
    joined = joined_type(carried, given)
    if joined is not None and carried.name != TensorType.name:
        return joined
    if joined is None:
        raise StepwellError(
            "unsupported-dynamic-rank",
            op,
            f"{what} changes from {carried} to {given}",
            help="only sizes may change from one iteration to the next, not the number of dimensions",
        )
    tensor = cast(Tensor, carried)
    dims: list[Dim] = []
    for own, other in zip(dims_of(tensor), dims_of(cast(Tensor, given)), strict=True):
        if own.proves_equal(other) or str(own) in names:
            dims.append(own)
            continue
        names += fresh_symbols(op, 1)
        dims.append(Dim.symbol(names[-1]))
    return tensor_type(tensor.element_type, dims)


def _is_own(carried: Dim, initial: Dim) -> bool:
    return not carried.is_static and not (carried.symbols() & initial.symbols())


def _print_bindings(op: LoopOp, arguments: Sequence[SSAValue], printer: Printer) -> None:
    """Print the first arguments of a region: `(%a = %x : tensor<1xf32> as tensor<?xf32>)`."""

    def print_binding(binding: tuple[SSAValue, SSAValue]) -> None:
        argument, initial = binding
        printer.print_ssa_value(argument)
        printer.print_string(" = ")
        printer.print_ssa_value(initial)
        printer.print_string(" : ")
        printer.print_attribute(initial.type)
        if argument.type != initial.type:
            printer.print_string(" as ")
            printer.print_attribute(argument.type)

    count = len(op.inits)
    printer.print_string(" ")
    with printer.in_parens():
        printer.print_list(list(zip(arguments[:count], op.inits, strict=True)), print_binding)
    if op.carries is not None:
        printer.print_string(" carries ")
        printer.print_attribute(op.carries)
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(arguments[count:], printer.print_ssa_value)


def _parse_bindings(parser: Parser) -> tuple[list[Parser.Argument], list[SSAValue], dict[str, Attribute]]:
    """The carried values of a loop: block arguments, initial values, and the names of their sizes."""

    def parse_binding() -> tuple[Parser.Argument, SSAValue]:
        name = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        initial = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        carried = parser.parse_type() if parser.parse_optional_keyword("as") else type
        return name.resolve(carried), parser.resolve_operand(initial, type)

    bindings = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parse_binding)
    arguments = [argument for argument, _ in bindings]
    properties: dict[str, Attribute] = {}
    if parser.parse_optional_keyword("carries"):
        properties["carries"] = parser.parse_attribute()
        arguments += parser.parse_comma_separated_list(
            Parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False).resolve(IndexType())
        )
    return arguments, [initial for _, initial in bindings], properties


@irdl_op_definition
class WhileOp(LoopOp):
    """
    Repeat the second region as long as the first one yields true; both see the values around the op.

    ```mlir
    %y = graph.while (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
      graph.yield %c : tensor<i1>
    } do (%b: tensor<4xf32>) {
      %d = graph.add %b, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      graph.yield %d : tensor<4xf32>
    }
    ```
    A carried value whose size changes has a type of its own in the loop:
    `(%a = %x : tensor<1xf32> as tensor<?xf32>)`. A dimension of the result is known where it is in the loop,
    and does not change there.

    Constraints:
      (C1) the first region yields the condition, of rank 0.
      (C2) both regions take the carried values, then an index for each of `carries`.
      (C3) a carried type fits what the value starts as and goes on as.
    """

    name = "graph.while"

    test = region_def("single_block")

    def __init__(
        self,
        inits: Sequence[SSAValue],
        test: Region,
        body: Region,
        carries: Sequence[str] = (),
        fresh: Fresh | None = None,
    ):
        """
        Result types are inferred from the carried ones; `fresh` names sizes that iterations change.

        Raises: VerifyException.
        """
        types, names = self.outcome(inits, body.block.args[: len(inits)], fresh)
        super().__init__(
            operands=[inits],
            properties={"carries": names_attr(carries), "symbols": names_attr(names)},
            result_types=[[*types, *[IndexType()] * len(names)]],
            regions=[test, body],
        )
        self.verify_()

    @property
    def carried(self) -> Sequence[SSAValue]:
        return self.body.block.args[: len(self.body.block.args) - len(self.carried_names)]

    def equal_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        pairs = zip(self.test.block.arg_types, self.body.block.arg_types, strict=True)
        return [(yield_of(self.test).operands[0].type, CONDITION_TYPE), *pairs]

    def check(self) -> None:
        expect_yield(self.test, 1)
        if (type := yield_of(self.test).operands[0].type) != CONDITION_TYPE:  # (C1)
            raise VerifyException(f"the first region must yield {CONDITION_TYPE}, found {type}")
        if self.test.block.arg_types != self.body.block.arg_types:  # (C2)
            raise VerifyException("both regions must take the same values")
        self.check_carried()  # (C3)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        arguments, inits, carries = _parse_bindings(parser)
        properties, types, attributes = parse_outcome(parser)
        test = parser.parse_region(arguments)
        parser.parse_keyword("do")
        again = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_argument)
        regions = [test, parser.parse_region(again)]
        return cls.create(
            operands=inits,
            result_types=types,
            properties=carries | properties,
            attributes=attributes,
            regions=regions,
        )

    def print(self, printer: Printer) -> None:
        _print_bindings(self, self.test.block.args, printer)
        print_outcome(self, printer)
        printer.print_region(self.test, print_entry_block_args=False)
        printer.print_string(" do ")
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_block_argument)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


@irdl_op_definition
class ForOp(LoopOp):
    """
    Run a region a given number of times; it sees its number, from 0, and the values around the op.

    ```mlir
    %y = graph.for %i to %n (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
      %d = graph.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      graph.yield %d : tensor<4xf32>
    }
    ```
    A negative number counts as 0. Carried values are as those of `graph.while`.

    Constraints:
      (C1) the number of iterations is i64 of rank 0, and so is the region's first argument.
      (C2) a carried type fits what the value starts as and goes on as.
    """

    name = "graph.for"

    count = operand_def()

    def __init__(
        self,
        count: SSAValue,
        inits: Sequence[SSAValue],
        body: Region,
        carries: Sequence[str] = (),
        fresh: Fresh | None = None,
    ):
        """
        Result types are inferred from the carried ones; `fresh` names sizes that iterations change.

        Raises: VerifyException.
        """
        types, names = self.outcome(inits, body.block.args[1 : 1 + len(inits)], fresh)
        super().__init__(
            operands=[count, inits],
            properties={"carries": names_attr(carries), "symbols": names_attr(names)},
            result_types=[[*types, *[IndexType()] * len(names)]],
            regions=[body],
        )
        self.verify_()

    @property
    def carried(self) -> Sequence[SSAValue]:
        return self.body.block.args[1 : len(self.body.block.args) - len(self.carried_names)]

    def equal_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        return [(value.type, INDEX_TYPE) for value in (self.count, *self.body.block.args[:1])]

    def check(self) -> None:
        block = self.body.block
        for value in (self.count, *block.args[:1]):
            if value.type != INDEX_TYPE:  # (C1)
                raise VerifyException(f"iterations are counted by {INDEX_TYPE}, found {value.type}")
        self.check_carried()  # (C2)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        number = parser.parse_argument(expect_type=False).resolve(INDEX_TYPE)
        parser.parse_keyword("to")
        count = parser.resolve_operand(parser.parse_unresolved_operand(), INDEX_TYPE)
        arguments, inits, carries = _parse_bindings(parser)
        properties, types, attributes = parse_outcome(parser)
        return cls.create(
            operands=[count, *inits],
            result_types=types,
            properties=carries | properties,
            attributes=attributes,
            regions=[parser.parse_region([number, *arguments])],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.body.block.args[0])
        printer.print_string(" to ")
        printer.print_ssa_value(self.count)
        _print_bindings(self, self.body.block.args[1:], printer)
        print_outcome(self, printer)
        printer.print_region(self.body, print_entry_block_args=False)
