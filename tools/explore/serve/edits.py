"""Edits of a kernel: another schedule, other text on a level, or other passes; and the IR that they give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FileLineColLoc, FusedLoc, ModuleOp, NoneAttr
from xdsl.passes import ModulePass

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.linalg_ext import scheduled_ops
from stepwell.dialects.parser import LocatingParser, parse_module
from stepwell.dialects.printed_lines import printed_lines
from stepwell.dialects.sched import SCHEDULE, ScheduleAttr
from stepwell.dialects.sched_kernel import KernelAttr, kernel_of
from stepwell.dialects.verify import verify_module
from stepwell.passes import parse_passes, run_pipeline
from stepwell.passes.instruments import module_text
from stepwell.passes.pipelines import (
    LLVM,
    LLVM_PIPELINE,
    LOOP_PIPELINE,
    LOOPS,
    OF_KERNELS,
    ON_LLVM,
    ON_LOOPS,
    SCHEDULE_PIPELINE,
    schedule_steps,
    text_of,
)
from stepwell.passes.pipelines import SCHEDULE as SCHEDULE_STEPS
from stepwell.passes.registry import is_ours
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.json_values import as_mapping
from stepwell.tools.explore.kernel_steps import LEVELS, Level

FILE = "kernel.mlir"
"""The name of an edited text in diagnostics."""
TEXT_LEVELS: Mapping[str, Sequence[Level]] = {
    "linalg": LEVELS,
    "vector": LEVELS,
    "loops": (("loop", LOOP_PIPELINE), ("llvm", LLVM_PIPELINE)),
    "llvm": (("llvm", text_of(ON_LLVM)),),
}
"""For each level that text may be on, the passes from there."""
_BEFORE: Mapping[str, Sequence[str]] = {
    "linalg": (),
    "vector": (SCHEDULE_PIPELINE,),
    "loops": (SCHEDULE_PIPELINE, LOOP_PIPELINE),
    "llvm": (SCHEDULE_PIPELINE, LOOP_PIPELINE, LLVM_PIPELINE),
}
"""For each level that text may be on, the passes to there."""
CODE_LEVELS = ("loops", "llvm")
"""Levels whose text can read and write any memory."""
_DATA_DIALECTS = ("arith", "builtin", "func", "linalg", "linalg_ext", "math", "scf", "tensor", "vector")
_CALLS = ("func.call", "func.call_indirect")


class Edit(NamedTuple):
    """
    An edit: `kind` is `schedule`, `pipeline` or the level of a text.

    `number` counts schedules from 0 and names the one that `text` replaces.
    """

    kind: str
    text: str
    number: int = 0

    @property
    def is_code(self) -> bool:
        """Whether the text can do whatever the process can."""
        return self.kind in CODE_LEVELS


class Edited(NamedTuple):
    """An edited kernel, and its way to machine code."""

    module: ModuleOp
    levels: Sequence[Level]
    file: str
    """The IR that was edited, as text."""
    title: str

    @property
    def pipeline(self) -> str:
        """The passes as text."""
        steps = (p if isinstance(p, str) else ",".join(map(str, p)) for _, p in self.levels)
        return ",".join(filter(None, steps))


def edit_of(value: object) -> Edit:
    """An edit from the JSON value of a request. Raises: StepwellError `bad-data`."""
    expected = '{"schedule": …}, {"level": …, "text": …} or {"pipeline": …}'
    try:
        fields = as_mapping(value)
    except TypeError:
        raise StepwellError("bad-data", None, f"expected {expected}, found no object") from None
    kinds = [key for key in ("schedule", "level", "pipeline") if key in fields]
    if len(kinds) != 1:
        raise StepwellError("bad-data", None, f"expected {expected}, found {sorted(fields)}")
    kind, text = kinds[0], fields[kinds[0]]
    if kind == "level":
        if text not in TEXT_LEVELS:
            message = f"no text can be given for the level {text!r}"
            raise StepwellError("bad-data", None, message, help=f"the levels are {', '.join(TEXT_LEVELS)}")
        kind, text = str(text), fields.get("text")
    number = fields.get("number", 0)
    if not isinstance(text, str) or not text.strip() or type(number) is not int or number < 0:
        raise StepwellError("bad-data", None, f"expected {expected}, with text in it")
    return Edit(kind, text, number)


def expect_trust(edit: Edit, trusted: bool) -> None:
    """Refuse text that is code unless it is trusted. Raises: StepwellError `needs-trust`."""
    if edit.is_code and not trusted:
        message = f"text of level {edit.kind} is code: it can read and write any memory of the process"
        raise StepwellError("needs-trust", FILE, message, help="start the server with --trust-ir")


def edited(kernel: ModuleOp, ctx: StepwellContext, edit: Edit) -> Edited:
    """
    The IR after an edit.

    Args: `kernel` has the kernel alone, at level 2 before its first pass; it may be changed.
    Raises: StepwellError for text, a schedule or passes that cannot be used.
    """
    if edit.kind == "schedule":
        return _with_schedule(kernel, ctx, edit)
    if edit.kind == "pipeline":
        return Edited(kernel, _levels_of(edit.text), module_text(kernel), "convert-graph-to-linalg")
    module = parse_module(ctx, edit.text, FILE)
    verify_module(module)
    if not edit.is_code:
        _expect_data(module)
    _expect_interface(module, kernel, with_type=not edit.is_code)
    for pipeline in _BEFORE[edit.kind]:
        run_pipeline(kernel, pipeline, ctx)
    adopt_lines(module, edit.text, kernel)
    return Edited(module, TEXT_LEVELS[edit.kind], edit.text, "your text")


def _with_schedule(kernel: ModuleOp, ctx: StepwellContext, edit: Edit) -> Edited:
    """A kernel with one schedule replaced, up to the pass that chooses such schedules."""
    schedule, number, last = _parsed_schedule(ctx, edit.text), edit.number, None
    for chooser in ("choose-forms", "choose-schedules"):
        run_pipeline(kernel, text_of(schedule_steps(last, chooser)), ctx)
        scheduled, last = scheduled_ops(kernel, chooser), chooser
        if number < len(scheduled):
            scheduled[number].attributes[SCHEDULE] = schedule
            verify_module(kernel)
            rest = (("tensor", text_of(schedule_steps(chooser))), *LEVELS[1:])
            return Edited(kernel, rest, module_text(kernel), "your schedule")
        number -= len(scheduled)
    found = f"the kernel has {edit.number - number} schedules, found number {edit.number} of them"
    raise StepwellError("bad-data", None, found)


def _parsed_schedule(ctx: Context, text: str) -> ScheduleAttr:
    schedule = LocatingParser(ctx, text, "schedule").parse_only_attribute()
    if not isinstance(schedule, ScheduleAttr):
        raise StepwellError("type-mismatch", "schedule", f"expected #sched.schedule<…>, found {schedule}")
    return schedule


def _levels_of(pipeline: str) -> list[Level]:
    """Passes by the level that they are of. Raises: StepwellError for a pass that is not for kernels."""
    level_of = {step.name: "tensor" for step in SCHEDULE_STEPS}
    level_of |= {step.name: "loop" for step in (*LOOPS, *ON_LOOPS)}
    level_of |= {step.name: "llvm" for step in (*LLVM, *ON_LLVM)}
    levels: list[tuple[str, list[ModulePass]]] = []
    for step in parse_passes(pipeline):
        if step.name not in level_of and is_ours(step.name):
            message = f"{step.name} is no pass of kernels"
            help = f"those are {', '.join(dict.fromkeys(each.name for each in OF_KERNELS))}"
            raise StepwellError("bad-option", "pipeline", message, help=help)
        last = levels[-1][0] if levels else "tensor"
        level = level_of.get(step.name, last)
        if not levels or level != last:
            levels.append((level, []))
        levels[-1][1].append(step)
    return list(levels)


def _expect_data(module: ModuleOp) -> None:
    """Refuse ops and types that address memory. Raises: StepwellError `needs-trust`."""
    for op in module.walk():
        dialect = op.name.partition(".")[0]
        types = [value.type for value in (*op.operands, *op.results)]
        types += [arg.type for region in op.regions for block in region.blocks for arg in block.args]
        refused = next((type for type in types if type.name.startswith(("memref", "llvm"))), None)
        if dialect not in _DATA_DIALECTS or op.name in _CALLS or refused is not None:
            found = op.name if refused is None else str(refused)
            message = f"text of levels linalg and vector is data, and {found} is code"
            help = "give it as text of level loops or llvm, to a server with --trust-ir"
            raise StepwellError("needs-trust", op, message, help=help)


def adopt_lines(module: ModuleOp, text: str, original: ModuleOp) -> None:
    """
    Give the ops of a text the nodes of the model that the same lines of the original have.

    Lines are the same at the beginning and at the end; between them, where each text has a line once.
    """
    printed, lines = printed_lines(original)
    locations = {line: op.location for op, line in lines.items()}
    before = same_lines(text.splitlines(), printed.splitlines())
    for op in module.walk():
        if isinstance(place := op.location, FileLineColLoc):
            known = locations.get(before.get(place.line.data, 0), place)
            if known != place:
                op.location = FusedLoc(ArrayAttr([known, place]), NoneAttr())


def same_lines(now: Sequence[str], before: Sequence[str]) -> dict[int, int]:
    """The numbers, from 1 on, of lines of a text that another one has too, with their numbers there."""
    shorter = min(len(now), len(before))
    head = next((i for i in range(shorter) if now[i] != before[i]), shorter)
    tail = next((i for i in range(shorter - head) if now[~i] != before[~i]), shorter - head)
    same = {i + 1: i + 1 for i in range(head)}
    same |= {len(now) - i: len(before) - i for i in range(tail)}
    once = Counter(now[head : len(now) - tail]), Counter(before[head : len(before) - tail])
    places = {before[i]: i + 1 for i in range(head, len(before) - tail)}
    for i in range(head, len(now) - tail):
        if once[0][now[i]] == once[1][now[i]] == 1:
            same[i + 1] = places[now[i]]
    return same


def _expect_interface(module: ModuleOp, kernel: ModuleOp, *, with_type: bool) -> None:
    """Refuse text that is not one kernel with the interface of the original. Raises: StepwellError."""
    functions = list(module.ops)
    found = kernel_of(functions[0]) if len(functions) == 1 else None
    if found is None:
        message = "expected one function with #sched.kernel, and nothing beside it"
        raise StepwellError("type-mismatch", FILE, message)
    (original,) = kernel.ops
    wanted = kernel_of(original)
    assert wanted is not None
    types = [function.properties["function_type"] for function in (functions[0], original)]
    if _roles(found) != _roles(wanted) or (with_type and types[0] != types[1]):
        message = f"the kernel's inputs, outputs and sizes have to stay: {types[1]}, found {types[0]}"
        raise StepwellError("type-mismatch", functions[0], message)
    functions[0].properties["sym_name"] = original.properties["sym_name"]


def _roles(kernel: KernelAttr) -> tuple[int, int, Sequence[str]]:
    return kernel.inputs.data, kernel.outputs.data, kernel.symbol_names
