"""`stepwell explore`: a model's nodes, kernels, IR, assembly and times, as one page or as data."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import check_place, write_text
from stepwell.tools.arguments import port
from stepwell.tools.commands.options import (
    add_compile_options,
    add_model,
    add_threads,
    compile_options,
    expect_full_start,
    positive,
    watched,
)
from stepwell.tools.driver.options import CompileOptions, expect_source
from stepwell.tools.inputs import read_arrays
from stepwell.tools.progress import shown_progress

if TYPE_CHECKING:
    from stepwell.tools.explore.kernel_steps import Data

_OF_SERVING = ("serve", "port", "no_open", "trust_ir")
FORMATS = {"html": ".html", "json": ".json", "model-explorer": ".json"}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: model, output and options."""
    add_model(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="F", help="the file to write (default: MODEL.html beside you)"
    )
    parser.add_argument("--format", choices=FORMATS, default="html", help="what to write (default: html)")
    parser.add_argument(
        "--max-size", type=positive, default=20, metavar="MB", help="the largest page (default: 20)"
    )
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    parser.add_argument("--no-run", action="store_true", help="leave out the times: compile, do not run")
    parser.add_argument(
        "--inputs", type=Path, metavar="F.npz", help="arrays by input name, or F.npy, the only input"
    )
    parser.add_argument(
        "--against",
        metavar="WHAT",
        help="add each kernel's differences from reference, onnxruntime, or the arrays of F.npz",
    )
    parser.add_argument(
        "--compare",
        type=Path,
        metavar="MODEL2",
        help="another model, or the data of another compilation (F.json), kernel by kernel beside this one",
    )
    parser.add_argument(
        "--overlay",
        type=Path,
        action="append",
        default=[],
        metavar="F.json",
        help="values of nodes to colour by, or a profile of ONNX Runtime (given again: another)",
    )
    _add_serving(parser)
    add_threads(parser)
    add_compile_options(parser)


def _add_serving(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("the playground, where schedules, IR and passes of kernels are edited")
    group.add_argument(
        "--serve", action="store_true", help="serve the page on this machine alone, until Ctrl-C; no file"
    )
    group.add_argument("--port", type=port, default=0, metavar="N", help="the port (default: any free one)")
    group.add_argument("--no-open", action="store_true", help="do not show the page in the browser")
    group.add_argument(
        "--trust-ir",
        action="store_true",
        help="take text of the levels loops and llvm, which can do whatever a program of yours can",
    )


def run(args: Namespace) -> int:
    """Write the page or the data; returns the exit status: 1 where `--against` finds a departure."""
    expect_source(args.model)
    expect_full_start(args, {"explore": True})
    _expect_one_purpose(args)
    output = args.output or Path(args.model.name).with_suffix(FORMATS[args.format])
    check_place(output)
    args.profile = True
    from stepwell.tools.debug.references import expect_reference
    from stepwell.tools.explore.collect import collect
    from stepwell.tools.explore.compare import compared
    from stepwell.tools.explore.overlays import read_overlay, unknown_nodes

    options = compile_options(args)
    overlays = [read_overlay(path) for path in args.overlay]
    feeds = {} if args.inputs is None else read_arrays(args.inputs)
    other = _read_other(args)
    if args.against is not None:
        expect_reference(args.against)
    with watched(args), shown_progress() as progress:
        data = collect(
            args.model,
            options,
            command=command_text(args),
            feeds=feeds,
            run=not args.no_run,
            threads=args.threads,
            progress=progress,
        )
        if args.compare is not None:
            data["compare"] = compared(data, other or _other_data(args, options))
        is_right = args.against is None or _is_right(args, data, options, feeds)
    data["overlays"] = overlays
    for path, overlay in zip(args.overlay, overlays, strict=True):
        if count := unknown_nodes(overlay, cast("list[dict[str, object]]", data["nodes"])):
            print(f"warning: {path}: the model has no node of {count} of its names", file=sys.stderr)
    if args.serve:
        return _serve(args, data, options, feeds)
    write_text(output, _written(args, data))
    if args.open:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())
    args.facts |= {"schema": data["schema"], "file": str(output), "bytes": output.stat().st_size}
    args.facts |= {name: len(cast("list[object]", data[name])) for name in ("nodes", "kernels", "calls")}
    counts = [f"{(n := args.facts[name])} {name[: -1 if n == 1 else None]}" for name in ("nodes", "kernels")]
    print(f"wrote {output}: {' in '.join(counts)}", file=sys.stderr)
    return int(not is_right)


