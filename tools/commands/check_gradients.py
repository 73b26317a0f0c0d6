"""`stepwell check-gradients`: compare gradients with central differences."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.runtime.errors import StepwellError
from stepwell.tools.commands.options import (
    add_compile_options,
    add_seed,
    compile_options,
    expect_full_start,
    load_plugins,
)
from stepwell.tools.driver.options import expect_source
from stepwell.tools.report import table_text

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from stepwell.dialects._xdsl import StepwellContext


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: model or IR, function, arguments to differentiate by, and seed."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a .onnx file, or a .mlir file of level 1")
    parser.add_argument("--function", default="main", metavar="NAME", help="the function (default: main)")
    parser.add_argument(
        "--wrt",
        type=_numbers,
        metavar="N[,N…]",
        help="differentiate by these arguments, counted from 0 (default: all of floats)",
    )
    add_seed(parser)
    add_compile_options(parser)


def _numbers(text: str) -> list[int]:
    try:
        numbers = sorted({int(part) for part in text.split(",")})
    except ValueError:
        raise ArgumentTypeError(f"expected numbers of arguments such as 0,2, found {text!r}") from None
    if numbers[0] < 0:
        raise ArgumentTypeError(f"arguments are counted from 0, found {numbers[0]}")
    return numbers


def run(args: Namespace) -> int:
    """Compare and print a table; returns the exit status: 1 when the gradient departs."""
    expect_full_start(args, {"check-gradients": True})
    expect_source(args.model)
    load_plugins(args)
    from stepwell.tools.check.gradients import BOUND, DIRECTIONS, GradientCheck

    module, ctx = _level_1(args)
    check = GradientCheck(module, ctx, args.function, args.wrt, args.seed)
    whole = check.function()
    rows = [] if whole.is_right else check.ops()
    first = next((row for row in rows if not row.is_right), None)
    args.facts |= {
        "schema": "stepwell-check-gradients/1",
        "function": whole.facts(),
        "ops": [row.facts() for row in rows],
        "first": None if first is None else first.facts(),
    }
    verdict = "agrees" if whole.is_right else "DEPARTS"
    print(
        f"@{whole.name}: the gradient {verdict}, relative error {whole.error:.1e}"
        f" ({DIRECTIONS} directions, bound {BOUND:.0e})"
    )
    if rows:
        lines = [[row.name, row.place, row.reason or f"{row.error:.1e}"] for row in rows]
        print(table_text(["op", "place", "relative error"], lines))
    if first is not None:
        print(f"the first op whose derivative departs: {first.name} {first.place}")
    return 0 if whole.is_right else 1


def _level_1(args: Namespace) -> tuple[ModuleOp, StepwellContext]:
    """The program at level 1, nothing of it optimized. Raises: StepwellError `bad-option`."""
    from stepwell.dialects._xdsl import StepwellContext
    from stepwell.dialects.verify import verify_module
    from stepwell.tools.driver.compilation import is_lowered
    from stepwell.tools.driver.ir_files import read_ir
    from stepwell.tools.driver.levels import to_graph
    from stepwell.tools.driver.reading import start

    if args.model.suffix == ".mlir":
        ctx = StepwellContext()
        module = read_ir(args.model, ctx)
        verify_module(module)
        if is_lowered(module):
            message = "gradients are of level 1, and the program is below it already"
            raise StepwellError("bad-option", str(args.model), message)
        return module, ctx
    compilation = start(args.model, compile_options(args))
    to_graph(compilation)
    return compilation.module, compilation.ctx
