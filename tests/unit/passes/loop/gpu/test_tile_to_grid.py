"""Products with schedules of blocks and threads: right, without races, as few launches as can be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import Target
from stepwell.dialects import gpu
from stepwell.dialects._xdsl import StepwellContext
from stepwell.lowering.interpret import CHECKS, interpret
from stepwell.lowering.interpret.ptx import ptx_launcher
from tests.support.devices.gpu_kernels import ProductCase, RowCase, TransposeCase, WideCase, run
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


@examples(30)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 10), st.integers(1, 10)),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([((16, 16, 8), (2, 2)), ((8, 32, 16), (1, 4)), ((16, 16, 16), (4, 4))]),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from([4, 8, 16]),
    st.sampled_from(["f32", "f16"]),
)
def test_neighbours_are_copied_together(
    sizes: tuple[int, int, int],
    step: int,
    tile: tuple[tuple[int, int, int], tuple[int, int]],
    stages: int,
    transposed: bool,
    copy_bytes: int,
    element: str,
) -> None:
    """Columns and sums are multiples of `step`; on the gpu level and as PTX the bits are the same."""
    m, n, k = sizes[0], step * sizes[1], step * sizes[2]
    case = ProductCase(
        (m, n, k), *tile, stages, transposed, target=CUDA, copy_bytes=copy_bytes, element=element
    )
    module, inputs = case.module(), case.inputs()
    found = run(module, inputs)
    case.check(found, inputs)
    launcher = ptx_launcher(module, Target("cuda"))
    np.testing.assert_array_equal(
        interpret(module, StepwellContext(), "main", inputs, launcher=launcher)[-1], found
    )


@pytest.mark.parametrize(
    ("element", "sums", "wanted"),
    [("f32", 64, {4}), ("f32", 66, {2, 4}), ("f32", 65, {1, 4}), ("f16", 64, {8}), ("f16", 68, {4, 8})],
)
def test_copies_are_as_wide_as_rows_allow(element: str, sums: int, wanted: set[int]) -> None:
    """Rows of 66 elements of f32 begin at multiples of 8 bytes: 2 elements, in a tile of 16 sums."""
    case = ProductCase((32, 64, sums), (16, 16, 16), (2, 2), 3, target=CUDA, copy_bytes=16, element=element)
    copies = [op for op in case.module().walk() if isinstance(op, gpu.AsyncCopyOp)]
    assert {op.count for op in copies} == wanted


def test_halves_in_odd_rows_are_copied_by_threads() -> None:
    """No address of theirs but the first is known to be a multiple of 4 bytes: two tiles are left."""
    case = ProductCase((16, 16, 33), (16, 16, 8), (2, 2), 4, target=CUDA, copy_bytes=16, element="f16")
    module, inputs = case.module(), case.inputs()
    assert not any(isinstance(op, gpu.AsyncCopyOp) for op in module.walk())
    case.check(run(module, inputs), inputs)


@examples(30)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 150)),
    st.sampled_from(TILES),
    st.integers(1, 4),
    st.booleans(),
    st.integers(2, 5),
    st.sampled_from([0, 0, 3]),
)
def test_parts_of_the_sums(
    sizes: tuple[int, int, int],
    tile: tuple[tuple[int, int, int], tuple[int, int]],
    stages: int,
    transposed: bool,
    split_k: int,
    products: int,
) -> None:
    """Two kernels, whatever the number of parts; on the gpu level and as PTX the bits are the same."""
    if products:
        tile = (32, 16, 16), (16, 16)
    case = ProductCase(sizes, *tile, stages, transposed, products, target=CUDA, split_k=split_k)
    module, inputs = case.module(), case.inputs()
    assert sum(op.name == "gpu.launch_func" for op in module.walk()) == 2
    found = run(module, inputs)
    case.check(found, inputs)
    launcher = ptx_launcher(module, Target("cuda"))
    np.testing.assert_array_equal(
        interpret(module, StepwellContext(), "main", inputs, launcher=launcher)[-1], found
    )


def test_parts_are_added_up_in_order() -> None:
    """1e8 and -1e8 in the first and the second part leave what the third one adds."""
    case = ProductCase((4, 8, 24), (4, 8, 8), (1, 1), split_k=3)
    x, y, b, z = case.inputs()
    x[:], y[:], b[:] = 0, 1, 0
    x[:, 0], x[:, 8], x[:, 16] = 1e8, -1e8, 1
    assert (run(case.module(), [x, y, b, z]) == 1).all()
    x[:, 8], x[:, 16] = 1, -1e8  # 1 is lost in 1e8
    assert (run(case.module(), [x, y, b, z]) == 0).all()


@pytest.mark.parametrize("stages", [3, 4])
def test_wide_copies_need_no_barrier_between_them(stages: int) -> None:
    case = ProductCase((32, 64, 64), (32, 64, 16), (4, 2), stages, target=CUDA, copy_bytes=16)
    assert sum(op.name == "gpu.barrier" for op in case.module().walk()) == 1


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


@examples(20)
@given(
    st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20)),
    st.sampled_from([(0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1)]),
    st.sampled_from([(8, 64), (8, 16), (8, 8), (4, 4)]),
    st.sampled_from(["f32", "f16"]),
)
def test_transposes(
    sizes: tuple[int, int, int], perm: tuple[int, int, int], square: tuple[int, int], element: str
) -> None:
    """A single kernel with a barrier; on the gpu level and as PTX the bits are numpy's."""
    case = TransposeCase(sizes, perm, square[1], square[0], element)
    module, inputs = case.module(), case.inputs()
    assert sum(op.name == "gpu.launch_func" for op in module.walk()) == 1
    assert sum(op.name == "gpu.barrier" for op in module.walk()) == 1
    case.check(run(module, inputs), inputs)
    launcher = ptx_launcher(module, Target("cuda"))
    case.check(interpret(module, StepwellContext(), "main", inputs, launcher=launcher)[-1], inputs)


