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
from stepwell.dialects.fields import names_attr, parse_fields, parse_number, parse_numbers
from stepwell.dialects.op_classes import ops_in
from stepwell.dialects.sched_entry import EntryOp
from stepwell.dialects.sched_kernel import KERNEL, KernelAttr, verify_kernel
from stepwell.dialects.sched_program import BUFFERS, PROGRAM, WEIGHT, ProgramAttr, verify_program
from stepwell.dialects.schedule_levels import (
    Level,
    LevelParts,
    ints,
    level_of,
    level_parts,
    parse_levels,
    print_ints,
    print_level,
    values,
    verify_level,
    verify_levels,
)
from stepwell.dialects.schedule_script import OPS, LoopType, StageType
from stepwell.dialects.target import SpecAttr
from stepwell.dialects.types import int_attr
from stepwell.runtime.errors import did_you_mean

SCHEDULE = "sched.schedule"
"""Key of the schedule among an op's attributes."""
NAME = "sched.name"
"""Key of the name of an op as a stage, by which scripts and errors call it."""
AT = "sched.at"
"""Key of the name of the op in whose parallel loops an op is computed; `root`: in loops of its own."""
ROOT = "root"
LOOPS = "sched.loops"
"""Key of the names of an op's loops, an array of strings."""
TUNED = "sched.tuned"
"""
Key of a kernel whose schedules were measured: those of its ops in order, which the choosers write.
"""
UNROLLED = "sched.unrolled"
"""Key of the unit attribute of a function whose vectors fit registers: its schedules are carried out."""
PARALLEL = "sched.parallel"
"""Key of the unit attribute of a loop, or of a structured op, whose iterations are independent."""
LANES = "sched.lanes"
"""Key of the unit attribute of a loop that lanes of vectors compute, once it is a structured op."""
UNROLL = "sched.unroll"
"""Key of the unit attribute of a loop that is written out, once it is a structured op."""
AXIS = "sched.axis"
"""Key of a loop of a block: `spatial`, its iterations write different elements; or `reduce`."""
CHUNKS = "sched.chunks"
"""Key of an `scf.parallel`: the number of chunks into which its iterations are split."""
EXACT_DIVISION = "sched.exact_division"
"""Key of the unit attribute of a division that no reciprocal may replace: its quotient is rounded on."""
NOT_POSITIVE = "sched.not_positive"
"""Key of the unit attribute of an exponential whose argument is never above 0 (it may be NaN)."""
PREFETCH = "sched.prefetch"
"""Key of a `vector.transfer_read`: the distance, in elements after it, of a cache line to prefetch."""
TARGET = "sched.target"
"""Key of the device that the kernels of a `gpu.module` are compiled for."""
ALIGN = "sched.align"
"""Key of a buffer among a function's arguments: its alignment in bytes, if not its element's size."""

TUNED_KINDS = ("forms", "tiles")
"""The lists in it: schedules of ops of `linalg_ext`, by `choose-forms`, and of structured ops afterwards."""
_NO_LANES = -1


@dataclass(frozen=True)
class Schedule(Level):
    """
    The tiles, order, parallel loops and lanes of a `#sched.schedule` (see `ScheduleAttr`), as Python values.

    Loops are named by their position in the op's iteration space. The tiles are those of the outermost level.
    """

    vectorize: int | None = None
    form: str = ""
    """The way to compute an op of `linalg_ext`, which has no tiles."""
    sizes: tuple[tuple[str, int], ...] = ()
    """Numbers of that form by name."""
    inner: tuple[Level, ...] = ()
    """The levels inside of the outermost one, the register tile last."""
    unroll: tuple[int, ...] = ()
    """The loops of the last level that are written out."""

    def levels(self) -> tuple[Level, ...]:
        """All levels, outer to inner."""
        return (Level(self.tile, self.order, self.parallel), *self.inner)

    @staticmethod
    def of_levels(
        levels: Sequence[Level], vectorize: int | None = None, unroll: Sequence[int] = ()
    ) -> Schedule:
        """The schedule of levels, one at least."""
        first, *inner = levels
        at_last = tuple(unroll)
        return Schedule(
            first.tile, first.order, first.parallel, vectorize, inner=tuple(inner), unroll=at_last
        )

    def attr(self) -> ScheduleAttr:
        """The attribute that says this."""
        return ScheduleAttr(self)


