"""`extract-fused-functions`: prints each kernel as a function of its own, and changes nothing."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.printer import Printer
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.passes.base import Pass, functions_of


@dataclass(frozen=True)
class ExtractFusedFunctionsPass(Pass):
    """
    Print to standard error every `graph.fused` as a `func.func`, equal ones once, in order.

    Their names are those of the functions with the kernels and a number: `@main_0`, `@main_1`, …. Changes
    nothing.
    """

    name = "extract-fused-functions"

    json: bool = False
    """Print one JSON object: name → text."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found: dict[str, str] = {}
        texts: set[str] = set()
        for func in functions_of(op):
            kernels = [each for each in func.body.walk() if isinstance(each, graph.FusedOp)]
            for kernel in kernels:
                if (text := _text(function_of(kernel, "kernel"))) not in texts:
                    texts.add(text)
                    name = f"{func.sym_name.data}_{len(found)}"
                    found[name] = text.replace("@kernel(", f"@{name}(", 1)
        print(json.dumps(found) if self.json else "\n".join(found.values()), file=sys.stderr)


def function_of(kernel: graph.FusedOp, name: str) -> FuncOp:
    """A function with a copy of a kernel's body; the kernel's operands are its arguments."""
    body = kernel.body.clone()
    last = yield_of(body)
    Rewriter.replace_op(last, ReturnOp(*last.values), [])
    return FuncOp(name, (body.block.arg_types, kernel.result_types), body)


def _text(function: FuncOp) -> str:
    stream = StringIO()
    Printer(stream).print_op(function)
    return stream.getvalue()
