"""`stepwell to-onnx`: a model of any front end as an ONNX file."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import check_place, write_bytes
from stepwell.tools.commands.options import (
    add_load,
    add_model,
    add_weights,
    input_shapes,
    load_plugins,
    positive,
)
from stepwell.tools.compile_flags import add_input_shape
from stepwell.tools.driver.options import check_suffix, source_suffixes


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: model, weights, shapes, output, opset."""
    add_model(parser)
    add_load(parser)
    add_weights(parser)
    add_input_shape(parser.add_argument)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="M.onnx", help="the file to write"
    )
    parser.add_argument(
        "--opset", type=positive, metavar="N", help="the opset to write, by ONNX's converter (default: 21)"
    )


def run(args: Namespace) -> int:
    """Write the model; returns the exit status."""
    from stepwell.dialects.onnx.input_shapes import set_input_shapes
    from stepwell.tools.api.onnx_model import at_opset, written_model
    from stepwell.tools.api.reading import read
    from stepwell.tools.driver.compilation import main_of
    from stepwell.tools.driver.program import Program

    check_suffix(args.model, source_suffixes())
    if args.output.suffix != ".onnx":
        message = f"the output is a model of ONNX, and -o {args.output} is named otherwise"
        help = f"name it {args.output.with_suffix('.onnx').name}"
        raise StepwellError("bad-option", None, message, help=help)
    check_place(args.output)
    load_plugins(args)
    module = read(args.model, weights_from=args.weights_from)
    if shapes := input_shapes(args):
        set_input_shapes(main_of(module.op), shapes)
    model = written_model(Program(module.op, module.context), operators=True)
    if args.opset is not None:
        model = at_opset(model, args.opset)
    write_bytes(args.output, model.SerializeToString())
    nodes = len(model.graph.node)
    args.facts |= {"output": args.output, "nodes": nodes, "opset": model.opset_import[0].version}
    print(f"{args.output}: {nodes} nodes of opset {model.opset_import[0].version}", file=sys.stderr)
    return 0