def _expect_one_purpose(args: Namespace) -> None:
    """Refuse options that exclude each other. Raises: StepwellError `bad-option`."""
    given = [f"--{name.replace('_', '-')}" for name in _OF_SERVING if vars(args)[name]]
    if given and not args.serve:
        raise StepwellError("bad-option", None, f"{given[0]} is for --serve")
    if args.serve and (args.output or args.open or args.format != "html"):
        message = "--serve writes no file: -o, --open and --format are for files"
        raise StepwellError("bad-option", None, message, help="leave them out, or leave out --serve")


def _serve(args: Namespace, data: Data, options: CompileOptions, feeds: Mapping[str, object]) -> int:
    """Serve the page, with tries of its kernels, until the user ends it; returns the exit status."""
    from stepwell.tools.explore.page_file import explorer_page
    from stepwell.tools.explore.serve.playground import playground

    with watched(args):
        server = playground(
            args.model,
            options,
            data,
            explorer_page(data, args.max_size * 1_000_000, connects=True),
            feeds,
            run=not args.no_run,
            threads=args.threads,
            port=args.port,
            trusts_ir=args.trust_ir,
        )

    def started() -> None:
        print(server.url, flush=True)
        if not args.no_open:
            import webbrowser

            webbrowser.open(server.url)

    server.run(started)
    return 0


def _is_right(args: Namespace, data: Data, options: CompileOptions, feeds: Mapping[str, object]) -> bool:
    """Add the differences from the reference to the data; prints the first node that departs."""
    from stepwell.tools.explore.differences import add_differences

    found = add_differences(data, args.model, options, args.against, feeds=feeds, threads=args.threads)
    args.facts["first"] = None if found.first is None else found.first.to_json()
    if found.first is not None:
        print(found.first)
    return found.first is None


def _read_other(args: Namespace) -> Mapping[str, object] | None:
    """The data of a file to compare with; None for a model. Raises: StepwellError of what is neither."""
    from stepwell.tools.explore.overlays import read_data

    if args.compare is None:
        return None
    if args.compare.suffix == ".json":
        return read_data(args.compare)
    expect_source(args.compare)
    return None


def _other_data(args: Namespace, options: CompileOptions) -> Mapping[str, object]:
    """The data of the other model, with the same options."""
    from stepwell.tools.explore.collect import collect

    return collect(
        args.compare, options, command=str(args.compare), run=not args.no_run, threads=args.threads
    )


def _written(args: Namespace, data: Mapping[str, object]) -> str:
    if args.format == "model-explorer":
        from stepwell.tools.explore.model_explorer import graph_collection

        data = graph_collection(data)
    if args.format != "html":
        return json.dumps(data, allow_nan=False, separators=(",", ":")) + "\n"
    from stepwell.tools.explore.page_file import explorer_page

    return explorer_page(data, args.max_size * 1_000_000)


def command_text(args: Namespace) -> str:
    """A command for the same data, quoted for a shell: the model and the options with values of their own."""
    add_arguments(parser := ArgumentParser())
    default = vars(parser.parse_args([str(args.model)]))
    words = ["stepwell", "explore", str(args.model)]
    for name, usual in default.items():
        value = cast(object, vars(args)[name])
        option = "--" + name.replace("_", "-")
        if value == usual or name in ("model", "output", *_OF_SERVING):
            continue
        if value is True:
            words.append(option)
        elif name == "input_shape":
            words += [word for shape in args.input_shape for word in (option, _shape_text(*shape))]
        elif isinstance(value, list):
            words += [word for part in cast("list[object]", value) for word in (option, str(part))]
        else:
            parts = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
            words += [option, ",".join(map(str, parts))]
    return shlex.join(words)


def _shape_text(name: str, dims: Sequence[int]) -> str:
    return f"{name}={'x'.join(map(str, dims))}"
