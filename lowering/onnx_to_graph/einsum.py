"""`onnx.Einsum` → `graph.einsum` with an explicit equation."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, rank_of
from stepwell.runtime.errors import StepwellError

ELLIPSIS = "..."


class EinsumLowering(OnnxLowering):
    """
    `onnx.Einsum` → `graph.einsum`: no spaces, letters for an ellipsis, a result where the model has none.

    ```mlir
    %y = "onnx.Einsum"(%a, %b) <{equation = "...ij, ...jk"}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> …
    // ->
    %y = graph.einsum "aij,ajk->aik" %a, %b : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.EinsumOp, rewriter: PatternRewriter) -> None:
        ranks = [rank_of(value, op) for value in op.Inputs]
        equation = explicit_equation(op.string("equation"), ranks, op)
        rewriter.replace(op, graph.EinsumOp(list(op.Inputs), equation))


def explicit_equation(text: str, ranks: Sequence[int], op: onnx.OnnxOp) -> str:
    """
    An equation of ONNX as `graph.einsum` has it, for operands of these ranks.

    Without `->` the result has the letters that occur once, by code point, behind the ellipsis.
    Raises: StepwellError `invalid-model` for an equation that does not fit the operands.
    """
    inputs, arrow, result = "".join(text.split()).partition("->")
    terms = inputs.split(",")
    hidden = [rank - len(t) + len(ELLIPSIS) for t, rank in zip(terms, ranks, strict=False) if ELLIPSIS in t]
    if len(terms) != len(ranks) or any(count < 0 for count in hidden):
        raise StepwellError(
            "invalid-model", op, f"Einsum: equation {text!r} does not fit operands of ranks {list(ranks)}"
        )
    free = [letter for letter in ascii_letters if letter not in text]
    stands_for = "".join(free[: max(hidden, default=0)])
    if not arrow:
        written = inputs.replace(ELLIPSIS, "").replace(",", "")
        once = sorted(letter for letter in {*written} if written.count(letter) == 1)
        result = (ELLIPSIS if hidden else "") + "".join(once)
    spelled: list[str] = []
    for term, rank in zip(terms, ranks, strict=True):
        # Aligned at the right: a shorter ellipsis stands for the last of its letters.
        count = rank - len(term) + len(ELLIPSIS)
        spelled.append(
            term.replace(ELLIPSIS, stands_for[len(stands_for) - count :]) if ELLIPSIS in term else term
        )
    return f"{','.join(spelled)}->{result.replace(ELLIPSIS, stands_for)}"


PATTERNS: list[type[OnnxLowering]] = [EinsumLowering]