@pytest.mark.parametrize(
    "case",
    [
        *(
            ProductCase((64, 64, 32), *tile, stages, transposed, target=CUDA)
            for tile in [((64, 64, 16), (4, 4)), ((16, 16, 16), (1, 1)), ((8, 32, 16), (1, 1))]
            for stages in (1, 2)
            for transposed in (False, True)
        ),
        ProductCase((128, 128, 16), (128, 128, 8), (8, 8), 2),
        ProductCase((64, 128, 16), (64, 128, 8), (4, 8), 2),
        *(TransposeCase((2, 32, 40), (0, 2, 1), threads, 32) for threads in (32, 256)),
    ],
    ids=str,
)
def test_threads_of_a_warp_access_different_banks(case: ProductCase | TransposeCase) -> None:
    """Counted by the interpreter, at each access of the block's memory."""
    checks = (*CHECKS, "banks")
    inputs = case.inputs()
    case.check(interpret(case.module(), StepwellContext(), "main", inputs, checks=checks)[-1], inputs)


def test_values_that_are_not_finite() -> None:
    case = ProductCase((5, 6, 9), (4, 8, 8), (1, 1), 2)
    inputs = case.inputs()
    inputs[0][1, 8] = np.inf
    inputs[0][2, 0] = np.nan
    found = run(case.module(), inputs)
    assert np.isnan(found[2]).all()
    assert np.isinf(found[1][inputs[1][8] > 0]).all() and (found[1][inputs[1][8] < 0] == 0).all()
    assert np.isfinite(np.delete(found, [1, 2], axis=0)).all()


@examples(30)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.sampled_from([("f32", 2), ("f32", 4), ("f16", 2), ("f16", 8)]),
    st.sampled_from([1, 4, 32]),
    st.booleans(),
)
def test_vectors(sizes: tuple[int, int], vectors: tuple[str, int], threads: int, is_open: bool) -> None:
    """Rows of any length, in any number, known or not; on the gpu level and as PTX the bits are numpy's."""
    element, lanes = vectors
    case = WideCase(sizes, lanes, threads, element, is_open)
    module, inputs = case.module(), case.inputs()
    assert sum(op.name == "gpu.launch_func" for op in module.walk()) == 1
    case.check(run(module, inputs), inputs)
    launcher = ptx_launcher(module, Target("cuda"))
    case.check(interpret(module, StepwellContext(), "main", inputs, launcher=launcher)[-1], inputs)


@pytest.mark.parametrize(
    ("sizes", "is_open", "wanted"),
    [
        # x, and the row of 8, which each thread has a whole part of.
        ((6, 8), False, ["vector.load", "vector.load", "vector.store"]),
        # Rows of 6 begin at other places than multiples of 4.
        ((6, 6), False, ["vector.load", "vector.store"]),
        # 15 elements: the last three are computed one after the other.
        ((3, 5), False, ["vector.load", "vector.store", "memref.store"]),
        ((6, 8), True, ["vector.load", "vector.load", "vector.store", "memref.store"]),
    ],
)
def test_what_is_loaded_and_stored_at_once(sizes: tuple[int, int], is_open: bool, wanted: list[str]) -> None:
    ops = [op.name for op in WideCase(sizes, is_open=is_open).module().walk()]
    assert [name for name in ops if name in ("vector.load", "vector.store", "memref.store")] == wanted
