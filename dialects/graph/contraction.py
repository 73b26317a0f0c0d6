"""Matrix products of the graph level, and the bias that follows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, IntegerType, Signedness, TensorType, f32, i32, i64
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    base,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
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
    element_of_type,
    element_of_value,
    expect_axis,
    expect_domain,
    expect_same_element,
    one_element,
    only_element,
    shape_text,
)
from stepwell.dialects.types import DimLike, bool_attr, dims_of, int_attr, tensor_of, tensor_type
from stepwell.runtime.dims import UNKNOWN, Dim

FALSE = bool_attr(False)
BYTES = (IntegerType(8), IntegerType(8, Signedness.UNSIGNED))

BYTES_OF_WORD = int_attr(4)


@irdl_op_definition
class MatmulOp(GraphOp):
    """
    Matrix product, numpy's way: batch dimensions broadcast, rank-1 operands are rows or columns that vanish.

    ```mlir
    %y = graph.matmul %a, %b : (tensor<8x49x64xf32>, tensor<64x32xf32>) -> tensor<8x49x32xf32>
    %z = graph.matmul %a, %c transpose_b true
      : (tensor<8x49x64xf32>, tensor<32x64xf32>) -> tensor<8x49x32xf32>
    %p = graph.matmul %a, %d packing 16 : (tensor<8x49x64xf32>, tensor<2x64x16xf32>) -> tensor<8x49x32xf32>
    ```
    `packing = nr` says that `b` is stored as panels of nr columns, [N/nr, K, nr], as the kernel reads it.
    With `pairs`, operands are i32, each two bf16 that are neighbours along the sum, the first one lower.
    Constraints:
      (C1) elements are numbers, of one type; rank at least 1, at least 2 for a transposed operand.
      (C2) a packed `b` has rank 3, last dimension `packing`, and is not transposed; `a` has rank at least 2.
      (C3) the contracted dimensions are equal and the batch dimensions broadcast.
      (C4) `result` has `out_type`, by default the operands' type; 16-bit floats accumulate in f32.
      (C5) `pairs` needs i32 and a packed `b`, no transposed `a` and no `out_type`: the result is f32.
    Source: ONNX MatMul, opset 13.
    """

    name = "graph.matmul"
    KIND: ClassVar[Kind] = Kind.CONTRACTION

    a = operand_def(AnyTensor)
    b = operand_def(AnyTensor)
    result = result_def(AnyTensor)
    transpose_a = prop_def(BoolAttr, default_value=FALSE)
    transpose_b = prop_def(BoolAttr, default_value=FALSE)
    packing = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))
    pairs = prop_def(BoolAttr, default_value=FALSE)
    out_type = opt_prop_def(base(TypeAttribute))

    traits = traits_def(Pure())
    assembly_format = (
        "$a `,` $b (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)? (`packing` $packing^)? "
        "(`pairs` $pairs^)? (`out_type` $out_type^)? "
        "attr-dict `:` `(` type($a) `,` type($b) `)` `->` type($result)"
    )

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        packing: int = 0,
        pairs: bool = False,
        out_type: Attribute | None = None,
    ):
        self.initialize(
            [a, b],
            {
                "transpose_a": bool_attr(transpose_a),
                "transpose_b": bool_attr(transpose_b),
                "packing": packing,
                "pairs": bool_attr(pairs),
                "out_type": out_type,
            },
        )

    @property
    def panel(self) -> int:
        """Columns of a panel of a packed `b`; 0 when it is not packed."""
        return self.packing.value.data

    def check(self) -> None:
        expect_domain(self.a, Domain.NUMBER)  # (C1)
        expect_same_element(self.a, self.b)
        for name, value, transposed in (("a", self.a, self.transpose_a), ("b", self.b, self.transpose_b)):
            least = 2 if transposed.value.data else 1
            if (rank := len(dims_of(value.type))) < least:
                raise VerifyException(f"operand {name} must have rank {least} or more, found {rank}")
        if self.panel:  # (C2)
            b = dims_of(self.b.type)
            if len(b) != 3 or differ(b[2], Dim.of(self.panel)) or self.transpose_b.value.data:
                raise VerifyException(
                    f"b must be panels (N/{self.panel}, K, {self.panel}), not transposed: {shape_text(b)}"
                )
            if len(dims_of(self.a.type)) < 2:
                raise VerifyException("operand a must have rank 2 or more for a packed b")
        if self.pairs.value.data:  # (C5)
            expect_pairs(self.a, self.b)
            if not self.panel or self.transpose_a.value.data or self.out_type is not None:
                raise VerifyException("pairs need a packed b, no transposed a and no out_type")
        (*_, k_of_a), (*_, k_of_b, _) = self.row_dims(), self.column_dims()  # (C3)
        if differ(k_of_a, k_of_b):
            raise VerifyException(
                f"contracted dimensions must be equal, found {k_of_a} in a and {k_of_b} in b"
            )

    def row_dims(self) -> tuple[Dim, ...]:
        """The dimensions of `a` as [batch..., M, K]; M is 1 for a rank-1 operand."""
        dims = dims_of(self.a.type)
        if len(dims) == 1:
            return (Dim.of(1), *dims)
        return (*dims[:-2], dims[-1], dims[-2]) if self.transpose_a.value.data else dims

    def column_dims(self) -> tuple[Dim, ...]:
        """The dimensions of `b` as [batch..., K, N]; N is 1 for a rank-1 operand."""
        dims = dims_of(self.b.type)
        if self.panel:
            return (dims[1], dims[0] * self.panel)
        if len(dims) == 1:
            return (*dims, Dim.of(1))
        return (*dims[:-2], dims[-1], dims[-2]) if self.transpose_b.value.data else dims

    def infer(self) -> Sequence[Attribute]:  # (C4)
        a, b = self.row_dims(), self.column_dims()
        rows = a[-2:-1] if len(dims_of(self.a.type)) > 1 else ()
        columns = b[-1:] if len(dims_of(self.b.type)) > 1 else ()
        element = self.out_type or (f32 if self.pairs.value.data else element_of_value(self.a))
        return [tensor_type(element, (*broadcast([a[:-2], b[:-2]]), *rows, *columns))]

    def infer_operands(
        self, results: Sequence[Attribute], operands: Sequence[Attribute]
    ) -> Sequence[Attribute | None]:
        is_wider = self.out_type or self.pairs.value.data
        elements = one_element([*operands, *([] if is_wider else results)], 2)
        if self.panel or not all(isinstance(type, TensorType) for type in operands):
            return elements
        element = next(element_of_type(type) for type in operands)
        contracted = self.row_dims()[-1], self.column_dims()[-2]
        transposed = bool(self.transpose_a), not self.transpose_b
        return [
            tensor_type(element, _with_extent(dims_of(type), -2 if at_rows else -1, extent))
            for type, at_rows, extent in zip(operands, transposed, reversed(contracted), strict=True)
        ]


def expect_pairs(*operands: SSAValue) -> None:
    """Require operands of i32, each element two bf16."""
    if any((found := element_of_value(value)) != i32 for value in operands):
        raise VerifyException(f"pairs of bf16 are i32, found {found}")


def _with_extent(dims: Sequence[Dim], axis: int, extent: Dim) -> list[DimLike]:
    """Dimensions of which an axis alone is known; the last one of a vector."""
    said: list[DimLike] = [UNKNOWN] * len(dims)
    said[axis if len(dims) > 1 else -1] = extent
    return said


@irdl_op_definition
class MatmulIntegerOp(GraphOp):
    """
    Matrix product of 8-bit integers, less their zero points, summed in i32.

    ```mlir
    %y = graph.matmul_integer %a, %b a_zero_point %p : tensor<ui8> b_zero_point %q : tensor<32xi8>
      : (tensor<8x64xui8>, tensor<64x32xi8>) -> tensor<8x32xi32>
    %z = graph.matmul_integer %c, %d : (tensor<8x16xi32>, tensor<2x16x16xi32>) -> tensor<8x32xi32>
    ```
    Operands of i32 are packed: four bytes along the sum in each element, unsigned bytes in `a`, signed
    ones in `b`, which is stored as panels of columns, [N/nr, K/4, nr]; with `parts 2`, two signed
    numbers of 16 bits.
    A zero point is one number, or one per row of `a` or column of `b`, or the rank of its operand with 1
    for the dimension that is summed.
    Constraints:
      (C1) `a` and `b` have rank 2 or more, 8-bit integers, signed or not; or both packed, `b` of rank 3.
      (C2) the contracted dimensions are equal and the batch dimensions broadcast.
      (C3) a zero point has the type of its operand, and one of the shapes above.
      (C4) `result` is i32; sums wrap.
    Source: ONNX MatMulInteger, opset 10.
    """

    name = "graph.matmul_integer"
    KIND: ClassVar[Kind] = Kind.CONTRACTION

    a = operand_def(AnyTensor)
    b = operand_def(AnyTensor)
    a_zero_point = opt_operand_def(AnyTensor)
    b_zero_point = opt_operand_def(AnyTensor)
    result = result_def(AnyTensor)
    parts = prop_def(IntegerAttr.constr(i64), default_value=BYTES_OF_WORD)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())
    assembly_format = (
        "$a `,` $b (`a_zero_point` $a_zero_point^ `:` type($a_zero_point))? "
        "(`b_zero_point` $b_zero_point^ `:` type($b_zero_point))? "
        "(`parts` $parts^)? attr-dict `:` `(` type($a) `,` type($b) `)` `->` type($result)"
    )

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        a_zero_point: SSAValue | None = None,
        b_zero_point: SSAValue | None = None,
        *,
        parts: int = 4,
    ):
        self.initialize([a, b, a_zero_point, b_zero_point], {"parts": parts})

    @property
    def is_packed(self) -> bool:
        """Whether the operands are packed 32-bit elements, and `b` panels of columns."""
        return element_of_value(self.a) == element_of_value(self.b) == i32

    def check(self) -> None:
        if self.is_packed:
            self._check_packed()
            return
        for name, value in (("a", self.a), ("b", self.b)):  # (C1)
            element = element_of_value(value)
            if element not in BYTES:
                raise VerifyException(f"operand {name} must have 8-bit integers, found {element}")
            if (rank := len(dims_of(value.type))) < 2:
                raise VerifyException(f"operand {name} must have rank 2 or more, found {rank}")
        a, b = dims_of(self.a.type), dims_of(self.b.type)
        if differ(a[-1], b[-2]):  # (C2)
            raise VerifyException(f"contracted dimensions must be equal, found {a[-1]} in a and {b[-2]} in b")
        _expect_zero_point(self.a_zero_point, self.a, len(a) - 2, "a_zero_point")  # (C3)
        _expect_zero_point(self.b_zero_point, self.b, len(b) - 1, "b_zero_point")

    def _check_packed(self) -> None:
        a, b = dims_of(self.a.type), dims_of(self.b.type)
        if len(b) != 3 or len(a) < 2 or self.a_zero_point is not None or self.b_zero_point is not None:
            raise VerifyException("packed operands need panels [N/nr, K/4, nr] as b, and no zero points")
        if differ(a[-1], b[1]):  # (C2)
            raise VerifyException(f"contracted dimensions must be equal, found {a[-1]} in a and {b[1]} in b")

    def infer(self) -> Sequence[Attribute]:  # (C4)
        a, b = dims_of(self.a.type), dims_of(self.b.type)
        if self.is_packed:
            return [tensor_type(i32, (*a[:-1], b[0] * b[2]))]
        return [tensor_type(i32, (*broadcast([a[:-2], b[:-2]]), a[-2], b[-1]))]


def _expect_zero_point(value: SSAValue | None, operand: SSAValue, kept: int, name: str) -> None:
    """Require a zero point to be a scalar, or one per `kept` dimension, or its operand's shape with K = 1."""
    if value is None:
        return
    if (found := element_of_value(value)) != (wanted := element_of_value(operand)):
        raise VerifyException(f"{name} must be {wanted}, as its operand, found {found}")
    dims, own = dims_of(operand.type), dims_of(value.type)
    summed = len(dims) + len(dims) - 3 - kept
    shapes = [
        (),
        (Dim.of(1),),
        (dims[kept],),
        tuple(Dim.of(1) if i == summed else dim for i, dim in enumerate(dims)),
    ]
    if not any(
        len(own) == len(shape) and not any(differ(x, y) for x, y in zip(own, shape, strict=True))
        for shape in shapes
    ):
        texts = ", ".join(map(shape_text, shapes))
        raise VerifyException(f"{name} must have one of the shapes {texts}, found {shape_text(own)}")


