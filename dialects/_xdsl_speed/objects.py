"""
Faster construction, insertion and erasure of xDSL's IR objects, which do the same: docs/xdsl.md lists them.

An op is made of four Python objects and more: their constructors are inlined here.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeAlias

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, MemRefType, TensorType, VectorType
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    BlockOps,
    Operation,
    OpResult,
    Region,
    SSAValue,
    SSAValues,
    Use,
)
from xdsl.ir.core import IRWithName, OpOperands
from xdsl.rewriter import InsertPoint


def init_op(
    self: Operation,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = {},  # noqa: B006  # copied
    attributes: Mapping[str, Attribute] = {},  # noqa: B006  # copied
    location: LocationAttr | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> None:
    """`Operation.__init__` without the setters, which first give up earlier operands and successors."""
    self._operands = values = SSAValues(operands)
    self._operand_uses = _uses(self, values)
    results: list[OpResult] = []
    for index, type in enumerate(result_types):
        result = _new(OpResult)
        result._type, result.op, result.index = type, self, index
        results.append(result)
    self.results = SSAValues(results)
    self.properties, self.attributes = dict(properties), dict(attributes)
    self.location = UNKNOWN_LOC if location is None else location
    if successors:
        self.successors = successors
    self.regions = ()
    for region in regions:
        self.add_region(region)
    self.__post_init__()


def _uses(op: Operation, values: Sequence[SSAValue]) -> tuple[Use, ...]:
    """The uses of values by an op, which the values list from now on."""
    uses: list[Use] = []
    for index, value in enumerate(values):
        use, first = _new(Use), value.first_use
        use._operation, use._index, use._prev_use, use._next_use = op, index, None, first
        if first is not None:
            first._prev_use = use
        value.first_use = use
        uses.append(use)
    return tuple(uses)


def _set_operands(self: Operation, new: Sequence[SSAValue]) -> None:
    """The setter of `Operation.operands`; a cloned op has none before."""
    _leave_operands(self)
    self._operands = values = SSAValues(new)
    self._operand_uses = _uses(self, values)


def _create_op(
    cls: type[Operation],
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = {},  # noqa: B006  # copied
    attributes: Mapping[str, Attribute] = {},  # noqa: B006  # copied
    location: LocationAttr | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> Operation:
    """`Operation.create`, which passes its arguments on by position."""
    op = cls.__new__(cls)
    init_op(op, operands, result_types, properties, attributes, location, successors, regions)
    return op


def _clone_without_regions(
    self: Operation,
    value_mapper: dict[SSAValue, SSAValue] | None = None,
    block_mapper: dict[Block, Block] | None = None,
    *,
    clone_name_hints: bool = True,
    clone_operands: bool = True,
) -> Operation:
    """`Operation.clone_without_regions` without the properties and setters between."""
    values = {} if value_mapper is None else value_mapper
    blocks = {} if block_mapper is None else block_mapper
    op = type(self).__new__(type(self))
    init_op(
        op,
        [values.get(operand, operand) for operand in self._operands] if clone_operands else (),
        [result._type for result in self.results],
        self.properties,
        self.attributes,
        self.location,
        [blocks.get(block, block) for block in self._successors],
        [Region() for _ in self.regions],
    )
    for old, new in zip(self.results, op.results, strict=True):
        values[old] = new
        if clone_name_hints:
            new._name = old._name
    return op


def _clone_op(
    self: Operation,
    value_mapper: dict[SSAValue, SSAValue] | None = None,
    block_mapper: dict[Block, Block] | None = None,
    **named: bool,
) -> Operation:
    """`Operation.clone`, which gives an op without regions its operands at once."""
    if self.regions:
        return _clone_nested(self, value_mapper, block_mapper, **named)
    return self.clone_without_regions(value_mapper, block_mapper, **named)


def _operands(self: Operation) -> OpOperands:
    """The view of an op's operands, without a constructor in Python."""
    view = _new(OpOperands)
    view._op = self
    return view


def _set_operand(self: OpOperands, index: int, value: SSAValue) -> None:
    """`OpOperands.__setitem__` by one list of the operands."""
    op = self._op
    operands, use = list(op._operands), op._operand_uses[index]
    operands[index].remove_use(use)
    value.add_use(use)
    operands[index] = value
    op._operands = SSAValues(operands)


