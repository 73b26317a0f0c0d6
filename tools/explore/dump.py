"""
`--dump`: lower a model through all levels, write the IR after each pass that changed it, and the page.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.machine import emit_assembly
from stepwell.passes.context import PassContext
from stepwell.passes.instruments import Snapshots
from stepwell.passes.pipelines import LLVM_PIPELINE, PROGRAM_LOOP_PIPELINE, PROGRAM_SCHEDULE_PIPELINE
from stepwell.passes.text_diff import text_diff
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import make_folder, write_text
from stepwell.runtime.image import ModelImage
from stepwell.tools.driver.image import Progress, deduplicate
from stepwell.tools.driver.ir_files import SHARED_WEIGHTS
from stepwell.tools.driver.levels import chosen_passes, to_level_1
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.reading import start
from stepwell.tools.driver.tensor_program import to_level_2
from stepwell.tools.explore.collect import collect_and_compile
from stepwell.tools.explore.page_file import explorer_page

# The lowering from kernels on tensors to machine code, for the whole program at once: level, passes.
LOWER_LEVELS = (
    ("tiled and vectorized", PROGRAM_SCHEDULE_PIPELINE),
    ("loops", PROGRAM_LOOP_PIPELINE),
    ("llvm", LLVM_PIPELINE),
)
_DUMPED = re.compile(rf"\d\d+-.+\.(mlir|diff)|{re.escape(SHARED_WEIGHTS)}|index\.html|llvm\.ll|assembly\.s")
"""The names of a dump's files."""


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
    Compile a model, and write the IR after each pass into a folder, with the explorer's page `index.html`.

    Below the kernels' level the folder shows the whole program at once; the image's kernels are compiled one
    by one, as ever. The files of an earlier dump are removed first.
    Raises: StepwellError `cannot-write` when such a file was edited, or is the model; that of the step that
    failed, and the folder contains the files written before.
    """
    make_folder(folder)
    _remove_earlier(folder, model)
    with PassContext(instruments=[snapshots := Snapshots(folder, only_changes=True)]):
        compilation = start(model, options)
        to_level_1(compilation, options)
        to_level_2(compilation, options)
        deduplicate(compilation.module, compilation.ctx.target)
        for level, pipeline in LOWER_LEVELS:
            with chosen_passes(options).active():
                compilation.run(level, pipeline)
    written = [snapshot.path for snapshot in snapshots.taken if snapshot.path is not None]
    for earlier, later in pairwise([folder / "00-input.mlir", *written]):
        write_text(later.with_suffix(".diff"), text_diff(earlier.read_text(), later.read_text()))
    if len(compilation.ctx.weights):
        compilation.ctx.weights.save(folder / SHARED_WEIGHTS)
    text = emit_llvm(compilation.module)
    write_text(folder / "llvm.ll", text)
    write_text(folder / "assembly.s", emit_assembly(text, compilation.ctx.target, optimize=False))
    data, image = collect_and_compile(model, options, run=False, progress=progress)
    write_text(folder / "index.html", explorer_page(data))
    return image
