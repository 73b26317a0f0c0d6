"""`stepwell compile`: a model to an artifact, to a file that programs link, or to the IR of a level."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from stepwell.passes.pipelines import LEVELS, all_levels, explained
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import save
from stepwell.runtime.files.suffixes import EXPORT_SUFFIXES
from stepwell.runtime.files.whole_files import check_place, write_text
from stepwell.runtime.image import ModelImage
from stepwell.tools.commands.export_options import add_export_options, export, is_exported
from stepwell.tools.commands.options import (
    add_compile_options,
    add_model,
    add_weights,
    compile_options,
    expect_full_start,
    watched,
    with_weights,
)
from stepwell.tools.devices.emit import DEVICE_LEVELS, emit_for_device, gpu_of, is_for_device
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.options import (
    CompileOptions,
    check_suffix,
    expect_chosen_schedules,
    source_suffixes,
)
from stepwell.tools.json_facts import STANDARD_OUTPUT, Facts, tensor_facts
from stepwell.tools.progress import shown_progress
from stepwell.tools.report import summary_text

_SUFFIXES = {"ll": ".ll", "asm": ".s", "obj": ".o", "source": ".txt"}
"""The file suffixes of levels whose files are not .mlir."""
_KINDS = {".ll": "LLVM IR", ".s": "assembly", ".o": "an object file", ".txt": "source text"}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: model, output and options."""
    add_model(parser)
    add_weights(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="where to write, by the suffix: .stepwell, or .o, .a, .so, .c for programs in C, with a header, "
        ".tar with all of these and an example, or .wasm and .tgz for browsers and Node "
        "(default: MODEL.stepwell in this folder; with --emit, standard output, as -)",
    )
    parser.add_argument(
        "--emit",
        choices=(*LEVELS, "vm", "obj", *DEVICE_LEVELS),
        help="write a level's IR instead of an artifact; gpu: kernels of a GPU, source: the same as source "
        "text of --target webgpu, opencl or metal, asm: as PTX of --target cuda, commands: what the host "
        "does with them, npu: programs of the accelerator",
    )
    parser.add_argument(
        "--upstream",
        action="store_true",
        help="write levels from linalg to llvm in the generic form of upstream MLIR, weights included",
    )
    parser.add_argument(
        "--dump", type=Path, metavar="DIR", help="write the IR after each pass, and a page about it"
    )
    parser.add_argument(
        "--print-memory-plan", action="store_true", help="show the offset of each buffer in the arena"
    )
    parser.add_argument(
        "--print-pipeline",
        action="store_true",
        help="print the passes of all levels with the reasons, as stepwell-opt -p takes them, and stop",
    )
    parser.add_argument(
        "--list-pass-runs",
        action="store_true",
        help="print the number of each execution of a pass, as --pass-limit counts them, and stop",
    )
    add_export_options(parser)
    add_compile_options(parser)


def _pipeline(options: CompileOptions) -> str:
    from stepwell.passes.context import PassContext
    from stepwell.tools.driver.levels import steps_of

    context = PassContext.current().choosing(options.required_passes, options.disabled_passes)
    return explained(all_levels(steps_of(options, options.description(), context)))


