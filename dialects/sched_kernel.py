"""`#sched.kernel`: the interface of a kernel function on levels 2 to 4, verified against the function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IndexType,
    IntAttr,
    MemRefType,
    StringAttr,
    TensorType,
    i8,
    i32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.fields import names_attr, parse_fields, parse_number, verified_size, verify_symbols
from stepwell.dialects.sched_program import program_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

KERNEL = "sched.kernel"
"""Key of a kernel's interface among its function's attributes; other modules use the functions below."""

_INDEX = IndexType()
MOST_ARGUMENTS = 1 << 16
_SCRATCH: MemRefType[Attribute] = MemRefType(i8, [DYNAMIC_INDEX])

_Role: TypeAlias = "tuple[str, type[Attribute] | Attribute]"
"""The role of an argument or result, and its type or the class of it."""


@irdl_attr_definition
class KernelAttr(ParametrizedAttribute):
    """
    The interface of a kernel, which is the attribute `sched.kernel` of its function on levels 2 to 4.

    ```mlir
    #sched.kernel<inputs = 2, outputs = 1, scratch = "64 * N", symbols = ["N"]>
    ```
    - `inputs`: the number of tensors that it reads: the first arguments.
    - `outputs`: the number of tensors that it writes: the results on level 2, the arguments after the inputs
      on level 3.
    - `scratch`: the bytes of temporary memory, a dimension over the symbols, known from `bufferize` on. If it
      is not 0, an argument after the outputs on level 3, `memref<?xi8>`.
    - `symbols`: the names of the sizes that are its last arguments, of type `index`; `"C" in 4 to 63` bounds
      one.
    - `in_place`: `[0 over 1]` lets output 0 be in the memory of input 1, known from `mark-in-place` on.

    On level 4 the function is `i32 (ptr args, ptr dims, ptr ctx)`: `args` has the buffers, `dims` the
    symbols, both in this order.

    Constraints:
      (C1) `inputs` and `outputs` are not negative, and at most 65536.
      (C2) symbols are names, each once.
      (C3) `scratch` is a dimension over the symbols that is not negative.
      (C4) on level 2, the function takes tensors and the symbols and returns tensors, in the numbers given
           here.
      (C5) on level 3, it takes buffers, its scratch and the symbols, in these numbers, and returns nothing.
      (C6) on level 4, it has the type of kernels.
      (C7) the lower bound of a symbol is not negative, nor above the upper one.
      (C8) `in_place` names existing outputs and inputs.
    """

    name = "sched.kernel"

    inputs: IntAttr = param_def()
    outputs: IntAttr = param_def()
    scratch: StringAttr = param_def()
    symbols: ArrayAttr[StringAttr] = param_def()
    bounds: ArrayAttr[ArrayAttr[IntAttr]] = param_def()
    """For each symbol the least and the greatest value, or an empty list."""
    in_place: ArrayAttr[ArrayAttr[IntAttr]] = param_def()
    """Pairs of an output and an input in whose memory it may be."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        symbols: Sequence[str] = (),
        scratch: str | int | Dim = 0,
        bounds: Mapping[str, tuple[int, int]] | None = None,
        in_place: Sequence[tuple[int, int]] = (),
    ):
        counts = IntAttr(inputs), IntAttr(outputs)
        limits = _numbers_attr([(bounds or {}).get(name, ()) for name in symbols])
        super().__init__(
            *counts, StringAttr(str(scratch)), names_attr(symbols), limits, _numbers_attr(in_place)
        )

    @property
    def symbol_names(self) -> tuple[str, ...]:
        """The names of the symbols, in the order of their arguments."""
        return tuple(name.data for name in self.symbols)

    @property
    def scratch_bytes(self) -> Dim:
        """The bytes of temporary memory."""
        return Dim.of(self.scratch.data)

    @property
    def symbol_bounds(self) -> dict[str, tuple[int, int]]:
        """The symbols that have bounds, with the least and the greatest value of each."""
        pairs = zip(self.symbol_names, self.bounds, strict=True)
        return {name: (low.data, high.data) for name, pair in pairs if pair.data for low, high in [pair.data]}

    @property
    def pairs_in_place(self) -> list[tuple[int, int]]:
        """Each output that may be in the memory of an input, with that input."""
        return [(output.data, input.data) for output, input in self.in_place]

    def with_scratch(self, scratch: str | Dim) -> KernelAttr:
        """The same interface with another number of bytes of temporary memory."""
        counts = self.inputs.data, self.outputs.data
        return KernelAttr(*counts, self.symbol_names, scratch, self.symbol_bounds, self.pairs_in_place)

    def with_in_place(self, pairs: Sequence[tuple[int, int]]) -> KernelAttr:
        """The same interface with other pairs of an output and an input in whose memory it may be."""
        counts = self.inputs.data, self.outputs.data
        return KernelAttr(*counts, self.symbol_names, self.scratch.data, self.symbol_bounds, pairs)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def scratch() -> StringAttr:
            text = parser.parse_optional_str_literal()
            return StringAttr(text if text is not None else str(parser.parse_integer(allow_boolean=False)))

        bounds: list[Sequence[int]] = []

        def symbol() -> str:
            name = parser.parse_str_literal()
            is_bounded = parser.parse_optional_keyword("in") is not None
            bounds.append(_parse_pair(parser, "to") if is_bounded else ())
            return name

        def symbols() -> ArrayAttr[StringAttr]:
            return names_attr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, symbol))

        def in_place() -> ArrayAttr[ArrayAttr[IntAttr]]:
            pairs = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: _parse_pair(parser, "over")
            )
            return _numbers_attr(pairs)

        number = partial(parse_number, parser)
        readers = {"inputs": number, "outputs": number, "scratch": scratch, "symbols": symbols}
        defaults: dict[str, Attribute] = {"scratch": StringAttr("0"), "symbols": ArrayAttr([])}
        *fields, pairs = parse_fields(
            parser, {**readers, "in_place": in_place}, {**defaults, "in_place": ArrayAttr([])}
        )
        return [*fields, _numbers_attr(bounds), pairs]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"inputs = {self.inputs.data}, outputs = {self.outputs.data}")
            if self.scratch.data != "0":
                text = self.scratch.data
                printer.print_string(f", scratch = {text if text.isdecimal() else self.scratch}")
            if self.symbols.data:
                bounds = self.symbol_bounds
                texts = [
                    f"{name} in {bounds[name.data][0]} to {bounds[name.data][1]}"
                    if name.data in bounds
                    else f"{name}"
                    for name in self.symbols
                ]
                printer.print_string(f", symbols = [{', '.join(texts)}]")
            if pairs := [f"{output} over {input}" for output, input in self.pairs_in_place]:
                printer.print_string(f", in_place = [{', '.join(pairs)}]")

    def verify(self) -> None:
        for key, count in (("inputs", self.inputs.data), ("outputs", self.outputs.data)):
            if count < 0:  # (C1)
                raise VerifyException(f"{key} must not be negative, found {count}")
            if count > MOST_ARGUMENTS:
                raise VerifyException(f"{key} must be at most {MOST_ARGUMENTS}, found {count}")
        names = self.symbol_names
        verify_symbols(names)  # (C2)
        for name, (low, high) in self.symbol_bounds.items():  # (C7)
            if not 0 <= low <= high:
                found = f"found {name} in {low} to {high}"
                raise VerifyException(f"bounds of a symbol must be 0 or more, the lower one first, {found}")
        for output, input in self.pairs_in_place:  # (C8)
            if output >= self.outputs.data or input >= self.inputs.data:
                found = f"found {output} over {input}"
                raise VerifyException(f"in_place must name an output and an input by number, {found}")
        scratch = verified_size("scratch", self.scratch.data)  # (C3)
        if unknown := sorted(scratch.symbols() - set(names)):
            raise VerifyException(
                f"scratch must be over the symbols {list(names)}, found {unknown[0]} in {str(scratch)!r}"
            )


