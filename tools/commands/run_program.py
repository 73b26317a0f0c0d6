"""`stepwell run` of a program with functions, data or cells."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import unreadable
from stepwell.runtime.image import MAIN
from stepwell.runtime.interface import Array
from stepwell.runtime.values.program import LimitedProgram
from stepwell.runtime.vm.machine import MAX_DEPTH, Limits
from stepwell.runtime.vm.printer import InstructionPrinter
from stepwell.runtime.vm.profile import Profiler
from stepwell.tools.commands.options import positive
from stepwell.tools.inputs import read_arrays
from stepwell.tools.program_inputs import made_up_values, value_of_json

MAX_JSON_BYTES = 1 << 28


def add_program_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that programs with functions have beside those of models."""
    group = parser.add_argument_group("programs with functions, data or cells")
    group.add_argument(
        "--inputs-json",
        type=Path,
        metavar="F.json",
        help='values by input name: numbers and nested lists for tensors, {"Rose": [..]} for data',
    )
    group.add_argument(
        "--print-instructions",
        nargs="?",
        type=positive,
        const=0,
        metavar="N",
        help="print the instructions as they run, with what they read and write; the first N",
    )
    group.add_argument(
        "--max-depth", type=positive, default=MAX_DEPTH, metavar="N", help="the most nested calls"
    )
    group.add_argument("--max-memory", type=positive, metavar="BYTES", help="the most bytes alive in a call")
    group.add_argument(
        "--max-instructions", type=positive, metavar="N", help="the most instructions of a call"
    )


def run_program(program: LimitedProgram, args: Namespace) -> int:
    """Run a program as the arguments say; returns the exit status."""
    profiler: list[Profiler] = []

    printed = args.print_instructions

    def hooks() -> list[Profiler | InstructionPrinter]:
        if args.profile:
            profiler.append(Profiler(limited.machine.program))
        printer = InstructionPrinter(limited.machine.program, most=printed or None)
        return [*profiler[-1:], *([printer] if printed is not None else [])]

    limits: Limits = {
        "max_depth": args.max_depth,
        "max_memory": args.max_memory,
        "max_instructions": args.max_instructions,
    }
    if args.profile or printed is not None:
        limits["hooks"] = hooks  # which native functions do not have
    limited = program.with_limits(**limits)
    feeds = _feeds(limited, args)
    result = limited(**feeds)
    for _ in range(args.repeat - 1):
        result = limited(**feeds)
    args.facts["outputs"] = _facts(result)
    print(shown(result))
    if profiler:
        rows = profiler[-1].profile()
        args.facts["profile"] = [row._asdict() for row in rows.rows]
        args.facts |= {"allocated_bytes": rows.allocated_bytes, "deepest_stack": rows.deepest}
        print(rows)
    if args.outputs is not None:
        _write(args.outputs, result)
    return 0


def _feeds(program: LimitedProgram, args: Namespace) -> dict[str, object]:
    """Inputs by name: those of files, and made-up ones. Raises: StepwellError `bad-inputs`."""
    signature = program.signature()
    types = {signature.name_of(n): type for n, type in enumerate(signature.inputs)}
    given: dict[str, object] = {}
    if args.inputs is not None:
        given |= read_arrays(args.inputs)
    if args.inputs_json is not None:
        values = _read_json(args.inputs_json)
        if unknown := [name for name in values if name not in types]:
            message = f"the program has no input {unknown[0]!r}"
            raise StepwellError(
                "bad-inputs", str(args.inputs_json), message, help=f"it has {', '.join(types)}"
            )
        given |= {name: value_of_json(program, value, types[name], name) for name, value in values.items()}
    missing = {name: type for name, type in types.items() if name not in given}
    return given | made_up_values(program, missing, args.seed)


def _read_json(path: Path) -> Mapping[str, object]:
    """The values of a file by input name. Raises: StepwellError `no-file`, `bad-inputs`."""
    try:
        if path.stat().st_size > MAX_JSON_BYTES:
            raise StepwellError("bad-inputs", str(path), f"the file has more than {MAX_JSON_BYTES} bytes")
        values: object = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise unreadable(path, "inputs", error) from None
    except (ValueError, RecursionError) as error:
        raise StepwellError("bad-inputs", str(path), f"this is no JSON: {error}") from None
    if not isinstance(values, dict):
        raise StepwellError("bad-inputs", str(path), "expected an object with a value for each input")
    return cast("dict[str, object]", values)


def shown(value: object) -> str:
    """A result as text: arrays with their values, data as constructors."""
    if isinstance(value, np.ndarray):
        return np.array2string(cast(Array, value), separator=", ", threshold=64)
    if isinstance(value, list | tuple):
        items = cast("list[object] | tuple[object, ...]", value)
        inner = ", ".join(shown(each) for each in items[:20]) + (", …" if len(items) > 20 else "")
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return repr(value)


def _facts(value: object) -> object:
    """A result as JSON: nested lists of numbers, data as text."""
    if isinstance(value, np.ndarray | np.generic):
        return cast(Array, value).tolist()
    if isinstance(value, list | tuple):
        return [_facts(each) for each in cast("list[object]", value)]
    return value if value is None else repr(value)


def _write(path: Path, result: object) -> None:
    """Write the arrays of a result. Raises: StepwellError `bad-inputs` for one that has others."""
    from stepwell.runtime.files.whole_files import whole_file

    values = list(cast("tuple[object, ...]", result)) if isinstance(result, tuple) else [result]
    if not all(isinstance(each, np.ndarray) for each in values):
        raise StepwellError("unsupported", None, f"--outputs writes arrays, {MAIN} returns other values")
    with whole_file(path) as file:
        np.savez(
            file, allow_pickle=False, **{f"output{n}": cast(Array, each) for n, each in enumerate(values)}
        )
    print(f"wrote {path}", file=sys.stderr)
