"""Schedules in Python: each step is checked and recorded as a script, which is replayed on the program."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.schedule_script import ScriptOp, scripts_of
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.dialects.types import dtype_of
from stepwell.dialects.verify import verify_module
from stepwell.passes.analysis.scripts.nest import Kind, Nest
from stepwell.passes.analysis.scripts.replay import Replay, apply_script, names_of_loops
from stepwell.passes.analysis.scripts.stages import kernel_for, stages_of
from stepwell.runtime.errors import InternalError, StepwellError, did_you_mean
from stepwell.tools.api.module import Module

if TYPE_CHECKING:
    from stepwell.frontend.te.tensors import Tensor

_STAGE, _VALUE = re.compile(r'%(\w+) = sched\.stage "(.*)"'), re.compile(r"%(\w+)")
_WORDS = ("parallel", "vectorize", "unroll", "inside")
_SIZES = (3, 5, 7, 4)
"""The sizes of symbols with which `validate` runs a program."""


@dataclass(frozen=True)
class Loop:
    """A loop of a stage."""

    name: str
    stage: str
    value: str
    """The name of its value in the script."""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


@dataclass
class _Steps:
    """The steps of a kernel's script."""

    kernel: str
    lines: list[str] = field(default_factory=list[str])
    stages: dict[str, str] = field(default_factory=dict[str, str])
    """The value of each stage that the script names."""
    names: set[str] = field(default_factory=set[str])
    """The names of values so far."""

    def fork(self) -> _Steps:
        """A copy."""
        return _Steps(self.kernel, [*self.lines], dict(self.stages), {*self.names})

    def value(self, hint: str) -> str:
        """A new name of a value."""
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


