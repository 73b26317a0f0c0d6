"""How many bytes an element takes in memory: one answer for the planner, the kernels and numpy."""

import pytest
from xdsl.dialects.builtin import IndexType, IntegerType, NoneAttr, bf16, f32, f64, i1, i8, i64
from xdsl.ir import Attribute

from stepwell.dialects.types import element_bytes
from stepwell.runtime.errors import StepwellError


@pytest.mark.parametrize(
    ("element", "size"),
    [(i1, 1), (IntegerType(4), 1), (i8, 1), (bf16, 2), (f32, 4), (f64, 8), (i64, 8), (IndexType(), 8)],
)
def test_bytes_of_an_element(element: Attribute, size: int) -> None:
    assert element_bytes(element) == size


def test_what_has_no_size() -> None:
    with pytest.raises(StepwellError, match="has no size in memory"):
        element_bytes(NoneAttr())
