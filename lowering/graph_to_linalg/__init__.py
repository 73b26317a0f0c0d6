"""`convert-graph-to-linalg`: each `graph.fused` becomes a function on tensors, computed by `linalg`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ComplexType, ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern

from stepwell.dialects import graph
from stepwell.lowering.graph_to_linalg.calls import refuse_calls
from stepwell.lowering.graph_to_linalg.constants import ConstantLowering
from stepwell.lowering.graph_to_linalg.outline import outline_kernels
from stepwell.lowering.graph_to_linalg.pattern_files import FILES, GraphPatterns, patterns_in_file
from stepwell.lowering.graph_to_linalg.plain_types import drop_names_and_signs
from stepwell.patterns.driver.conversion import convert
from stepwell.runtime.errors import StepwellError

__all__ = ["ConvertGraphToLinalgPass", "patterns_to_linalg"]

_PATTERNS = GraphPatterns()


def patterns_to_linalg() -> list[RewritePattern]:
    """All patterns of the conversion; `convert` finds a pattern by the class of the op."""
    return [pattern() for file in FILES for pattern in patterns_in_file(file)]


class ConvertGraphToLinalgPass(ModulePass):
    """
    Lower `graph` to `linalg` on tensors: needs every computing op in a `graph.fused`, leaves kernel functions
    of `linalg`, `tensor`, `arith`, `math` and `scf`, and `@main` with calls of them.

    The symbols of a function's dimensions are its last arguments, named by its attribute. Ops of `@main`
    outside kernels stay. Fails, and lists them all, when a `graph` op is left in a kernel; fails for calls of
    functions, which `inline` removes, and for recursion.
    """

    name = "convert-graph-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """
        Outline the kernels, convert their ops, and drop dimension names and integer signs from all types.
        """
        refuse_calls(op)
        kernels = outline_kernels(op)
        kernels.attributes.update(op.attributes)  # of the target, by which pools choose
        _refuse_complex(kernels)
        convert(kernels, patterns=_PATTERNS, illegal=["graph"], legal_ops=[graph.ConstantOp])
        convert(kernels, patterns=[ConstantLowering()], illegal=["graph"])
        for kernel in list(kernels.ops):
            kernel.detach()
            op.body.block.add_op(kernel)
        drop_names_and_signs(op)


def _refuse_complex(kernels: ModuleOp) -> None:
    """Raise `unsupported` for the first kernel op with a complex operand or result."""
    for op in kernels.walk():
        elements = [getattr(value.type, "element_type", None) for value in (*op.operands, *op.results)]
        if any(isinstance(element, ComplexType) for element in elements):
            raise StepwellError(
                "unsupported",
                op,
                f"{op.name}: kernels have no complex numbers",
                help="keep real and imaginary parts in a last dimension of 2, as ONNX's DFT does",
            )
