"""`vm.func` and `vm.constant`: what a module of this level contains besides data types and segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.adt.data import DataOp
from stepwell.dialects.constants import Constant
from stepwell.dialects.shared_tables import shared_table
from stepwell.dialects.verify import InnerViolation
from stepwell.dialects.vm.instructions import InstructionOp, number, numbers_of, parse_hash_number
from stepwell.dialects.vm.states import StateAttr
from stepwell.runtime.image import MAIN
from stepwell.runtime.interface import StateSpec
from stepwell.runtime.vm.instructions import Kind

NAMES = "vm.names"
"""Key of the names of a public function's inputs, an array of strings."""
STATES = "vm.states"
"""Key of the states of a public function, an array of `#vm.state`."""
SEGMENT = "vm.segment"
"""Key of a level-1 function that is one entry of the image and is called by `vm.invoke_packed`."""
HOST = "vm.host"
"""Key of a declaration whose function is one of the host's, called by `vm.invoke_packed`."""
MAX_REGISTERS = 1 << 16


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """
    A row of the table of constants, which `vm.load_const` reads.

    ```mlir
    vm.constant #0 = dense<0> : tensor<i64>
    ```
    Constraints:
      (C1) rows are numbered from 0 on, in order.
    """

    name = "vm.constant"

    index = prop_def(IntegerAttr)
    value = prop_def(Attribute)

    @classmethod
    def of(cls, index: int, value: Constant) -> Self:
        """The row of a number."""
        return cls.create(properties={"index": number(index), "value": value})

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        index = parse_hash_number(parser)
        parser.parse_punctuation("=")
        return cls.create(properties={"index": number(index), "value": parser.parse_attribute()})

    def print(self, printer: Printer) -> None:
        printer.print_string(f" #{self.index.value.data} = ")
        printer.print_attribute(self.value)

    def verify_(self) -> None:
        previous = self.prev_op
        while previous is not None and not isinstance(previous, ConstantOp):
            previous = previous.prev_op
        expected = 0 if previous is None else previous.index.value.data + 1
        if self.index.value.data != expected:  # (C1)
            raise VerifyException(f"expected constant #{expected}, found #{self.index.value.data}")


@irdl_op_definition
class VmFuncOp(IRDLOperation):
    """
    A function of the machine: its parameters are the first registers.

    ```mlir
    vm.func private @swap (1) registers 4 {
      vm.get_field r1, r0 [0]
      vm.get_field r2, r0 [1]
      vm.alloc_adt r3, tuple(r2, r1)
      vm.ret r3
    }
    ```
    A public function states its type, which is the interface; `attributes {vm.names = ["x"]}` names its
    inputs, and `vm.states` says of `@main` which values live between calls.

    Constraints:
      (C1) there are at most 65,536 registers, and not more parameters than registers.
      (C2) a function is private, or has a type with an input for each parameter.
      (C3) each block has instructions, the last of which leaves the block, and no other one does.
      (C4) instructions name registers of the function, and constants, functions and constructors that exist,
           with as many operands as these have.
      (C5) no instruction goes on at the first block.
      (C6) states are tensors of `@main`, with one type before and after a call.
    """

    name = "vm.func"

    sym_name = prop_def(StringAttr)
    sym_visibility = opt_prop_def(StringAttr)
    parameters = prop_def(IntegerAttr)
    registers = prop_def(IntegerAttr)
    function_type = opt_prop_def(FunctionType)
    body = region_def()

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    @classmethod
    def of(
        cls,
        name: str,
        counts: tuple[int, int],
        type: FunctionType | None,
        body: Region,
        names: Sequence[str] = (),
        states: Sequence[StateSpec] = (),
    ) -> Self:
        """A function. Args: `counts` are those of parameters and registers; `type` makes it public."""
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "parameters": number(counts[0]),
            "registers": number(counts[1]),
        }
        if type is None:
            properties["sym_visibility"] = StringAttr("private")
        else:
            properties["function_type"] = type
        attributes: dict[str, Attribute] = {}
        if any(names):
            attributes[NAMES] = ArrayAttr([StringAttr(name) for name in names])
        if states:
            attributes[STATES] = ArrayAttr([StateAttr.of(state) for state in states])
        return cls.create(properties=properties, attributes=attributes, regions=[body])

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of parameters and registers."""
        return self.parameters.value.data, self.registers.value.data

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of a public function's inputs."""
        names = self.attributes.get(NAMES)
        return tuple(name.data for name in cast("ArrayAttr[StringAttr]", names)) if names is not None else ()

    @property
    def states(self) -> tuple[StateSpec, ...]:
        """The states of a public function."""
        states = self.attributes.get(STATES)
        return tuple(each.state for each in cast("ArrayAttr[StateAttr]", states)) if states else ()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        is_private = parser.parse_optional_keyword("private") is not None
        name = parser.parse_symbol_name()
        with parser.in_parens():
            parameters = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_keyword("registers")
        count = parser.parse_integer(allow_boolean=False, allow_negative=False)
        properties: dict[str, Attribute] = {"sym_name": name}
        properties |= {"parameters": number(parameters), "registers": number(count)}
        if is_private:
            properties["sym_visibility"] = StringAttr("private")
        if parser.parse_optional_punctuation(":") is not None:
            properties["function_type"] = parser.parse_function_type()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            properties=properties,
            attributes=dict(attributes.data) if attributes is not None else {},
            regions=[parser.parse_region()],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" private " if self.sym_visibility is not None else " ")
        printer.print_symbol_name(self.sym_name.data)
        parameters, count = self.counts
        printer.print_string(f" ({parameters}) registers {count}")
        if self.function_type is not None:
            printer.print_string(" : ")
            printer.print_attribute(self.function_type)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    def verify_(self) -> None:
        parameters, count = self.counts
        if not parameters <= count <= MAX_REGISTERS:  # (C1)
            raise VerifyException(
                f"found {parameters} parameters in {count} registers of at most {MAX_REGISTERS}"
            )
        self._verify_interface()
        if any(block.first_op is None for block in self.body.blocks) or not self.body.blocks:  # (C3)
            raise VerifyException("expected at least one instruction in each block")
        module = self.parent_op()
        symbols = Symbols(None) if module is None else shared_table(module, Symbols)
        for op in self.body.walk():
            if not isinstance(op, InstructionOp):
                raise InnerViolation(op, "is no instruction")
            if problem := symbols.problem(op, count):  # (C4)
                raise InnerViolation(op, problem)
            if self.body.blocks[0] in op.successors:  # (C5)
                raise InnerViolation(op, "goes on at the first block, which has no label")

    def _verify_interface(self) -> None:
        type = self.function_type
        if (type is None) != (self.sym_visibility is not None):  # (C2)
            raise VerifyException("a function is private, or states its type")
        if type is not None and len(type.inputs) != self.counts[0]:
            raise VerifyException(f"expected {self.counts[0]} inputs in the type, found {len(type.inputs)}")
        if STATES in self.attributes:
            self._verify_states(self.attributes[STATES])
        if (names := self.attributes.get(NAMES)) is None:
            return
        given = list(cast("ArrayAttr[Attribute]", names)) if isinstance(names, ArrayAttr) else [names]
        if not all(isinstance(name, StringAttr) for name in given):
            raise VerifyException(f"{NAMES} must be an array of strings")
        if type is None or len(given) != len(type.inputs):
            raise VerifyException(f"{NAMES} must have a name for each input of a public function")

    def _verify_states(self, given: Attribute) -> None:  # (C6)
        states = list(cast("ArrayAttr[Attribute]", given)) if isinstance(given, ArrayAttr) else [given]
        if not all(isinstance(state, StateAttr) for state in states):
            raise VerifyException(f"{STATES} must be an array of #vm.state")
        type = self.function_type
        if type is None or self.sym_name.data != MAIN:
            raise VerifyException("states are values of the public function @main")
        for state in self.states:
            if state.input >= len(type.inputs) or (state.output or 0) >= len(type.outputs):
                raise VerifyException(f"{StateAttr.of(state)} is beyond the inputs or outputs")
            before = type.inputs.data[state.input]
            after = before if state.output is None else type.outputs.data[state.output]
            if before != after or not isinstance(before, TensorType):
                raise VerifyException(f"the state {state.name!r} is {before} before a call and {after} after")


