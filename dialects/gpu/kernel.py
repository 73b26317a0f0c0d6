"""Kernels: functions that every thread of a grid runs, and the modules around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    NoTerminator,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.gpu.attributes import KNOWN_BLOCK_SIZE, SPACES, space_of

MAX_THREADS = 1024
"""The most threads of a block on any device."""


@irdl_op_definition
class GPUModuleOp(IRDLOperation):
    """
    A module of kernels, compiled for a device apart from the host's code.

    ```mlir
    gpu.module @k0 attributes {sched.target = #target.spec<"cuda", {arch = "sm_90"}>} {
    }
    ```
    """

    name = "gpu.module"
    sym_name = prop_def(SymbolNameConstraint())
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface(), SymbolTable())

    def __init__(self, name: str, body: Region, attributes: dict[str, Attribute] | None = None):
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[body], attributes=attributes)

    @classmethod
    def parse(cls, parser: Parser) -> GPUModuleOp:
        name = parser.parse_symbol_name()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        if not body.blocks:
            body.add_block(Block())
        return cls(name.data, body, dict(attributes.data) if attributes is not None else None)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attribute(DictionaryAttr(self.attributes))
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


@irdl_op_definition
class GPUFuncOp(IRDLOperation):
    """
    A function of a device; a `kernel` is started by the host, once for each thread of a grid.

    ```mlir
    gpu.module @m {
      gpu.func @k0(%x: memref<48xf32>) workgroup(%s: memref<16xf32, #gpu.address_space<workgroup>>) kernel
          attributes {gpu.known_block_size = array<i32: 16, 1, 1>} {
        gpu.return
      }
    }
    ```
    Memory of the block (`workgroup`) and of the thread (`private`) are arguments of the body.

    Constraints:
      (C1) `gpu.known_block_size` is three numbers above 0, with a product of at most 1024.
      (C2) a kernel returns nothing.
      (C3) memory of the block and of the thread has a static shape and the address space of its keyword.
      (C4) the arguments of the body are those of the type, then the memory.
    """

    name = "gpu.func"
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    kernel = opt_prop_def(UnitAttr)
    workgroup_attributions = opt_prop_def(IntegerAttr)
    private_attributions = opt_prop_def(IntegerAttr)
    arg_attrs = opt_prop_def(Attribute)
    body = region_def()
    traits = traits_def(IsolatedFromAbove(), HasParent(GPUModuleOp), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        inputs: Sequence[Attribute],
        body: Region,
        *,
        workgroup: int = 0,
        private: int = 0,
        kernel: bool = True,
        attributes: dict[str, Attribute] | None = None,
    ):
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "function_type": FunctionType.from_lists(inputs, []),
        }
        counts = {"workgroup_attributions": workgroup, "private_attributions": private}
        properties |= {key: IntegerAttr(count, i64) for key, count in counts.items() if count}
        if kernel:
            properties["kernel"] = UnitAttr()
        super().__init__(properties=properties, regions=[body], attributes=attributes)

    @property
    def arguments(self) -> Sequence[SSAValue]:
        """The arguments of a launch."""
        return self.body.block.args[: len(self.function_type.inputs)]

    @property
    def workgroup(self) -> Sequence[SSAValue]:
        """The memory that the threads of a block share."""
        first = len(self.function_type.inputs)
        return self.body.block.args[first : first + _count(self.workgroup_attributions)]

    def add_workgroup(self, type: MemRefType[Attribute], name: str) -> SSAValue:
        """More memory that the threads of a block share."""
        count = len(self.workgroup)
        memory = self.body.block.insert_arg(type, len(self.function_type.inputs) + count)
        memory.name_hint = name
        self.properties["workgroup_attributions"] = IntegerAttr(count + 1, i64)
        return memory

    @property
    def private(self) -> Sequence[SSAValue]:
        """The memory of each thread."""
        return self.body.block.args[len(self.function_type.inputs) + _count(self.workgroup_attributions) :]

    @property
    def block_size(self) -> tuple[int, ...] | None:
        """The threads of a block along x, y and z; None when a launch decides."""
        size = self.attributes.get(KNOWN_BLOCK_SIZE)
        return tuple(size.get_values()) if isinstance(size, DenseArrayBase) else None  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType, reportUnknownVariableType]

    def verify_(self) -> None:
        if KNOWN_BLOCK_SIZE in self.attributes:
            size = self.block_size
            if size is None or len(size) != 3 or min(size) < 1 or _product(size) > MAX_THREADS:  # (C1)
                found = list(size) if size is not None else self.attributes[KNOWN_BLOCK_SIZE]
                legal = f"three numbers above 0 with at most {MAX_THREADS} threads together"
                raise VerifyException(f"{KNOWN_BLOCK_SIZE} is {legal}, found {found}")
        if self.kernel is not None and len(self.function_type.outputs):  # (C2)
            found = ", ".join(map(str, self.function_type.outputs))
            raise VerifyException(f"a kernel must return nothing, found {found}")
        inputs = self.function_type.inputs.data
        memory = _count(self.workgroup_attributions) + _count(self.private_attributions)
        types = self.body.block.arg_types
        if types[: len(inputs)] != inputs or len(types) != len(inputs) + memory:  # (C4)
            raise VerifyException(
                f"the body must take the arguments {', '.join(map(str, inputs))}, then {memory} buffers"
            )
        for space, values in ((SPACES[1], self.workgroup), (SPACES[2], self.private)):
            for value in values:
                _expect_memory(value.type, space)

    @classmethod
    def parse(cls, parser: Parser) -> GPUFuncOp:
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        workgroup, private = ([], [])
        if parser.parse_optional_keyword("workgroup"):
            workgroup = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        if parser.parse_optional_keyword("private"):
            private = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        kernel = parser.parse_optional_keyword("kernel") is not None
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region([*arguments, *workgroup, *private])
        return cls(
            name.data,
            [argument.type for argument in arguments],
            body,
            workgroup=len(workgroup),
            private=len(private),
            kernel=kernel,
            attributes=dict(attributes.data) if attributes is not None else None,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        for keyword, values in (
            ("", self.arguments),
            (" workgroup", self.workgroup),
            (" private", self.private),
        ):
            if values or not keyword:
                printer.print_string(keyword)
                with printer.in_parens():
                    printer.print_list(values, printer.print_block_argument)  # pyright: ignore[reportArgumentType]
        if self.kernel is not None:
            printer.print_string(" kernel")
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attribute(DictionaryAttr(self.attributes))
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_block_terminators=True)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """
    The end of a thread.

    ```mlir
    gpu.module @m {
      gpu.func @k() kernel {
        gpu.return
      }
    }
    ```
    """

    name = "gpu.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), HasParent(GPUFuncOp))
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self) -> None:
        super().__init__(operands=[[]])


def known_block_size(size: Sequence[int]) -> Attribute:
    """The attribute `gpu.known_block_size`."""
    return DenseArrayBase.from_list(i32, size)


_ACCESSES = ("memref.load", "memref.store", "vector.load", "vector.store")


def may_ask_for_size(buffer: SSAValue) -> bool:
    """Whether an op other than an access may ask for the first size of a buffer, which no address needs."""
    return any(use.operation.name not in _ACCESSES for use in buffer.uses)


def _count(attribute: IntegerAttr | None) -> int:
    return 0 if attribute is None else attribute.value.data


def _product(numbers: Sequence[int]) -> int:
    x, y, z = numbers
    return x * y * z


def _expect_memory(type: Attribute, space: str) -> None:
    """Require a buffer of known size in an address space (C3). Raises: VerifyException."""
    if space_of(type) != space or not cast("MemRefType[Attribute]", type).has_static_shape():
        expected = f"memref<…, #gpu.address_space<{space}>> with a static shape"
        raise VerifyException(f"{space} memory is a {expected}, found {type}")
