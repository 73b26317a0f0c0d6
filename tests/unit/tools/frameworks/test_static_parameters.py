"""Static parameters of functions of JAX: the other arguments, names of their sizes, and keys."""

from __future__ import annotations

from typing import Any

import pytest

import stepwell
from stepwell.tools.frameworks.static_parameters import StaticParameters


def power(x: Any, count: Any, y: Any = 0, *, sign: Any = "+") -> Any:
    return (x, count, y, sign)


def test_the_other_arguments_move_up_with_the_names_of_their_sizes() -> None:
    static = StaticParameters(power, 1, "sign")
    names: Any = {0: {0: "a"}, 2: {0: "b"}}
    bound, args, kwargs, moved, key = static.split(power, [7, 2, 5], {"sign": "-"}, names)
    assert (list(args), dict(kwargs), moved) == ([7, 5], {}, {0: {0: "a"}, 1: {0: "b"}})
    assert bound(*args) == (7, 2, 5, "-") and bound.__name__ == "power"
    assert key == ((1, (int, 2)), ("sign", (str, "-")))


def test_an_argument_is_static_by_name_and_by_position() -> None:
    for static in (StaticParameters(power, 1, ()), StaticParameters(power, (), ["count"])):
        for args, kwargs in (([7, 2], {"y": 5}), ([7], {"count": 2, "y": 5})):
            bound, rest, others, moved, _ = static.split(power, args, kwargs, {"y": {0: "b"}})
            assert bound(*rest, **others) == (7, 2, 5, "+") and moved == {"y": {0: "b"}}
    last = StaticParameters(power, -1, ()).split(power, [7, 2, 5], {}, {})
    assert list(last[1]) == [7, 2] and last[0](7, 2) == (7, 2, 5, "+")


def test_equal_values_of_two_types_have_two_keys() -> None:
    static = StaticParameters(power, 1, ())
    assert static.split(power, [7, 1], {}, {})[-1] != static.split(power, [7, True], {}, {})[-1]
    with pytest.raises(stepwell.StepwellError, match="the static argument 1 is a list") as caught:
        static.split(power, [7, [1]], {}, {})
    assert caught.value.code == "bad-inputs"


def test_names_and_numbers_of_no_parameter() -> None:
    for numbers, names in ((4, ()), (-4, ()), ((), "nothing")):
        with pytest.raises(stepwell.StepwellError) as caught:
            StaticParameters(power, numbers, names)
        assert caught.value.code == "bad-option"
    assert not StaticParameters(power, (), ())
    assert StaticParameters(lambda *args: args, 4, ())
