"""The `sched` dialect: how kernels are tiled, vectorized, run in parallel; what @main asks of the runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects import runtime_calls
from stepwell.dialects.fields import parse_fields, parse_number
from stepwell.dialects.op_classes import ops_in
from stepwell.dialects.sched_entry import EntryOp
from stepwell.dialects.sched_kernel import KERNEL, KernelAttr, verify_kernel
from stepwell.dialects.sched_program import BUFFERS, PROGRAM, WEIGHT, ProgramAttr, verify_program
from stepwell.dialects.types import int_attr
from stepwell.runtime.errors import did_you_mean

SCHEDULE = "sched.schedule"
"""Key of the schedule among an op's attributes."""
TUNED = "sched.tuned"
"""
Key of a kernel whose schedules were measured: those of its ops in order, which the choosers write.
"""
UNROLLED = "sched.unrolled"
"""Key of the unit attribute of a function whose vectors fit registers: its schedules are carried out."""
PARALLEL = "sched.parallel"
"""Key of the unit attribute of a loop, or of a structured op, whose iterations are independent."""
CHUNKS = "sched.chunks"
"""Key of an `scf.parallel`: the number of chunks into which its iterations are split."""
EXACT_DIVISION = "sched.exact_division"
"""Key of the unit attribute of a division that no reciprocal may replace: its quotient is rounded on."""
NOT_POSITIVE = "sched.not_positive"
"""Key of the unit attribute of an exponential whose argument is never above 0 (it may be NaN)."""
PREFETCH = "sched.prefetch"
"""Key of a `vector.transfer_read`: the distance, in elements after it, of a cache line to prefetch."""
ALIGN = "sched.align"
"""Key of a buffer among a function's arguments: its alignment in bytes, if not its element's size."""

TUNED_KINDS = ("forms", "tiles")
"""The lists in it: schedules of ops of `linalg_ext`, by `choose-forms`, and of structured ops afterwards."""
_NO_LANES = -1
MOST = 1 << 31
"""No tile and no size of a kernel is as large."""


@dataclass(frozen=True)
class Schedule:
    """
    The tiles, order, parallel loops and lanes of a `#sched.schedule` (see `ScheduleAttr`), as Python values.

    Loops are named by their position in the op's iteration space.
    """

    tile: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    parallel: tuple[int, ...] = ()
    vectorize: int | None = None
    form: str = ""
    """The way to compute an op of `linalg_ext`, which has no tiles."""
    sizes: tuple[tuple[str, int], ...] = ()
    """Numbers of that form by name."""

    def loops(self) -> tuple[int, ...]:
        """The tiled loops, outer to inner."""
        return self.order or self.default_order()

    def default_order(self) -> tuple[int, ...]:
        """The order when none is written: parallel loops as listed, then the others by position."""
        rest = tuple(d for d, t in enumerate(self.tile) if t and d not in self.parallel)
        return (*self.parallel, *rest)

    def attr(self) -> ScheduleAttr:
        """The attribute that says this."""
        return ScheduleAttr(self)


