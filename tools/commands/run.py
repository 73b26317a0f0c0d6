"""`stepwell run`: run a model or an artifact, and check it against the reference."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import check_place, write_text
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.values.program import LimitedProgram
from stepwell.tools.check.check import differences_from_reference, expect_reference, is_requantized
from stepwell.tools.commands.options import (
    add_compile_options,
    add_model,
    add_seed,
    add_threads,
    compile_options,
    expect_full_start,
    input_texts,
    option_texts,
    positive,
    ready_model,
    watched,
)
from stepwell.tools.commands.run_emulated import add_emulation, run_emulated
from stepwell.tools.commands.run_program import add_program_arguments, run_program
from stepwell.tools.devices.run_kernel import is_kernel_run, run_kernel
from stepwell.tools.devices.run_npu import is_npu_run, run_npu
from stepwell.tools.failure import ending_when_interrupted
from stepwell.tools.inputs import FILLS, by_input, completed_inputs, made_up_sizes, read_arrays
from stepwell.tools.measure.host_time import described, is_device_part, milliseconds_on_host, seconds_on_host
from stepwell.tools.shown_outputs import show_outputs, write_outputs

_PROFILED_RUNS = 10
_MUCH = 0.1
"""From this share of a call on, the time on the host is worth a remark."""
_MOST_SECONDS_AGAIN = 1.0


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: model, inputs, outputs and options."""
    add_model(parser)
    parser.add_argument(
        "--inputs", type=Path, metavar="F.npz", help="arrays by input name, or F.npy, the only input"
    )
    parser.add_argument(
        "--fill", choices=FILLS, default="random", help="how to generate inputs that are not given"
    )
    add_seed(parser)
    parser.add_argument("--outputs", type=Path, metavar="F.npz", help="where to write the results")
    parser.add_argument(
        "--repeat", type=positive, default=1, metavar="N", help="run N times and show the times"
    )
    parser.add_argument("--profile", action="store_true", help="show the time of each kernel")
    parser.add_argument(
        "--roofline",
        type=Path,
        metavar="F.svg",
        help="with --profile: draw kernels under the machine's limits",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare with ONNX's reference evaluator, or with the graph in numpy",
    )
    add_threads(parser)
    add_emulation(parser)
    parser.add_argument(
        "--on", metavar="URL", help="run on the server of `stepwell rpc serve`, rpc://HOST:PORT"
    )
    add_program_arguments(parser)
    add_compile_options(parser)


def run(args: Namespace) -> int:
    """Run; returns the exit status: 1 when `--check` finds a difference."""
    expect_full_start(args, {"--profile": args.profile, "--remarks": args.remarks})
    if args.outputs is not None:
        check_place(args.outputs)
    if args.roofline is not None:
        if not args.profile:
            raise StepwellError(
                "bad-usage", None, "--roofline draws what --profile measures, which is not given"
            )
        check_place(args.roofline)
    if args.emulate:
        return run_emulated(args)
    if (is_npu := is_npu_run(args)) or is_kernel_run(args):
        show_outputs(args, buffers := run_npu(args) if is_npu else run_kernel(args))
        if args.outputs is not None:
            write_outputs(args.outputs, buffers)
        return 0
    if args.on is not None:
        return _run_there(args)
    if args.against is not None:
        raise StepwellError("bad-option", None, "--against is for --emulate with --check")
    if args.check:
        if args.state:
            message = "--check compares with the model's own call, which has no states"
            raise StepwellError("bad-usage", None, message, help="leave --state or --check out")
        expect_reference(args.model)
    arrays = read_arrays(args.inputs) if args.inputs is not None else {}
    profile = args.profile
    args.profile |= args.json is not None and args.model.suffix != ".stepwell" and args.start == "full"
    model = ready_model(args)
    with ending_when_interrupted():
        if isinstance(model, LimitedProgram):
            args.profile = profile
            return run_program(model, args)
        return _run_ready(model, arrays, args)


