"""The derivative of Einstein sums, which are Einstein sums."""

from __future__ import annotations

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, derivative


@derivative(graph.EinsumOp)
def einsum(op: graph.EinsumOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """
    For each operand the sum of products of dy and all other operands, to the operand's letters.

    dy is repeated along letters of that operand alone; a letter twice in a term puts it on the diagonal.
    """
    return [_of_operand(op, number, dy, b) for number in range(len(op.inputs))]


def _of_operand(op: graph.EinsumOp, number: int, dy: SSAValue, b: GradientBuilder) -> SSAValue:
    term, value = op.terms[number], op.inputs[number]
    others = [i for i in range(len(op.inputs)) if i != number]
    terms = [op.letters, *(op.terms[i] for i in others)]
    letters = "".join(dict.fromkeys(term))
    known = "".join(letter for letter in letters if any(letter in each for each in terms))
    equation = f"{','.join(terms)}->{known}"
    found = b.insert(graph.EinsumOp([dy, *(op.inputs[i] for i in others)], equation))
    found = b.expand(found, [i for i, letter in enumerate(letters) if letter not in known])
    extents = op.extents()
    dims = [extents[letter] for letter in letters]
    if list(b.dims(found)) != dims:
        found = b.insert(graph.BroadcastToOp(found, dims))
    return b.sum_to(_on_diagonals(found, letters, term, b), value)


def _on_diagonals(value: SSAValue, letters: str, term: str, b: GradientBuilder) -> SSAValue:
    """A tensor with dimensions `letters` spread to those of `term`: zeros but where equal letters agree."""
    first = [term.index(letter) for letter in letters]
    extra = [i for i in range(len(term)) if i not in first]
    if not extra:
        return value
    sizes = dict(zip(letters, b.dims(value), strict=True))
    shape = [sizes[letter] for letter in term]
    value = b.insert(graph.BroadcastToOp(b.expand(value, extra), shape))
    for place in extra:
        agrees = b.equal(b.iota(shape, place), b.iota(shape, term.index(term[place])))
        value = b.only_where(agrees, value)
    return value
