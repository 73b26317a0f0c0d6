"""Einstein sums at the graph level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.relations import (
    Domain,
    broadcast,
    element_of_value,
    expect_domain,
    expect_same_element,
)
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.runtime.dims import Dim


@irdl_op_definition
class EinsumOp(GraphOp):
    """
    Sum of products over indices that letters name: one term an operand, then the result's letters.

    ```mlir
    %y = graph.einsum "bqd,bkd->bqk" %q, %k : (tensor<2x8x4xf32>, tensor<2x6x4xf32>) -> tensor<2x8x6xf32>
    ```
    Letters that the result lacks are summed over; a letter twice in a term takes the diagonal. An extent of 1
    stretches.
    Constraints:
      (C1) the equation is explicit: terms of letters, `->`, letters; no spaces, no ellipsis.
      (C2) one term an operand, as long as its rank; the result's letters are distinct and in some term.
      (C3) elements are numbers, of one type; extents of one letter are equal or 1.
      (C4) `result` has the extents of its letters; 16-bit floats accumulate in f32.
    Source: ONNX Einsum, opset 12.
    """

    name = "graph.einsum"
    KIND: ClassVar[Kind] = Kind.CONTRACTION

    inputs = var_operand_def(AnyTensor)
    equation = prop_def(StringAttr)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = "$equation $inputs attr-dict `:` functional-type($inputs, $result)"

    def __init__(self, inputs: Sequence[SSAValue], equation: str):
        self.initialize([inputs], {"equation": equation})

    @property
    def terms(self) -> list[str]:
        """The letters of each operand."""
        return self.equation.data.partition("->")[0].split(",")

    @property
    def letters(self) -> str:
        """The letters of the result."""
        return self.equation.data.partition("->")[2]

    def extents(self) -> dict[str, Dim]:
        """The extent of each letter. Raises: VerifyException when two do not fit."""
        found: dict[str, Dim] = {}
        for term, value in zip(self.terms, self.inputs, strict=True):
            for letter, dim in zip(term, dims_of(value.type), strict=True):
                (found[letter],) = broadcast([[found.get(letter, Dim.of(1))], [dim]])
        return found

    def check(self) -> None:
        text = self.equation.data
        explicit = text.replace("->", "", 1).replace(",", "")
        if "->" not in text or not (explicit.isalpha() or not explicit) or not explicit.isascii():  # (C1)
            raise VerifyException(f'equation must be terms of letters and "->", found "{text}"')
        terms, letters = self.terms, self.letters
        if len(terms) != len(self.inputs):  # (C2)
            raise VerifyException(f"equation has {len(terms)} terms for {len(self.inputs)} operands")
        for term, value in zip(terms, self.inputs, strict=True):
            if len(term) != (rank := len(dims_of(value.type))):
                raise VerifyException(f'term "{term}" has {len(term)} letters for an operand of rank {rank}')
        if len({*letters}) != len(letters) or not {*letters} <= {*"".join(terms)}:
            raise VerifyException(f'result letters "{letters}" must be distinct letters of the terms')
        for value in self.inputs:  # (C3)
            expect_domain(value, Domain.NUMBER)
            expect_same_element(self.inputs[0], value)
        self.extents()

    def infer(self) -> Sequence[Attribute]:  # (C4)
        extents = self.extents()
        return [tensor_type(element_of_value(self.inputs[0]), [extents[letter] for letter in self.letters])]
