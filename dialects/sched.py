"""The `sched` dialect: how kernels are tiled, vectorized, run in parallel; what @main asks of the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects import runtime_calls
from stepwell.dialects.fields import parse_fields, parse_number, parse_numbers
from stepwell.dialects.op_classes import ops_in
from stepwell.dialects.sched_entry import EntryOp
from stepwell.dialects.sched_kernel import KernelAttr
from stepwell.dialects.sched_program import ProgramAttr
from stepwell.dialects.schedule_device import KEYS, OnDevice, print_on_device, verify_bound
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
from stepwell.dialects.schedule_script import OPS, ChoiceType, LoopType, StageType, TileType
from stepwell.dialects.schedule_script import ROOT as ROOT

SCHEDULE = "sched.schedule"
"""Key of the schedule among an op's attributes."""
NAME = "sched.name"
"""Key of the name of an op as a stage, by which scripts and errors call it."""
AT = "sched.at"
"""Key of the name of the op in whose parallel loops an op is computed; `root`: in loops of its own."""
LOOPS = "sched.loops"
"""Key of the names of an op's loops, an array of strings."""
TUNED = "sched.tuned"
"""
Key of the measured schedules of a kernel's ops, in order; the passes that choose schedules set them.
"""
UNROLLED = "sched.unrolled"
"""Key of the unit attribute of a function whose vectors fit registers: its schedules are carried out."""
PARALLEL = "sched.parallel"
"""Key of the unit attribute of a loop, or of a structured op, whose iterations are independent."""
LANES = "sched.lanes"
"""Key of the unit attribute of a loop whose iterations become lanes of vectors, in a structured op."""
UNROLL = "sched.unroll"
"""Key of the unit attribute of a loop that is unrolled, in a structured op."""
AXIS = "sched.axis"
"""Key of a loop of a block: `spatial`, its iterations write different elements; or `reduce`."""
CHUNKS = "sched.chunks"
"""Key of an `scf.parallel`: the number of chunks into which its iterations are split."""
EXACT_DIVISION = "sched.exact_division"
"""Key of the unit attribute of a division without a reciprocal, because its quotient is rounded again."""
NOT_POSITIVE = "sched.not_positive"
"""Key of the unit attribute of an exponential whose argument is never above 0 (it may be NaN)."""
PREFETCH = "sched.prefetch"
"""
Key of a `vector.transfer_read`, or of an input of a kernel for all reads of vectors of it: the distance, in
elements after it, of a cache line to prefetch.
"""
STREAM = "sched.stream"
"""Key of the unit attribute of a kernel's result that is written past the caches."""
TARGET = "sched.target"
"""Key of the device that the kernels of a module are compiled for."""
STAGES = "sched.stages"
"""Key of an `scf.for` of a kernel: the tiles in memory of a block at once, of which each step copies one."""
TOGETHER = "sched.together"
"""
Key of stores to memory of a block: so many in a row are of neighbouring elements, the first at a multiple of
their bytes, and so were the elements loaded that they store.
"""
OWN = "sched.own"
"""
Key of stores to memory of a block. Among the stores to a buffer that have it, no two threads store to one
element, so they need no barrier between them.
"""
ACCESS = "sched.access"
"""Key of the number of an element access of the source, by which an access out of bounds is recorded."""
FAULTS = "sched.faults"
"""Key of the unit attribute of a kernel whose last output records the first access outside of its tensor."""
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
    on_device: OnDevice = OnDevice()

    def levels(self) -> tuple[Level, ...]:
        """All levels, outer to inner."""
        return (Level(self.tile, self.order, self.parallel, bind=self.bind), *self.inner)

    @staticmethod
    def of_levels(
        levels: Sequence[Level],
        vectorize: int | None = None,
        unroll: Sequence[int] = (),
        on_device: OnDevice = OnDevice(),  # noqa: B008 (frozen)
    ) -> Schedule:
        """The schedule of levels, one at least."""
        first, *inner = levels
        return Schedule(
            first.tile, first.order, first.parallel, vectorize, bind=first.bind,
            inner=tuple(inner), unroll=tuple(unroll), on_device=on_device,
        )  # fmt: skip

    def attr(self) -> ScheduleAttr:
        """The attribute that says this."""
        return _schedule_attr(self)


