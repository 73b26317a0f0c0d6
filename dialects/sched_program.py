"""`#sched.program`: the interface and memory of `@main` on levels 2 to 4, verified against the function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.fields import (
    names_attr,
    parse_fields,
    parse_names,
    parse_number,
    parse_numbers,
    verified_size,
    verify_symbols,
)
from stepwell.dialects.runtime_calls import BYTES, AllocateOp, PublishOp
from stepwell.dialects.types import DimsAttr, element_bytes
from stepwell.runtime.dims import Dim
from stepwell.runtime.integers.summands import dim_of_summands, summands_of

if TYPE_CHECKING:
    from xdsl.dialects import memref

PROGRAM = "sched.program"
"""Key of the interface of `@main` among its function's attributes; other modules use the functions below."""
BUFFERS = "sched.buffers"
"""
Key of an attribute of `@main` with kept values: for each result of its calls, the memory that it is in, and
the sizes of the arena's parts, in which offsets count.
"""
WEIGHT = "sched.weight"
"""Key of a `memref.global`: the weight that it is, or its elements."""

_ABSENT = -1


@irdl_attr_definition
class ProgramAttr(ParametrizedAttribute):
    """
    The interface of `@main`; from `plan-memory` on with its memory, as the runtime allocates it for a call.

    ```mlir
    #sched.program<inputs = 2, outputs = 1, symbols = ["N"], published = ["M"], arena = "64 * N", slots = 1>
    ```
    - `symbols`: the names of the sizes that are its last arguments, of type `index`. On level 2 there is
      nothing else.
    - `inputs`, `outputs`: the numbers of buffers of the caller that it reads, and writes: the first
      arguments on level 3, before the arena.
    - `published`: the sizes that a call finds on the way and reports to the caller, after the symbols.
    - `arena`: the bytes of the arena as a dimension, or as a list of dimensions with this sum where one text
      would be too long to read; on level 3 an argument after the outputs.
    - `slots`: the number of slots for memory whose size depends on data.
    - `in_place`: the numbers of outputs that are states, written over the inputs with their values before.
    - `pools`: the memories that make up the arena, each with its bytes, `["tcm=4096", "sram=512"]`, which are
      arguments in place of the arena.

    Constraints:
      (C1) `inputs`, `outputs` and `slots` are not negative, and given together with `arena`, or not at all.
      (C2) symbols and published sizes are names, each once.
      (C3) `arena` is a dimension that is not negative.
      (C4) the last arguments are of type `index`, one a symbol, and no others are.
      (C5) with memory, the function takes buffers of inputs and outputs and the arena, and returns nothing.
      (C6) the arena is over symbols of arguments and of the shapes of inputs.
      (C7) views of the arena at known offsets are inside of it; there are the slots and published sizes that
           ops name.
      (C8) outputs in place are outputs, each once.
      (C9) pools have names, each once, and as many bytes as the arena together.
    """

    name = "sched.program"

    inputs: IntAttr = param_def()
    outputs: IntAttr = param_def()
    symbols: ArrayAttr[StringAttr] = param_def()
    published: ArrayAttr[StringAttr] = param_def()
    arena: ArrayAttr[StringAttr] = param_def()
    slots: IntAttr = param_def()
    in_place: ArrayAttr[IntAttr] = param_def()
    pools: ArrayAttr[StringAttr] = param_def()

    @staticmethod
    def of_symbols(symbols: Sequence[str]) -> ProgramAttr:
        """The interface on level 2."""
        absent, (arena, slots) = IntAttr(_ABSENT), _NO_MEMORY
        none = names_attr(())
        return ProgramAttr(
            absent, absent, names_attr(symbols), none, arena, slots, ArrayAttr[IntAttr]([]), none
        )

    @staticmethod
    def planned(
        inputs: int,
        outputs: int,
        symbols: Sequence[str],
        published: Sequence[str],
        arena: Dim,
        slots: int,
        in_place: Sequence[int] = (),
        pools: Sequence[str] = (),
    ) -> ProgramAttr:
        """The interface with memory."""
        counts, names = (IntAttr(inputs), IntAttr(outputs)), (names_attr(symbols), names_attr(published))
        numbers = ArrayAttr([IntAttr(number) for number in in_place])
        memory = names_attr(summands_of(arena)), IntAttr(slots), numbers, names_attr(pools)
        return ProgramAttr(*counts, *names, *memory)

    @property
    def symbol_names(self) -> tuple[str, ...]:
        """The names of the symbols, in the order of their arguments."""
        return tuple(name.data for name in self.symbols)

    @property
    def numbers_in_place(self) -> tuple[int, ...]:
        """The numbers of outputs that are written over the inputs with their values before."""
        return tuple(number.data for number in self.in_place)

    @property
    def pool_bytes(self) -> Mapping[str, int]:
        """The bytes of each pool by name. Raises: ValueError for a text that is none."""
        pairs = (text.data.partition("=") for text in self.pools)
        return {name: int(size) for name, _, size in pairs}

    @property
    def memories(self) -> int:
        """The number of arguments for the arena."""
        return max(1, len(self.pools))

    @property
    def has_memory(self) -> bool:
        """Whether memory is planned, so that the function is on buffers."""
        return bool(self.arena.data)

    @property
    def arena_bytes(self) -> Dim:
        """The bytes of the arena. Raises: ValueError before memory is planned."""
        return dim_of_summands([text.data for text in self.arena])

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def texts() -> ArrayAttr[StringAttr]:
            text = parser.parse_optional_str_literal()
            return parse_names(parser) if text is None else names_attr([text])

        number, names = partial(parse_number, parser), partial(parse_names, parser)
        readers: dict[str, Callable[[], Attribute]] = {
            "inputs": number,
            "outputs": number,
            "symbols": names,
            "published": names,
            "arena": texts,
            "slots": number,
            "in_place": partial(parse_numbers, parser),
            "pools": names,
        }
        absent, none, (arena, slots) = IntAttr(_ABSENT), names_attr(()), _NO_MEMORY
        counts = {"inputs": absent, "outputs": absent, "slots": slots, "in_place": ArrayAttr[IntAttr]([])}
        texts_ = {"arena": arena, "symbols": none, "published": none, "pools": none}
        return parse_fields(parser, readers, {**counts, **texts_})

    def print_parameters(self, printer: Printer) -> None:
        fields = [f"symbols = {self.symbols}"]
        if self.has_memory:
            fields[:0] = [f"inputs = {self.inputs.data}", f"outputs = {self.outputs.data}"]
            fields += [f"published = {self.published}"] if self.published.data else []
            arena = self.arena.data[0] if len(self.arena) == 1 else self.arena
            fields += [f"arena = {arena}", f"slots = {self.slots.data}"]
            if self.in_place.data:
                fields.append(f"in_place = [{', '.join(map(str, self.numbers_in_place))}]")
            fields += [f"pools = {self.pools}"] if self.pools.data else []
        with printer.in_angle_brackets():
            printer.print_string(", ".join(fields))

    def verify(self) -> None:
        counts = {"inputs": self.inputs, "outputs": self.outputs, "slots": self.slots}
        for key, number in counts.items():  # (C1)
            if ((count := number.data) == _ABSENT) == self.has_memory:
                raise VerifyException(f"{key} and arena must be given together")
            if count < _ABSENT:
                raise VerifyException(f"{key} must not be negative, found {count}")
        verify_symbols([*self.symbol_names, *(name.data for name in self.published)])  # (C2)
        verified_size("arena", *(text.data for text in self.arena))  # (C3)
        numbers = self.numbers_in_place
        if len(set(numbers)) < len(numbers) or any(not 0 <= n < self.outputs.data for n in numbers):  # (C8)
            raise VerifyException(f"in_place must be numbers of outputs, each once, found {list(numbers)}")
        self._verify_pools()

    def _verify_pools(self) -> None:
        """Require pools to be the parts of the arena (C9)."""
        if not self.pools.data:
            return
        try:
            sizes = self.pool_bytes
        except ValueError:
            raise VerifyException(f'pools must be such as "tcm=4096", found {self.pools}') from None
        if len(sizes) < len(self.pools) or sum(sizes.values()) != self.arena_bytes:
            message = (
                f"pools must have a name each, and {self.arena_bytes} bytes together, found {self.pools}"
            )
            raise VerifyException(message)


