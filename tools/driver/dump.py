"""
`--dump`: lower a model through all levels, and write the IR after each pass with changes, and an HTML page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from stepwell.dialects import graph
from stepwell.dialects.locations import node_names
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.machine import emit_assembly
from stepwell.passes.context import PassContext
from stepwell.passes.instruments import Instrument, OpCounts, PassTiming, Snapshots, Timed
from stepwell.passes.pipelines import LLVM_PIPELINE, PROGRAM_LOOP_PIPELINE, PROGRAM_SCHEDULE_PIPELINE
from stepwell.passes.text_diff import text_diff
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.files.whole_files import make_folder, write_text
from stepwell.runtime.image import ModelImage
from stepwell.tools.driver.compilation import Compilation, main_of
from stepwell.tools.driver.dump_page import page
from stepwell.tools.driver.image import Progress, compile_image, deduplicate
from stepwell.tools.driver.ir_files import SHARED_WEIGHTS
from stepwell.tools.driver.levels import chosen_passes, to_level_1
from stepwell.tools.driver.lower import to_level_2
from stepwell.tools.driver.model_interface import read_interface
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.reading import start

# The lowering from kernels on tensors to machine code, for the whole program at once: level, passes.
LOWER_LEVELS = (
    ("tiled and vectorized", PROGRAM_SCHEDULE_PIPELINE),
    ("loops", PROGRAM_LOOP_PIPELINE),
    ("llvm", LLVM_PIPELINE),
)
_DUMPED = re.compile(rf"\d\d+-.+\.(mlir|diff)|{re.escape(SHARED_WEIGHTS)}|index\.html|llvm\.ll|assembly\.s")
"""The names of a dump's files."""


@dataclass(frozen=True)
class Step:
    """
    A pass in the dump: time, op counts and changes, and the file with the program after it, if it changed
    anything.
    """

    level: str
    name: str
    depth: int
    milliseconds: float
    ops_before: int
    ops_after: int
    file: str | None
    diff: str = ""


@dataclass(frozen=True)
class FusedGroup:
    """A kernel that fusion formed: the kind and the ops."""

    kind: str
    ops: Sequence[str]
    nodes: Sequence[str]


@dataclass
class Dump(Instrument):
    """Records time, op counts and a snapshot of each pass. The time of other instruments is not included."""

    folder: Path
    steps: list[Step] = field(default_factory=list[Step])

    def __post_init__(self) -> None:
        self._timing = PassTiming()
        self._counts = OpCounts()
        self._snapshots = Snapshots(self.folder, only_changes=True)

    def enter_pass_ctx(self) -> None:
        self._snapshots.enter_pass_ctx()

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        for instrument in (self._snapshots, self._counts, self._timing):
            instrument.run_before_pass(module, step)

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        for instrument in (self._timing, self._counts, self._snapshots):
            instrument.run_after_pass(module, step)

    def end_level(self, level: str) -> None:
        """Assign the passes that ran since the last call to `level`."""
        begin = len(self.steps)
        taken, changes = self._snapshots.taken[begin:], self._counts.changes[begin:]
        timed = list(_in_order_of_end(self._timing.root))
        self._timing.root.inner.clear()
        earlier = next((s.file for s in reversed(self.steps) if s.file is not None), "00-input.mlir")
        for snapshot, change, (time, depth) in zip(taken, changes, timed, strict=True):
            file = diff = ""
            if snapshot.path is not None:
                file = snapshot.path.name
                diff = text_diff(*((self.folder / name).read_text() for name in (earlier, file)))
                write_text(self.folder / f"{snapshot.path.stem}.diff", diff)
                earlier = file
            counted = change.before.total(), change.after.total()
            ms = 1e3 * time.seconds
            self.steps.append(Step(level, time.name, depth, ms, *counted, file or None, diff))


def _in_order_of_end(timed: Timed, depth: int = 0) -> Sequence[tuple[Timed, int]]:
    """The passes below a node of the timing tree, inner ones first, as the other instruments list them."""
    found: list[tuple[Timed, int]] = []
    for inner in timed.inner:
        found += [*_in_order_of_end(inner, depth + 1), (inner, depth)]
    return found


def fused_groups(module: ModuleOp) -> list[FusedGroup]:
    """The kernels of a level-1 module, in order."""
    groups: list[FusedGroup] = []
    for op in module.walk():
        if isinstance(op, graph.FusedOp):
            names = [inner.name.removeprefix("graph.") for inner in op.body.block.ops]
            ops = [name for name in names if name not in ("yield", "constant")]
            words = [op.attributes.get(key) for key in ("kind", "pattern")]
            kind = " ".join(word.data for word in words if isinstance(word, StringAttr))
            groups.append(FusedGroup(kind, ops, node_names(op.location)))
    return groups


def _remove_earlier(folder: Path, model: Path) -> None:
    """Remove the files of an earlier dump. Raises: StepwellError `cannot-write` for one with edits."""
    files = sorted(file for file in folder.iterdir() if _DUMPED.fullmatch(file.name))
    # The page is written last.
    end = next((file.stat().st_mtime_ns for file in files if file.name == "index.html"), 0)
    for file in files:
        if file.stat().st_mtime_ns > end or file.resolve() == model.resolve():
            message = "this file would be lost: it was edited, is the model, or is of a dump that failed"
            help = "dump into another folder, or remove this one"
            raise StepwellError("cannot-write", str(file), message, help=help)
    for file in files:
        file.unlink()


def compile_and_dump(
    model: Path, options: CompileOptions, folder: Path, progress: Progress | None = None
) -> ModelImage:
    """
    Compile a model, and write the IR after each pass into a folder, with the page `index.html`.

    Below the kernels' level the folder shows the whole program at once; the image's kernels are compiled one
    by one, as ever. The files of an earlier dump are removed first.
    Raises: StepwellError `cannot-write` when such a file was edited, or is the model; that of the step that
    failed, and the folder contains the files written before.
    """
    make_folder(folder)
    _remove_earlier(folder, model)
    dump = Dump(folder)
    with PassContext(instruments=[dump]) as context:
        compilation = start(model, options)
        to_level_1(compilation, options)
        dump.end_level("graph")
        interface = read_interface(main_of(compilation.module))
        groups = fused_groups(compilation.module)
        to_level_2(compilation, options)
        dump.end_level("kernels on tensors")
        lower = Compilation(compilation.module.clone(), compilation.ctx)
        deduplicate(lower.module, compilation.ctx.target)
        for level, pipeline in LOWER_LEVELS:
            with chosen_passes(options).active():
                lower.run(level, pipeline)
            dump.end_level(level)
    if len(compilation.ctx.weights):
        compilation.ctx.weights.save(folder / SHARED_WEIGHTS)
    text = emit_llvm(lower.module)
    write_text(folder / "llvm.ll", text)
    write_text(folder / "assembly.s", emit_assembly(text, compilation.ctx.target, optimize=False))
    cache = KernelCache() if options.use_cache else None
    passes = chosen_passes(options)
    image = compile_image(
        compilation, interface, cache, passes=passes, processes=options.processes, progress=progress
    )
    title = f"{model.name} for {options.mcpu}, --opt-level {options.opt_level}"
    outside = PassContext.current().remarks  # the remarks of the kernels are there
    outside += context.remarks
    facts = {**image.summary, **image.effort}
    write_text(folder / "index.html", page(title, dump.steps, groups, outside, facts))
    return image