class Symbols:
    """The functions, data types and constants around a function, and checks of instructions against them."""

    def __init__(self, module: Operation | None):
        ops = list(module.body.ops) if isinstance(module, ModuleOp) else []
        names = [(op, op.properties.get("sym_name")) for op in ops]
        self._ops: Mapping[str, Operation] = {n.data: op for op, n in names if isinstance(n, StringAttr)}
        self._constants = sum(isinstance(op, ConstantOp) for op in ops)

    def problem(self, op: InstructionOp, register_count: int) -> str:
        """The constraint that an instruction violates, in words; empty for a good one."""
        properties = op.properties
        for field in op.INSTRUCTION.fields:
            value = properties.get(field.name)
            match field.kind:
                case Kind.DEF | Kind.USE | Kind.USES | Kind.OUTPUTS:
                    for n in numbers_of(value):
                        if n >= register_count:
                            return f"r{n} is beyond the {register_count} registers of the function"
                case Kind.CONSTANT:
                    if (n := cast("IntegerAttr", value).value.data) >= self._constants:
                        return f"there is no constant #{n}"
                case Kind.FUNCTION | Kind.PACKED:
                    if problem := self._call_problem(op, field.kind, cast(SymbolRefAttr, value)):
                        return problem
                case Kind.CONSTRUCTOR:
                    if isinstance(value, SymbolRefAttr) and (problem := self._make_problem(op, value)):
                        return problem
                case _:
                    pass
        return ""

    def _call_problem(self, op: InstructionOp, kind: Kind, symbol: SymbolRefAttr) -> str:
        name, found = symbol.string_value(), self._ops.get(symbol.string_value())
        if kind is Kind.PACKED:
            if not isinstance(found, FuncOp) or not {SEGMENT, HOST} & found.attributes.keys():
                return f"there is no segment or host function @{name}"
            type = found.function_type
            outputs = numbers_of(op.properties["outputs"])
            if len(outputs) != len(type.outputs):
                return f"@{name} has {len(type.outputs)} results, found {len(outputs)} registers"
            expected = len(type.inputs)
        elif not isinstance(found, VmFuncOp):
            return f"there is no function @{name}"
        else:
            expected = found.counts[0]
        if "captures" in op.properties:
            given = len(numbers_of(op.properties["captures"]))
            return f"@{name} has {expected} parameters, found {given} captures" if given > expected else ""
        given = len(numbers_of(op.properties["arguments"]))
        return f"@{name} has {expected} parameters, found {given} arguments" if given != expected else ""

    def _make_problem(self, op: InstructionOp, symbol: SymbolRefAttr) -> str:
        parts = [symbol.root_reference.data, *(part.data for part in symbol.nested_references)]
        data = self._ops.get(parts[0])
        if not isinstance(data, DataOp) or len(parts) != 2 or parts[1] not in data.names:
            return f"there is no constructor @{'::@'.join(parts)}"
        expected = len(data.constructors[data.tag(parts[1])].fields)
        given = len(numbers_of(op.properties["fields"]))
        return f"{parts[1]} has {expected} fields, found {given}" if given != expected else ""