class Schedule:
    """
    Decisions about the loops of a program on level 2: `s[c].split(i, 32)`.

    A step that is not legal is an error with the reason, and changes nothing.
    """

    def __init__(self, module: Module, *, outputs: Sequence[Tensor] = (), exact: bool = False):
        """
        Args: `module` is a program on level 2, which is not changed; `outputs` are the tensors that it
        computes; `exact` refuses steps that change the order of additions.
        """
        self.outputs = list(outputs)
        self._base, self._exact = module, exact
        self._kernels = [f for f in module.op.ops if isinstance(f, FuncOp) and f.body.blocks and is_kernel(f)]
        self._scripts: dict[str, _Steps] = {}
        self._before: list[dict[str, _Steps]] = []

    @classmethod
    def replay(cls, module: Module, script: str | Path) -> Schedule:
        """
        A schedule by the scripts of a text or file.

        Raises: StepwellError `illegal-schedule` at the step, `syntax`, `no-file`.
        """
        text = script.read_text(encoding="utf-8") if isinstance(script, Path) else script
        made = cls(module)
        for found in made._parsed(text):
            kernel = kernel_for(found, module.op).sym_name.data
            lines = [line.strip() for line in str(found).splitlines()[1:-1]]
            stages = {match[2]: match[1] for line in lines if (match := _STAGE.match(line))}
            made._scripts[kernel] = _Steps(kernel, lines, stages, {*_VALUE.findall(str(found))})
        made._applied(made._scripts)
        return made

    @property
    def module(self) -> Module:
        """The program with the schedules as attributes."""
        return self._applied(self._scripts)

    @property
    def script(self) -> str:
        """The steps so far, a script a kernel."""
        return "\n".join(steps.text() for steps in self._scripts.values())

    @property
    def exact(self) -> bool:
        """Whether additions are in the order of the loops as they were."""
        return all(_keeps_order(nest) for nest in self._nests().values())

    def __str__(self) -> str:
        return self.script

    def __getitem__(self, stage: Tensor | str) -> Stage:
        """A stage by its tensor or name. Raises: StepwellError `illegal-schedule`."""
        name = stage if isinstance(stage, str) else stage.name
        known = {each: kernel for kernel in self._kernels for each in stages_of(kernel)}
        if name not in known:
            help = f"{did_you_mean(name, known)}the stages are {', '.join(known) or 'none'}"
            raise StepwellError("illegal-schedule", None, f"there is no stage {name}", help=help)
        return Stage(self, name, known[name])

    def undo(self) -> None:
        """Take the last step back. Raises: StepwellError `illegal-schedule` where there is none."""
        if not self._before:
            raise StepwellError("illegal-schedule", None, "there is no step to take back")
        self._scripts = self._before.pop()

    def copy(self) -> Schedule:
        """The same schedule, on which other steps may follow."""
        made = copy(self)
        made._scripts = {name: steps.fork() for name, steps in self._scripts.items()}
        made._before = [*self._before]
        return made

    def legal(self, stage: Tensor | str) -> dict[str, list[Loop]]:
        """The steps about a single loop that would be legal now, with the loops of a stage."""
        at = self[stage]
        found: dict[str, list[Loop]] = {word: [] for word in _WORDS}
        for word in _WORDS:
            for loop in at.loops:
                trial = self.copy()
                try:
                    getattr(trial[at.name], word)(loop)
                except StepwellError:
                    continue
                found[word].append(loop)
        return {word: loops for word, loops in found.items() if loops}

    def explain(self) -> str:
        """The nests of the stages with decisions, as indented text with extents."""
        lines: list[str] = []
        for nest in self._nests().values():
            lines.append(str(nest.formula))
            for depth, loop in enumerate(nest.loops):
                kind = "" if nest.kind(loop) is Kind.SERIAL else f", {nest.kind(loop).value}"
                extent = "?" if loop.extent is None else loop.extent
                lines.append(f"{'  ' * (depth + 1)}for {loop.name} in 0..{extent}{kind}")
        return "\n".join(lines)

    def validate(self, n: int = 3, seed: int = 0) -> None:
        """
        Interpret the program with and without the schedule on random inputs.

        Raises: InternalError with the first difference: a legal schedule keeps the meaning.
        """
        scheduled, rng = self.module.to("vector"), np.random.default_rng(seed)
        for run in range(n):
            arrays = _inputs(self._base.op, rng, run)
            wanted, found = self._base.interpret(*arrays), scheduled.interpret(*arrays)
            for number, (a, b) in enumerate(zip(_listed(wanted), _listed(found), strict=True)):
                same = np.isclose(a, b, rtol=1e-4, atol=1e-4, equal_nan=True)
                if not same.all():
                    at = tuple(int(i) for i in np.argwhere(~same)[0])
                    message = f"output {number} at {at} is {b[at]}, and {a[at]} without the schedule"
                    raise InternalError(None, message, note=self.script.splitlines())

    def take(self, stage: str, kernel: FuncOp, step: Callable[[_Steps], None]) -> None:
        """Take a step of a stage, if it is legal. Raises: StepwellError `illegal-schedule`."""
        name = kernel.sym_name.data
        after = {each: steps.fork() for each, steps in self._scripts.items()}
        step(after.setdefault(name, _Steps(name)))
        self._applied(after)
        before, self._scripts = self._scripts, after
        if self._exact and not self.exact:
            self._scripts = before
            message = f"the step changes the order in which {stage} adds, and the schedule is exact"
            raise StepwellError("illegal-schedule", None, message, note=after[name].lines[-1])
        self._before.append(before)

    def nest(self, stage: str, kernel: FuncOp) -> tuple[Nest, dict[str, str]] | None:
        """The nest of a stage, and the values of its loops by name; None before it has a step."""
        steps = self._scripts.get(kernel.sym_name.data)
        if steps is None:
            return None
        replayed = self._replayed(steps).nest_of(stage)
        if replayed is None:
            return None
        nest, values = replayed
        return nest, {loop.name: value.name_hint or "" for loop, value in values.items()}

    def _nests(self) -> dict[str, Nest]:
        found: dict[str, Nest] = {}
        for steps in self._scripts.values():
            replay = self._replayed(steps)
            for kernel in self._kernels:
                if kernel.sym_name.data == steps.kernel:
                    found |= {n: at[0] for n in stages_of(kernel) if (at := replay.nest_of(n)) is not None}
        return found

    def _replayed(self, steps: _Steps) -> Replay:
        (script,) = self._parsed(steps.text())
        replay = Replay(script, kernel_for(script, self._base.op))
        replay.decisions()
        return replay

    def _parsed(self, text: str) -> list[ScriptOp]:
        module = parse_module(self._base.context, text, "schedule")
        verify_module(module)
        return scripts_of(module)

    def _applied(self, scripts: dict[str, _Steps]) -> Module:
        module = self._base.clone()
        for script in self._parsed("\n".join(steps.text() for steps in scripts.values())):
            apply_script(script, kernel_for(script, module.op))
        return module