@irdl_attr_definition
class ScheduleAttr(ParametrizedAttribute):
    """
    The schedule of a structured op, one number of `tile` for each of its loops; or the form of another op.

    ```mlir
    #sched.schedule<tile = [4, 64, 1], order = [1, 0, 2], parallel = [1, 0], vectorize = 1>
    #sched.schedule<levels = [<tile = [0, 0, 192]>, <tile = [6, 16, 1], parallel = [1, 0]>], vectorize = 1>
    #sched.schedule<form = "walk", sizes = {block = 64, rows = 8, trees = 16}>
    ```
    - `tile`: the step of each loop, and so the extent of the op in its body; 0: the loop is not tiled.
      A reduction loop's tile is the number of its steps that are unrolled.
    - `order`: the tiled loops from the outermost to the innermost. Without it: the parallel ones as listed,
      then the others by position.
    - `parallel`: loops whose iterations are independent. They come first in the order, the ops that are fused
      with this one share them, and they may run on several threads.
    - `levels`: in place of these three, several of them from the outermost on: blocks for caches, and the
      register tile last.
    - `vectorize`: the loop whose steps are the lanes of vectors.
    - `unroll`: loops of the last level that are written out.
    - `form`: for ops of `linalg_ext`, in place of all these: the way to compute it, with `sizes` by name.

    Constraints:
      (C1) tiles are 0 to 2^31 - 1.
      (C2) `order` names every tiled loop once and no other.
      (C3) `parallel` names tiled loops, each once, the first ones of `order`; one level has such loops.
      (C4) `vectorize` is a loop.
      (C5) a form has no tiles; sizes are positive, and only with a form.
      (C6) a level begins where the one before cannot go on: with a loop that is tiled there already, or with
           parallel loops inside of others. The tiles of a loop do not grow inwards.
      (C7) `unroll` names the last loops of the last level's order, none of them parallel.
    """

    name = "sched.schedule"

    tile: ArrayAttr[IntAttr] = param_def()
    order: ArrayAttr[IntAttr] = param_def()
    parallel: ArrayAttr[IntAttr] = param_def()
    vectorize: IntAttr = param_def()
    form: StringAttr = param_def()
    sizes: DictionaryAttr = param_def()
    inner: ArrayAttr[LevelParts] = param_def()
    unroll: ArrayAttr[IntAttr] = param_def()

    def __init__(self, schedule: Schedule):
        lanes = _NO_LANES if schedule.vectorize is None else schedule.vectorize
        first, *inner = map(level_parts, schedule.levels())
        super().__init__(
            *first.data, IntAttr(lanes),
            StringAttr(schedule.form), DictionaryAttr({name: IntAttr(n) for name, n in schedule.sizes}),
            ArrayAttr(inner), ints(schedule.unroll),
        )  # fmt: skip

    def get(self) -> Schedule:
        """The schedule in Python's terms."""
        lanes = None if self.vectorize.data == _NO_LANES else self.vectorize.data
        sizes = tuple((name, cast(IntAttr, size).data) for name, size in self.sizes.data.items())
        return Schedule(
            values(self.tile), values(self.order), values(self.parallel), lanes, self.form.data, sizes,
            tuple(map(level_of, self.inner)), values(self.unroll),
        )  # fmt: skip

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
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

        numbers, levels = partial(parse_numbers, parser), partial(parse_levels, parser)
        readers = {
            "tile": numbers, "order": numbers, "parallel": numbers, "vectorize": loop, "form": form,
            "sizes": sizes, "levels": levels, "unroll": numbers,
        }  # fmt: skip
        empty = ints(())
        defaults: dict[str, Attribute] = {
            "tile": NoneAttr(), "order": empty, "parallel": empty, "vectorize": IntAttr(_NO_LANES),
            "form": StringAttr(""), "sizes": DictionaryAttr({}), "levels": ArrayAttr[LevelParts]([]),
            "unroll": empty,
        }  # fmt: skip
        tile, *rest = parse_fields(parser, readers, defaults)
        if (levels := rest[5]) != defaults["levels"]:
            if not isinstance(tile, NoneAttr) or rest[:2] != [empty, empty] or rest[3] != defaults["form"]:
                parser.raise_error("`levels` is in place of `tile`, `order`, `parallel` and `form`")
            first, *inner = cast("ArrayAttr[LevelParts]", levels)
            return [*first.data, *rest[2:5], ArrayAttr(inner), rest[6]]
        if isinstance(tile, NoneAttr):
            if rest[3] == defaults["form"]:
                parser.raise_error("`tile` is missing")
            tile = empty
        return [tile, *rest]

    def print_parameters(self, printer: Printer) -> None:
        first: LevelParts = ArrayAttr([self.tile, self.order, self.parallel])
        with printer.in_angle_brackets():
            if self.form.data:
                printer.print_string(f'form = "{self.form.data}"')
                if self.sizes.data:
                    sizes = ", ".join(f"{name} = {n}" for name, n in self.get().sizes)
                    printer.print_string(f", sizes = {{{sizes}}}")
            elif self.inner.data:
                printer.print_string("levels = ")
                with printer.in_square_brackets():
                    printer.print_list((first, *self.inner), partial(_print_in_brackets, printer))
            else:
                print_level(printer, first)
            if self.vectorize.data != _NO_LANES:
                printer.print_string(f", vectorize = {self.vectorize.data}")
            if self.unroll.data:
                printer.print_string(", unroll = ")
                print_ints(self.unroll, printer)

    def verify(self) -> None:
        schedule = self.get()
        levels, rank = schedule.levels(), len(schedule.tile)
        for level in levels:
            verify_level(level)  # (C1), (C2), (C3)
        if len(levels) > 1:
            verify_levels(levels)  # (C6)
        if schedule.vectorize is not None and not schedule.vectorize < rank:  # (C4)
            raise VerifyException(f"vectorize must name one of {rank} loops, found {schedule.vectorize}")
        if schedule.form and schedule.tile:
            raise VerifyException(f"a form has no tiles, found {list(schedule.tile)}")
        for name, size in schedule.sizes:  # (C5)
            if not schedule.form or size <= 0:
                raise VerifyException(f"sizes are positive numbers of a form, found {name} = {size}")
        last = levels[len(levels) - 1]
        serial = last.loops()[len(last.parallel) :]
        if schedule.unroll and serial[-len(schedule.unroll) :] != schedule.unroll:  # (C7)
            raise VerifyException(
                f"unroll must name the last of the loops {list(serial)}, found {list(schedule.unroll)}"
            )


