"""Launches of damaged parts: arguments that do not fit the parameters that code names."""

import json
from typing import Any

import numpy as np
import pytest

from stepwell.runtime.devices.base import Memory, View
from stepwell.runtime.devices.signatures import parameters_from, passed
from stepwell.runtime.devices.source_kernels import SourceKernel, read_kernels
from stepwell.runtime.errors import StepwellError

ARRAY = View(Memory(64, None), 0, np.dtype(np.float32), (4, 4))
ABOUT: dict[str, Any] = {
    "text": "", "block": [4, 1, 1], "buffers": [1], "infinity": False,
    "scalars": [["i32", 0, None], ["i32", 1, 1], ["long", 0, None]],
}  # fmt: skip


def kernel(**change: object) -> SourceKernel:
    """A kernel that takes a number and an array, with another description."""
    return read_kernels(json.dumps({"k": {**ABOUT, **change}}).encode())["k"]


def test_numbers_and_arrays_of_a_launch() -> None:
    assert kernel().views([7, ARRAY]) == [ARRAY]
    assert kernel().numbers([7, ARRAY]) == [("i32", 7), ("i32", 4), ("long", 7)]
    assert passed("k", parameters_from("parameters: i32 0, ptr 1, i64 1.0"), [7, ARRAY]) == [7, ARRAY, 4]


@pytest.mark.parametrize(
    "arguments", [[], [7], [7, 8], [ARRAY, ARRAY._replace(shape=(4,))], [1 << 31, ARRAY], [-(1 << 40), ARRAY]]
)
def test_arguments_that_do_not_fit(arguments: list[Any]) -> None:
    with pytest.raises(StepwellError) as error:
        kernel().views(arguments)
        kernel().numbers(arguments)
    assert error.value.code == "bad-artifact"
    with pytest.raises(StepwellError) as error:
        passed("k", parameters_from("parameters: i32 0, ptr 1, i64 1.1"), arguments)
    assert error.value.code == "bad-artifact"


def test_iterations_of_a_launch() -> None:
    assert kernel().most_iterations([7, ARRAY]) == 0  # of an older file
    assert kernel(iterations=["100", "n0 * n1"]).most_iterations([7, ARRAY]) == 128
    with pytest.raises(StepwellError) as error:
        kernel(iterations=["n3"]).most_iterations([7, ARRAY])
    assert error.value.code == "bad-artifact"


@pytest.mark.parametrize(
    "change",
    [
        {"block": [4]},
        {"block": [4, 1, -1]},
        {"scalars": [["i32", 0, -1]]},
        {"iterations": ["n0 +"]},
        {"iterations": 7},
    ],
)
def test_descriptions_of_kernels_that_are_wrong(change: dict[str, object]) -> None:
    with pytest.raises(StepwellError) as error:
        kernel(**change)
    assert error.value.code == "bad-artifact"