_NO_MEMORY = names_attr(()), IntAttr(_ABSENT)


def program_of(function: Operation) -> ProgramAttr | None:
    """The interface of `@main`; None for another function, and for one without symbols before its plan."""
    attr = function.attributes.get(PROGRAM)
    return attr if isinstance(attr, ProgramAttr) else None


def planned_program(main: Operation) -> ProgramAttr:
    """The interface of `@main` with memory, after `plan-memory`. Raises: KeyError before it."""
    program = program_of(main)
    if program is None or not program.has_memory:
        raise KeyError(f"{PROGRAM} with memory")
    return program


def buffers_of(main: Operation) -> Mapping[str, object]:
    """The memory of kept values as plain JSON values, which `kept_buffers` of the runtime's image reads."""
    kept = main.attributes.get(BUFFERS)
    if not isinstance(kept, DictionaryAttr):
        return {}
    entries = cast("ArrayAttr[DictionaryAttr]", kept.data["values"])
    values = [{key: _plain(value) for key, value in entry.data.items()} for entry in entries]
    return {"parts": _plain(kept.data["parts"]), "values": values}


def _plain(value: Attribute) -> object:
    if isinstance(value, DimsAttr):
        return [str(dim) for dim in value.get()]
    return value.value.data if isinstance(value, IntegerAttr) else cast(StringAttr, value).data