def _get_value(arg: SSAValue | Operation, *, type: Any = Attribute) -> SSAValue:
    """`SSAValue.get` without the generic type of its result, which is evaluated for a type checker."""
    if type is Attribute:
        if isinstance(arg, SSAValue):
            return arg
        if len(arg.results) == 1:
            (result,) = arg.results
            return result
    return _value_of_type(arg, type=type)


def replace_uses(self: SSAValue, value: SSAValue) -> None:
    """`SSAValue.replace_all_uses_with` without a view of the operands for each use, in the same order."""
    if value is self:
        return
    following, first = self.first_use, value.first_use
    self.first_use = None
    while (use := following) is not None:
        following = use._next_use
        use._prev_use, use._next_use = None, first
        if first is not None:
            first._prev_use = use
        first = use
        operands = list(use._operation._operands)
        operands[use._index] = value
        use._operation._operands = SSAValues(operands)
    value.first_use = first
    if self._name is not None and value._name is None:
        value.name_hint = self._name


def _set_name(self: IRWithName, name: str | None) -> None:
    """The setter of `IRWithName.name_hint`, which reads a name once for each class."""
    self._name = None if name is None else _valid_name(type(self), name)


@lru_cache(maxsize=1024)
def _valid_name(cls: type[IRWithName], name: str) -> str:
    return cls.extract_valid_name(name)


def _erase_value(self: SSAValue, safe_erase: bool = True) -> None:
    """`SSAValue.erase`, which makes no erased value for a value without uses."""
    if self.first_use is not None:
        _erase_used(self, safe_erase)


def _leave_operands(op: Operation) -> None:
    """Remove an op from the uses of its operands, with `remove_use` inlined."""
    for operand, use in zip(op._operands, op._operand_uses, strict=False):
        before, after = use._prev_use, use._next_use
        if before is None:
            operand.first_use = after
        else:
            before._next_use = after
        if after is not None:
            after._prev_use = before


def _drop_all_references(self: Operation) -> None:
    """`Operation.drop_all_references` with `remove_use` inlined."""
    self.parent = None
    _leave_operands(self)
    self._operand_uses = ()
    if self._successors:
        self.successors = ()
    for region in self.regions:
        region.drop_all_references()


def _erase_op(self: Operation, safe_erase: bool = True, drop_references: bool = True) -> None:
    """
    `Operation.erase`, which asks results without uses nothing, and leaves no cycles of references.

    Reference counts then free the op at once. The collector would free it late, or never: imports make old
    what was alive before them, and ops of levels 0 and 1 were 9 of densenet121's 60 MB of Python objects.
    """
    assert self.parent is None, "Operation with parents should first be detached before erasure."
    if drop_references:
        self.drop_all_references()
    for result in self.results:
        if result.first_use is not None:
            _erase_used(result, safe_erase)
    self.results = _NONE
    for region in self.regions:
        _unlink_ops(region)


def _unlink_ops(region: Region) -> None:
    """Part the ops and arguments of an erased region from each other, and from their first block."""
    if (block := region._first_block) is None:
        return
    op, block._first_op, block._last_op, block._args = block._first_op, None, None, ()
    while op is not None:
        following = op._next_op
        op._prev_op, op._next_op, op.results = None, None, _NONE
        for inner in op.regions:
            _unlink_ops(inner)
        op = following


def _attach(self: Block, operation: Operation) -> None:
    """`Block._attach_op`, which looks for the op among the blocks around only if it contains any."""
    if operation.parent or operation.regions:
        _attach_checked(self, operation)
    else:
        operation.parent = self


def _insert_op_before(self: Block, new_op: Operation, existing_op: Operation) -> None:
    """`Block.insert_op_before` in one function."""
    if existing_op.parent is not self or new_op.parent or new_op.regions:
        _insert_checked_before(self, new_op, existing_op)
        return
    new_op.parent = self
    previous = existing_op._prev_op
    new_op._prev_op, new_op._next_op, existing_op._prev_op = previous, existing_op, new_op
    if previous is None:
        self._first_op = new_op
    else:
        previous._next_op = new_op


def _add_op(self: Block, operation: Operation) -> None:
    """`Block.add_op` in one function."""
    if operation.parent or operation.regions or (last := self._last_op) is None:
        _add_checked(self, operation)
        return
    operation.parent = self
    operation._prev_op, operation._next_op, last._next_op, self._last_op = last, None, operation, operation


