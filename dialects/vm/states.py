"""`#vm.state`: an input and an output of a public function that are one value living between calls."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from stepwell.runtime.dims import Dim
from stepwell.runtime.interface import StateSpec

_OPTIONAL = ("output", "initial", "grows")


@irdl_attr_definition
class StateAttr(ParametrizedAttribute):
    """
    A state of a public function: the numbers of input, output and initial constant, the axis along which
    calls append; for the length of growing states, the positions added by a call.

    ```mlir
    #vm.state<"total" input 0 output 1 initial 2>
    ```
    A state without an output is only read, one without an initial value begins as zeros.
    """

    name = "vm.state"

    label: StringAttr = param_def()
    input: IntAttr = param_def()
    output: IntAttr | NoneAttr = param_def()
    initial: IntAttr | NoneAttr = param_def()
    grows: IntAttr | NoneAttr = param_def()
    adds: StringAttr | NoneAttr = param_def()

    @staticmethod
    def of(state: StateSpec) -> StateAttr:
        """The attribute of a state."""
        output, initial, axis = (
            NoneAttr() if n is None else IntAttr(n) for n in (state.output, state.initial, state.axis)
        )
        adds = NoneAttr() if state.adds is None else StringAttr(str(state.adds))
        return StateAttr(StringAttr(state.name), IntAttr(state.input), output, initial, axis, adds)

    @property
    def state(self) -> StateSpec:
        """The state."""
        output, initial, axis = (
            each.data if isinstance(each, IntAttr) else None
            for each in (self.output, self.initial, self.grows)
        )
        adds = Dim.of(self.adds.data) if isinstance(self.adds, StringAttr) else None
        return StateSpec(self.label.data, self.input.data, output, initial, False, axis, adds)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            label = StringAttr(parser.parse_str_literal())
            parser.parse_keyword("input")
            numbers: list[Attribute] = [_parsed_number(parser)]
            for word in _OPTIONAL:
                is_given = parser.parse_optional_keyword(word) is not None
                numbers.append(_parsed_number(parser) if is_given else NoneAttr())
            if parser.parse_optional_keyword("adds") is None:
                return [label, *numbers, NoneAttr()]
            start, adds = parser.pos, parser.parse_str_literal()
            try:
                Dim.of(adds)
            except ValueError as error:
                parser.raise_error(str(error), start)
            return [label, *numbers, StringAttr(adds)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.label.data)
            printer.print_string(f" input {self.input.data}")
            for word, each in zip(_OPTIONAL, (self.output, self.initial, self.grows), strict=True):
                if isinstance(each, IntAttr):
                    printer.print_string(f" {word} {each.data}")
            if isinstance(self.adds, StringAttr):
                printer.print_string(" adds ")
                printer.print_string_literal(self.adds.data)


def _parsed_number(parser: AttrParser) -> IntAttr:
    return IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))
