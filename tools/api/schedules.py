"""Schedules in Python: each step is checked and recorded as a script, which is replayed on the program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.schedule_script import ARENA, ScriptOp, intrinsics_of, scripts_of
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.dialects.types import dtype_of
from stepwell.dialects.verify import verify_module
from stepwell.passes.analysis.scripts.nest import Kind, Nest
from stepwell.passes.analysis.scripts.replay import Replay, apply_script
from stepwell.passes.analysis.scripts.stages import kernel_for, stages_of
from stepwell.passes.context import remark
from stepwell.runtime.errors import InternalError, StepwellError, did_you_mean
from stepwell.tools.api.module import Module
from stepwell.tools.api.schedule_stages import Intrinsic, Loop, Stage, Steps

if TYPE_CHECKING:
    from stepwell.frontend.te.tensors import Tensor

_STAGE, _VALUE = re.compile(r'%(\w+) = sched\.stage "(.*)"'), re.compile(r"%(\w+)")
_OF_LOOPS = {"split": (2,), "parallel": (), "vectorize": (), "unroll": (), "inside": (), "rfactor": ()}
"""The steps about one loop that `legal` tries, with further arguments."""
_OF_STAGES = ("cache_write", "compute_inline", "reverse_compute_inline", "compute_root", "stream")
"""The steps about a whole stage that `legal` tries."""
_SIZES = (3, 5, 7, 4)
"""The sizes of symbols with which `validate` runs a program."""


class Schedule:
    """
    Decisions about the loops of a program on level 2: `s[c].split(i, 32)`.

    A step that is not legal is an error with the reason, and changes nothing.
    """

    def __init__(
        self, module: Module, stage: str = "", *, outputs: Sequence[Tensor] = (), exact: bool = False
    ):
        """
        Args: `module` is a program on level 2, which is not changed; `stage` restricts the schedule to the
        kernels that have it; `outputs` are the tensors that the program computes; `exact` refuses steps that
        change the order of additions.
        Raises: StepwellError `illegal-schedule` where no kernel has the stage.
        """
        self.outputs = list(outputs)
        self._base, self._exact = module, exact
        self._kernels = [f for f in module.op.ops if isinstance(f, FuncOp) and f.body.blocks and is_kernel(f)]
        if stage:
            known = {kernel: stages_of(kernel) for kernel in self._kernels}
            self._kernels = [kernel for kernel in self._kernels if stage in known[kernel]]
            if not self._kernels:
                raise _no_stage(stage, [name for names in known.values() for name in names])
        self._scripts: dict[str, Steps] = {}
        self._intrinsics: dict[str, str] = {}
        self._before: list[dict[str, Steps]] = []

    @classmethod
    def replay(cls, module: Module, script: str | Path, *, skip_illegal: bool = False) -> Schedule:
        """
        The schedule that the scripts in a text or file describe.

        Args: `skip_illegal` leaves out the steps that are not legal for this program, with a remark each.
        Raises: StepwellError `illegal-schedule` at the step, `syntax`, `no-file`.
        """
        text = script.read_text(encoding="utf-8") if isinstance(script, Path) else script
        made = cls(module)
        for found in made._parsed(text):
            declared = intrinsics_of(cast("ModuleOp", found.parent_op()))
            made._intrinsics |= {name: str(op) + "\n" for name, op in declared.items()}
            kernel = kernel_for(found, module.op).sym_name.data
            lines = [line.strip() for line in str(found).splitlines()[1:-1]]
            stages = {match[2]: match[1] for line in lines if (match := _STAGE.match(line))}
            lines = made._legal(kernel, lines) if skip_illegal else lines
            made._scripts[kernel] = Steps(kernel, lines, stages, {*_VALUE.findall(str(found))})
        made._applied(made._scripts)
        return made

    def _legal(self, kernel: str, lines: Sequence[str]) -> list[str]:
        """The lines of a script without those that are not legal after the ones before."""
        kept: list[str] = []
        for line in lines:
            try:
                self._applied({kernel: Steps(kernel, [*kept, line])})
            except StepwellError as error:
                remark(self._base.op, f"skipped: {line}: {error.message}")
            else:
                kept.append(line)
        return kept

    @property
    def module(self) -> Module:
        """The program with the schedules as attributes."""
        return self._applied(self._scripts)

    @property
    def script(self) -> str:
        """The steps so far, a script a kernel, after the declarations of named intrinsics."""
        return self._text(self._scripts.values())

    def _text(self, scripts: Iterable[Steps]) -> str:
        steps = "\n".join(each.text() for each in scripts)
        named = [text for name, text in self._intrinsics.items() if f'to "{name}"' in steps]
        return "\n".join([*named, steps])

    def declare(self, intrinsic: Intrinsic) -> None:
        """Add an intrinsic that steps may name. Raises: StepwellError `te-intrinsic` for another's name."""
        if self._intrinsics.setdefault(intrinsic.name, intrinsic.text) != intrinsic.text:
            message = f"the schedule has another intrinsic that is named {intrinsic.name}"
            raise StepwellError("te-intrinsic", None, message)

    @property
    def exact(self) -> bool:
        """Whether each sum adds in the order of the program without a schedule."""
        replays = [self._replayed(steps) for steps in self._scripts.values()]
        is_kept = all(_keeps_order(nest) for nest in self._nests().values())
        return is_kept and all(replay.adds_in_order for replay in replays)

    def __str__(self) -> str:
        return self.script

    def __getitem__(self, stage: Tensor | str) -> Stage:
        """A stage by its tensor or name. Raises: StepwellError `illegal-schedule`."""
        name = stage if isinstance(stage, str) else stage.name
        known = {each: kernel for kernel in self._kernels for each in stages_of(self.now(kernel))}
        if name not in known:
            raise _no_stage(name, list(known))
        return Stage(self, name, known[name])

    @property
    def stages(self) -> list[str]:
        """The names of the stages, which have loops."""
        ops = [(n, op) for kernel in self._kernels for n, op in stages_of(self.now(kernel)).items()]
        return [name for name, op in ops if Structured.of(op) is not None]

    def undo(self) -> None:
        """Remove the last step. Raises: StepwellError `illegal-schedule` where there is none."""
        if not self._before:
            raise StepwellError("illegal-schedule", None, "there is no step to take back")
        self._scripts = self._before.pop()

    def copy(self) -> Schedule:
        """An independent copy."""
        made = copy(self)
        made._scripts = {name: steps.fork() for name, steps in self._scripts.items()}
        made._before = [*self._before]
        made._intrinsics = dict(self._intrinsics)
        return made

    def legal(self, stage: Tensor | str) -> dict[str, list[Loop]]:
        """The steps of a stage that would be legal now, with the loops of each; none for the stage itself."""
        at = self[stage]
        tried = {
            word: [loop for loop in at.loops if self._takes(at, word, loop, *more)]
            for word, more in _OF_LOOPS.items()
        }
        found = {word: loops for word, loops in tried.items() if loops}
        return found | {word: [] for word in _OF_STAGES if self._takes(at, word)}

    def _takes(self, at: Stage, word: str, *arguments: object) -> bool:
        """Whether a step of a stage is legal."""
        try:
            getattr(self.copy()[at.name], word)(*arguments)
        except StepwellError:
            return False
        return True

    def explain(self, *, code: bool = False) -> str:
        """
        The nests of the stages with decisions, as indented text: extents, and the bytes that iterations read.

        Args: `code` compiles the program, and adds the vector registers and spills of each kernel.
        """
        from stepwell.tools.api.explained import code_line, nest_lines

        lines = [line for nest in self._nests().values() for line in nest_lines(nest)]
        if code:
            kernels = self.module.compile(threads=1).kernels
            lines += [code_line(name, kernel.asm) for name, kernel in kernels.items()]
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

    def take(self, stage: str, kernel: FuncOp, step: Callable[[Steps], None]) -> None:
        """Take a step of a stage, if it is legal. Raises: StepwellError `illegal-schedule`."""
        name = kernel.sym_name.data
        after = {each: steps.fork() for each, steps in self._scripts.items()}
        step(after.setdefault(name, Steps(name)))
        self._applied(after)
        before, self._scripts = self._scripts, after
        if self._exact and not self.exact:
            self._scripts = before
            message = f"the step changes the order in which {stage} adds, and the schedule is exact"
            raise StepwellError("illegal-schedule", None, message, note=after[name].lines[-1])
        self._before.append(before)

    def now(self, kernel: FuncOp) -> FuncOp:
        """A kernel after the steps so far."""
        steps = self._scripts.get(kernel.sym_name.data)
        return kernel if steps is None else self._replayed(steps).func

    def name_of(self, value: str, kernel: FuncOp) -> str:
        """The name of the stage to which a value of the script refers."""
        return self._replayed(self._scripts[kernel.sym_name.data]).stage_names()[value]

    def cache_read(self, tensor: Tensor | str, scope: str, readers: Sequence[Tensor | Stage | str]) -> Stage:
        """Let stages read a copy of a tensor; returns the stage that copies. Raises: `illegal-schedule`."""
        stages = [each if isinstance(each, Stage) else self[each] for each in readers]
        name = tensor if isinstance(tensor, str) else tensor.name
        return stages[0].copied_before(name, scope, stages)

    def cache_write(self, stage: Tensor | str, scope: str = ARENA) -> Stage:
        """Compute a stage in a buffer and copy it out; returns the new stage. Raises: `illegal-schedule`."""
        return self[stage].cache_write(scope)

    def take_named(self, stage: str, kernel: FuncOp) -> None:
        """Name a stage in the script, once."""
        steps = self._scripts.get(kernel.sym_name.data)
        if steps is not None and stage in steps.stages:
            return

        def step(steps: Steps) -> None:
            value = steps.stages[stage] = steps.value(stage)
            steps.lines.append(f'%{value} = sched.stage "{stage}"')

        self.take(stage, kernel, step)

    def note_stage(self, kernel: FuncOp, stage: str, value: str) -> None:
        """Note the value of a stage that a step has made."""
        self._scripts[kernel.sym_name.data].stages[stage] = value

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
                    names = stages_of(replay.func)
                    found |= {n: at[0] for n in names if (at := replay.nest_of(n)) is not None}
        return found

    def _replayed(self, steps: Steps) -> Replay:
        (script,) = self._parsed(self._text([steps]))
        replay = Replay(script, kernel_for(script, self._base.op))
        replay.decisions()
        return replay

    def _parsed(self, text: str) -> list[ScriptOp]:
        module = parse_module(self._base.context, text, "schedule")
        verify_module(module)
        return scripts_of(module)

    def _applied(self, scripts: dict[str, Steps]) -> Module:
        module = self._base.clone()
        if not scripts:
            return module
        for script in self._parsed(self._text(scripts.values())):
            apply_script(script, kernel_for(script, module.op))
        return module


def _no_stage(name: str, known: Sequence[str]) -> StepwellError:
    help = f"{did_you_mean(name, known)}the stages are {', '.join(known) or 'none'}"
    return StepwellError("illegal-schedule", None, f"there is no stage {name}", help=help)


def _keeps_order(nest: Nest) -> bool:
    """Whether no reduction loop is vectorized, and the reduction loops are in their original order."""
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