@irdl_op_definition
class BiasAddOp(GraphOp):
    """
    Add one number per channel; sugar for `expand_dims` and `add` that patterns match in one form.

    ```mlir
    %y = graph.bias_add %x, %b axis 1 : (tensor<1x64x7x7xf32>, tensor<64xf32>) -> tensor<1x64x7x7xf32>
    %z = graph.bias_add %u, %c axis 1 : (tensor<1x4x7x7x16xf32>, tensor<4x16xf32>) -> tensor<1x4x7x7x16xf32>
    ```
    A bias of rank 2 belongs to blocked channels (`NCHW16c`): its second dimension is the input's last.
    Constraints:
      (C1) elements are numbers, of one type.
      (C2) `axis` is an axis of the input, and not the last one for a bias of rank 2.
      (C3) the bias has the extent of the axis, then (for rank 2) the extent of the last dimension.
      (C4) `result` has the type of the input.
    Source: TVM's bias_add.
    """

    name = "graph.bias_add"
    KIND: ClassVar[Kind] = Kind.BROADCAST

    x = operand_def(AnyTensor)
    b = operand_def(AnyTensor)
    result = result_def(AnyTensor)
    axis = prop_def(IntegerAttr.constr(i64))

    traits = traits_def(Pure())
    assembly_format = "$x `,` $b `axis` $axis attr-dict `:` `(` type($x) `,` type($b) `)` `->` type($result)"

    def __init__(self, x: SSAValue, b: SSAValue, axis: int = 1):
        self.initialize([x, b], {"axis": axis})

    def check(self) -> None:
        expect_domain(self.x, Domain.NUMBER)  # (C1)
        expect_same_element(self.x, self.b)
        x, b, axis = dims_of(self.x.type), dims_of(self.b.type), self.axis.value.data
        expect_axis(axis, len(x) - (len(b) - 1))  # (C2)
        expected = [x[axis]] if len(b) == 1 else [x[axis], x[-1]]  # (C3)
        if len(b) not in (1, 2) or any(differ(have, want) for have, want in zip(b, expected, strict=True)):
            raise VerifyException(
                f"bias must have shape {shape_text(expected)}, as axis {axis} has, found {shape_text(b)}"
            )

    def infer(self) -> Sequence[Attribute]:  # (C4)
        return [tensor_of(self.x)]

    def infer_operands(
        self, results: Sequence[Attribute], operands: Sequence[Attribute]
    ) -> Sequence[Attribute | None]:
        b, known = operands[1], results[0]
        if known.name != TensorType.name:
            return one_element([*results, *operands], 2)
        bias = only_element(known)
        if b.name == TensorType.name:
            dims = dims_of(known)
            own = [dims[self.axis.value.data], dims[-1]][: len(dims_of(b))]
            bias = tensor_type(element_of_type(known), own)
        return [known, bias]