class Stage:
    """A stage of a schedule: the op that computes a tensor, and the steps about its loops."""

    def __init__(self, schedule: Schedule, name: str, kernel: FuncOp):
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
        self, loop: Loop, factor: int | None = None, *, factors: Sequence[int | None] = ()
    ) -> list[Loop]:
        """Split a loop: an inner part of `factor` iterations, or parts of all factors; None is open."""
        given: Sequence[int | None] = factors or (None, factor)
        text = ", ".join("?" if each is None else str(each) for each in given)
        return self._made(
            [loop], len(given), lambda parts: f"{parts} = sched.split %{loop.value} by [{text}]"
        )

    def tile(self, x: Loop, y: Loop, fx: int, fy: int) -> list[Loop]:
        """Split two loops, with the inner parts inside."""
        values = f"%{x.value}, %{y.value}"
        return self._made([x, y, x, y], 4, lambda parts: f"{parts} = sched.tile {values} by [{fx}, {fy}]")

    def reorder(self, *loops: Loop) -> None:
        """Put loops in this order, at the places that they have."""
        self._take(f"sched.reorder {_values(loops)}")

    def parallel(self, *loops: Loop) -> None:
        """Let threads share loops."""
        self._take(f"sched.parallel {_values(loops)}")

    def vectorize(self, loop: Loop) -> None:
        """Make lanes of a loop."""
        self._take(f"sched.vectorize {_values([loop])}")

    def unroll(self, loop: Loop, limit: int | None = None) -> None:
        """Write a loop out."""
        self._take(f"sched.unroll {_values([loop])}{f' limit {limit}' if limit is not None else ''}")

    def inside(self, *loops: Loop) -> None:
        """Leave loops to the body of a tile."""
        self._take(f"sched.inside {_values(loops)}")

    def compute_at(self, consumer: Stage) -> None:
        """Compute the stage in the parallel loops of another one."""
        for stage in (self, consumer):
            stage._open()
        self._take_values(lambda s: f"sched.compute_at %{s.stages[self.name]} in %{s.stages[consumer.name]}")

    def compute_root(self) -> None:
        """Compute the stage in loops of its own."""
        self._open()
        self._take_values(lambda steps: f"sched.compute_root %{steps.stages[self.name]}")

    def _made(self, loops: Sequence[Loop], count: int, line: Callable[[str], str]) -> list[Loop]:
        """Take a step that makes loops, and return these."""
        before = {loop.value for loop in self.loops}
        names: list[str] = []

        def step(steps: _Steps) -> None:
            of = [loops[n if len(loops) == count else 0].name for n in range(count)]
            names.extend(steps.value(name) for name in of)
            steps.lines.append(line(", ".join(f"%{name}" for name in names)))

        self._schedule.take(self.name, self._kernel, step)
        by_value = {loop.value: loop for loop in self.loops if loop.value not in before}
        return [by_value[name] for name in names]

    def _take(self, line: str) -> None:
        self._take_values(lambda _: line)

    def _take_values(self, line: Callable[[_Steps], str]) -> None:
        self._schedule.take(self.name, self._kernel, lambda steps: steps.lines.append(line(steps)))

    def _open(self) -> None:
        """Name the stage and its loops in the script, once."""
        if self._schedule.nest(self.name, self._kernel) is not None:
            return
        view = Structured.of(stages_of(self._kernel)[self.name])
        if view is None:
            message = f"stage {self.name} has forms, and no loops"
            raise StepwellError("illegal-schedule", None, message, help="use a script: sched.set_form")
        names = names_of_loops(view)
        order = sorted(range(view.rank), key=lambda d: not view.parallel[d])

        def step(steps: _Steps) -> None:
            value = steps.stages[self.name] = steps.value(self.name)
            loops = [steps.value(names[d]) for d in order]
            steps.lines.append(f'%{value} = sched.stage "{self.name}"')
            steps.lines.append(f"{', '.join(f'%{loop}' for loop in loops)} = sched.loops %{value}")

        self._schedule.take(self.name, self._kernel, step)


def _values(loops: Sequence[Loop]) -> str:
    return ", ".join(f"%{loop.value}" for loop in loops)


def _keeps_order(nest: Nest) -> bool:
    """Whether no lanes add, and no two sums have changed places."""
    sums = [loop for loop in nest.loops if not nest.view.parallel[loop.dim]]
    dims = [loop.dim for loop in sums]
    return dims == sorted(dims) and not any(nest.kind(loop) is Kind.VECTOR for loop in sums)


def _inputs(module: ModuleOp, rng: np.random.Generator, run: int) -> list[np.ndarray[Any, Any]]:
    """Random inputs of `@main`, with other sizes of symbols in each run."""
    main = next(f for f in module.ops if isinstance(f, FuncOp) and f.sym_name.data == "main")
    size = _SIZES[run % len(_SIZES)]
    arrays: list[np.ndarray[Any, Any]] = []
    for type in main.function_type.inputs:
        if isinstance(type, TensorType):
            arrays.append(_array(cast("TensorType[Attribute]", type), size, rng))
    return arrays


def _array(type: TensorType[Attribute], size: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    shape, dtype = [e if e >= 0 else size for e in type.get_shape()], dtype_of(type.element_type)
    return (rng.standard_normal(shape) * 4).astype(dtype)


def _listed(results: object) -> list[np.ndarray[Any, Any]]:
    return list(results) if isinstance(results, list | tuple) else [np.asarray(results)]  # pyright: ignore
