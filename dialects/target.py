"""The `target` dialect: the device that a module or a kernel is compiled for, as an attribute."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, NoneAttr, StringAttr, i64
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.named_target import Target

_GPU = "gpu"
"""The key of the kinds with blocks of threads."""


@irdl_attr_definition
class SpecAttr(ParametrizedAttribute):
    """
    A target as IR: kind, attributes other than the defaults, and the host if one was given.

    ```mlir
    #target.spec<"cuda", {arch = "sm_90", warp = 32 : i64}, host = #target.spec<"cpu", {mcpu = "armv7"}>>
    ```
    Constraints:
      (C1) the kind, the attributes and the host are those of a target: `stepwell targets` lists them.
    """

    name = "target.spec"

    kind: StringAttr = param_def()
    attributes: DictionaryAttr = param_def()
    host: Attribute = param_def()

    @staticmethod
    def of(target: Target) -> SpecAttr:
        """The attribute of a target."""
        values = {k: _attribute(v) for k, v in target.to_json().items() if k not in ("kind", "host")}
        host = NoneAttr() if target.host is None else SpecAttr.of(target.host)
        return SpecAttr(StringAttr(target.kind), DictionaryAttr(values), host)

    def target(self) -> Target:
        """The target that this says. Raises: StepwellError `bad-target`, `unknown-target`."""
        return Target(self._json())

    def verify(self) -> None:
        try:
            self.target()  # (C1)
        except StepwellError as error:
            raise VerifyException(error.message) from None

    def _json(self) -> dict[str, object]:
        values = {key: _value(value) for key, value in self.attributes.data.items()}
        host = {"host": self.host._json()} if isinstance(self.host, SpecAttr) else {}
        return {**values, "kind": self.kind.data, **host}

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.kind.data)
            printer.print_string(", ")
            printer.print_attribute(self.attributes)
            if isinstance(self.host, SpecAttr):
                printer.print_string(", host = ")
                printer.print_attribute(self.host)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            kind = StringAttr(parser.parse_str_literal())
            attributes, host = DictionaryAttr({}), NoneAttr()
            if parser.parse_optional_punctuation(","):
                attributes = parser.parse_attribute()
                if not isinstance(attributes, DictionaryAttr):
                    parser.raise_error("expected a dictionary of attributes")
            if parser.parse_optional_punctuation(","):
                parser.parse_keyword("host")
                parser.parse_punctuation("=")
                host = parser.parse_attribute()
                if not isinstance(host, SpecAttr):
                    parser.raise_error("expected a #target.spec as host")
        return [kind, attributes, host]


def _attribute(value: object) -> Attribute:
    """A value of JSON as an attribute."""
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    if isinstance(value, str):
        return StringAttr(value)
    return ArrayAttr([_attribute(each) for each in cast("list[object]", value)])


def _value(attribute: Attribute) -> object:
    """The value of JSON that an attribute says. Raises: VerifyException."""
    match attribute:
        case IntegerAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case ArrayAttr():
            return [_value(each) for each in attribute]
        case _:
            raise VerifyException(f"expected a number, a string or a list, found {attribute}")


TargetDialect = Dialect("target", [], [SpecAttr])


def gpu_target(spec: Attribute) -> Target | None:
    """The target with blocks of threads that an attribute says; None for another one."""
    if not isinstance(spec, SpecAttr):
        return None
    target = spec.target()
    return target if _GPU in target.keys else None