def _detach_op(self: Block, op: Operation) -> Operation:
    """`Block.detach_op` by fields."""
    if op.parent is not self:
        raise ValueError("Cannot detach operation from a different block.")
    previous, following = op._prev_op, op._next_op
    if previous is None:
        self._first_op = following
    else:
        previous._next_op = following
    if following is None:
        self._last_op = previous
    else:
        following._prev_op = previous
    op.parent = op._prev_op = op._next_op = None
    return op


def _parent_op(self: Operation) -> Operation | None:
    """`Operation.parent_op` without the calls between."""
    if (block := self.parent) is None or (region := block.parent) is None:
        return None
    return region.parent


def _count_ops(self: BlockOps) -> int:
    """`BlockOps.__len__` without an iterator: `list(block.ops)` asks for it."""
    count, op = 0, self.block._first_op
    while op is not None:
        count, op = count + 1, op._next_op
    return count


def _shape(self: _Shaped) -> tuple[int, ...]:
    """The shape of a tensor, vector or memref, which its array of sizes remembers."""
    known = vars(self.shape)
    if (shape := known.get(_SHAPE)) is None:
        shape = known[_SHAPE] = tuple([size.data for size in self.shape.data])
    return shape


def _before(op: Operation) -> InsertPoint:
    """`InsertPoint.before`, whose op is known to be in the block."""
    if (block := op.parent) is None:
        return _checked_before(op)
    _set(point := _new(InsertPoint), "block", block)
    _set(point, "insert_before", op)
    return point


def _at_end(block: Block) -> InsertPoint:
    _set(point := _new(InsertPoint), "block", block)
    _set(point, "insert_before", None)
    return point


_Shaped: TypeAlias = TensorType[Any] | VectorType[Any] | MemRefType[Any]
_SHAPE = "stepwell_shape"
_NONE = SSAValues[Any](())
_new, _set = object.__new__, object.__setattr__
_clone_nested = Operation.clone
_value_of_type, _erase_used, _attach_checked = SSAValue.get, SSAValue.erase, Block._attach_op
_insert_checked_before, _add_checked, _checked_before = (
    Block.insert_op_before,
    Block.add_op,
    InsertPoint.before,
)
_FIELDS: Sequence[tuple[type, str, str]] = (
    (SSAValue, "type", "_type"),
    (OpResult, "owner", "op"),
    (BlockArgument, "owner", "block"),
    (Operation, "next_op", "_next_op"),
    (Operation, "prev_op", "_prev_op"),
    (Operation, "parent_node", "parent"),
    (Block, "args", "_args"),
    (Block, "first_op", "_first_op"),
    (Block, "last_op", "_last_op"),
    (Block, "next_block", "_next_block"),
    (Region, "first_block", "_first_block"),
)
"""Properties that return a field: `attrgetter` does so without Python."""


def replace_object_methods() -> None:
    """Put the functions of this file in the places of xDSL's."""
    for owner, name, field in _FIELDS:
        setattr(owner, name, property(attrgetter(field), doc=vars(owner)[name].__doc__))
    for owner, name, faster in (
        (Operation, "__init__", init_op),
        (Operation, "create", classmethod(_create_op)),
        (Operation, "clone_without_regions", _clone_without_regions),
        (Operation, "clone", _clone_op),
        (Operation, "operands", property(_operands, _set_operands)),
        (Operation, "drop_all_references", _drop_all_references),
        (Operation, "erase", _erase_op),
        (OpOperands, "__setitem__", _set_operand),
        (IRWithName, "name_hint", property(attrgetter("_name"), _set_name)),
        (SSAValue, "get", staticmethod(_get_value)),
        (SSAValue, "replace_all_uses_with", replace_uses),
        (SSAValue, "erase", _erase_value),
        *((cls, "get_shape", _shape) for cls in (TensorType, VectorType, MemRefType)),
        (BlockOps, "__len__", _count_ops),
        (Block, "_attach_op", _attach),
        (Block, "insert_op_before", _insert_op_before),
        (Block, "add_op", _add_op),
        (Block, "detach_op", _detach_op),
        (Operation, "parent_op", _parent_op),
        (InsertPoint, "before", staticmethod(_before)),
        (InsertPoint, "at_end", staticmethod(_at_end)),
    ):
        setattr(owner, name, faster)
