"""`stepwell run --emulate`: the exported program of a model, run by an emulator of its CPU."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import load_image
from stepwell.runtime.files.exported import load_exported
from stepwell.runtime.files.suffixes import EXPORT_SUFFIXES, LIBRARY_SUFFIX
from stepwell.runtime.image import ModelImage
from stepwell.tools.check.check import differences_from_reference, expect_reference
from stepwell.tools.commands.options import compile_options, expect_no_compilation, watched
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.devices.chosen import chosen_devices
from stepwell.tools.driver.options import check_suffix
from stepwell.tools.inputs import completed_inputs, read_arrays
from stepwell.tools.shown_outputs import show_outputs, write_outputs

_REFUSED = ("profile", "roofline", "backend")


def add_emulation(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--emulate", action="store_true", help="run the exported program of --mcpu by an emulator of that CPU"
    )
    parser.add_argument(
        "--against", type=Path, metavar="MODEL.onnx", help="with --emulate and --check: the artifact's model"
    )


def run_emulated(args: Namespace) -> int:
    """Run; returns the exit status: 1 when `--check` finds a difference."""
    from stepwell.lowering.export import EmulatedModel

    if given := [name for name in _REFUSED if getattr(args, name)]:
        message = f"--{given[0]} does not go with --emulate: the times of an emulator say nothing"
        raise StepwellError("bad-option", None, message)
    if args.repeat > 1:
        raise StepwellError("bad-option", None, "--repeat measures times, which an emulator's are not")
    reference = args.against or args.model
    if args.check:
        expect_reference(reference)
    arrays = read_arrays(args.inputs) if args.inputs is not None else {}
    model = EmulatedModel(_image(args), args.model if args.model.suffix == LIBRARY_SUFFIX else None)
    feeds = completed_inputs(model.interface, arrays, args.seed, dict(args.input_shape), args.fill)
    outputs = model.run(feeds)
    show_outputs(args, outputs)
    if args.outputs is not None:
        write_outputs(args.outputs, outputs)
    if not args.check:
        return 0
    differences = differences_from_reference(reference, feeds, outputs)
    args.facts["check"] = [d._asdict() | {"ok": d.ok} for d in differences]
    print(*differences, sep="\n")
    return 0 if all(difference.ok for difference in differences) else 1


def _image(args: Namespace) -> ModelImage:
    if args.model.suffix == LIBRARY_SUFFIX:
        expect_no_compilation(args)
        return load_exported(args.model)
    if args.model.suffix in EXPORT_SUFFIXES:
        message = "of exported files an emulator runs libraries for Linux, those that end in .so"
        help = "give it the model: `stepwell run MODEL --mcpu CPU --emulate`"
        raise StepwellError("bad-option", str(args.model), message, help=help)
    check_suffix(args.model)
    if args.model.suffix == ".stepwell":
        expect_no_compilation(args)
        return load_image(args.model)
    options = compile_options(args)
    if devices := chosen_devices(options):
        message = f"an emulator runs code of a CPU, and the model is for {devices[0].target.kind} too"
        help = "--device ptx-interpreter runs code of GPUs here, without --emulate"
        raise StepwellError("bad-option", None, message, help=help)
    with watched(args):
        return build_image(args.model, options)