def _run_ready(model: CompiledModel, arrays: Mapping[str, Array], args: Namespace) -> int:
    """Run a compiled model; returns the exit status: 1 when `--check` finds a difference."""
    shapes = dict(args.input_shape)
    feeds = completed_inputs(model.interface, arrays, args.seed, shapes, args.fill)
    begin = perf_counter()
    try:
        outputs = model.run(feeds)
    except StepwellError as error:
        shapes |= {name: array.shape for name, array in by_input(arrays, model.interface).items()}
        if error.code == "shape-mismatch" and (open_sizes := made_up_sizes(model.interface, shapes)):
            made_up = ", ".join(f"{name} = {size}" for name, size in open_sizes.items())
            error.with_note(f"made up: {made_up}; --input-shape gives other sizes")
        raise
    seconds = perf_counter() - begin
    show_outputs(args, outputs)
    _remark_on_host_time(model, feeds, seconds)
    if args.profile and any(map(is_device_part, model.image.main.callees)):
        _profile_device(model, feeds, args)
    elif args.profile:
        _profile(model, feeds, args)
    elif args.repeat > 1:
        times = model.benchmark(feeds, runs=args.repeat)
        args.facts |= {"seconds": times.seconds, "threads": model.threads}
        print(times)
    if args.outputs is not None:
        write_outputs(args.outputs, outputs)
    if args.check:
        return _check(args, feeds, outputs, requantized=is_requantized(model.image))
    return 0


def _run_there(args: Namespace) -> int:
    if others := [name for name in ("check", "profile") if getattr(args, name)]:
        raise StepwellError("bad-option", None, f"--{others[0]} does not go with --on")
    from stepwell.tools.commands.run_there import run_there

    return run_there(args)


def _remark_on_host_time(model: CompiledModel, feeds: Mapping[str, object], seconds: float) -> None:
    """
    Say on standard error what runs on the host, if that is much of a call, whose time is given.

    The second call is judged unless it would take long: the first one imports what the host needs.
    """
    if seconds_on_host(model) < max(_MUCH * seconds, 1e-9):
        return
    if seconds < _MOST_SECONDS_AGAIN:
        begin = perf_counter()
        model.run(feeds)
        seconds = perf_counter() - begin
    if seconds_on_host(model) >= _MUCH * seconds:
        print(f"remark: {described(milliseconds_on_host(model), 1e3 * seconds)}", file=sys.stderr)


def _profile_device(model: CompiledModel, feeds: Mapping[str, object], args: Namespace) -> None:
    from stepwell.tools.measure.device_profile import device_profile_json, device_profile_text, device_times

    times = device_times(model, feeds)
    args.facts |= device_profile_json(times)
    print(device_profile_text(times))


def _profile(model: CompiledModel, feeds: Mapping[str, object], args: Namespace) -> None:
    from stepwell.tools.measure.calibrate import machine_limits
    from stepwell.tools.measure.profile import profile, profile_json, profile_text, times_of

    times_of(model)  # an error comes before the machine is measured
    limits = machine_limits()
    rows = profile(model, feeds, max(args.repeat, _PROFILED_RUNS), limits)
    args.facts |= profile_json(rows, limits, model.threads)
    print(profile_text(rows, limits, model.threads))
    if args.roofline is not None:
        from stepwell.tools.measure.roofline import roofline_svg

        write_text(args.roofline, roofline_svg(args.model.name, rows, limits, model.threads))
        args.facts["roofline"] = args.roofline
        print(f"wrote {args.roofline}", file=sys.stderr)


def _check(
    args: Namespace, feeds: Mapping[str, object], outputs: Mapping[str, Array], *, requantized: bool
) -> int:
    """Compare with the reference and print; returns the exit status."""
    narrow = args.precision != "f32"
    differences = differences_from_reference(
        args.model, feeds, outputs, requantized=requantized, narrow=narrow
    )
    args.facts["check"] = [d._asdict() | {"ok": d.ok} for d in differences]
    print(*differences, sep="\n")
    if all(difference.ok for difference in differences):
        return 0
    if args.model.suffix != ".onnx":
        print("`stepwell validate` says which pass makes the difference")
        return 1
    from stepwell.tools.debug.session import debug

    with watched(args):
        session = debug(args.model, compile_options(args), threads=args.threads)
    session.run(feeds)
    comparison = session.compare()
    if args.pass_limit is None and not args.rewrite_limit:
        from stepwell.tools.debug.guilt import with_guilt

        comparison = with_guilt(session, comparison, option_texts(args), input_texts(args))
    first = comparison.first
    args.facts["first"] = None if first is None else first.to_json()
    print(first or "no single node departs: only the outputs do")
    return 1
