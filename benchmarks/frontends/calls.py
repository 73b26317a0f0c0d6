"""Calls of models that compute next to nothing: their time beyond that of the `CompiledModel` inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

from benchmarks.functional.rows import Row

CALLS, ROUNDS = 200, 100
WRAPPER_US, FROZEN_US = 10, {10: 15, 160: 50}
"""The most microseconds, those of frozen weights by their number."""


def call_rows() -> Iterator[Row]:
    """A row for `TorchModel`, and one for each number of frozen weights of `torch.compile`."""
    import torch

    torch.set_num_threads(1)
    x = torch.randn(2, 4)
    with torch.no_grad():
        yield _wrapper_row(_chain(5), x)
        for weights, most in FROZEN_US.items():
            yield _frozen_row(_chain(weights // 2), x, weights, most)


def _chain(layers: int) -> Any:
    from torch import nn

    return nn.Sequential(*[nn.Linear(4, 4) for _ in range(layers)]).eval()


def _wrapper_row(module: Any, x: Any) -> Row:
    from stepwell.torch import compile_module

    model, array = compile_module(module, (x,)), x.numpy()
    taken = _microseconds(lambda: model(x), lambda: model.model(array))
    return _row("a call of TorchModel", taken, WRAPPER_US)


def _frozen_row(module: Any, x: Any, weights: int, most: int) -> Row:
    """The call that AOTAutograd makes, which takes the weights too; checks of TorchDynamo's are not in it."""
    from unittest.mock import patch

    import torch

    from stepwell.tools.pytorch.backend import dynamo_backend
    from stepwell.tools.pytorch.graph_function import GraphFunction

    seen: list[tuple[Any, list[Any], Any]] = []
    original = GraphFunction.executable

    def noted(function: Any, arguments: Any) -> Any:
        seen.append((function, list(arguments), original(function, arguments)))
        return seen[-1][2]

    with patch.object(GraphFunction, "executable", noted):
        torch.compile(module, backend=dynamo_backend)(x)
    function, arguments, executable = seen[-1]
    arrays = [x.numpy()]
    taken = _microseconds(
        lambda: function.executable(list(arguments))(arguments), lambda: executable.model(*arrays)
    )
    return _row(f"a call of torch.compile, {weights} frozen weights", taken, most)


def _row(what: str, taken: float, most: int) -> Row:
    return Row(f"{what}, beyond CompiledModel", f"{taken:.1f} us", f"< {most} us", taken < most)


def _microseconds(run: Callable[[], object], inner: Callable[[], object]) -> float:
    """The least time of a call, less that of the call inside; both take turns."""
    least = [float("inf")] * 2
    for _ in range(ROUNDS):
        for number, each in enumerate((run, inner)):
            start = process_time()
            for _ in range(CALLS):
                each()
            least[number] = min(least[number], (process_time() - start) / CALLS)
    return (least[0] - least[1]) * 1e6