def run(args: Namespace) -> int:
    """Compile; returns the exit status."""
    from stepwell.tools.driver.versions.several_targets import targets_of

    targets = targets_of(args.target)
    _expect_artifact(args, targets)
    _expect_own_weights(args)
    if is_exported(args):
        export(args, lambda options: _image(args, options))
        return 0
    expect_full_start(args, {"-o": args.output, "--emit": args.emit, "`stepwell compile`": True})
    options = compile_options(Namespace(**{**vars(args), "target": next(iter(targets), None)}))
    check_suffix(args.model, source_suffixes())
    if args.output == Path("-"):
        _expect_text(args.emit)
        args.output = None
    if args.output is not None:
        check_place(args.output)
        _check_output_suffix(args.output, args.emit)
    is_text = args.emit or args.print_pipeline
    if args.json == STANDARD_OUTPUT and args.output is None and is_text:
        message = "--json and the text of the compilation both want standard output"
        raise StepwellError(
            "bad-option", None, message, help="name a file for one of them: -o FILE, --json F.json"
        )
    if args.print_pipeline or args.list_pass_runs:
        _expect_listing(args)
        _list_runs(args, options) if args.list_pass_runs else print(_pipeline(options))
        return 0
    _expect_compatible(args, options)
    with watched(args):
        if args.emit is not None:
            _emit(args, options)
            args.facts |= {"level": args.emit, "output": args.output}
            return 0
        image = _compiled(args, targets)
    output = args.output or args.model.with_suffix(".stepwell").name
    save(image, output)
    args.facts |= _facts(image) | {"output": output}
    print(summary_text(image, str(output)), file=sys.stderr)
    return 0


def _expect_compatible(args: Namespace, options: CompileOptions) -> None:
    """Refuse options of the output that do not go together. Raises: StepwellError `bad-option`."""
    if args.pass_limit is not None and (args.dump or args.emit in (*LEVELS[LEVELS.index("vector") :], "obj")):
        option = "--dump" if args.dump else f"--emit {args.emit}"
        raise StepwellError(
            "bad-option",
            None,
            f"--pass-limit counts passes kernel by kernel, and {option} runs them on the whole program",
            help="write the program with --emit linalg, and limit stepwell-opt's passes on it",
        )
    if args.upstream and args.emit is None:
        message = "--upstream changes the text of a level, and no level is written"
        raise StepwellError("bad-option", None, message, help="--emit linalg --upstream")
    if args.pass_limit is not None:
        expect_chosen_schedules(options, "--pass-limit")
    if args.emit is not None and args.dump is not None:
        raise StepwellError("bad-option", None, "--dump writes every level: it does not go with --emit")
    if args.print_memory_plan and args.emit in LEVELS[: LEVELS.index("loops")]:
        message = f"--emit {args.emit} ends before plan-memory: --print-memory-plan has no plan to print"
        raise StepwellError("bad-option", None, message)


def _expect_own_weights(args: Namespace) -> None:
    """Refuse other weights where an IR is written. Raises: StepwellError `bad-option`."""
    others = ("emit", "dump", "list_pass_runs", "print_pipeline")
    if args.weights_from is not None and (given := [name for name in others if vars(args)[name]]):
        option = "--" + given[0].replace("_", "-")
        message = f"--weights-from does not go with {option}: it is for artifacts"
        raise StepwellError("bad-option", None, message)


def _expect_listing(args: Namespace) -> None:
    """Refuse options that go on after a list was printed. Raises: StepwellError `bad-option`."""
    wanted, other = "print_pipeline", "list_pass_runs"
    if args.list_pass_runs:
        wanted, other = other, wanted
    others = (other, "output", "emit", "dump", "remarks", "print_memory_plan")
    if given := [name for name in others if vars(args)[name]]:
        options = ["--" + name.replace("_", "-") for name in (wanted, given[0])]
        raise StepwellError("bad-option", None, f"{options[0]} does not go with {options[1]}")


def _list_runs(args: Namespace, options: CompileOptions) -> None:
    from stepwell.tools.driver.pass_runs import pass_runs

    runs = pass_runs(args.model, options)
    args.facts |= {"schema": "stepwell-pass-runs/1", "runs": [asdict(run) for run in runs]}
    print(*runs, sep="\n")


def _facts(image: ModelImage) -> Facts:
    if image.program:
        return {"segments": list(image.segments), **image.summary, **image.effort}
    interface, variant = image.main.interface.public, image.main.variants[0]
    return {
        "inputs": tensor_facts(interface.inputs),
        "outputs": tensor_facts(interface.outputs),
        "triple": variant.triple,
        "features": list(variant.features),
        **image.summary,
        **image.effort,
    }


