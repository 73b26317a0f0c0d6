"""The type of arrays that stay on a device."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.types import Tensor


@irdl_attr_definition
class ArrayType(ParametrizedAttribute, TypeAttribute):
    """
    An array in the memory of a device, which the host passes on as an object.

    ```mlir
    !dev.array<tensor<4xf32>>
    ```
    Constraints:
      (C1) the parameter is the type of a tensor.
    """

    name = "dev.array"

    tensor: Attribute

    def verify(self) -> None:
        if not isinstance(self.tensor, TensorType):  # (C1)
            raise VerifyException(f"an array of a device is that of a tensor, found {self.tensor}")

    @property
    def type(self) -> Tensor:
        """The type of the elements and their sizes."""
        return cast(Tensor, self.tensor)
