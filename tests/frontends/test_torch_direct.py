"""Exported programs without decompositions: writes to values, operators of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stepwell
from tests.support.components import needs

torch = needs("torch")
pytestmark = pytest.mark.slow


class Of(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def read_after_write(x: Any) -> Any:
    y = x - 0.5
    return torch.relu_(y), y * 2


def chain(x: Any) -> Any:
    y = x + x
    return y.relu_().add_(1).mul_(y), y


def alias_by_dropout(x: Any) -> Any:
    y = x * 2
    return torch.nn.functional.dropout(y, 0.5, False).neg_(), y


def alias_by_atleast_2d(x: Any) -> Any:
    y = x - 0.5
    view = torch.atleast_2d(y)
    return y.relu_(), view


def write_to_a_view(x: Any) -> Any:
    y = x * 2
    return y.t().add_(1), y


def write_of_a_part(x: Any) -> Any:
    y = torch.relu(x)
    y[1:].add_(5)
    return y


def write_to_the_operand_of_a_sum(x: Any) -> Any:
    y = x * 3
    z = y + x
    y.relu_()
    return z + y


def words(x: Any) -> Any:
    ids = (x * 9).to(torch.int64)
    return (ids & 6) | (ids.flip(0) ^ 3), (ids << 1) + (ids >> 1), (x > 0) & (x < 1)


def differences(x: Any) -> Any:
    return x.diff(), x.diff(n=2, dim=0, prepend=x[:1], append=x[:2]), (x > 0).diff(), x.diff(n=9), x.diff(n=0)


def extremes(x: Any) -> Any:
    return torch.max(x, x.flip(0)), torch.min(x, (x * 3).to(torch.int64)), torch.max(x > 0, x.flip(0) > 0)


DIRECT = (
    read_after_write,
    chain,
    alias_by_dropout,
    write_to_the_operand_of_a_sum,
    words,
    differences,
    extremes,
)
BY_TORCH = (alias_by_atleast_2d, write_to_a_view, write_of_a_part)


@pytest.mark.parametrize("function", (*DIRECT, *BY_TORCH))
def test_a_program_is_read_directly_where_that_is_right(function: Callable[..., Any]) -> None:
    from stepwell.frontend.torch.direct import is_direct

    torch.manual_seed(0)
    x = torch.randn(4, 3)
    program = torch.export.export(Of(function).eval(), (x,), strict=False)
    assert is_direct(program) == (function in DIRECT)
    model = stepwell.compile(program, executor="interpreter")
    found, wanted = model(x.numpy()), Of(function)(x.clone())
    found, wanted = (each if isinstance(each, tuple) else (each,) for each in (found, wanted))
    for one, tensor in zip(found, wanted, strict=True):
        assert torch.as_tensor(one).dtype == tensor.dtype
        torch.testing.assert_close(torch.as_tensor(one), tensor)


def test_a_buffer_that_is_written_is_left_to_torch() -> None:
    from stepwell.frontend.torch.direct import is_direct

    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x: Any) -> Any:
            self.count.add_(x)
            return self.count * 2

    program = torch.export.export(Counter().eval(), (torch.ones(3),), strict=False)
    assert not is_direct(program)
    session = stepwell.compile(program).session()
    ones = torch.ones(3).numpy()
    assert [float(np.sum(session(ones))) for _ in range(2)] == [6, 12]
