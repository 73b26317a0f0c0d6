"""`stepwell quantize`: a model with fewer bits, and what that costs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from stepwell.runtime.files.whole_files import check_place
from stepwell.tools.commands.options import (
    add_compile_options,
    add_seed,
    add_threads,
    compile_options,
    expect_full_start,
    load_plugins,
    names_of,
    positive,
)
from stepwell.tools.driver.options import check_suffix, expect_source

CALIBRATIONS = ("minmax", "percentile", "entropy", "mse", "global")
SCHEMES = ("int8", "int8-dynamic", "w8", "w4", "f16", "bf16", "f8")
_OPTIONS = (
    *("calibration", "percentile", "global_scale", "keep_size", "samples", "seed", "activation_type"),
    *("reduce_range", "method", "block", "symmetric", "format", "read_calibration", "write_calibration"),
    *("threads", "smooth", "bias_correction", "act_order"),
)
"""The options that have the name of an argument."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: model, scheme, data, budget, layers and output."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="an .onnx file")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="Q.onnx", help="the file to write"
    )
    parser.add_argument("--scheme", choices=SCHEMES, default="int8", help="default: int8")
    _add_data(parser)
    _add_numbers(parser)
    _add_weights(parser)
    add_seed(parser)
    add_threads(parser)
    add_compile_options(parser)


def _add_data(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("data", "samples, and what results are measured by")
    group.add_argument(
        "--data",
        type=Path,
        metavar="D",
        help="F.npz with an array for each input, samples along the first axis, or a folder of .npz",
    )
    group.add_argument("--labels", type=Path, metavar="L.npy", help="a whole number for each sample")
    group.add_argument(
        "--metric", metavar="M", help="top1, agreement, sqnr, or FILE.py:FUNCTION (default: by the outputs)"
    )
    group.add_argument(
        "--accuracy-drop",
        metavar="X",
        help="the largest loss: 0.5%% of the value in f32, 0.005, or at least 30dB; else nothing is written",
    )
    group.add_argument(
        "--report", type=Path, metavar="DIR", help="write report.json and a page, index.html, into a folder"
    )
    group.add_argument("--samples", type=positive, metavar="N", help="use only the first N samples")


def _add_numbers(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("numbers", "which layers are quantized, and by which ranges")
    group.add_argument(
        "--only", action="append", default=[], metavar="NODE[,NODE…]", help="the only nodes to quantize"
    )
    group.add_argument("--calibration", choices=CALIBRATIONS, default="minmax", help="default: minmax")
    group.add_argument(
        "--percentile",
        type=float,
        default=99.99,
        metavar="P",
        help="for --calibration percentile (default: 99.99)",
    )
    group.add_argument(
        "--global-scale", type=float, default=8.0, metavar="G", help="for --calibration global (default: 8.0)"
    )
    group.add_argument("--write-calibration", type=Path, metavar="C.json", help="write the statistics")
    group.add_argument(
        "--read-calibration", type=Path, metavar="C.json", help="read the statistics from a file"
    )
    group.add_argument(
        "--activation-type", choices=("u8", "s8"), default="u8", help="the type of activations (default: u8)"
    )
    group.add_argument(
        "--keep-size",
        action="store_true",
        help="quantize layers that do not become faster as well, for a smaller file",
    )


def _add_weights(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("weights", "the codes of weights")
    group.add_argument(
        "--method",
        metavar="M",
        help="rtn rounds, mse uses the range of least error; for w4 with data also gptq (default), awq",
    )
    group.add_argument(
        "--no-act-order",
        dest="act_order",
        action="store_false",
        help="gptq: quantize channels in their order, not those of large activations first",
    )
    group.add_argument(
        "--smooth",
        type=float,
        metavar="A",
        help="int8: move error from activations to weights, by factors for channels (0 to 1, such as 0.5)",
    )
    group.add_argument(
        "--bias-correction", action="store_true", help="int8: let biases correct the mean error of weights"
    )
    group.add_argument(
        "--block",
        type=int,
        default=32,
        metavar="N",
        help="w4: the number of elements with one scale (default: 32)",
    )
    group.add_argument("--symmetric", action="store_true", help="w4: use codes without a zero point")
    group.add_argument(
        "--format",
        choices=("qdq", "matmulnbits"),
        default="qdq",
        help="w4: write DequantizeLinear, or MatMulNBits of com.microsoft (default: qdq)",
    )
    group.add_argument(
        "--reduce-range",
        action="store_true",
        help="int8: use 7 bits for weights, for ONNX Runtime on CPUs without VNNI",
    )


def run(args: Namespace) -> int:
    """Quantize, write the model, and print what it costs; returns the exit status."""
    expect_full_start(args, {"quantize": True})
    expect_source(args.model)
    check_suffix(args.model, (".onnx",))
    for place in (args.output, args.write_calibration):
        if place is not None:
            check_place(place)
    load_plugins(args)
    from stepwell.tools.quantize.metrics import function_of
    from stepwell.tools.quantize.options import quantize_options
    from stepwell.tools.quantize.quantize import quantized
    from stepwell.tools.quantize.report import summary_lines

    keywords = {name: getattr(args, name) for name in _OPTIONS}
    keywords |= {"keep_f32": names_of(args.keep_f32), "only": names_of(args.only)}
    args.keep_f32 = []  # of what is quantized: the model that measures has no other precision
    keywords |= {"rank": args.report is not None, "compile": compile_options(args)}
    made = quantized(
        args.model,
        args.data,
        quantize_options(args.scheme, keywords),
        labels=args.labels,
        metric=function_of(args.metric) if args.metric and ".py:" in args.metric else args.metric,
        accuracy_drop=args.accuracy_drop,
    )
    made.save(args.output)
    if args.report is not None:
        made.report.write(args.report)
    args.facts |= made.report.to_json() | {"file": str(args.output)}
    print(*summary_lines(made.report, args.output.name), sep="\n")
    return 0
