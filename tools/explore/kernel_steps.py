"""The text of a kernel after each pass from level 2 to assembly, with the nodes of the model of each line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.linalg_ext import scheduled_ops
from stepwell.dialects.locations import node_names
from stepwell.dialects.printed_lines import AttributeTexts, printed_lines
from stepwell.dialects.sched import SCHEDULE
from stepwell.dialects.sched_kernel import kernel_of
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.kernel import has_vectors
from stepwell.lowering.kernels.machine import emit_assembly, vector_spills
from stepwell.passes.context import PassContext
from stepwell.passes.instruments import PASS_SECONDS, Instrument
from stepwell.passes.manager import run_pipeline
from stepwell.passes.pipelines import LLVM_PIPELINE, LOOP_PIPELINE, SCHEDULE_PIPELINE
from stepwell.passes.reproducer import Reproducer
from stepwell.runtime.image import ModelImage
from stepwell.runtime.link.code import LinkedCode
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.explore.asm_loops import counts_of, loops_of
from stepwell.tools.explore.structure import Structure, structure

Data: TypeAlias = dict[str, object]

Level: TypeAlias = tuple[str, str | Sequence[ModulePass]]
"""A level, and passes of its pipeline."""
LEVELS: Sequence[Level] = (("tensor", SCHEDULE_PIPELINE), ("loop", LOOP_PIPELINE), ("llvm", LLVM_PIPELINE))
"""The levels of a kernel below the graph, and their passes."""
_LOCATION = re.compile(r"\s*\.loc\s+\d+\s+(\d+)")
_NOISE = re.compile(r"\s*\.(cfi_|file|loc|Ltmp|Lfunc_begin|ident|addrsig)|\.L(tmp|func_begin|func_end)\d+:")
_SECTION = re.compile(r"\s*\.(section|text|data|bss)\b(?P<debug>\s+\"?\.debug)?")


class Printed(NamedTuple):
    """The text of IR, and for each line the nodes of the op that begins there."""

    text: str
    nodes: list[tuple[str, ...]]

    @classmethod
    def of(cls, op: Operation) -> Printed:
        """The text of an op with its line map."""
        return cls.of_lines(*printed_lines(op))

    @classmethod
    def of_lines(cls, text: str, lines: Mapping[Operation, int]) -> Printed:
        """A text with its line map, from the lines of `printed_lines`."""
        nodes: list[tuple[str, ...]] = [()] * text.count("\n")
        for inner, line in lines.items():
            nodes[line - 1] = tuple(dict.fromkeys(node_names(inner.location)))
        return cls(text, nodes)

    def data(self, sets: dict[tuple[str, ...], int]) -> Data:
        """
        Text and line map as JSON values; lines have the numbers of their sets of nodes, -1 for none.

        Args: `sets` are numbered in order of their first use.
        """
        numbers = [sets.setdefault(names, len(sets)) if names else -1 for names in self.nodes]
        return {"text": self.text, "lines": numbers}


@dataclass
class KernelSteps(Instrument):
    """Records the text after each pass with a line map, or an equal text as `same`."""

    sets: dict[tuple[str, ...], int]
    steps: list[Data] = field(default_factory=list[Data])
    level: str = ""
    schedules: list[str] = field(default_factory=list[str])
    lines: Mapping[Operation, int] = field(default_factory=dict[Operation, int])
    """The line of each op in the text after the last step."""
    _last: str = ""
    _structure: Structure = field(default_factory=list[object])
    _texts: AttributeTexts = field(default_factory=dict[int, tuple[Attribute, str]])
    _depth: int = 0

    def add(self, op: Operation, name: str, ms: float) -> None:
        """Add the step after a pass."""
        step: Data = {"level": self.level, "pass": name, "ms": round(ms, 3)}
        now = structure(op)
        if now == self._structure:
            self.steps.append(step | {"same": True})
            return
        self._structure = now
        text, self.lines = printed_lines(op, self._texts)
        printed = Printed.of_lines(text, self.lines)
        is_same = printed.text == self._last
        self.steps.append(step | ({"same": True} if is_same else printed.data(self.sets)))
        self._last = printed.text

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self._depth += 1

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self._depth -= 1
        if self._depth:
            return
        self.add(module, step.name, 1e3 * PASS_SECONDS.get())
        if step.name in ("choose-forms", "choose-schedules"):
            self.schedules += [str(op.attributes[SCHEDULE]) for op in scheduled_ops(module, step.name)]


class Assembly(NamedTuple):
    """Assembly for readers: for each line the number of a line of the `llvm` level, 0 for none."""

    text: str
    lines: list[int]


def located(assembly: str) -> Assembly:
    """Assembly with debug locations, without its directives about them."""
    texts: list[str] = []
    lines: list[int] = []
    line, is_debug = 0, False
    for text in assembly.splitlines():
        if section := _SECTION.match(text):
            is_debug = section["debug"] is not None
        if location := _LOCATION.match(text):
            line = int(location[1])
        if is_debug or _NOISE.match(text):
            continue
        texts.append(text)
        lines.append(line if text.startswith("\t") and not text.startswith("\t.") else 0)
    return Assembly("\n".join(texts) + "\n", lines)


def kernel_data(
    module: ModuleOp,
    ctx: StepwellContext,
    target: TargetDescription,
    levels: Sequence[Level] = LEVELS,
    *,
    first: str = "convert-graph-to-linalg",
) -> Data:
    """
    The steps of a kernel, its assembly, schedules and remarks, as JSON values.

    Args: `module` has the kernel alone, of level 2 unless `levels` has other passes than those from there;
    it is lowered in place, to level 4; `first` names what made it.
    Raises: StepwellError when a pass refuses the kernel.
    """
    ctx.target = target
    sets: dict[tuple[str, ...], int] = {}
    recorder = KernelSteps(sets, level=levels[0][0] if levels else "llvm")
    recorder.add(module, first, 0.0)
    context = PassContext.current().with_own_remarks()
    reproducer = Reproducer.of_copy(module)
    with context.watched_by([recorder]):
        for recorder.level, pipeline in levels:
            run_pipeline(module, pipeline, ctx, reproducer)
    optimize = not has_vectors(module)
    assembly = emit_assembly(emit_llvm(module, lines=recorder.lines), target, optimize=optimize)
    shown = located(assembly)
    return {
        "steps": recorder.steps,
        "sets": [list(names) for names in sets],
        "schedule": recorder.schedules,
        "asm": shown._asdict() | {"counts": counts_of(shown.text), "loops": loops_of(shown.text)},
        "spills": vector_spills(assembly),
        "scratch": scratch_of(module),
        "remarks": [_remark(remark.pass_name, remark.where, remark.message) for remark in context.remarks],
    }


def scratch_of(module: ModuleOp) -> str:
    """The bytes of scratch memory of a kernel at level 3 or 4, as a dimension expression."""
    return next(found for op in module.ops if (found := kernel_of(op)) is not None).scratch.data


def code_bytes(image: ModelImage, symbol: str) -> int | None:
    """The bytes of a kernel's machine code; None where the image does not know its functions."""
    code = image.main.variants[0].code
    if not isinstance(code, LinkedCode):
        return None
    return sum(size for name, (_, size) in code.functions.items() if name.partition(".")[0] == symbol)


def _remark(pass_name: str, where: str, message: str) -> Mapping[str, str]:
    return {"pass": pass_name, "where": where, "message": message}
