"""
Functions and modules as bytes for a forked process: ops in order, types and attributes by pickle.

A fork has the classes of this process, and trusts it. The text of a kernel takes 6 to 19 ms to parse.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import LocationAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

OpT = TypeVar("OpT", bound=Operation)
_Attributes: TypeAlias = Mapping[str, Attribute]
_Names: TypeAlias = Sequence[str | None]
_Block: TypeAlias = tuple[Sequence[Attribute], _Names, Sequence["_Op"]]
_Op: TypeAlias = tuple[
    type[Operation],
    Sequence[int],
    Sequence[Attribute],
    _Names,
    _Attributes,
    _Attributes,
    LocationAttr,
    Sequence[Sequence[_Block]],
]
"""
An op: its class, the numbers of its operands in the order of definition, types and names of its results,
properties, attributes, location, and the blocks of its regions.
"""


class NotPacked(Exception):
    """An op with a class that has no name, with successors, or with operands from elsewhere."""


def packed(ops: Sequence[Operation]) -> bytes:
    """The bytes of functions or modules, for `unpacked`. Raises: NotPacked."""
    try:
        return pickle.dumps([_op(op, {}) for op in ops], pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise NotPacked(str(error)) from None


def unpacked(data: bytes, kind: type[OpT] = FuncOp) -> list[OpT]:
    """The functions, or ops of another kind, that `packed` got in a process with the same classes."""
    made = [_made(row, []) for row in cast("list[_Op]", pickle.loads(data))]
    assert all(isinstance(op, kind) for op in made)
    return cast("list[OpT]", made)


def _op(op: Operation, numbers: dict[SSAValue, int]) -> _Op:
    """The row of an op. Its results are added to `numbers`, the numbers of all values before."""
    if op.successors:
        raise NotPacked(f"{op.name} has successors")
    try:
        operands = [numbers[value] for value in op.operands]
    except KeyError:
        raise NotPacked(f"{op.name} has operands from elsewhere") from None
    regions = [[_block(block, numbers) for block in region.blocks] for region in op.regions]
    names = _numbered(op.results, numbers)
    types = [result.type for result in op.results]
    return type(op), operands, types, names, op.properties, op.attributes, op.location, regions


def _block(block: Block, numbers: dict[SSAValue, int]) -> _Block:
    names = _numbered(block.args, numbers)
    return [argument.type for argument in block.args], names, [_op(op, numbers) for op in block.ops]


def _numbered(values: Sequence[SSAValue], numbers: dict[SSAValue, int]) -> _Names:
    """The names of values, which get the next numbers."""
    for value in values:
        numbers[value] = len(numbers)
    return [value.name_hint for value in values]


def _made(row: _Op, values: list[SSAValue]) -> Operation:
    """The op of a row; `values` are those before it, by number."""
    cls, operands, types, names, properties, attributes, location, blocks = row
    given = [values[number] for number in operands]
    regions = [Region([_made_block(block, values) for block in region]) for region in blocks]
    op = cls.create(
        operands=given,
        result_types=types,
        properties=properties,
        attributes=attributes,
        location=location,
        regions=regions,
    )
    _named(op.results, names, values)
    return op


def _made_block(row: _Block, values: list[SSAValue]) -> Block:
    types, names, ops = row
    block = Block(arg_types=types)
    _named(block.args, names, values)
    block.add_ops([_made(op, values) for op in ops])
    return block


def _named(made: Sequence[SSAValue], names: _Names, values: list[SSAValue]) -> None:
    for value, name in zip(made, names, strict=True):
        value.name_hint = name
        values.append(value)
