"""Resize and Upsample: every mode through the levels, against ONNX's reference evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from stepwell.runtime.errors import StepwellError
from tests.support.onnx_nodes import check_node

RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 2, (1, 2, 5, 4)).astype(np.float32)


def scales(*values: float) -> npt.NDArray[np.float32]:
    return np.array(values, np.float32)


def sizes(*values: int) -> npt.NDArray[np.int64]:
    return np.array(values, np.int64)


COORDINATES = ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners")


@pytest.mark.sample(6)
@pytest.mark.parametrize("coordinate", COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("by", [(1.0, 1.0, 2.0, 3.0), (1.0, 1.0, 0.6, 1.7)])
def test_scales(mode: str, coordinate: str, by: Sequence[float]) -> None:
    check_node(
        "Resize", [X, None, scales(*by)], mode=mode, coordinate_transformation_mode=coordinate, tolerance=2e-5
    )


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("coordinate", ["half_pixel", "asymmetric"])
def test_nearest_rounds(rounding: str, coordinate: str) -> None:
    for shape in (sizes(1, 2, 10, 8), sizes(1, 2, 7, 3)):
        check_node(
            "Resize",
            [X, None, None, shape],
            mode="nearest",
            nearest_mode=rounding,
            coordinate_transformation_mode=coordinate,
        )


OTHERS: list[dict[str, Any]] = [
    {"inputs": [X, None, scales(1, 1, 0.6, 0.6)], "mode": "linear", "antialias": 1},
    {"inputs": [X, None, scales(1, 1, 0.6, 0.6)], "mode": "cubic", "antialias": 1},
    {"inputs": [X, None, scales(1, 1, 0.8, 2)], "mode": "cubic", "exclude_outside": 1},
    {"inputs": [X, None, scales(1, 1, 0.8, 2)], "mode": "cubic", "cubic_coeff_a": -0.5},
    {"inputs": [X, None, scales(2, 0.5)], "mode": "linear", "axes": [3, 2]},
    {"inputs": [X, None, None, sizes(9, 9)], "axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"},
    {"inputs": [X, None, None, sizes(9, 9)], "axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"},
    {
        "inputs": [X, scales(0, 0, 0.4, 0.6, 1, 1, 0.6, 1.2), None, sizes(1, 2, 3, 3)],
        "mode": "linear",
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 10.0,
    },
]


@pytest.mark.parametrize("options", OTHERS)
def test_options(options: dict[str, Any]) -> None:
    check_node("Resize", tolerance=2e-5, **options)


def test_named_dimensions() -> None:
    for by in ((1.0, 1.0, 2.0, 2.0), (1.0, 1.0, 0.5, 1.5)):
        check_node(
            "Resize", [X, None, scales(*by)], mode="linear", names={0: ("N", 2, "H", "W")}, tolerance=2e-5
        )


def test_scales_that_are_data_copy_the_nearest_integers() -> None:
    x = np.arange(40, dtype=np.int32).reshape(1, 2, 5, 4)
    check_node("Resize", [x, None, scales(1, 1, 0.6, 1.7)], mode="nearest", names={2: (4,)})


# As OTHERS, with the numbers as data: the operands of these positions are arguments.
BY_DATA: list[tuple[int, dict[str, Any]]] = [
    (2, {"inputs": [X, None, scales(1, 1, 0.4, 2)], "mode": "linear", "antialias": 1}),
    (3, {"inputs": [X, None, None, sizes(3, 9)], "axes": [2, 3], "mode": "cubic", "antialias": 1}),
    (
        3,
        {
            "inputs": [X, None, None, sizes(2, 3)],
            "axes": [3, 2],
            "mode": "cubic",
            "antialias": 1,
            "exclude_outside": 1,
            "keep_aspect_ratio_policy": "not_larger",
        },
    ),
    (3, {"inputs": [X, None, None, sizes(9, 7)], "axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"}),
    (3, {"inputs": [X, None, None, sizes(3, 9)], "axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"}),
    (
        1,
        {
            "inputs": [X, scales(0, 0, 0.4, 0.6, 1, 1, 0.6, 1.2), None, sizes(1, 2, 3, 3)],
            "mode": "linear",
            "coordinate_transformation_mode": "tf_crop_and_resize",
            "extrapolation_value": 10.0,
        },
    ),
    (
        1,
        {
            "inputs": [X, scales(0.25, -0.5, 0.75, 0.5), scales(0.2, 0.5)],
            "axes": [2, 3],
            "coordinate_transformation_mode": "tf_crop_and_resize",
        },
    ),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("argument", "options"), BY_DATA)
def test_numbers_that_are_data(argument: int, options: dict[str, Any]) -> None:
    check_node("Resize", tolerance=2e-5, names={argument: options["inputs"][argument].shape}, **options)


def test_named_dimensions_with_a_policy() -> None:
    check_node(
        "Resize",
        [X, None, None, sizes(9, 7)],
        axes=[2, 3],
        mode="linear",
        keep_aspect_ratio_policy="not_larger",
        names={0: ("N", 2, "H", "W")},
        tolerance=2e-5,
    )


def test_scales_that_are_data_round_by_themselves_at_opset_10() -> None:
    """Up where an axis shrinks, down where all grow."""
    rows = np.arange(5, dtype=np.float32).reshape(1, 1, 5, 1)
    for by, expected in ((0.6, [0, 2, 4]), (1.5, [0, 0, 1, 2, 2, 3, 4])):
        wanted = np.array(expected, np.float32).reshape(1, 1, -1, 1)
        check_node("Resize", [rows, scales(1, 1, by, 1)], opset=10, names={1: (4,)}, expected=[wanted])


def test_scales_that_are_data_by_pixel_centres_of_old_opsets() -> None:
    """Positions 0.625, 1.875, 3.125 and 4.375 of five rows."""
    rows = np.arange(5, dtype=np.float32).reshape(1, 1, 5, 1)
    wanted = np.array([1, 2, 3, 4], np.float32).reshape(1, 1, -1, 1)
    options: Any = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "opset": 11}
    check_node(
        "Resize", [rows, scales(), scales(1, 1, 0.8, 1)], names={2: (4,)}, expected=[wanted], **options
    )


def test_a_region_of_the_wrong_length() -> None:
    with pytest.raises(StepwellError, match="Resize: `roi` has 8 numbers, found 4"):
        check_node(
            "Resize",
            [X, scales(0, 0, 1, 1), None, sizes(1, 2, 3, 3)],
            coordinate_transformation_mode="tf_crop_and_resize",
            names={1: (4,)},
            expected=[X],
        )


def test_integers_round_and_saturate() -> None:
    x = RNG.integers(0, 256, (1, 1, 5, 4)).astype(np.uint8)
    check_node("Resize", [x, None, scales(1, 1, 2, 2)], mode="cubic")


def test_upsample_of_old_opsets() -> None:
    expected = [X.repeat(2, 2).repeat(3, 3)]
    check_node("Upsample", [X, scales(1, 1, 2, 3)], opset=9, expected=expected)
    check_node("Upsample", [X], opset=7, scales=[1.0, 1.0, 2.0, 3.0], expected=expected)


def test_fraction_of_a_named_dimension_is_refused() -> None:
    with pytest.raises(StepwellError, match="Resize: the size of dimension H scaled by"):
        check_node("Resize", [X, None, scales(1, 1, 0.6, 2)], mode="linear", names={0: (1, 2, "H", 4)})
