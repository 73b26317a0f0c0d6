"""The calls of `@main` out of compiled code, as rows of a model image: of the host, and of timed kernels."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func
from xdsl.ir import Attribute

from stepwell.dialects import graph
from stepwell.dialects.graph.host import is_opaque, payload_bytes
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.graph_ir.annotations import work_told_on
from stepwell.dialects.locations import node_names
from stepwell.dialects.types import Tensor, dims_of, dtype_of
from stepwell.lowering.main_to_buffers import object_indices, returned_values, signature_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import describe_location
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.host import Callee, HostValue
from stepwell.runtime.timing import TimedCall


@dataclass(frozen=True)
class HostSide:
    """The calls out of compiled code, and the Python objects of a call."""

    callees: tuple[Callee, ...]
    objects: int
    outputs: tuple[int | None, ...]
    """For each output, the index of its Python object, or None for an array."""


def host_side(main: func.FuncOp, weights: WeightStore) -> HostSide:
    """The host calls of `@main` in order, and the numbering of the Python objects passed between them."""
    calls = [op for op in main.walk() if isinstance(op, graph.HostCallOp)]
    callees = tuple(_callee(op, weights) for op in calls)
    indices = object_indices(main)
    outputs = tuple(indices.get(value) for value in returned_values(main))
    return HostSide(callees, len(indices), outputs if any(o is not None for o in outputs) else ())


def _callee(op: graph.HostCallOp, weights: WeightStore) -> Callee:
    signature = signature_of(op)
    own = {name for name, _ in defined_symbols(op)}
    return Callee(
        op.kind.data,
        op.callee.data,
        payload_bytes(op, weights),
        tuple(_host_value(type, own) for type in signature.inputs),
        tuple(_host_value(type, own) for type in signature.outputs.data[: len(op.values)]),
        describe_location(op),
    )


def _host_value(type: Attribute, own: set[str]) -> HostValue:
    if is_opaque(type):
        return HostValue("")
    dims = dims_of(type)
    made = any(dim.symbols() & own for dim in dims)
    return HostValue(dtype_of(cast(Tensor, type).element_type).name, len(dims), made)


def timed_calls(main: func.FuncOp, kernels: Container[str], names: Sequence[str]) -> tuple[TimedCall, ...]:
    """
    The calls of kernels and of the host in `@main`, in order, with the work that `annotate-work` annotated.

    Args: `names` are the names of all called functions before kernels were renamed by content.
    """
    earlier = iter(names)
    calls: list[TimedCall] = []
    for op in main.walk():
        nodes = tuple(node_names(op.location))
        if isinstance(op, graph.HostCallOp):
            calls.append(TimedCall("host", op.callee.data, "", nodes, Dim.of(0), Dim.of(0)))
        elif isinstance(op, func.CallOp):
            name, symbol = next(earlier), op.callee.string_value()
            if symbol in kernels:
                calls.append(TimedCall("kernel", name, symbol, nodes, *work_told_on(op)))
    return tuple(calls)
