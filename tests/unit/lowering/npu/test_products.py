"""The simulator's products in pieces."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepwell.runtime.npu.products import product
from tests.support.samples import examples

SIZES = st.tuples(st.integers(0, 400), st.sampled_from([0, 1, 16, 144, 1024, 1 << 17]), st.integers(0, 70))


@examples(40)
@given(SIZES, st.integers(0, 9))
def test_a_product_in_pieces_is_the_whole_one(sizes: tuple[int, int, int], seed: int) -> None:
    height, depth, width = sizes
    if depth > 1024:
        height, width = height % 7, width % 3
    rng = np.random.default_rng(seed)
    shapes = ((height, depth), (depth, width))
    rows, columns = (rng.integers(-8, 8, shape).astype(np.float32) for shape in shapes)
    np.testing.assert_array_equal(product(rows, columns), rows @ columns)
