"""`onnx.Einsum` → `graph.einsum` with an explicit equation."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.shape_values import renamed
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, rank_of, shape_of
from stepwell.runtime.dims import Dim
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
        """Make the equation explicit, and the sizes with the same letter equal."""
        ranks = [rank_of(value, op) for value in op.Inputs]
        equation = explicit_equation(op.string("equation"), ranks, op)
        terms = equation.partition("->")[0].split(",")
        rewriter.replace(op, graph.EinsumOp(_unified(op, terms, rewriter), equation))


def _unified(op: onnx.EinsumOp, terms: Sequence[str], rewriter: PatternRewriter) -> list[SSAValue]:
    """Operands whose dimensions with the same letter are equal, a number if one is known, or a fixed 1."""
    sizes: dict[str, Dim] = {}
    for term, value in zip(terms, op.Inputs, strict=True):
        for letter, dim in zip(term, shape_of(value, op), strict=True):
            if dim != 1 and (letter not in sizes or dim.is_static):
                sizes[letter] = dim
    result: list[SSAValue] = []
    for term, value in zip(terms, op.Inputs, strict=True):
        dims = shape_of(value, op)
        wanted = [
            dim if dim == 1 or dim.is_unknown else sizes[letter]
            for letter, dim in zip(term, dims, strict=True)
        ]
        result.append(renamed(op, value, wanted, "sizes of one letter", rewriter))
    return result


def explicit_equation(text: str, ranks: Sequence[int], op: onnx.OnnxOp) -> str:
    """
    An equation of ONNX in the syntax of `graph.einsum`, for operands of these ranks.

    Without `->` the result has the letters that occur once, by code point, after the ellipsis.
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
        # Aligned at the right: a shorter ellipsis is replaced by the last of its letters.
        count = rank - len(term) + len(ELLIPSIS)
        spelled.append(
            term.replace(ELLIPSIS, stands_for[len(stands_for) - count :]) if ELLIPSIS in term else term
        )
    return f"{','.join(spelled)}->{result.replace(ELLIPSIS, stands_for)}"
