"""Types of level 2: tensors without named dimensions, integers without sign."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import NoneAttr, TensorType
from xdsl.ir import Attribute

from stepwell.dialects.linalg_builder.scalars import signless
from stepwell.dialects.types import Tensor


def plain_type(type: Attribute) -> Attribute:
    """The level-2 type that corresponds to a level-1 type."""
    return plain_tensor(cast(Tensor, type)) if isinstance(type, TensorType) else signless(type)


def plain_tensor(type: Tensor) -> Tensor:
    """A tensor type without dimension names and with a signless element type; itself if it has neither."""
    element = signless(type.element_type)
    if element == type.element_type and isinstance(type.encoding, NoneAttr):
        return type
    return TensorType(element, type.get_shape())
