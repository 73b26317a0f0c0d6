"""Programs of Core ML with control flow and lists: scripts of torch, and programs of coremltools' builder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stepwell.runtime.interface import Array
from tests.frontends.coreml_cases import numbers

if TYPE_CHECKING:
    from torch import Tensor


class Program(NamedTuple):
    """A program, and inputs of runs with the results that numpy or torch computes."""

    package: str
    make: Callable[[], Any]
    runs: Sequence[tuple[Sequence[Array], Sequence[Array]]]


def programs() -> list[Program]:
    """All programs."""
    x, small, large = numbers(4, 3), np.array([0.01, 0.02], np.float32), np.array([30.0, 0.5], np.float32)
    counted = [
        (small, np.array([0], np.int32)),
        (small, np.array([5], np.int32)),
        (large, np.array([7], np.int32)),
    ]
    rows = np.multiply(x, 2)
    rows[[0, 2]] = 1
    return [
        Program("script", _scripted, [((start, n), (_of_torch(start, n),)) for start, n in counted]),
        Program(
            "lists",
            _lists,
            [
                (
                    (x, np.array([s], np.float32)),
                    (np.add(rows[[0, 1, 3]], s), np.multiply(x[2], 2), np.array(4, np.int32)),
                )
                for s in (1, -1)
            ],
        ),
        Program("open_list", _open_list, [((x[:n],), (np.cumsum(x[:n], axis=0),)) for n in (4, 1)]),
    ]


def _scripted() -> Any:
    """A loop around a choice, and a loop as long as a sum is small."""
    torch, ct = import_module("torch"), import_module("coremltools")
    inputs = [ct.TensorType(name="x0", shape=(2,)), ct.TensorType(name="x1", shape=(1,), dtype=np.int32)]
    return ct.convert(
        torch.jit.script(_module().eval()),
        inputs=inputs,
        convert_to="mlprogram",
        compute_precision=ct.precision.FLOAT32,
        minimum_deployment_target=ct.target.iOS16,
    )


def _module() -> Any:
    torch: Any = import_module("torch")

    class Loops(torch.nn.Module):
        def forward(self, x: Tensor, n: Tensor) -> Tensor:
            y = x
            for _ in range(int(n.item())):
                if bool(y.sum() > 10.0):
                    y = y - x * 0.5
                else:
                    y = y + x
            while bool(y.max() < 100.0):
                y = y * 2.0
            return y

    # The compiler of scripts asks for the types of tensors.
    Loops.forward.__annotations__ = {name: torch.Tensor for name in ("x", "n", "return")}
    return Loops()


def _of_torch(start: Array, count: Array) -> Array:
    torch: Any = import_module("torch")
    return np.asarray(_module()(torch.from_numpy(start), torch.from_numpy(count)).numpy())


def _converted(function: Callable[..., Any], *shapes: Sequence[Any]) -> Any:
    """A function of coremltools' builder as a model; its inputs are x0, x1, …"""
    ct, mil = import_module("coremltools"), import_module("coremltools.converters.mil")
    specs = [mil.Builder.TensorSpec(shape=shape) for shape in shapes]
    program = mil.Builder.program(input_specs=specs, opset_version=ct.target.iOS16)(function)
    return ct.convert(
        program,
        convert_to="mlprogram",
        compute_precision=ct.precision.FLOAT32,
        minimum_deployment_target=ct.target.iOS16,
    )


def _lists() -> Any:
    """A loop that writes a list; its elements read, gathered and scattered; a choice."""
    mb: Any = import_module("coremltools.converters.mil").Builder

    def program(x0: Any, x1: Any) -> Any:
        def body(i: Any, rows: Any) -> Any:
            row = mb.mul(x=mb.gather(x=x0, indices=i, axis=0), y=2.0)
            return mb.add(x=i, y=1), mb.list_write(ls=rows, index=i, value=row)

        empty = mb.make_list(init_length=4, dynamic_length=False, elem_shape=(3,), dtype="fp32")
        _, rows = mb.while_loop(_cond=lambda i, _: mb.less(x=i, y=4), _body=body, loop_vars=(0, empty))
        others = mb.list_scatter(ls=rows, indices=[0, 2], value=np.ones((2, 3), np.float32))
        three = mb.list_gather(ls=others, indices=[0, 1, 3])
        chosen = mb.cond(
            pred=mb.greater(x=mb.squeeze(x=x1), y=0.0),
            _true_fn=lambda: mb.add(x=three, y=1.0),
            _false_fn=lambda: mb.sub(x=three, y=1.0),
        )
        return chosen, mb.list_read(ls=rows, index=2), mb.list_length(ls=rows)

    return _converted(program, (4, 3), (1,))


def _open_list() -> Any:
    """A list as long as an input, of the sums of its rows so far."""
    mil = import_module("coremltools.converters.mil")
    mb: Any = mil.Builder
    size = import_module("coremltools.converters.mil.mil").get_new_symbol()

    def program(x0: Any) -> Any:
        count = mb.gather(x=mb.shape(x=x0), indices=0, axis=0)

        def body(i: Any, total: Any, rows: Any) -> Any:
            added = mb.add(x=total, y=mb.gather(x=x0, indices=i, axis=0))
            return mb.add(x=i, y=1), added, mb.list_write(ls=rows, index=i, value=added)

        empty = mb.make_list(init_length=count, dynamic_length=True, elem_shape=(3,), dtype="fp32")
        zeros = np.zeros(3, np.float32)
        _, _, rows = mb.while_loop(
            _cond=lambda i, *_: mb.less(x=i, y=count), _body=body, loop_vars=(0, zeros, empty)
        )
        return mb.list_gather(ls=rows, indices=mb.range_1d(start=0, end=count, step=1))

    return _converted(program, (size, 3))