@irdl_attr_definition
class ScheduleAttr(ParametrizedAttribute):
    """
    The schedule of a structured op, one number of `tile` for each of its loops; or the form of another op.

    ```mlir
    #sched.schedule<tile = [4, 64, 1], order = [1, 0, 2], parallel = [1, 0], vectorize = 1>
    #sched.schedule<levels = [<tile = [0, 0, 192]>, <tile = [6, 16, 1], parallel = [1, 0]>], vectorize = 1>
    #sched.schedule<form = "walk", sizes = {block = 64, rows = 8, trees = 16}>
    #sched.schedule<levels = [<tile = [64, 64, 16], bind = "block">, <tile = [4, 4, 0], bind = "thread">],
                    stage = [0, 1], stages = 2>
    ```
    - `tile`: the step of each loop, and so the extent of the op in its body; 0: the loop is not tiled.
      A reduction loop's tile is the number of its steps that are unrolled.
    - `order`: the tiled loops from the outermost to the innermost. Without it: the parallel ones as listed,
      then the others by position.
    - `parallel`: loops whose iterations are independent. They come first in the order, fused ops share them,
      and they can run on several threads.
    - `levels`: several sets of the three parts above instead of one, from the outermost on: blocks for
      caches, and the register tile last.
    - `vectorize`: the loop whose steps are the lanes of vectors; on a device, those that a thread loads and
      stores at once.
    - `unroll`: loops of the last level that are unrolled.
    - `bind`, of a level: the processors of a device that run its tiles: `block`, then `warp` or `thread`.
      Loops of a product with the same role (batch, rows, columns, sums) are numbered together, the last one
      fastest; its tile counts these numbers, and the others have none.
    - `stage`: operands that a block copies to its memory, tile by tile; `stages`: the tiles that are there at
      once; `copy_bytes`: the neighbouring elements that a thread copies together, where an operand has them;
      `intrinsic`: the instruction that multiplies tiles; `split`: instructions for each product;
      `split_k`: the parts of the sums, each by blocks of its own; a second kernel adds them up in order.
    - `form`: for ops of `linalg_ext`, instead of all other parts: the way to compute the op, with `sizes` by
      name.

    Constraints:
      (C1) tiles are 0 to 2^31 - 1.
      (C2) `order` names every tiled loop once and no other.
      (C3) `parallel` names tiled loops, each once, the first ones of `order`; one level has such loops.
      (C4) `vectorize` is a loop.
      (C5) a form has no tiles; sizes are positive, and only with a form.
      (C6) a new level begins only where it must: at a loop that the level before has tiled already, or at
           parallel loops inside of others. The tiles of a loop do not grow inwards.
      (C7) `unroll` names the last loops of the last level's order, none of them parallel.
      (C8) bound levels are two, and the tiles of the inner one divide those of the outer one.
      (C9) `stages`, `split` and `split_k` are 1 or more, `copy_bytes` 1, 4, 8 or 16; an `intrinsic` has a
           level of warps, and no other schedule has.
    """

    name = "sched.schedule"

    tile: ArrayAttr[IntAttr] = param_def()
    order: ArrayAttr[IntAttr] = param_def()
    parallel: ArrayAttr[IntAttr] = param_def()
    bind: ArrayAttr[IntAttr] = param_def()
    vectorize: IntAttr = param_def()
    form: StringAttr = param_def()
    sizes: DictionaryAttr = param_def()
    inner: ArrayAttr[LevelParts] = param_def()
    unroll: ArrayAttr[IntAttr] = param_def()
    on_device: DictionaryAttr = param_def()

    def __init__(self, schedule: Schedule):
        lanes = _NO_LANES if schedule.vectorize is None else schedule.vectorize
        first, *inner = map(level_parts, schedule.levels())
        super().__init__(
            *first.data, IntAttr(lanes),
            StringAttr(schedule.form), DictionaryAttr({name: IntAttr(n) for name, n in schedule.sizes}),
            ArrayAttr(inner), ints(schedule.unroll), schedule.on_device.attr(),
        )  # fmt: skip

    def get(self) -> Schedule:
        """The schedule in Python's terms."""
        lanes = None if self.vectorize.data == _NO_LANES else self.vectorize.data
        sizes = tuple((name, cast(IntAttr, size).data) for name, size in self.sizes.data.items())
        first = level_of(ArrayAttr([self.tile, self.order, self.parallel, self.bind]))
        return Schedule(
            first.tile, first.order, first.parallel, lanes, self.form.data, sizes,
            tuple(map(level_of, self.inner)), values(self.unroll),
            OnDevice.of(self.on_device), bind=first.bind,
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
        number = partial(parse_number, parser)
        readers = {
            "tile": numbers, "order": numbers, "parallel": numbers, "vectorize": loop, "form": form,
            "sizes": sizes, "levels": levels, "unroll": numbers,
            "stage": numbers, "stages": number, "copy_bytes": number, "intrinsic": form, "split": number,
            "split_k": number,
        }  # fmt: skip
        empty = ints(())
        defaults: dict[str, Attribute] = {
            "tile": NoneAttr(), "order": empty, "parallel": empty, "vectorize": IntAttr(_NO_LANES),
            "form": StringAttr(""), "sizes": DictionaryAttr({}), "levels": ArrayAttr[LevelParts]([]),
            "unroll": empty, "stage": empty, "stages": IntAttr(1), "copy_bytes": IntAttr(1),
            "intrinsic": StringAttr(""), "split": IntAttr(1), "split_k": IntAttr(1),
        }  # fmt: skip
        tile, *rest = parse_fields(parser, readers, defaults)
        if (levels := rest[5]) != defaults["levels"]:
            if not isinstance(tile, NoneAttr) or rest[:2] != [empty, empty] or rest[3] != defaults["form"]:
                parser.raise_error("`levels` is in place of `tile`, `order`, `parallel` and `form`")
            first, *inner = cast("ArrayAttr[LevelParts]", levels)
            return [*first.data, *rest[2:5], ArrayAttr(inner), rest[6], _on_device(rest[7:])]
        if isinstance(tile, NoneAttr):
            if rest[3] == defaults["form"]:
                parser.raise_error("`tile` is missing")
            tile = empty
        return [tile, *rest[:2], empty, *rest[2:7], _on_device(rest[7:])]

    def print_parameters(self, printer: Printer) -> None:
        first: LevelParts = ArrayAttr([self.tile, self.order, self.parallel, self.bind])
        with printer.in_angle_brackets():
            if self.form.data:
                printer.print_string(f'form = "{self.form.data}"')
                if self.sizes.data:
                    sizes = ", ".join(f"{name} = {n}" for name, n in self.get().sizes)
                    printer.print_string(f", sizes = {{{sizes}}}")
            elif self.inner.data or self.bind.data:
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
            print_on_device(printer, self.on_device)

    def verify(self) -> None:
        schedule = self.get()
        levels, rank = schedule.levels(), len(schedule.tile)
        for level in levels:
            verify_level(level)  # (C1), (C2), (C3)
        if len(levels) > 1:
            verify_levels(levels)  # (C6)
        verify_bound(levels, schedule.on_device)  # (C8), (C9)
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


def _on_device(parts: Sequence[Attribute]) -> DictionaryAttr:
    """The keys of devices, without those that have their defaults."""
    return OnDevice.of(DictionaryAttr(dict(zip(KEYS, parts, strict=True)))).attr()


def _print_in_brackets(printer: Printer, level: LevelParts) -> None:
    with printer.in_angle_brackets():
        print_level(printer, level)


def schedule_of(op: Operation) -> Schedule | None:
    """The schedule that an op carries, if any."""
    attr = op.attributes.get(SCHEDULE)
    return _schedule(attr) if isinstance(attr, ScheduleAttr) else None


@lru_cache(maxsize=1024)
def _schedule(attr: ScheduleAttr) -> Schedule:
    return attr.get()


@lru_cache(maxsize=1024)
def _schedule_attr(schedule: Schedule) -> ScheduleAttr:
    return ScheduleAttr(schedule)


def place_of(op: Operation) -> str | None:
    """The name of the op in whose loops an op is to be computed, or `root`; None: where it can be."""
    place = op.attributes.get(AT)
    return place.data if isinstance(place, StringAttr) else None


def loop_names_of(op: Operation) -> tuple[str, ...]:
    """The names of an op's loops; none if it has no attribute with these."""
    return names_of(op.attributes.get(LOOPS))


def names_of(attr: Attribute | None) -> tuple[str, ...]:
    """The strings of an array; none of another attribute."""
    names = cast("ArrayAttr[Attribute]", attr).data if isinstance(attr, ArrayAttr) else ()
    return tuple(name.data for name in names if isinstance(name, StringAttr))


Sched = Dialect(
    "sched",
    [*ops_in(runtime_calls), EntryOp, *OPS],
    [ScheduleAttr, KernelAttr, ProgramAttr, StageType, LoopType, TileType, ChoiceType],
)
