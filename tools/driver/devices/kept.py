"""Values between parts of a device that stay there: arrays of the device in place of tensors of the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.dev import ArrayType
from stepwell.dialects.graph.host import code_payload, payload_bytes
from stepwell.dialects.graph_ir.state import state_pairs
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import Tensor, dims_of, dtype_of
from stepwell.runtime.devices.commands import ARENA, CopyIn, CopyOut, Slice
from stepwell.runtime.devices.part import DevicePart, PartArray
from stepwell.runtime.dims import Dim
from stepwell.runtime.host import DEVICE
from stepwell.tools.driver.compilation import Compilation, main_of

Parts: TypeAlias = dict[graph.HostCallOp, str]
"""The calls of device parts, and the name of the device of each."""


class _Use(NamedTuple):
    """An operand of the call of a part."""

    op: graph.HostCallOp
    position: int


def keep_on_device(parts: Parts, compilation: Compilation) -> None:
    """
    Let values between parts of one device stay on the device, and copy other values to the device once.

    ```mlir
    %a = graph.host_call "device" "gpu0_0" … (%x) : (tensor<4xf32>) -> tensor<4xf32>
    %b = graph.host_call "device" "gpu0_1" … (%a) : (tensor<4xf32>) -> tensor<4xf32>
    // ->
    %a = graph.host_call "device" "gpu0_0" … (%x) : (tensor<4xf32>) -> !dev.array<tensor<4xf32>>
    %b = graph.host_call "device" "gpu0_1" … (%a) : (!dev.array<tensor<4xf32>>) -> tensor<4xf32>
    ```
    A value that the host reads as well has two results: the tensor, and the array. A value of the host that
    several parts of a device read is copied by a call of its own. Values in regions of control flow are
    copied by each part that reads them from outside.
    """
    for op in list(parts):
        _keep_results(op, parts, compilation)
    values = dict.fromkeys(value for op in parts for value in op.arguments)
    for value in values:
        for device, uses in _by_device(value, parts).items():
            if len({use.op for use in uses}) > 1 and value.type.name == TensorType.name:
                _upload(value, uses, device, parts, compilation)
    _note_interface(parts, compilation)


def _note_interface(parts: Parts, compilation: Compilation) -> None:
    """Note the inputs of the model that parts of a device alone read, and the outputs that a part makes."""
    main = main_of(compilation.module)
    if state_pairs(main):
        return
    for op, device in parts.items():
        reads = {
            number: value.index
            for number, value in enumerate(op.arguments)
            if isinstance(value, BlockArgument)
            and value.owner is main.body.block
            and len(_by_device(value, parts).get(device, [])) == len([*value.uses])
        }
        uses = {number: [*result.uses] for number, result in enumerate(op.results)}
        makes = {
            number: use.index
            for number, [use, *others] in ((number, each) for number, each in uses.items() if each)
            if not others and use.operation is main.body.block.last_op
        }
        if reads or makes:
            part = DevicePart.from_bytes(payload_bytes(op, compilation.ctx.weights))
            noted = replace(part, from_main=reads, to_main=makes)
            op.payload = code_payload(noted.to_bytes(), noted.name, compilation.ctx.weights)


def _by_device(value: SSAValue, parts: Parts) -> dict[str, list[_Use]]:
    """The uses of a value by parts of its own block, by device."""
    made, found = value.owner, dict[str, list[_Use]]()
    home = made.parent if isinstance(made, Operation) else made
    for use in value.uses:
        op = use.operation
        if isinstance(op, graph.HostCallOp) and op in parts and op.parent is home:
            found.setdefault(parts[op], []).append(_Use(op, use.index))
    return found


def _keep_results(op: graph.HostCallOp, parts: Parts, compilation: Compilation) -> None:
    """Let parts of the same device read the results of a part as arrays of the device."""
    device = parts[op]
    again: list[tuple[int, list[_Use]]] = []
    for number, result in enumerate(op.results):
        if not (uses := _by_device(result, parts).get(device)):
            continue
        if len(uses) == len([*result.uses]):
            set_type(result, ArrayType(result.type))
        else:
            again.append((number, uses))
    if not again:
        return
    part = DevicePart.from_bytes(payload_bytes(op, compilation.ctx.weights))
    for number, _ in again:
        part = _with_output_again(part, number)
    types = [*op.result_types, *(ArrayType(op.results[number].type) for number, _ in again)]
    made = _call(part, op.arguments, types, compilation)
    adopt_location(made, op.location)
    for (_, uses), array in zip(again, made.results[len(op.results) :], strict=True):
        for use in uses:
            use.op.operands[use.position] = array
    del parts[op]
    parts[made] = device
    Rewriter.replace_op(op, made, made.results[: len(op.results)])


def _with_output_again(part: DevicePart, number: int) -> DevicePart:
    """A part with a result twice: for the host, and for the device."""
    copies = [c for c in part.commands if isinstance(c, CopyOut) and c.number == number]
    commands = [*part.commands, *(copy._replace(number=len(part.outputs)) for copy in copies)]
    return replace(part, outputs=(*part.outputs, part.outputs[number]), commands=tuple(commands))


def _upload(
    value: SSAValue, uses: Sequence[_Use], device: str, parts: Parts, compilation: Compilation
) -> None:
    """Copy a value of the host to a device once, before the first of the parts that read it."""
    block = uses[0].op.parent
    assert block is not None
    first = min((use.op for use in uses), key=block.get_operation_index)
    reader = DevicePart.from_bytes(payload_bytes(first, compilation.ctx.weights))
    type = cast(Tensor, value.type)
    names = [f"d{axis}" for axis in range(len(dims_of(type)))]
    array = PartArray(dtype_of(type.element_type).name, tuple(map(Dim.symbol, names)))
    place = Slice(ARENA, Dim.of(0), array.dtype, array.dims)
    number = sum(1 for op in parts if op.callee.data.startswith(f"{device}_copy"))
    part = replace(
        reader,
        name=f"{device}_copy{number}",
        inputs=(array,),
        outputs=(array,),
        symbols={name: (0, axis) for axis, name in enumerate(names)},
        sizes_input=None,
        arena=place.nbytes,
        commands=(CopyIn(0, place), CopyOut(place, 0)),
        codes={},
        weights=b"",
    )
    made = _call(part, [value], [ArrayType(type)], compilation)
    adopt_location(made, first.location)
    Rewriter.insert_op(made, InsertPoint.before(first))
    parts[made] = device
    for use in uses:
        use.op.operands[use.position] = made.results[0]


def _call(
    part: DevicePart, arguments: Sequence[SSAValue], types: Sequence[Attribute], compilation: Compilation
) -> graph.HostCallOp:
    """The call of a part."""
    payload = code_payload(part.to_bytes(), part.name, compilation.ctx.weights)
    return graph.HostCallOp(DEVICE, part.name, payload, list(arguments), types)
