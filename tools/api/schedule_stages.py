"""Stages of a schedule in Python, with the steps on their loops: split, reorder, vectorize and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import signature
from math import ceil
from typing import TYPE_CHECKING, Protocol, cast

from xdsl.dialects.func import FuncOp
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from stepwell.dialects.schedule_script import ARENA
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes.analysis.scripts.formula import Formula
from stepwell.passes.analysis.scripts.nest import Nest
from stepwell.passes.analysis.scripts.replay import names_of_loops
from stepwell.passes.analysis.scripts.stages import stages_of
from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    from stepwell.frontend.te.tensors import Tensor


@dataclass(frozen=True)
class Loop:
    """A loop of a stage."""

    name: str
    stage: str
    value: str
    """The SSA name of the loop in the script."""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Intrinsic:
    """A formula and the code that computes it; `tensorize` replaces matching tiles by the code."""

    name: str
    text: str
    """The declaration, an op `sched.intrinsic`."""


@dataclass
class Steps:
    """The steps of a kernel's script."""

    kernel: str
    lines: list[str] = field(default_factory=list[str])
    stages: dict[str, str] = field(default_factory=dict[str, str])
    """The value of each stage that the script names."""
    names: set[str] = field(default_factory=set[str])
    """The names of values so far."""

    def fork(self) -> Steps:
        """An independent copy."""
        return Steps(self.kernel, [*self.lines], dict(self.stages), {*self.names})

    def value(self, hint: str) -> str:
        """A new SSA name for a value."""
        plain = "".join(c for c in hint if c.isalnum() and c.isascii()) or "v"
        base = plain.rstrip("0123456789") or "v"
        name, number = plain if plain[0].isalpha() else base, 0
        while name in self.names:
            name, number = f"{base}{number}", number + 1
        self.names.add(name)
        return name

    def text(self) -> str:
        """The script."""
        body = "".join(f"  {line}\n" for line in self.lines)
        return f'sched.script @{self.kernel}_schedule for "{self.kernel}" {{\n{body}}}\n'


class Recorder(Protocol):
    """Interface between a schedule and its stages: records steps, looks up loops."""

    def take(self, stage: str, kernel: FuncOp, step: Callable[[Steps], None]) -> None:
        """Take a step of a stage, if it is legal."""
        ...

    def take_named(self, stage: str, kernel: FuncOp) -> None:
        """Name a stage in the script, once."""
        ...

    def nest(self, stage: str, kernel: FuncOp) -> tuple[Nest, dict[str, str]] | None:
        """The nest of a stage, and the values of the loops by name."""
        ...

    def now(self, kernel: FuncOp) -> FuncOp:
        """A kernel after the steps so far."""
        ...

    def name_of(self, value: str, kernel: FuncOp) -> str:
        """The name of the stage of a value."""
        ...

    def note_stage(self, kernel: FuncOp, stage: str, value: str) -> None:
        """Note the value of a stage that a step has made."""
        ...

    def declare(self, intrinsic: Intrinsic) -> None:
        """Add an intrinsic that steps may name."""
        ...


