"""Sizes that depend on data: elements of tensors, and expressions, become symbols in the middle of @main."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IndexType, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, var_result_def
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.relations import shape_text
from stepwell.dialects.graph.symbols import INDEX, symbol_names
from stepwell.dialects.types import DimLike, DimsAttr, dims_attr, dims_of, tensor_of
from stepwell.runtime.dims import Dim


@irdl_op_definition
class BindSizesOp(GraphOp):
    """
    Give names to the elements of a tensor that is computed at run time, so that types can speak of them.

    A negative element ends the call with an error. With `signed` it does not, and each element has two names:
    it is the first minus the second, neither is negative, and one of them is 0.

    ```mlir
    %a, %b = graph.bind_sizes %s names ["data_0", "data_1"] : tensor<2xi64> -> index, index
    %p, %n = graph.bind_sizes %t signed names ["data_2", "data_3"] : tensor<i64> -> index, index
    ```
    Constraints:
      (C1) the operand is of type i64, and of known size.
      (C2) there is a name for each element, two where they are signed, and a result a name.
    """

    name = "graph.bind_sizes"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    input = operand_def(AnyTensor)
    signed = opt_prop_def(UnitAttr)
    symbols = prop_def(ArrayAttr[StringAttr])
    sizes = var_result_def(IndexType)

    assembly_format = (
        "$input (`signed` $signed^)? `names` $symbols attr-dict `:` type($input) `->` type($sizes)"
    )

    def __init__(self, input: SSAValue, symbols: Sequence[str], *, signed: bool = False):
        super().__init__(
            operands=[input],
            properties={"symbols": symbol_names(symbols), "signed": UnitAttr() if signed else None},
            result_types=[[INDEX] * len(symbols)],
        )

    @property
    def elements(self) -> tuple[Dim, ...]:
        """The elements of the operand in terms of the names."""
        names = [Dim.symbol(name.data) for name in self.symbols]
        if self.signed is None:
            return tuple(names)
        return tuple(above - below for above, below in zip(names[::2], names[1::2], strict=True))

    def infer(self) -> Sequence[Attribute]:
        return [INDEX] * len(self.symbols)

    def check(self) -> None:
        dims = dims_of(self.input.type)
        if tensor_of(self.input).element_type != i64 or not all(dim.is_static for dim in dims):  # (C1)
            raise VerifyException(f"sizes come from an i64 tensor of known shape, found {self.input.type}")
        elems = prod(dim.value for dim in dims)
        expected = elems if self.signed is None else 2 * elems
        if len(self.symbols) != expected or len(self.sizes) != expected:  # (C2)
            raise VerifyException(f"expected {expected} names and results, found {len(self.symbols)}")


@irdl_op_definition
class DefineSizesOp(GraphOp):
    """
    Give names to expressions over symbols. A negative one ends the call with an error.

    ```mlir
    %a = graph.define_sizes <["max(4 - data_0, 1)"]> names ["data_1"] -> index
    ```
    Constraints:
      (C1) every expression is known by number or name.
      (C2) there is a name and a result for each.
    """

    name = "graph.define_sizes"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    dims = prop_def(DimsAttr)
    symbols = prop_def(ArrayAttr[StringAttr])
    sizes = var_result_def(IndexType)

    assembly_format = "$dims `names` $symbols attr-dict `->` type($sizes)"

    def __init__(self, dims: Sequence[DimLike], symbols: Sequence[str]):
        super().__init__(
            properties={"dims": dims_attr(dims), "symbols": symbol_names(symbols)},
            result_types=[[INDEX] * len(symbols)],
        )

    def infer(self) -> Sequence[Attribute]:
        return [INDEX] * len(self.symbols)

    def check(self) -> None:
        dims = self.dims.get()
        if any(dim.is_unknown for dim in dims):  # (C1)
            raise VerifyException(f"every expression must be known, found {shape_text(dims)}")
        if not len(dims) == len(self.symbols) == len(self.sizes):  # (C2)
            raise VerifyException(f"expected {len(dims)} names and results, found {len(self.symbols)}")
