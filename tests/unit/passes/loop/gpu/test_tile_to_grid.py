"""Products with schedules of blocks and threads: right, without races, as few launches as can be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.devices.gpu_kernels import ProductCase, RowCase, run
from tests.support.samples import examples

TILES = [((16, 16, 8), (2, 2)), ((8, 32, 4), (1, 4)), ((4, 8, 8), (1, 1)), ((32, 16, 16), (4, 4))]
"""Tiles of blocks, and of threads."""
CUDA = '#target.spec<"cuda", {}>'


@examples(40)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40)),
    st.sampled_from(TILES),
    st.integers(1, 4),
    st.booleans(),
)
def test_products(
    sizes: tuple[int, int, int],
    tile: tuple[tuple[int, int, int], tuple[int, int]],
    stages: int,
    transposed: bool,
) -> None:
    case = ProductCase(sizes, *tile, stages, transposed, target=CUDA)
    module = case.module()
    assert sum(op.name == "gpu.launch_func" for op in module.walk()) == 1
    inputs = case.inputs()
    case.check(run(module, inputs), inputs)


@examples(20)
@given(st.builds(RowCase, st.integers(1, 5), st.integers(1, 300), st.sampled_from([1, 2, 32, 64, 256])))
def test_rows(case: RowCase) -> None:
    module = case.module()
    assert sum(op.name == "gpu.launch_func" for op in module.walk()) == 1
    inputs = case.inputs()
    case.check(run(module, inputs), inputs)


@examples(20)
@given(
    st.builds(RowCase, st.integers(1, 5), st.integers(1, 300), st.sampled_from([32, 64, 256]), st.just(True))
)
def test_rows_by_exchanges_of_warps(case: RowCase) -> None:
    module = case.module()
    barriers = sum(op.name == "gpu.barrier" for op in module.walk())
    assert barriers == (0 if case.threads == 32 else 2)  # one for each of two totals
    inputs = case.inputs()
    case.check(run(module, inputs), inputs)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_a_step_has_as_few_barriers_as_it_needs(stages: int) -> None:
    module = ProductCase((16, 16, 32), (16, 16, 8), (2, 2), stages, target=CUDA).module()
    # Between copies and products, and back; two tiles in turn, or more, need the first one only.
    assert sum(op.name == "gpu.barrier" for op in module.walk()) == (2 if stages == 1 else 1)
    assert any(op.name == "gpu.async_copy" for op in module.walk()) == (stages > 2)


def test_values_that_are_not_finite() -> None:
    case = ProductCase((5, 6, 9), (4, 8, 8), (1, 1), 2)
    inputs = case.inputs()
    inputs[0][1, 8] = np.inf
    inputs[0][2, 0] = np.nan
    found = run(case.module(), inputs)
    assert np.isnan(found[2]).all()
    assert np.isinf(found[1][inputs[1][8] > 0]).all() and (found[1][inputs[1][8] < 0] == 0).all()
    assert np.isfinite(np.delete(found, [1, 2], axis=0)).all()