def _print_in_brackets(printer: Printer, level: LevelParts) -> None:
    with printer.in_angle_brackets():
        print_level(printer, level)


def schedule_of(op: Operation) -> Schedule | None:
    """The schedule that an op carries, if any."""
    attr = op.attributes.get(SCHEDULE)
    return attr.get() if isinstance(attr, ScheduleAttr) else None


def place_of(op: Operation) -> str | None:
    """The name of the op in whose loops an op is to be computed, or `root`; None: where it can be."""
    place = op.attributes.get(AT)
    return place.data if isinstance(place, StringAttr) else None


def loop_names_of(op: Operation) -> tuple[str, ...]:
    """The names of an op's loops; none if it has no attribute with these."""
    return _names(op.attributes.get(LOOPS))


def _names(attr: Attribute | None) -> tuple[str, ...]:
    names = cast("ArrayAttr[Attribute]", attr).data if isinstance(attr, ArrayAttr) else ()
    return tuple(name.data for name in names if isinstance(name, StringAttr))


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
    known: Mapping[type[Attribute], str] = {UnitAttr: "a unit attribute", StringAttr: "a string"}
    expected = known.get(kind, f"#{kind.name}")
    return _Hint(ops, expected, lambda value: isinstance(value, kind))


def _integer(expected: str, accepts: Callable[[int], bool], *ops: str) -> _Hint:
    def is_accepted(value: Attribute) -> bool:
        return isinstance(value, IntegerAttr) and value == int_attr(n := value.value.data) and accepts(n)

    return _Hint(ops, f"{expected} of i64", is_accepted)


def _are_names(value: Attribute) -> bool:
    return isinstance(value, ArrayAttr) and value == names_attr(_names(cast(Attribute, value)))


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
    NAME: _of_class(StringAttr, "linalg.*", "linalg_ext.*", "scf.for"),
    AT: _of_class(StringAttr, "linalg.*"),
    LOOPS: _Hint(("linalg.*",), "an array of strings", _are_names),
    TUNED: _Hint(("func.func",), "lists of schedules, for `forms` and `tiles`", are_tuned),
    UNROLLED: _of_class(UnitAttr, "func.func"),
    PARALLEL: _of_class(UnitAttr, "scf.for", "linalg.*"),
    LANES: _of_class(UnitAttr, "scf.for"),
    UNROLL: _of_class(UnitAttr, "scf.for"),
    AXIS: _Hint(
        ("scf.for",), "spatial or reduce", lambda v: v in (StringAttr("spatial"), StringAttr("reduce"))
    ),
    CHUNKS: _integer("a positive number", lambda n: n > 0, "scf.parallel"),
    EXACT_DIVISION: _of_class(UnitAttr, "arith.divf"),
    NOT_POSITIVE: _of_class(UnitAttr, "math.exp"),
    PREFETCH: _integer("a positive number", lambda n: n > 0, "vector.transfer_read"),
    ALIGN: _integer("a power of two", lambda n: n > 0 and n & (n - 1) == 0, "argument"),
    PROGRAM: _Interface(verify_program),
    BUFFERS: _of_class(DictionaryAttr, "func.func"),
    WEIGHT: _Hint(("memref.global",), "a constant", lambda _: True),
    "sched.model": _of_class(DictionaryAttr, "builtin.module"),
    TARGET: _of_class(SpecAttr, "gpu.module"),
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


Sched = Dialect(
    "sched",
    [*ops_in(runtime_calls), EntryOp, *OPS],
    [ScheduleAttr, KernelAttr, ProgramAttr, StageType, LoopType],
)