def has_memory(function: Operation) -> bool:
    """Whether a function is `@main` on buffers, or on level 4."""
    return (program := program_of(function)) is not None and program.has_memory


def verify_program(function: Operation, program: Attribute) -> None:
    """
    Require a function to be what its `#sched.program` says.

    Raises: VerifyException that names the expected and the found types.
    """
    if not isinstance(program, ProgramAttr):
        raise VerifyException(f"{PROGRAM} must be #sched.program<…>, found {program}")
    if not isinstance(function, FuncOp):  # on level 4 the arguments are those of every kernel
        return
    types = function.function_type.inputs.data
    first = len(types) - len(program.symbols)
    indices = [i for i, type in enumerate(types) if isinstance(type, IndexType)]
    if first < 0 or indices != list(range(first, len(types))):  # (C4)
        raise VerifyException(
            "the last arguments must be of type index, one for each of the symbols "
            f"{list(program.symbol_names)}, found {len(indices)}"
        )
    if program.has_memory:
        _verify_memory(function, program, types[:first])


def _verify_memory(function: FuncOp, program: ProgramAttr, buffers: Sequence[Attribute]) -> None:
    """Require the buffers, and the uses of memory, that an interface announces."""
    inputs, outputs = program.inputs.data, program.outputs.data
    memrefs = sum(isinstance(type, MemRefType) for type in buffers)
    last, expected = buffers[inputs + outputs :], inputs + outputs + program.memories
    if not len(buffers) == memrefs == expected or any(type != BYTES for type in last):  # (C5)
        parts = f"{program.memories} parts of " if program.pools.data else ""
        raise VerifyException(
            f"expected buffers of {inputs} inputs and {outputs} outputs, then {parts}the arena of type "
            f"{BYTES}, found {', '.join(map(str, buffers)) or 'none'}"
        )
    if function.function_type.outputs.data:
        raise VerifyException("@main on buffers returns nothing: its results are arguments")
    known = {*program.symbol_names, *_symbols_in_shapes(function, inputs)}
    if unknown := sorted(program.arena_bytes.symbols() - known):  # (C6)
        raise VerifyException(f"arena is over {unknown[0]}, which is no symbol of arguments or inputs")
    if function.body.blocks:
        _verify_uses(function, program)


def _symbols_in_shapes(function: FuncOp, inputs: int) -> Iterator[str]:
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    for each in cast("Sequence[DictionaryAttr]", attributes[:inputs]):
        if isinstance(dims := each.data.get("graph.dims"), DimsAttr):
            yield from (name for dim in dims.get() if not dim.is_unknown for name in dim.symbols())


def _verify_uses(function: FuncOp, program: ProgramAttr) -> None:
    """Require views of the arena, slots and published sizes to exist (C7)."""
    from xdsl.dialects import memref  # 15 ms that level 1 does not need

    slots, sizes = program.slots.data, len(program.symbols) + len(program.published)
    first, arena = program.inputs.data + program.outputs.data, program.arena_bytes
    limits = list(program.pool_bytes.values()) or ([arena.value] if arena.is_static else [])
    bytes_of: dict[SSAValue, int] = dict(zip(function.body.block.args[first:], limits, strict=False))
    for op in function.body.walk():
        if isinstance(op, AllocateOp) and op.slot.value.data >= slots:
            raise VerifyException(f"slot {op.slot.value.data} is allocated, but `slots` is {slots}")
        if isinstance(op, PublishOp) and not len(program.symbols) <= op.place.value.data < sizes:
            legal = f"{len(program.symbols)} to {sizes - 1}" if sizes > len(program.symbols) else "no number"
            raise VerifyException(f"a published size has {legal}, found {op.place.value.data}")
        if isinstance(op, memref.ViewOp) and (limit := bytes_of.get(op.source)) is not None:
            end = _end_of(op)
            if end is not None and end > limit:
                raise VerifyException(f"a view ends at byte {end} of an arena of {limit} bytes")


def _end_of(view: memref.ViewOp) -> int | None:
    """The byte after a view, where it is known."""
    from xdsl.dialects.arith import ConstantOp

    type, shift = cast("MemRefType[Attribute]", view.result_types[0]), view.byte_shift.owner
    if view.sizes or not isinstance(shift, ConstantOp) or not isinstance(shift.value, IntegerAttr):
        return None
    return shift.value.value.data + prod(type.get_shape(), start=element_bytes(type.element_type))
