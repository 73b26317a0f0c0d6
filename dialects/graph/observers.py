"""Observers: marks of the values that a scheme quantizes, which statistics are collected of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, f32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, Kind, SameTypeOp
from stepwell.dialects.graph.relations import element_of_value, expect_axis, is_integer
from stepwell.dialects.types import dims_of, int_attr

ROLES = ("activation", "result", "weight", "bias")
LAYER = "graph.layer"
"""Attribute of an observer: the node with which its value is quantized or not, if the key names another."""
_ZERO = int_attr(0)


@irdl_op_definition
class ObserveOp(SameTypeOp):
    """
    The operand itself, marked as a value to quantize under the key of a calibration table.

    ```mlir
    %y = graph.observe %x key "layer1.0/Conv:0" role "activation" to ui8
      : tensor<1x64x56x56xf32> -> tensor<1x64x56x56xf32>
    %v = graph.observe %w key "layer1.0/Conv:1" role "weight" to i8 axis 0
      : tensor<64x3x7x7xf32> -> tensor<64x3x7x7xf32>
    ```
    There is a scale for each index along `axis`, or for each `block` of indices.
    Constraints:
      (C1) elements are f32, `to` is an integer type.
      (C2) no other observer of the function has the `key`.
      (C3) `role` is activation, result, weight or bias.
      (C4) `axis` is a dimension of the input; `block` is positive and needs an axis.
    """

    name = "graph.observe"
    KIND: ClassVar[Kind] = Kind.ELEMENTWISE

    input = operand_def(AnyTensor)
    key = prop_def(StringAttr)
    role = prop_def(StringAttr)
    to = prop_def(TypeAttribute)
    axis = opt_prop_def(IntegerAttr.constr(i64))
    block = prop_def(IntegerAttr.constr(i64), default_value=_ZERO)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = (
        "$input `key` $key `role` $role `to` $to (`axis` $axis^)? (`block` $block^)? "
        "attr-dict `:` type($input) `->` type($result)"
    )

    def __init__(
        self, input: SSAValue, key: str, role: str, *, to: Attribute, axis: int | None = None, block: int = 0
    ):
        self.initialize([input], {"key": key, "role": role, "to": to, "axis": axis, "block": block})

    @property
    def scale_axis(self) -> int | None:
        """The dimension with a scale for each index or block; None for a single scale."""
        return None if self.axis is None else self.axis.value.data

    @property
    def layer(self) -> str:
        """The name of the node with which the value is quantized or not."""
        given = self.attributes.get(LAYER)
        return given.data if isinstance(given, StringAttr) else self.key.data.rpartition(":")[0]

    def check(self) -> None:
        if (element := element_of_value(self.input)) != f32:  # (C1)
            raise VerifyException(f"element type must be f32, found {element}")
        if not is_integer(self.to):
            raise VerifyException(f"`to` must be an integer, found {self.to}")
        if self.role.data not in ROLES:  # (C3)
            raise VerifyException(f'role must be one of {", ".join(ROLES)}, found "{self.role.data}"')
        block = self.block.value.data
        if self.axis is not None:  # (C4)
            expect_axis(self.axis.value.data, len(dims_of(self.input.type)))
        if block < 0 or (block and self.axis is None):
            raise VerifyException(f"block must be positive and needs an axis, found {block}")

    def verify_(self) -> None:
        super().verify_()
        self._expect_own_key()  # (C2)

    def _expect_own_key(self) -> None:
        """Require another key than earlier observers of the function have."""
        function = self.parent_op()
        while function is not None and not isinstance(function, FuncOp):
            function = function.parent_op()
        for other in function.walk() if function is not None else ():
            if other is self:
                return
            if isinstance(other, ObserveOp) and other.key == self.key:
                raise VerifyException(f"key {self.key} must be unique, and another observer has it")


def observers_of(function: FuncOp) -> Sequence[ObserveOp]:
    """The observers of a function, in order."""
    return [op for op in function.walk() if isinstance(op, ObserveOp)]


def layers_of(function: FuncOp) -> list[str]:
    """The layers of the observers of a function, in order."""
    return list(dict.fromkeys(op.layer for op in observers_of(function)))
