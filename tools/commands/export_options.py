"""`stepwell compile -o m.so`, `m.a`, `m.o`, `m.wasm`, `m.tgz`: the options, and the export."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import load_image
from stepwell.runtime.files.suffixes import EXPORT_SUFFIXES
from stepwell.runtime.files.whole_files import check_place
from stepwell.runtime.image import ModelImage
from stepwell.tools.commands.options import compile_options, expect_full_start, expect_no_compilation, watched
from stepwell.tools.driver.options import CompileOptions, check_suffix, is_source_file, relaxed_options
from stepwell.tools.report import readable_bytes, summary_text

if TYPE_CHECKING:
    from stepwell.lowering.export import Exported, ExportOptions

_OPTIONS = ("name", "weights", "host_calls", "stack", "memory_pools")


def add_export_options(parser: ArgumentParser) -> None:
    """Add the options of files for programs in other languages."""
    about = "for -o FILE.o, .a, .so and .c, which programs in C link, load or compile, .tar, .wasm and .tgz"
    group = parser.add_argument_group("export", about)
    group.add_argument(
        "--name", metavar="IDENT", help="begin the names of functions with it (default: that of FILE)"
    )
    group.add_argument(
        "--weights",
        choices=("embed", "file", "extern"),
        help="in the file itself, in FILE.weights, which each call gets, or in memory of the program's "
        "(default: embed up to 1 GB, else file)",
    )
    group.add_argument(
        "--host-calls",
        choices=("refuse", "callback"),
        help="what becomes of operators that run in Python: callback calls a function of yours "
        "(default: refuse)",
    )
    group.add_argument(
        "--stack", type=int, metavar="BYTES", help="refuse a model whose call takes more stack"
    )
    group.add_argument(
        "--memory-pools",
        metavar="NAME=BYTES,…",
        help="memories in place of one workspace, the fastest one first",
    )


def _pools(text: str | None) -> dict[str, int] | None:
    """Memories by name, with their bytes. Raises: StepwellError `bad-option`."""
    if text is None:
        return None
    from stepwell.lowering.main_to_buffers import pools_of

    return dict(pools_of(text.split(",")))


def is_exported(args: Namespace) -> bool:
    """Whether the output is for other languages. Raises: StepwellError `bad-option` for its options."""
    if args.emit is None and args.output is not None and args.output.suffix in EXPORT_SUFFIXES:
        return True
    if given := [name for name in _OPTIONS if getattr(args, name) is not None]:
        option = "--" + given[0].replace("_", "-")
        message = f"{option} is for files that programs in C link or load"
        raise StepwellError("bad-option", None, message, help=f"-o FILE{', -o FILE'.join(EXPORT_SUFFIXES)}")
    return False


def export(args: Namespace, compiled: Callable[[CompileOptions], ModelImage]) -> None:
    """Compile, unless the model is an artifact, and write the files."""
    check_suffix(args.model)
    check_place(args.output)
    for name in ("dump", "print_pipeline", "list_pass_runs", "pass_limit"):
        if getattr(args, name):
            option = "--" + name.replace("_", "-")
            raise StepwellError("bad-option", None, f"{option} does not go with -o {args.output}")
    if args.model.suffix != ".stepwell" and is_source_file(args.output, compile_options(args)):
        _export_source(args)
        return
    pools = _pools(args.memory_pools)
    if args.model.suffix == ".stepwell":
        expect_no_compilation(args)
        image, relaxed = load_image(args.model), None
    else:
        expect_full_start(args, {"`stepwell compile`": True})
        with watched(args):
            options = compile_options(args)
            image = compiled(options) if pools is None else _image_with_pools(args, options)
            other = relaxed_options(options, args.output)
            relaxed = None if other is None else compiled(other)
    from stepwell.lowering.export import export_image, with_place

    chosen = with_place(_options(args), args.weights, image.weights)
    done = export_image(image, args.output, chosen, relaxed)
    if args.model.suffix != ".stepwell":  # nothing was compiled for an artifact
        print(summary_text(image), file=sys.stderr)
    _report(args, done)


def _image_with_pools(args: Namespace, options: CompileOptions) -> ModelImage:
    """The compiled model with its memory in pools."""
    from stepwell.tools.driver.emit import image_with_pools

    return image_with_pools(args.model, options, _options(args).pool_texts)


def _export_source(args: Namespace) -> None:
    """Write the model as C."""
    expect_full_start(args, {"`stepwell compile`": True})
    from stepwell.lowering.export import export_source, with_place
    from stepwell.tools.driver.emit import c_program

    with watched(args):
        chosen = _options(args)
        program = c_program(args.model, compile_options(args), chosen.pool_texts)
    chosen = with_place(chosen, args.weights, program.arrays)
    _report(args, export_source(program, args.output, chosen))


def _options(args: Namespace) -> ExportOptions:
    """The options of an export. Raises: StepwellError `bad-option` where it would overwrite its input."""
    beside = args.output.with_suffix(".weights")
    if (
        args.weights == "file"
        and args.model.suffix == ".mlir"
        and beside == args.model.with_suffix(".weights")
    ):
        message = f"{beside} has the weights of {args.model}, and would be overwritten"
        raise StepwellError("bad-option", None, message, help="choose another name for the output")
    from stepwell.lowering.export import ExportOptions

    places = args.weights or "embed", args.host_calls or "refuse"
    return ExportOptions(args.name, *places, args.stack, _pools(args.memory_pools))


def _report(args: Namespace, done: Exported) -> None:
    """Print what was written."""
    args.facts |= done._asdict() | {"files": list(map(str, done.files))}
    code, weights = readable_bytes(done.code_bytes), readable_bytes(done.weight_bytes)
    files = ", ".join(map(str, done.files))
    stack = f", stack {done.stack_bytes} bytes" if done.stack_bytes else ""
    workspace = f"workspace {done.workspace} bytes"
    print(f"wrote {files}: code {code}, weights {weights}, {workspace}{stack}", file=sys.stderr)