def _expect_text(level: str | None) -> None:
    """Refuse `-o -` for output that is not text."""
    if level is None or level == "obj":
        what = f"--emit {level} writes bytes" if level else "an artifact is bytes"
        raise StepwellError(
            "bad-option", None, f"{what}, and -o - is standard output", help="name a file: -o FILE"
        )


def _check_output_suffix(output: Path, level: str | None) -> None:
    """Refuse an output name with the suffix of another kind of file; --emit accepts unknown suffixes."""
    written = _SUFFIXES.get(level or "", ".mlir" if level else ".stepwell")
    if output.suffix == written or (
        level and output.suffix not in (".onnx", ".stepwell", ".mlir", *_SUFFIXES.values())
    ):
        return
    what = f"--emit {level} writes {_KINDS.get(written, 'IR as text')}" if level else "this is an artifact"
    raise StepwellError(
        "bad-option",
        None,
        f"{what}, and -o {output} ends in {output.suffix or 'nothing'}",
        help=f"name it {output.with_suffix(written).name}"
        + ("" if level else f", or for other programs {', '.join(EXPORT_SUFFIXES)}; --emit writes IR"),
    )


def _emit(args: Namespace, options: CompileOptions) -> None:
    from stepwell.tools.driver.emit import emit, emit_file, emit_object_file

    if args.upstream:
        _emit_upstream(args, options)
        return
    if args.emit == "obj":
        if args.output is None:
            raise StepwellError("bad-option", None, "an object file needs -o FILE")
        if (target := gpu_of(options)) is not None:
            from stepwell.tools.devices.object_file import emit_device_object

            emit_device_object(args.model, options, target, args.output)
            return
        emit_object_file(args.model, options, args.output)
        return
    if is_for_device(options, args.emit):
        emit_for_device(args.model, options, args.emit, args.output)
        return
    if args.output is None:
        print(emit(args.model, options, args.emit))
    else:
        emit_file(args.model, options, args.emit, args.output)


def _emit_upstream(args: Namespace, options: CompileOptions) -> None:
    from stepwell.tools.driver.emit import lower_to
    from stepwell.tools.upstream.text import expect_level, upstream_text

    expect_level(args.emit)
    compilation = lower_to(args.model, options, args.emit)
    text = upstream_text(compilation.module, compilation.ctx)
    if args.output is None:
        print(text, end="")
    else:
        write_text(args.output, text)


def _compiled(args: Namespace, targets: Sequence[str]) -> ModelImage:
    """The model for its target, or for several. Raises: StepwellError `bad-option`."""
    if len(targets) < 2:
        return _image(args, compile_options(args))
    from stepwell.tools.driver.versions.several_targets import image_for_targets

    if args.dump is not None:
        raise StepwellError("bad-option", None, "--dump shows the compilation for one target")
    every = [compile_options(Namespace(**{**vars(args), "target": target})) for target in targets]
    return image_for_targets(every, lambda options: _image(args, options))


def _expect_artifact(args: Namespace, targets: Sequence[str]) -> None:
    """Refuse several targets for what is no artifact. Raises: StepwellError `bad-option`."""
    listings = args.emit is not None or args.print_pipeline or args.list_pass_runs
    if len(targets) > 1 and (listings or (args.output is not None and args.output.suffix in EXPORT_SUFFIXES)):
        message = "several targets go into a .stepwell file alone"
        raise StepwellError("bad-option", None, message, help="-o FILE.stepwell, or name one target")


def _image(args: Namespace, options: CompileOptions) -> ModelImage:
    with shown_progress() as progress:
        if args.dump is None:
            return build_image(with_weights(args), options, progress=progress)
        from stepwell.tools.explore.dump import compile_and_dump

        return compile_and_dump(args.model, options, args.dump, progress)