@irdl_attr_definition
class ScheduleAttr(ParametrizedAttribute):
    """
    The schedule of a structured op, one number of `tile` for each of its loops; or the form of another op.

    ```mlir
    #sched.schedule<tile = [4, 64, 1], order = [1, 0, 2], parallel = [1, 0], vectorize = 1>
    #sched.schedule<form = "walk", sizes = {block = 64, rows = 8, trees = 16}>
    ```
    - `tile`: the step of each loop, and so the extent of the op in its body; 0: the loop is not tiled.
      A reduction loop's tile is the number of its steps that are unrolled.
    - `order`: the tiled loops from the outermost to the innermost. Without it: the parallel ones as listed,
      then the others by position.
    - `parallel`: loops whose iterations are independent. They come first in the order, the ops that are fused
      with this one share them, and they may run on several threads.
    - `vectorize`: the loop whose steps are the lanes of vectors.
    - `form`: for ops of `linalg_ext`, in place of all these: the way to compute it, with `sizes` by name.

    Constraints:
      (C1) tiles are 0 to 2^31 - 1.
      (C2) `order` names every tiled loop once and no other.
      (C3) `parallel` names tiled loops, each once, the first ones of `order`.
      (C4) `vectorize` is a loop.
      (C5) a form has no tiles; sizes are positive, and only with a form.
    """

    name = "sched.schedule"

    tile: ArrayAttr[IntAttr] = param_def()
    order: ArrayAttr[IntAttr] = param_def()
    parallel: ArrayAttr[IntAttr] = param_def()
    vectorize: IntAttr = param_def()
    form: StringAttr = param_def()
    sizes: DictionaryAttr = param_def()

    def __init__(self, schedule: Schedule):
        lanes = _NO_LANES if schedule.vectorize is None else schedule.vectorize
        # The default order is not stored, so that equal schedules are equal attributes.
        order = () if schedule.order == schedule.default_order() else schedule.order
        super().__init__(
            _ints(schedule.tile), _ints(order), _ints(schedule.parallel), IntAttr(lanes),
            StringAttr(schedule.form), DictionaryAttr({name: IntAttr(n) for name, n in schedule.sizes}),
        )  # fmt: skip

    def get(self) -> Schedule:
        """The schedule in Python's terms."""
        lanes = None if self.vectorize.data == _NO_LANES else self.vectorize.data
        sizes = tuple((name, cast(IntAttr, size).data) for name, size in self.sizes.data.items())
        form = self.form.data
        return Schedule(_values(self.tile), _values(self.order), _values(self.parallel), lanes, form, sizes)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def numbers() -> ArrayAttr[IntAttr]:
            parse = partial(parser.parse_integer, allow_boolean=False)
            return _ints(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse))

        def loop() -> IntAttr:
            return IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))

        def form() -> StringAttr:
            return StringAttr(parser.parse_str_literal())

        def size() -> tuple[str, Attribute]:
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            return name, parse_number(parser)

        def sizes() -> DictionaryAttr:
            return DictionaryAttr(dict(parser.parse_comma_separated_list(parser.Delimiter.BRACES, size)))

        readers = {
            "tile": numbers, "order": numbers, "parallel": numbers, "vectorize": loop, "form": form,
            "sizes": sizes,
        }  # fmt: skip
        empty = _ints(())
        defaults = {
            "tile": NoneAttr(), "order": empty, "parallel": empty, "vectorize": IntAttr(_NO_LANES),
            "form": StringAttr(""), "sizes": DictionaryAttr({}),
        }  # fmt: skip
        tile, *rest = parse_fields(parser, readers, defaults)
        if isinstance(tile, NoneAttr):
            if rest[3] == defaults["form"]:
                parser.raise_error("`tile` is missing")
            tile = empty
        return [tile, *rest]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if self.form.data:
                printer.print_string(f'form = "{self.form.data}"')
                if self.sizes.data:
                    sizes = ", ".join(f"{name} = {n}" for name, n in self.get().sizes)
                    printer.print_string(f", sizes = {{{sizes}}}")
            else:
                printer.print_string("tile = ")
                _print_ints(self.tile, printer)
            for key, numbers in (("order", self.order), ("parallel", self.parallel)):
                if numbers.data:
                    printer.print_string(f", {key} = ")
                    _print_ints(numbers, printer)
            if self.vectorize.data != _NO_LANES:
                printer.print_string(f", vectorize = {self.vectorize.data}")

    def verify(self) -> None:
        schedule = self.get()
        tile, rank = schedule.tile, len(schedule.tile)
        if any(not 0 <= t < MOST for t in tile):  # (C1)
            raise VerifyException(f"tiles must be 0 to 2^31 - 1, found {list(tile)}")
        tiled = [d for d, t in enumerate(tile) if t]
        for key, loops in (("order", schedule.order), ("parallel", schedule.parallel)):
            for loop in loops:
                if not 0 <= loop < rank:
                    raise VerifyException(f"{key} names loop {loop}, and the tiles are 0 to {rank - 1}")
                if not tile[loop]:
                    raise VerifyException(f"{key} names loop {loop}, whose tile is 0")
                if loops.count(loop) > 1:  # threads would write the same tiles
                    raise VerifyException(f"{key} names loop {loop} twice")
        if schedule.order and len(schedule.order) < len(tiled):  # (C2)
            raise VerifyException(
                f"order must name each of the tiled loops {tiled} once, found {list(schedule.order)}"
            )
        if set(schedule.loops()[: len(schedule.parallel)]) != set(schedule.parallel):  # (C3)
            raise VerifyException(
                f"parallel must name the first loops of the order {list(schedule.loops())}, "
                f"found {list(schedule.parallel)}"
            )
        if schedule.vectorize is not None and not schedule.vectorize < rank:  # (C4)
            raise VerifyException(f"vectorize must name one of {rank} loops, found {schedule.vectorize}")
        if schedule.form and tile:
            raise VerifyException(f"a form has no tiles, found {list(tile)}")
        for name, size in schedule.sizes:  # (C5)
            if not schedule.form or size <= 0:
                raise VerifyException(f"sizes are positive numbers of a form, found {name} = {size}")


def _ints(values: Sequence[int]) -> ArrayAttr[IntAttr]:
    return ArrayAttr([IntAttr(v) for v in values])


