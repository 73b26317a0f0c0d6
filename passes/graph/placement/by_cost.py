"""The division of a program's ops between the host and a device, by the time of work and of copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.types import dims_of, dtype_of, tensor_of
from stepwell.passes.analysis.work import flops_of
from stepwell.passes.graph.placement.minimum_cut import ENDLESS, SINK, SOURCE, Network
from stepwell.runtime.dims import Dim

_PICOSECONDS = 1000
"""Picoseconds of an operation at 1 GFLOP/s, and of a byte at 1 GB/s."""


@dataclass(frozen=True)
class Rates:
    """GFLOP/s of the host and of the device, GB/s of copies between them."""

    host: int
    device: int
    link: int


@dataclass(frozen=True)
class Division:
    """The ops for the device, with the times in picoseconds."""

    ops: Sequence[Operation]
    on_host: int
    """The time that these ops would take on the host."""
    on_device: int
    copied_bytes: int
    copies: int
    """The time of the copies."""


def division_of(block: Block, rates: Rates, pins: dict[Operation, bool]) -> Division:
    """
    The division of a block's ops that takes the least time; arguments and results are the host's.

    Sizes that are open count as 1. Args: `pins` says of some ops whether they are on the device.
    Source: Stone, Multiprocessor scheduling with the aid of network flow algorithms, 1977.
    """
    ops = [op for op in block.ops if _computes(op)]
    network = Network()
    nodes = {op: network.node() for op in ops}
    times = {op: tuple(_time(_flops(op), rate) for rate in (rates.host, rates.device)) for op in ops}
    # The source's side is the host: an op there cuts its edge to the sink, and has the host's time.
    for op, node in nodes.items():
        on_device = pins.get(op)
        network.edge(node, SINK, ENDLESS if on_device else times[op][0])
        network.edge(SOURCE, node, ENDLESS if on_device is False else times[op][1])
    values = [*block.args, *(result for op in ops for result in op.results)]
    for value in values:
        _add_copies(network, nodes, value, _time(_bytes(value), rates.link))
    is_host = network.source_side()
    chosen = [op for op in ops if not is_host[nodes[op]]]
    copied = sum(_bytes(value) for value in values if _is_copied(value, {*chosen}))
    totals = [sum(times[op][side] for op in chosen) for side in (0, 1)]
    return Division(chosen, totals[0], totals[1], copied, _time(copied, rates.link))


def _add_copies(network: Network, nodes: dict[Operation, int], value: SSAValue, time: int) -> None:
    """The edges of a value, which is copied once in each direction, however many ops use it."""
    made, users = _maker(nodes, value), {nodes.get(use.operation, SOURCE) for use in value.uses}
    to_device, to_host = network.node(), network.node()
    network.edge(made, to_device, time)
    network.edge(to_host, made, time)
    for user in users:
        network.edge(to_device, user, ENDLESS)
        network.edge(user, to_host, ENDLESS)


def _maker(nodes: dict[Operation, int], value: SSAValue) -> int:
    return SOURCE if isinstance(value.owner, Block) else nodes.get(value.owner, SOURCE)


def _is_copied(value: SSAValue, chosen: set[Operation]) -> bool:
    """Whether an op uses a value on another side than its own."""
    own = isinstance(value.owner, Operation) and value.owner in chosen
    return any((use.operation in chosen) != own for use in value.uses)


def _computes(op: Operation) -> bool:
    if isinstance(op, graph.CompositeOp):
        return True
    return isinstance(op, GraphOp) and op.KIND is not Kind.STRUCTURE and not isinstance(op, graph.ConstantOp)


def _flops(op: Operation) -> int:
    """The operations of an op with what it contains."""
    return sum(_number(flops_of(each)) for each in op.walk() if isinstance(each, GraphOp))


def _bytes(value: SSAValue) -> int:
    if not isinstance(value.type, TensorType):
        return 0
    total = dtype_of(tensor_of(value).element_type).itemsize
    for dim in dims_of(tensor_of(value)):
        total *= _number(dim)
    return total


def _number(dim: Dim) -> int:
    """A size with 1 for what is open."""
    return 1 if dim.is_unknown else max(0, dim.evaluate(dict.fromkeys(dim.symbols(), 1)))


def _time(amount: int, rate: int) -> int:
    return amount * _PICOSECONDS // rate