def _numbers_attr(rows: Sequence[Sequence[int]]) -> ArrayAttr[ArrayAttr[IntAttr]]:
    return ArrayAttr([ArrayAttr([IntAttr(n) for n in each]) for each in rows])


def _parse_pair(parser: AttrParser, between: str) -> tuple[int, int]:
    """Two numbers with a word between them: `4 to 63` bounds a symbol. Raises: ParseError."""
    first = parser.parse_integer(allow_boolean=False)
    parser.parse_keyword(between)
    return first, parser.parse_integer(allow_boolean=False)


def kernel_of(function: Operation) -> KernelAttr | None:
    """The interface of a kernel; None for a function that is not one."""
    attr = function.attributes.get(KERNEL)
    return attr if isinstance(attr, KernelAttr) else None


def is_kernel(function: Operation) -> bool:
    """Whether a function is a kernel."""
    return isinstance(function.attributes.get(KERNEL), KernelAttr)


def set_kernel(function: Operation, kernel: KernelAttr) -> None:
    """Make a function a kernel with an interface, or replace the interface."""
    function.attributes[KERNEL] = kernel


def set_scratch(function: Operation, scratch: str | Dim) -> None:
    """Write the bytes of temporary memory into a kernel's interface, once they are known."""
    kernel = kernel_of(function)
    assert kernel is not None, "only kernels have scratch"
    set_kernel(function, kernel.with_scratch(scratch))