def _values(attr: ArrayAttr[IntAttr]) -> tuple[int, ...]:
    return tuple(v.data for v in attr.data)


def _print_ints(attr: ArrayAttr[IntAttr], printer: Printer) -> None:
    with printer.in_square_brackets():
        printer.print_list(_values(attr), printer.print_int)


def schedule_of(op: Operation) -> Schedule | None:
    """The schedule that an op carries, if any."""
    attr = op.attributes.get(SCHEDULE)
    return attr.get() if isinstance(attr, ScheduleAttr) else None


@dataclass(frozen=True)
class _Hint:
    """A discardable attribute: the ops that may have one, and the legal values."""

    ops: tuple[str, ...]
    """Names of ops; `linalg.*` is a dialect's, `argument` an argument of a function."""
    expected: str
    accepts: Callable[[Attribute], bool]


@dataclass(frozen=True)
class _Interface:
    """The declaration of an attribute of functions, which `verify` compares with its function."""

    verify: Callable[[Operation, Attribute], None]
    ops = ("func.func", "llvm.func")


def _of_class(kind: type[Attribute], *ops: str) -> _Hint:
    expected = "a unit attribute" if kind is UnitAttr else f"#{kind.name}"
    return _Hint(ops, expected, lambda value: isinstance(value, kind))


def _integer(expected: str, accepts: Callable[[int], bool], *ops: str) -> _Hint:
    def is_accepted(value: Attribute) -> bool:
        return isinstance(value, IntegerAttr) and value == int_attr(n := value.value.data) and accepts(n)

    return _Hint(ops, f"{expected} of i64", is_accepted)


def are_tuned(value: Attribute) -> bool:
    """Whether a value lists schedules, or units for ops without one, under the names of `TUNED_KINDS`."""
    return isinstance(value, DictionaryAttr) and all(
        name in TUNED_KINDS
        and isinstance(each, ArrayAttr)
        and all(isinstance(one, ScheduleAttr | UnitAttr) for one in cast("ArrayAttr[Attribute]", each))
        for name, each in value.data.items()
    )


_ATTRIBUTES: Mapping[str, _Hint | _Interface] = {
    KERNEL: _Interface(verify_kernel),
    SCHEDULE: _of_class(ScheduleAttr, "linalg.*", "linalg_ext.*"),
    TUNED: _Hint(("func.func",), "lists of schedules, for `forms` and `tiles`", are_tuned),
    UNROLLED: _of_class(UnitAttr, "func.func"),
    PARALLEL: _of_class(UnitAttr, "scf.for", "linalg.*"),
    CHUNKS: _integer("a positive number", lambda n: n > 0, "scf.parallel"),
    EXACT_DIVISION: _of_class(UnitAttr, "arith.divf"),
    NOT_POSITIVE: _of_class(UnitAttr, "math.exp"),
    PREFETCH: _integer("a positive number", lambda n: n > 0, "vector.transfer_read"),
    ALIGN: _integer("a power of two", lambda n: n > 0 and n & (n - 1) == 0, "argument"),
    PROGRAM: _Interface(verify_program),
    BUFFERS: _Hint(("func.func",), "the memory of kept values", lambda value: isinstance(value, ArrayAttr)),
    WEIGHT: _Hint(("memref.global",), "a constant", lambda _: True),
    "sched.model": _of_class(DictionaryAttr, "builtin.module"),
}
"""All discardable attributes of the dialect."""


def verify_attribute(op: Operation, place: str, name: str, value: Attribute) -> None:
    """
    Require a discardable attribute of the dialect to be a declared one.

    Args: `place` is the op's name, or `argument` for an attribute of one of its arguments or results.
    Raises: VerifyException for an unknown attribute, a value of another type, an op that may not have it, and
    for a function that differs from its interface.
    """
    if (declared := _ATTRIBUTES.get(name)) is None:
        known = f"the attributes of `sched` are {', '.join(_ATTRIBUTES)}"
        raise VerifyException(f"unknown attribute {name}: {did_you_mean(name, _ATTRIBUTES)}{known}")
    if place not in declared.ops and f"{place.partition('.')[0]}.*" not in declared.ops:
        raise VerifyException(f"{name} is an attribute of {' and '.join(declared.ops)}, found on {place}")
    if isinstance(declared, _Interface):
        declared.verify(op, value)
    elif not declared.accepts(value):
        raise VerifyException(f"{name} must be {declared.expected}, found {value}")


Sched = Dialect("sched", [*ops_in(runtime_calls), EntryOp], [ScheduleAttr, KernelAttr, ProgramAttr])
