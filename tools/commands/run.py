"""`stepwell run`: run a model or an artifact, and check it against the reference."""

from __future__ import annotations

import json
import sys
import zlib
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import check_place, whole_file
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.tools.check.check import check_against_reference, expect_reference
from stepwell.tools.commands.options import (
    add_compile_options,
    add_model,
    add_seed,
    add_threads,
    positive,
    ready_model,
)
from stepwell.tools.inputs import FILLS, made_up_inputs, made_up_sizes

_PROFILED_RUNS = 10


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: model, inputs, outputs and options."""
    add_model(parser)
    parser.add_argument("--inputs", type=Path, metavar="F.npz", help="arrays by input name")
    parser.add_argument("--fill", choices=FILLS, default="random", help="how to make up the inputs not given")
    add_seed(parser)
    parser.add_argument("--outputs", type=Path, metavar="F.npz", help="where to write the results")
    parser.add_argument(
        "--repeat", type=positive, default=1, metavar="N", help="run N times and show the times"
    )
    parser.add_argument("--profile", action="store_true", help="show the time of each kernel")
    parser.add_argument("--json", action="store_true", help="the profile as JSON, alone on standard output")
    parser.add_argument("--check", action="store_true", help="compare with ONNX's reference evaluator")
    add_threads(parser)
    add_compile_options(parser)


def run(args: Namespace) -> int:
    """Run; returns the exit status: 1 when `--check` finds a difference."""
    if args.outputs is not None:
        check_place(args.outputs)
    if args.check:
        expect_reference(args.model)
    given = _read_inputs(args.inputs) if args.inputs is not None else {}
    args.profile |= args.json
    model = ready_model(args)
    sizes: dict[str, tuple[int, ...]] = dict(args.input_shape)
    sizes |= {name: np.asarray(value).shape for name, value in given.items()}
    feeds = made_up_inputs(model.interface, args.fill, args.seed, sizes) | given
    try:
        outputs = model.run(feeds)
    except StepwellError as error:
        if error.code == "shape-mismatch" and (open_sizes := made_up_sizes(model.interface, sizes)):
            error.with_note(f"1 was taken for {', '.join(open_sizes)}: --input-shape gives other sizes")
        raise
    if not args.json:
        for name, array in outputs.items():
            print(describe(name, array))
    if args.profile:
        _profile(model, feeds, args)
    elif args.repeat > 1:
        _time(model, feeds, args.repeat)
    if args.outputs is not None:
        _write_outputs(args.outputs, outputs)
    if args.check:
        with redirect_stdout(sys.stderr if args.json else sys.stdout):
            return check_against_reference(args.model, feeds, outputs)
    return 0


def describe(name: str, array: Array) -> str:
    """A line of text about an array: type, shape, range and mean."""
    text = f"{name}: {array.dtype.name}{list(array.shape)}"
    if array.size and array.dtype.kind in "fiub":
        values = array.astype(np.float64)
        text += f"  min {values.min():.6g}  mean {values.mean():.6g}  max {values.max():.6g}"
    return text


def _profile(model: CompiledModel, feeds: Mapping[str, object], args: Namespace) -> None:
    from stepwell.tools.measure.calibrate import machine_limits
    from stepwell.tools.measure.profile import profile, profile_json, profile_text, times_of

    times_of(model)  # an error comes before the machine is measured
    limits = machine_limits()
    rows = profile(model, feeds, max(args.repeat, _PROFILED_RUNS), limits)
    if args.json:
        print(json.dumps(profile_json(rows, limits, model.threads), indent=1))
    else:
        print(profile_text(rows, limits, model.threads))


def _time(model: CompiledModel, feeds: Mapping[str, object], repeat: int) -> None:
    print(model.benchmark(feeds, runs=repeat))


def _read_inputs(path: Path) -> dict[str, object]:
    try:
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise ValueError("it is one array, without a name")
        with file:
            return {name: file[name] for name in file.files}
    except OSError as error:
        raise StepwellError("no-file", str(path), f"cannot read the inputs: {error.strerror}") from None
    except (ValueError, EOFError, BadZipFile, zlib.error) as error:
        raise StepwellError(
            "bad-inputs", str(path), f"the inputs cannot be read: {error}", help="write them with numpy.savez"
        ) from None


def _write_outputs(path: Path, outputs: Mapping[str, Array]) -> None:
    with whole_file(path) as file:
        np.savez(file, allow_pickle=False, **outputs)
    print(f"wrote {path}", file=sys.stderr)
