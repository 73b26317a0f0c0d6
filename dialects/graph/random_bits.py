"""Random bits: a function of a key and a position, whatever the order in which they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerType, Signedness, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.types import DimLike, DimsAttr, dims_attr, dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim

_U64 = IntegerType(64, Signedness.UNSIGNED)


@irdl_op_definition
class RandomBitsOp(GraphOp):
    """
    A vector of 64 random bits each, by the counter-based generator Philox4x32-10.

    ```mlir
    %b = graph.random_bits %key count <["N"]> : tensor<2xi64> -> tensor<?xui64, #graph.dims<["N"]>>
    ```
    The key is a seed and a stream. Element i is the first half of the generator's block of 128 bits at the
    counter (i, stream) under the seed: it depends on nothing else, so that parts of the vector may be
    computed in any order, and again.
    Constraints:
      (C1) the key is a vector of two i64.
      (C2) `count` is one dimension.
    Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011).
    """

    name = "graph.random_bits"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    key = operand_def(AnyTensor)
    count = prop_def(DimsAttr)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = "$key `count` $count attr-dict `:` type($key) `->` type($result)"

    def __init__(self, key: SSAValue, count: DimLike):
        self.initialize([key], {"count": dims_attr([count])})

    def infer(self) -> Sequence[Attribute]:
        return [tensor_type(_U64, self.count.get())]

    def check(self) -> None:
        if tensor_of(self.key).element_type != i64 or list(dims_of(self.key.type)) != [Dim.of(2)]:  # (C1)
            raise VerifyException(f"the key must be a vector of two i64, found {self.key.type}")
        if (rank := len(self.count.get())) != 1:  # (C2)
            raise VerifyException(f"count must be one dimension, found {rank}")
