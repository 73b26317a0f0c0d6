"""Launches: a grid of threads with the kernel in place, or of a kernel by name."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, SymbolRefAttr, i32
from xdsl.ir import Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_operand_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsTerminator, SymbolTable
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.gpu.kernel import GPUFuncOp, GPUModuleOp

_INDEX = IndexType()


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """
    Run the body once for each thread of a grid; `gpu-kernel-outlining` makes it a kernel.

    ```mlir
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c4, %gy = %c1, %gz = %c1)
        threads(%tx, %ty, %tz) in (%sx = %c16, %sy = %c1, %sz = %c1) {
      gpu.terminator
    }
    ```
    Constraints:
      (C1) the body takes 12 indices: block, thread, blocks of the grid, threads of a block.
    """

    name = "gpu.launch"
    grid = var_operand_def(IndexType)
    block = var_operand_def(IndexType)
    body = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, grid: Sequence[SSAValue], block: Sequence[SSAValue], body: Region):
        super().__init__(operands=[grid, block], regions=[body])

    def verify_(self) -> None:
        if self.body.block.arg_types != (_INDEX,) * 12 or len(self.grid) != 3 or len(self.block) != 3:  # (C1)
            raise VerifyException("gpu.launch takes 3 blocks and 3 threads, and its body 12 indices")

    @classmethod
    def parse(cls, parser: Parser) -> LaunchOp:
        parser.parse_keyword("blocks")
        blocks, grid = _parse_sizes(parser)
        parser.parse_keyword("threads")
        threads, block = _parse_sizes(parser)
        names = [*blocks, *threads, *(name for name, _ in grid), *(name for name, _ in block)]
        body = parser.parse_region([name.resolve(_INDEX) for name in names])
        sizes = [parser.resolve_operand(size, _INDEX) for _, size in (*grid, *block)]
        return cls(sizes[:3], sizes[3:], body)

    def print(self, printer: Printer) -> None:
        arguments = self.body.block.args
        for keyword, ids, sizes, values in (
            ("blocks", arguments[:3], arguments[6:9], self.grid),
            ("threads", arguments[3:6], arguments[9:], self.block),
        ):
            printer.print_string(f" {keyword}(")
            printer.print_list(ids, printer.print_ssa_value)
            printer.print_string(") in (")
            printer.print_list(zip(sizes, values, strict=True), lambda pair: _print_size(printer, *pair))
            printer.print_string(")")
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


def _print_size(printer: Printer, name: SSAValue, value: SSAValue) -> None:
    printer.print_ssa_value(name)
    printer.print_string(" = ")
    printer.print_ssa_value(value)


@irdl_op_definition
class TerminatorOp(IRDLOperation):
    """
    The end of a thread in `gpu.launch`.

    ```mlir
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
        threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      gpu.terminator
    }
    ```
    """

    name = "gpu.terminator"
    traits = traits_def(HasParent(LaunchOp), IsTerminator())
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class LaunchFuncOp(IRDLOperation):
    """
    Run a kernel once for each thread of a grid, and wait.

    ```mlir
    gpu.module @k0 {
      gpu.func @k0(%y: memref<64xf32>) kernel {
        gpu.return
      }
    }
    gpu.launch_func @k0::@k0 blocks in (%c4, %c1, %c1) threads in (%c16, %c1, %c1) args(%x : memref<64xf32>)
    ```
    Constraints:
      (C5) the kernel exists, and the arguments have its types.
    """

    name = "gpu.launch_func"
    grid = var_operand_def(IndexType)
    block = var_operand_def(IndexType)
    shared_bytes = opt_operand_def(i32)
    arguments = var_operand_def()
    kernel = prop_def(SymbolRefAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        kernel: SymbolRefAttr,
        grid: Sequence[SSAValue],
        block: Sequence[SSAValue],
        arguments: Sequence[SSAValue],
        shared_bytes: SSAValue | None = None,
    ):
        super().__init__(
            operands=[grid, block, [] if shared_bytes is None else [shared_bytes], arguments],
            properties={"kernel": kernel},
        )

    def function(self) -> GPUFuncOp:
        """The kernel. Raises: VerifyException without one of that name."""
        names = [self.kernel.root_reference.data, *(name.data for name in self.kernel.nested_references)]
        module = SymbolTable.lookup_symbol(self, names[0])
        found = None
        if isinstance(module, GPUModuleOp) and len(names) == 2:
            found = next((op for op in module.body.block.ops if _is_named(op, names[1])), None)
        if not isinstance(found, GPUFuncOp) or found.kernel is None:
            raise VerifyException(
                f"no kernel is named {self.kernel}: expected @MODULE::@KERNEL of a gpu.module"
            )
        return found

    def verify_(self) -> None:
        if len(self.grid) != 3 or len(self.block) != 3:
            found = f"{len(self.grid)} and {len(self.block)}"
            raise VerifyException(f"a launch needs 3 numbers of blocks and 3 of threads, found {found}")
        kernel = self.function()  # (C5)
        expected, found = kernel.function_type.inputs.data, tuple(self.arguments.types)
        if expected != found:
            names = (", ".join(map(str, types)) for types in (expected, found))
            raise VerifyException("kernel {} takes ({}), found ({})".format(kernel.sym_name.data, *names))

    @classmethod
    def parse(cls, parser: Parser) -> LaunchFuncOp:
        kernel = parser.parse_attribute()
        if not isinstance(kernel, SymbolRefAttr):
            parser.raise_error("expected @MODULE::@KERNEL")
        sizes: list[SSAValue] = []
        for keyword in ("blocks", "threads"):
            parser.parse_keyword(keyword)
            parser.parse_keyword("in")
            sizes += parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_index(parser))
        shared = None
        if parser.parse_optional_keyword("dynamic_shared_memory_size"):
            shared = parser.resolve_operand(parser.parse_unresolved_operand(), i32)
        arguments: list[SSAValue] = []
        if parser.parse_optional_keyword("args"):
            arguments = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: _parse_typed(parser)
            )
        return cls(kernel, sizes[:3], sizes[3:], arguments, shared)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.kernel)
        for keyword, values in (("blocks", self.grid), ("threads", self.block)):
            printer.print_string(f" {keyword} in (")
            printer.print_list(values, printer.print_ssa_value)
            printer.print_string(")")
        if self.shared_bytes is not None:
            printer.print_string(" dynamic_shared_memory_size ")
            printer.print_ssa_value(self.shared_bytes)
        if self.arguments:
            printer.print_string(" args(")
            printer.print_list(self.arguments, lambda value: _print_typed(printer, value))
            printer.print_string(")")


def _is_named(op: Operation, name: str) -> bool:
    return isinstance(op, GPUFuncOp) and op.sym_name.data == name


def _parse_sizes(
    parser: Parser,
) -> tuple[list[Parser.UnresolvedArgument], list[tuple[Parser.UnresolvedArgument, UnresolvedOperand]]]:
    """`(%bx, %by, %bz) in (%gx = %c4, …)`: the names of ids, and of sizes with their values."""
    ids = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_name(parser))
    parser.parse_keyword("in")

    def pair() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
        name = _parse_name(parser)
        parser.parse_punctuation("=")
        return name, parser.parse_unresolved_operand()

    sizes = parser.parse_comma_separated_list(parser.Delimiter.PAREN, pair)
    if len(ids) != 3 or len(sizes) != 3:
        parser.raise_error("expected three names, and three sizes")
    return ids, sizes


def _parse_name(parser: Parser) -> Parser.UnresolvedArgument:
    return parser.parse_argument(expect_type=False)


def _parse_index(parser: Parser) -> SSAValue:
    return parser.resolve_operand(parser.parse_unresolved_operand(), _INDEX)


def _parse_typed(parser: Parser) -> SSAValue:
    """`%x : memref<4xf32>`."""
    name = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return parser.resolve_operand(name, parser.parse_type())


def _print_typed(printer: Printer, value: SSAValue) -> None:
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)
