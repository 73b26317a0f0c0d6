"""`stepwell debug`: the values of a model's nodes in the kernels that run in production."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

from stepwell.dialects.locations import node_names
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.tools.commands.options import (
    add_compile_options,
    add_model,
    add_seed,
    add_threads,
    compile_options,
    input_texts,
    option_texts,
    positive,
    watched,
)
from stepwell.tools.debug.guilt import with_guilt
from stepwell.tools.debug.meaning import LEVELS
from stepwell.tools.debug.references import expect_reference
from stepwell.tools.debug.session import DebugSession, debug
from stepwell.tools.debug.values import ValueInfo
from stepwell.tools.debug.watch import kinds_of
from stepwell.tools.inputs import FILLS, UNNAMED, completed_inputs, read_arrays
from stepwell.tools.shown_outputs import described_array
from stepwell.tools.terminal import on_one_line

_SCHEMA = "stepwell-debug/1"
_SHOWN_ELEMENTS = 64


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: model, inputs, and what is asked about the run."""
    add_model(parser)
    parser.add_argument(
        "--inputs", type=Path, metavar="F.npz", help="arrays by input name, or F.npy, the only input"
    )
    parser.add_argument("--fill", choices=FILLS, default="random", help="how to make up the inputs not given")
    add_seed(parser)
    parser.add_argument("--list", action="store_true", help="list all values, and how each is had")
    parser.add_argument(
        "--get", action="append", default=[], metavar="NAME", help="show a value (given again: another)"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_assignment,
        metavar="NAME=F.npy",
        help="go on with another array for a value",
    )
    parser.add_argument(
        "--watch",
        metavar="KINDS",
        help="find the ops that make nan, inf, overflow, denormal, zeros, saturated, range=LO:HI; "
        "some with commas between",
    )
    parser.add_argument(
        "--level",
        choices=LEVELS[1:],
        default="graph",
        help="what --watch looks at: the ops of the model, or those of kernels in the interpreter",
    )
    parser.add_argument(
        "--against", metavar="WHAT", help="compare with reference, onnxruntime, or the arrays of F.npz"
    )
    parser.add_argument("--dump", type=Path, metavar="DIR", help="write graph.json and values.npz")
    parser.add_argument(
        "--iteration",
        type=partial(positive, least=0),
        metavar="N",
        help="in loops, the values of iteration N, from 0 (default: of the last one)",
    )
    parser.add_argument(
        "--max-memory",
        type=_bytes,
        metavar="BYTES",
        help="keep at most so much of values at a time, such as 500M (default: half of what is free)",
    )
    add_threads(parser)
    add_compile_options(parser)


def _assignment(text: str) -> tuple[str, Path]:
    name, equals, path = text.rpartition("=")
    if not equals or not name or not path:
        raise ArgumentTypeError(f"expected NAME=F.npy, found {text!r}")
    return name, Path(path)


def _bytes(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    unit = units.get(text[-1:].upper())
    return positive(text) if unit is None else positive(text[:-1]) * unit


def run(args: Namespace) -> int:
    """Run the model and answer; returns the exit status: 1 where something departs or is found."""
    session = _session(args)
    facts = args.facts
    facts["schema"] = _SCHEMA
    facts["values"] = [asdict(value) for value in session.values()]
    facts["kernels"] = [
        {"name": name, "nodes": node_names(op.location)} for op, name in session.program.kernel_names.items()
    ]
    facts |= {"first": None, "findings": []}
    asked = (args.list, args.get, args.watch, args.against, args.dump)
    if args.list or not any(asked):
        for value in session.values():
            print(_line(value))
    for name in args.get:
        array = session.get(name)
        print(described_array(name, array)[1])
        print(np.array2string(array, threshold=_SHOWN_ELEMENTS))
    is_bad = args.watch is not None and _watch(session, args)
    if args.against is not None:
        comparison = session.compare(args.against)
        if args.pass_limit is None and not args.rewrite_limit and not args.set:
            comparison = with_guilt(session, comparison, option_texts(args), input_texts(args))
        facts |= comparison.to_json()
        print(comparison)
        is_bad |= comparison.first is not None
    if args.dump is not None:
        session.write(args.dump)
        print(f"wrote {args.dump}", file=sys.stderr)
    return int(is_bad)


def _session(args: Namespace) -> DebugSession:
    """A session that has run as the arguments say. Raises: StepwellError."""
    if args.watch is not None:
        kinds_of(args.watch)  # an error comes before the compilation
    if args.against is not None:
        expect_reference(args.against)
    arrays = read_arrays(args.inputs) if args.inputs is not None else {}
    changes = {name: _only_array(path) for name, path in args.set}
    options = None if args.model.suffix == ".stepwell" else compile_options(args)
    with watched(args):
        session = debug(args.model, options, threads=args.threads, max_memory=args.max_memory)
    for name in (*args.get, *changes):
        session.found.known(name)
    interface = session.model.interface
    session.run(completed_inputs(interface, arrays, args.seed, dict(args.input_shape), args.fill))
    for name, array in changes.items():
        session.set(name, array)
    if changes:
        session.go_on()
    if args.iteration is not None:
        session.iterate(args.iteration)
    return session


def _only_array(path: Path) -> Array:
    """The array of a .npy file. Raises: StepwellError `no-file`, `bad-inputs`."""
    arrays = read_arrays(path)
    if list(arrays) != [UNNAMED]:
        message = "expected one array, as numpy.save writes it, found an archive of some"
        raise StepwellError("bad-inputs", str(path), message)
    return arrays[UNNAMED]


def _watch(session: DebugSession, args: Namespace) -> bool:
    """Print what is found; returns whether anything is."""
    watching = session.watched(args.watch, level=args.level)
    args.facts["findings"] = [asdict(finding) for finding in watching.findings]
    for finding in watching.findings:
        print(finding)
    count = len(watching.findings)
    later = watching.bearers
    after = f", inherited by {later} later value{'s' * (later != 1)}" if later else ""
    print(f"{count} finding{'s' * (count != 1)}{after}")
    return bool(watching.findings)


def _line(value: ValueInfo) -> str:
    shape = "?" if value.shape is None else "x".join(map(str, value.shape)) or "scalar"
    where = f"  node {value.node}" if value.node else ""
    kernel = f", kernel {value.kernel}" if value.kernel else ""
    note = f": {value.note}" if value.note else ""
    return on_one_line(f"{value.name}  {shape} {value.dtype}  {value.how}{note}{where}{kernel}")