def set_in_place(function: Operation, pairs: Sequence[tuple[int, int]]) -> None:
    """Write the outputs that may be over an input into a kernel's interface, once its loops are known."""
    kernel = kernel_of(function)
    assert kernel is not None, "only kernels have operands that may be overwritten"
    if pairs:
        set_kernel(function, kernel.with_in_place(pairs))


def symbols_of(function: Operation) -> tuple[str, ...]:
    """The names of the symbols that a kernel or `@main` has as trailing index arguments."""
    if (kernel := kernel_of(function)) is not None:
        return kernel.symbol_names
    program = program_of(function)
    return () if program is None else program.symbol_names


def is_on_buffers(kernel: FuncOp) -> bool:
    """Whether a kernel has been bufferized: no tensors are among its arguments and results."""
    type = kernel.function_type
    return not any(isinstance(each, TensorType) for each in (*type.inputs, *type.outputs))


def called_on_tensors(kernel: FuncOp, where: Operation) -> StepwellError:
    """The error for a kernel on buffers of an `@main` on tensors."""
    return StepwellError(
        "bad-main",
        where,
        f"@main is on tensors, and the kernel @{kernel.sym_name.data} on buffers: "
        "@main calls kernels on its own level",
        help=START_BELOW_LEVEL_2,
    )


START_BELOW_LEVEL_2 = "below level 2 a program starts from what `stepwell compile --emit` wrote"
"""The help where a program is between two levels."""


def _verify_machine_type(function: Operation) -> None:
    """Require a function of level 3's end to take three pointers. Raises: VerifyException."""
    from xdsl.dialects import llvm  # 20 ms that level 1 does not need

    machine_type = llvm.LLVMFunctionType([llvm.LLVMPointerType()] * 3, i32)
    if isinstance(function, llvm.FuncOp) and function.function_type != machine_type:
        raise _mismatch(function.sym_name.data, f"type {machine_type}", str(function.function_type))


def verify_kernel(function: Operation, kernel: Attribute) -> None:
    """
    Require a function to have the arguments and results of its interface.

    Raises: VerifyException that names the function, the expected and the found types.
    """
    if function.name == "llvm.func":
        _verify_machine_type(function)  # (C6)
        return
    if not isinstance(function, FuncOp):
        raise VerifyException(f"{KERNEL} describes a function, and this is {function.name}")
    name, signature = function.sym_name.data, function.function_type
    if not isinstance(kernel, KernelAttr):
        raise _mismatch(name, f"`{KERNEL} = #sched.kernel<inputs = …, outputs = …>`", str(kernel))
    inputs, outputs = kernel.inputs.data, kernel.outputs.data
    symbols: list[_Role] = [("symbol", _INDEX)] * len(kernel.symbols.data)
    if is_on_buffers(function):  # (C5)
        scratch: list[_Role] = [("scratch", _SCRATCH)] if kernel.scratch_bytes != 0 else []
        buffers: list[_Role] = [*[("input", MemRefType)] * inputs, *[("output", MemRefType)] * outputs]
        _expect_types(name, "argument", signature.inputs.data, [*buffers, *scratch, *symbols])
        _expect_types(name, "result", signature.outputs.data, [])
    else:  # (C4)
        _expect_types(name, "argument", signature.inputs.data, [*[("input", TensorType)] * inputs, *symbols])
        _expect_types(name, "result", signature.outputs.data, [("output", TensorType)] * outputs)


def _expect_types(name: str, what: str, found: Sequence[Attribute], expected: Sequence[_Role]) -> None:
    """Require arguments or results of the roles, in their order."""
    if len(found) != len(expected):
        roles = [role for role, _ in expected]
        counts = ", ".join(f"{roles.count(role)} {role}" for role in dict.fromkeys(roles))
        raise _mismatch(name, f"{len(expected)} {what}s ({counts or 'none'})", str(len(found)))
    for position, (each, (role, wanted)) in enumerate(zip(found, expected, strict=True)):
        fits = each == wanted if isinstance(wanted, Attribute) else isinstance(each, wanted)
        if not fits:
            kind = wanted if isinstance(wanted, Attribute) else f"a {wanted.name}"
            raise _mismatch(name, f"{kind} as {what} {position} ({role})", str(each))


def _mismatch(name: str, expected: str, found: str) -> VerifyException:
    return VerifyException(f"kernel @{name}: expected {expected}, found {found}")
