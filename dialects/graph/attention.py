"""Attention: each query takes the values of all keys, weighed by how well it meets them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, Float32Type, FloatAttr, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.relations import (
    Domain,
    broadcast,
    differ,
    element_of_value,
    expect_domain,
    expect_same_element,
    shape_text,
)
from stepwell.dialects.types import bool_attr, dims_of, tensor_type
from stepwell.runtime.dims import Dim

FALSE = bool_attr(False)


@irdl_op_definition
class AttentionOp(GraphOp):
    """
    softmax(q kᵀ * scale + mask) v, with the softmax over the keys.

    ```mlir
    %y = graph.attention %q, %k, %v scale 0.125
      : (tensor<8x49x64xf32>, tensor<8x50x64xf32>, tensor<8x50x32xf32>) -> tensor<8x49x32xf32>
    %z = graph.attention %q, %k, %v mask %m : tensor<50xf32> scale 0.125 zero_masked true
      : (tensor<8x49x64xf32>, tensor<8x50x64xf32>, tensor<8x50x32xf32>) -> tensor<8x49x32xf32>
    ```
    `q` is [batch..., queries, depth], `k` [batch..., keys, depth], `v` [batch..., keys, columns]; batch
    dimensions broadcast, so that several heads of queries may share the keys of one. The mask is added to
    the scores. A query all of whose scores are -inf gives NaN, or zeros with `zero_masked`. With `pairs` the
    factors of both products are rounded to bf16: the scaled `q`, `k`, exponentials of scores, and `v`.
    Constraints:
      (C1) elements are floats of one type.
      (C2) operands have rank 2 or more, `q` and `k` one depth, `k` and `v` as many keys; the batch
        dimensions broadcast.
      (C3) the mask broadcasts to the scores, [batch..., queries, keys].
      (C4) `result = [batch..., queries, columns]`; 16-bit floats are computed in f32.
      (C5) `pairs` needs f32 and an even depth.
    Source: ONNX Attention, opset 23.
    """

    name = "graph.attention"
    KIND: ClassVar[Kind] = Kind.ROW

    q = operand_def(AnyTensor)
    k = operand_def(AnyTensor)
    v = operand_def(AnyTensor)
    mask = opt_operand_def(AnyTensor)
    scale = prop_def(FloatAttr[Float32Type])
    zero_masked = prop_def(BoolAttr, default_value=FALSE)
    pairs = prop_def(BoolAttr, default_value=FALSE)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$q `,` $k `,` $v (`mask` $mask^ `:` type($mask))? `scale` $scale (`zero_masked` $zero_masked^)?"
        " (`pairs` $pairs^)?"
        " attr-dict `:` `(` type($q) `,` type($k) `,` type($v) `)` `->` type($result)"
    )

    def __init__(
        self,
        q: SSAValue,
        k: SSAValue,
        v: SSAValue,
        mask: SSAValue | None = None,
        *,
        scale: float,
        zero_masked: bool = False,
        pairs: bool = False,
    ):
        numbers = {"scale": FloatAttr(scale, f32), "zero_masked": zero_masked, "pairs": pairs}
        self.initialize([q, k, v, mask], numbers)

    def check(self) -> None:
        expect_domain(self.q, Domain.FLOAT)  # (C1)
        for other in (self.k, self.v, *([] if self.mask is None else [self.mask])):
            expect_same_element(self.q, other)
        for name, value in (("q", self.q), ("k", self.k), ("v", self.v)):  # (C2)
            if (rank := len(dims_of(value.type))) < 2:
                raise VerifyException(f"operand {name} must have rank 2 or more, found {rank}")
        (*_, depth), (*_, keys, depth_of_k) = dims_of(self.q.type), dims_of(self.k.type)
        if differ(depth, depth_of_k):
            raise VerifyException(f"q and k must have one depth, found {depth} and {depth_of_k}")
        if differ(keys, keys_of_v := dims_of(self.v.type)[-2]):
            raise VerifyException(f"k and v must have as many keys, found {keys} and {keys_of_v}")
        takes_pairs = element_of_value(self.q) == f32 and depth.is_static and depth.value % 2 == 0
        if self.pairs.value.data and not takes_pairs:
            raise VerifyException(f"pairs need f32 and an even depth, found {self.q.type}")  # (C5)
        scores = self.scores_dims()
        if self.mask is not None:  # (C3)
            own = dims_of(self.mask.type)
            joined = broadcast([scores, own])
            if len(joined) != len(scores) or any(map(differ, joined, scores)):
                raise VerifyException(
                    f"the mask must broadcast to the scores {shape_text(scores)}, found {shape_text(own)}"
                )

    def batch_dims(self) -> tuple[Dim, ...]:
        """The dimensions before the last two, broadcast over queries, keys and values."""
        return broadcast([dims_of(value.type)[:-2] for value in (self.q, self.k, self.v)])

    def scores_dims(self) -> tuple[Dim, ...]:
        """The shape of the scores: [batch..., queries, keys]."""
        return (*self.batch_dims(), dims_of(self.q.type)[-2], dims_of(self.k.type)[-2])

    def infer(self) -> Sequence[Attribute]:  # (C4)
        columns = dims_of(self.v.type)[-1]
        return [tensor_type(element_of_value(self.q), (*self.scores_dims()[:-1], columns))]