class Stage:
    """A stage of a schedule: the op that computes a tensor, with the steps on its loops."""

    def __init__(self, schedule: Recorder, name: str, kernel: FuncOp):
        self._schedule, self.name, self._kernel = schedule, name, kernel

    @property
    def loops(self) -> list[Loop]:
        """The loops, outer to inner; before any step those of sums are last."""
        found = self._schedule.nest(self.name, self._kernel)
        if found is None:
            self._open()
            found = self._schedule.nest(self.name, self._kernel)
        assert found is not None
        nest, values = found
        return [Loop(loop.name, self.name, values[loop.name]) for loop in nest.loops]

    def split(
        self,
        loop: Loop,
        factor: int | Sequence[int | None] | None = None,
        *,
        nparts: int | None = None,
        factors: Sequence[int | None] = (),
    ) -> list[Loop]:
        """
        Split a loop: an inner part of `factor` iterations, an outer one of at most `nparts`, or parts of all
        factors, of which None is open.

        Raises: StepwellError `illegal-schedule`, `bad-option`.
        """
        if (factor is not None) + (nparts is not None) + bool(factors) != 1:
            what = "split takes one of factor, nparts and factors"
            raise StepwellError("bad-option", self.name, what, help="split(i, 4), split(i, nparts=4)")
        if nparts is not None:
            factor = self._iterations_of_a_part(loop, nparts)
        given = factors or ((None, factor) if isinstance(factor, int | None) else factor)
        text = ", ".join("?" if each is None else str(each) for each in given)
        return self._made(
            [loop], len(given), lambda parts: f"{parts} = sched.split %{loop.value} by [{text}]"
        )

    def _iterations_of_a_part(self, loop: Loop, parts: int) -> int:
        """The number of iterations in each of `parts` parts of a loop; the last part can have fewer."""
        nest, values = self._schedule.nest(self.name, self._kernel) or (None, {})
        extents = {values[each.name]: each.extent for each in nest.loops} if nest is not None else {}
        if parts < 1 or loop.value not in extents:
            return min(parts, 1)  # the step itself is refused, with its reason
        if (extent := extents[loop.value]) is None:
            what = f"split({loop.name}, nparts={parts}): the extent of {loop.name} is known at run time only"
            raise StepwellError("illegal-schedule", self.name, what, help="give the factor of the inner part")
        return ceil(extent / parts)

    def tile(self, x: Loop, y: Loop, fx: int, fy: int) -> list[Loop]:
        """Split two loops; the loops are then outer x, outer y, inner x, inner y."""
        values = f"%{x.value}, %{y.value}"
        return self._made([x, y, x, y], 4, lambda parts: f"{parts} = sched.tile {values} by [{fx}, {fy}]")

    def reorder(self, *loops: Loop) -> None:
        """Reorder loops among the positions that they occupy."""
        self._take(f"sched.reorder {_values(loops)}")

    def parallel(self, *loops: Loop) -> None:
        """Distribute the iterations of loops over threads."""
        self._take(f"sched.parallel {_values(loops)}")

    def vectorize(self, loop: Loop) -> None:
        """Compute the iterations of a loop in the lanes of vectors."""
        self._take(f"sched.vectorize {_values([loop])}")

    def unroll(self, loop: Loop, limit: int | None = None) -> None:
        """Unroll a loop."""
        self._take(f"sched.unroll {_values([loop])}{f' limit {limit}' if limit is not None else ''}")

    def inside(self, *loops: Loop) -> None:
        """Leave loops to the body of a tile."""
        self._take(f"sched.inside {_values(loops)}")

    def compute_at(self, consumer: Stage, loop: Loop | None = None) -> None:
        """Compute the stage in the parallel loops of a consumer, or in the loops down to a given loop."""
        for stage in (self, consumer):
            stage._open()
        at = "" if loop is None else f" at %{loop.value}"
        self._take_values(
            lambda s: f"sched.compute_at %{s.stages[self.name]} in %{s.stages[consumer.name]}{at}"
        )

    def compute_inline(self) -> None:
        """Compute the stage in the bodies of its consumers."""
        self._name()
        self._take_values(lambda steps: f"sched.compute_inline %{steps.stages.pop(self.name)}")

    def reverse_compute_inline(self) -> None:
        """Compute the stage in the body of its producer."""
        self._name()
        self._take_values(lambda steps: f"sched.reverse_compute_inline %{steps.stages[self.name]}")

    def cache_write(self, scope: str = ARENA) -> Stage:
        """Compute the stage in a buffer, from which it is copied out; returns the buffer's stage."""
        self._name()
        return self._new("cache", lambda s: f"sched.cache_write %{s.stages[self.name]}{_scope(scope)}")

    def rfactor(self, loop: Loop, axis: int = 0) -> Stage:
        """Split a reduction along a loop; returns the stage of partial results, which this one combines."""
        at = f" axis {axis}" if axis else ""
        return self._new("rf", lambda _: f"sched.rfactor %{loop.value}{at}")

    def fuse(self, outer: Loop, inner: Loop) -> Loop:
        """Merge two neighbouring loops."""
        position = self.loops.index(outer)
        self._take(f"sched.fuse {_values([outer, inner])}")
        return self.loops[position]

    def pad(self, loop: Loop, multiple: int) -> Loop:
        """Round the extent of a loop up to a multiple of a number; returns the loop."""
        position = self.loops.index(loop)
        self._take(f"sched.pad {_values([loop])} to {multiple}")
        return self.loops[position]

    def tensorize(self, loop: Loop, intrinsic: Intrinsic | str) -> None:
        """Replace a loop and the loops inside it by the code of an intrinsic."""
        name = intrinsic if isinstance(intrinsic, str) else intrinsic.name
        if not isinstance(intrinsic, str):
            self._schedule.declare(intrinsic)

        def line(steps: Steps) -> str:
            del steps.stages[self.name]  # its op is no stage any more
            return f'sched.tensorize %{loop.value} to "{name}"'

        self._take_values(line)

    def transform_layout(self, tensor: Tensor | str, layout: Callable[..., Sequence[object]]) -> Stage:
        """Let the stage read a tensor in blocks: `lambda k, n: (n // 16, k, n % 16)`."""
        self._name()
        name = tensor if isinstance(tensor, str) else tensor.name
        text = f"affine_map<{_affine(layout)}>"
        return self._new(
            "packed", lambda s: f'sched.transform_layout "{name}" for %{s.stages[self.name]} to {text}'
        )

    def copied_before(self, tensor: str, scope: str, readers: Sequence[Stage]) -> Stage:
        """Let stages of the same kernel read a copy of a tensor."""
        for reader in readers:
            reader._name()

        def line(steps: Steps) -> str:
            of = ", ".join(f"%{steps.stages[reader.name]}" for reader in readers)
            return f'sched.cache_read "{tensor}" for {of}{_scope(scope)}'

        return self._new("cache", line)

    def _new(self, suffix: str, line: Callable[[Steps], str]) -> Stage:
        """Take a step that adds a stage; returns the stage."""
        values: list[str] = []

        def step(steps: Steps) -> None:
            text = line(steps)
            values.append(steps.value(f"{self.name}{suffix}"))
            steps.lines.append(f"%{values[0]} = {text}")

        self._schedule.take(self.name, self._kernel, step)
        name = self._schedule.name_of(values[0], self._kernel)
        self._schedule.note_stage(self._kernel, name, values[0])
        return Stage(self._schedule, name, self._kernel)

    def _name(self) -> None:
        """Name the stage in the script, once."""
        self._schedule.take_named(self.name, self._kernel)

    def set_form(self, form: str) -> None:
        """Choose the way to compute an op that has forms."""
        self._name()
        self._take_values(lambda steps: f'sched.set_form %{steps.stages[self.name]} to "{form}"')

    def set_size(self, size: str, value: int) -> None:
        """Set a named size of the form."""
        self._name()
        self._take_values(lambda steps: f'sched.set_size %{steps.stages[self.name]} "{size}" to {value}')

    def stream(self) -> None:
        """Write the stage, a result of the kernel, past the caches."""
        self._name()
        self._take_values(lambda steps: f"sched.stream %{steps.stages[self.name]}")

    def bind(self, loop: Loop, axis: str) -> None:
        """Refuse a loop on an axis of a grid, which no CPU has."""
        self._take(f'sched.bind {_values([loop])} to "{axis}"')

    def prefetch(self, tensor: Tensor | str, loop: Loop, distance: int) -> None:
        """Ask for an input of the kernel some iterations of a loop before vectors of it are read."""
        name = tensor if isinstance(tensor, str) else tensor.name
        self._take(f'sched.prefetch {_values([loop])} "{name}" ahead {distance}')

    def storage_align(self, axis: int, factor: int, offset: int = 0) -> None:
        """Let the stride of a dimension in memory be a multiple of a factor, plus an offset."""
        self._name()
        gap = f" offset {offset}" if offset else ""
        self._take_values(
            lambda steps: f"sched.storage_align %{steps.stages[self.name]} axis {axis} to {factor}{gap}"
        )

    def annotate(self, what: Loop | str, key: str = "") -> None:
        """Refuse a free annotation, which no pass reads. Raises: `illegal-schedule`."""
        help = "steps say what passes read: parallel, vectorize, unroll, inside, stream, set_form"
        raise self._no_step(f"annotate({what}{key and ', '}{key})", "no pass reads annotations", help)

    def _no_step(self, step: str, why: str, help: str) -> StepwellError:
        return StepwellError("illegal-schedule", None, f"{step} of {self.name}: {why}", help=help)

    def compute_root(self) -> None:
        """Compute the stage in loops of its own."""
        self._open()
        self._take_values(lambda steps: f"sched.compute_root %{steps.stages[self.name]}")

    def _made(self, loops: Sequence[Loop], count: int, line: Callable[[str], str]) -> list[Loop]:
        """Take a step that makes loops; returns them."""
        before = {loop.value for loop in self.loops}
        names: list[str] = []

        def step(steps: Steps) -> None:
            of = [loops[n if len(loops) == count else 0].name for n in range(count)]
            names.extend(steps.value(name) for name in of)
            steps.lines.append(line(", ".join(f"%{name}" for name in names)))

        self._schedule.take(self.name, self._kernel, step)
        by_value = {loop.value: loop for loop in self.loops if loop.value not in before}
        return [by_value[name] for name in names]

    def _take(self, line: str) -> None:
        self._take_values(lambda _: line)

    def _take_values(self, line: Callable[[Steps], str]) -> None:
        self._schedule.take(self.name, self._kernel, lambda steps: steps.lines.append(line(steps)))

    def _open(self) -> None:
        """Name the stage and its loops in the script, once."""
        if self._schedule.nest(self.name, self._kernel) is not None:
            return
        self._name()
        view = Structured.of(stages_of(self._schedule.now(self._kernel))[self.name])
        if view is None:
            message = f"stage {self.name} has forms, and no loops"
            raise StepwellError("illegal-schedule", None, message, help="set_form chooses one")
        names = names_of_loops(view)
        order = sorted(range(view.rank), key=lambda d: not view.parallel[d])
        formula = Formula.of(view, self.name)

        def step(steps: Steps) -> None:
            loops = [steps.value(names[d]) for d in order]
            value = steps.stages[self.name]
            steps.lines.append(f"{', '.join(f'%{loop}' for loop in loops)} = sched.loops %{value}")
            # A loop that runs step by step needs slices of the operands.
            inside = [f"%{loop}" for d, loop in zip(order, loops, strict=True) if formula.unsliced(d)]
            outer = [f"%{loop}" for loop in loops if f"%{loop}" not in inside]
            if inside and outer:
                steps.lines.append(f"sched.reorder {', '.join([*outer, *inside])}")
            if inside:
                steps.lines.append(f"sched.inside {', '.join(inside)}")

        self._schedule.take(self.name, self._kernel, step)


def _values(loops: Sequence[Loop]) -> str:
    return ", ".join(f"%{loop.value}" for loop in loops)


def _scope(scope: str) -> str:
    return "" if scope == ARENA else f' scope "{scope}"'


def _affine(layout: Callable[..., Sequence[object]]) -> str:
    """The text of an affine map by a function of indices. Raises: StepwellError `illegal-schedule`."""
    count = len(signature(layout).parameters)
    results = layout(*(AffineDimExpr(axis) for axis in range(count)))
    exprs = [AffineExpr.constant(each) if isinstance(each, int) else each for each in results]
    if wrong := [each for each in exprs if not isinstance(each, AffineExpr)]:
        message = f"a layout is a tuple of indices, found {wrong[0]!r}"
        raise StepwellError("illegal-schedule", None, message)
    return str(AffineMap(count, 0, tuple(cast("list[AffineExpr]", exprs))))
