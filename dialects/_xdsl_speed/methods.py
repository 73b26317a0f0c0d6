"""
Faster methods for xDSL's IR classes, which do the same: docs/xdsl.md lists them with the reasons.

A compilation calls each of them 10,000 to 1,000,000 times.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate, chain
from typing import Any, cast

from xdsl import traits
from xdsl.dialects.builtin import ArrayAttr, ArrayOfConstraint, DenseArrayBase, IntegerType
from xdsl.ir import (
    Attribute,
    Block,
    BlockOps,
    Data,
    Operation,
    ParametrizedAttribute,
    Region,
    SSAValue,
    SSAValues,
    Use,
)
from xdsl.ir.core import _IRNode
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    AttrConstraint,
    BaseAttr,
    IRDLOperation,
    OpDef,
    OptionalDef,
    ParamAttrDef,
    RangeOf,
    TypeVarConstraint,
    VarOperandDef,
    VarRegionDef,
    VarResultDef,
    VarSuccessorDef,
    operations,
)
from xdsl.irdl.operations import (
    BaseAccessor,
    BaseAttrAccessor,
    BeforeVariadicSingleAccessor,
    SingleAttrAccessor,
    UniqueVariadicAccessor,
    VariadicAttrAccessor,
    VarIRConstruct,
    get_op_constructs,
)
from xdsl.traits import MemoryEffect, NoMemoryEffect

from stepwell.dialects._xdsl_speed.objects import init_op


def _values(array: object) -> object:
    """The numbers of an array attribute, unpacked once: the accessors of operands ask for segment sizes."""
    known = vars(array)
    if (values := known.get(_VALUES)) is None:
        values = known[_VALUES] = _unpack(array)
    return values


def _array(data_type: Any, data: Sequence[Any]) -> DenseArrayBase:
    """An array attribute; those of integers, such as segment sizes, are kept."""
    return _integers(data_type, tuple(data)) if type(data_type) is IntegerType else _pack(data_type, data)


@lru_cache(maxsize=1024)
def _integers(data_type: Any, data: tuple[int, ...]) -> DenseArrayBase:
    return _pack(data_type, data)


def _walk_block(self: Block, *, reverse: bool = False, region_first: bool = False) -> Iterator[Operation]:
    """The ops in a block."""
    return _walk_blocks(iter((self,)), reverse, region_first)


def _walk_region(self: Region, *, reverse: bool = False, region_first: bool = False) -> Iterator[Operation]:
    """The ops in a region."""
    return _walk_blocks(iter(reversed(self.blocks) if reverse else self.blocks), reverse, region_first)


def _walk_op(self: Operation, *, reverse: bool = False, region_first: bool = False) -> Iterator[Operation]:
    """An op and the ops inside."""
    inside = _walk_blocks(_blocks_in(self, reverse), reverse, region_first) if self.regions else ()
    return chain(inside, (self,)) if region_first else chain((self,), inside)


def _blocks_in(op: Operation, reverse: bool) -> Iterator[Block]:
    if reverse:
        for region in reversed(op.regions):
            yield from reversed(region.blocks)
        return
    for region in op.regions:
        block = region._first_block
        while block is not None:
            following = block._next_block
            yield block
            block = following


def _walk_blocks(blocks: Iterator[Block], reverse: bool, region_first: bool) -> Iterator[Operation]:
    """The ops in blocks, by one generator: with one a nested block, each op would pass through all around."""
    if reverse or region_first:
        yield from _walk_backward(blocks, reverse, region_first)
        return
    outer: list[tuple[Operation | None, Iterator[Block]]] = []
    following: Operation | None = None
    while True:
        if following is None:
            if (block := next(blocks, None)) is not None:
                following = block._first_op
            elif outer:
                following, blocks = outer.pop()
            else:
                return
            continue
        op, following = following, following._next_op  # which may be erased when it has been yielded
        yield op
        if op.regions:
            outer.append((following, blocks))
            following, blocks = None, _blocks_in(op, False)


def _walk_backward(blocks: Iterator[Block], reverse: bool, region_first: bool) -> Iterator[Operation]:
    """The ops in blocks, in another order than the program's."""
    for block in blocks:
        for op in reversed(block.ops) if reverse else block.ops:
            if not region_first:
                yield op
            if op.regions:
                yield from _walk_backward(_blocks_in(op, reverse), reverse, region_first)
            if region_first:
                yield op


def _from(op: Operation | None) -> Iterator[Operation]:
    """An op and the following ones of its block; an op may be erased when it has been yielded."""
    while op is not None:
        following = op._next_op
        yield op
        op = following


def _ops(self: BlockOps) -> Iterator[Operation]:
    """The ops of a block, by a generator where xDSL has an iterator written in Python."""
    return _from(self.first)


def _item(self: SSAValues, index: int | slice) -> object:
    found = _tuple_item(self, index)
    return SSAValues(cast("tuple[SSAValue, ...]", found)) if type(index) is slice else found


def _fill_in_defaults(self: IRDLOperation) -> None:
    """`IRDLOperation.__post_init__`, which looks for classes with defaults once."""
    for known, name, value in defaults_of(type(self)):
        getattr(self, known).setdefault(name, value)
    Operation.__post_init__(self)  # by which builders insert ops


@cache
def defaults_of(cls: type[Operation]) -> Sequence[tuple[str, str, Attribute]]:
    """The default properties and attributes of an op class, by name."""
    definition = cast("type[IRDLOperation]", cls).get_irdl_definition()
    return [
        (known, name, one.default_value)
        for known, definitions in (
            ("properties", definition.properties),
            ("attributes", definition.attributes),
        )
        for name, one in definitions.items()
        if not isinstance(one, OptionalDef) and one.default_value is not None
    ]


def _init_irdl_op(
    self: IRDLOperation,
    op_def: OpDef,
    *,
    operands: Sequence[SSAValue | Operation | Sequence[SSAValue | Operation] | None],
    result_types: Sequence[Attribute | Sequence[Attribute] | None],
    properties: Mapping[str, Attribute | None],
    attributes: Mapping[str, Attribute | None],
    **nested: Any,
) -> None:
    """The builder of ops with one value for each operand and result, or one list of operands alone."""
    definitions, values = op_def.operands, operands
    if len(operands) == len(definitions) == 1 and type(definitions[0][1]) is VarOperandDef:
        if isinstance(operands[0], list | tuple):
            definitions = values = operands[0]
    is_plain = not (op_def.regions or op_def.successors or op_def.options or any(nested.values()))
    if (
        is_plain
        and len(values) == len(definitions)
        and len(result_types) == len(op_def.results)
        and all([isinstance(operand, SSAValue) for operand in values])
        and all([isinstance(type, Attribute) for type in result_types])
    ):
        init_op(
            self,
            values,  # pyright: ignore[reportArgumentType]  # a value each
            result_types,  # pyright: ignore[reportArgumentType]
            {name: value for name, value in properties.items() if value is not None},
            {name: value for name, value in attributes.items() if value is not None},
        )
        return
    rest: dict[str, Any] = {"properties": properties, "attributes": attributes, **nested}
    _build_op(self, op_def, operands=operands, result_types=result_types, **rest)


def _verify_new(self: Attribute) -> None:
    """`Attribute.__post_init__`, which asks once a class whether there is anything to verify."""
    if _is_verified(type(self)):
        self._verify()


@cache
def _is_verified(cls: type[Attribute]) -> bool:
    bases: tuple[type[Attribute], ...] = (Data, ParametrizedAttribute)
    if not any(issubclass(cls, base) for base in bases):
        raise TypeError("Attributes should only be Data or ParametrizedAttribute")
    return (cls._verify, cls.verify) != (Attribute._verify, Attribute.verify)


def _verify_parameters(self: ParamAttrDef, attr: ParametrizedAttribute) -> None:
    """`ParamAttrDef.verify` by plain functions where constraints have them; xDSL's own raises the error."""
    if (checks := vars(self).get(_CHECKS)) is None:
        checks = vars(self)[_CHECKS] = [(name, _check_of(each.constr)) for name, each in self.parameters]
    values = vars(attr)
    for name, check in checks:
        if check is None or not check(values[name]):
            _verify_all(self, attr)
            return


def _check_of(constraint: AttrConstraint) -> Callable[[object], bool] | None:
    """Whether an attribute satisfies a constraint, for constraints of frequent kinds; None for others."""
    if (classes := _classes_of(constraint)) is not None:
        return lambda value: isinstance(value, classes)
    if type(constraint) is ArrayOfConstraint and type(items := constraint.elem_range_constraint) is RangeOf:
        if (of_items := _classes_of(items.constr)) is not None:
            return lambda value: (
                isinstance(value, ArrayAttr)
                and all([isinstance(item, of_items) for item in cast("ArrayAttr[Attribute]", value).data])
            )
    return None


def _classes_of(constraint: AttrConstraint) -> tuple[type, ...] | None:
    """
    The classes whose instances, and no other objects, satisfy a constraint; None if no classes describe it.
    """
    if type(constraint) is AnyAttr:
        return (object,)
    if type(constraint) is BaseAttr:
        return (constraint.attr,)
    if type(constraint) is TypeVarConstraint:
        return _classes_of(constraint.base_constraint)
    if type(constraint) is AnyOf:
        parts = [_classes_of(part) for part in constraint.attr_constrs]
        return None if None in parts else tuple(cls for part in parts for cls in part or ())
    return None


def _arguments(
    construct: VarIRConstruct, args: Sequence[Any], defs: Sequence[tuple[str, Any]], prefix: str = ""
) -> tuple[list[Any], list[int]]:
    """The operands, results, regions or successors of a new op, a list for each variadic one."""
    found, sizes = list[Any](), list[int]()
    if len(args) != len(defs):
        return _argument_list(construct, args, defs, prefix)
    for (_, definition), arg in zip(defs, args, strict=True):
        if isinstance(arg, (Attribute, SSAValue, Region, Block)):
            found.append(arg)
            sizes.append(1)
        elif isinstance(arg, (list, tuple)) and type(definition) in _VARIADIC:
            found += (values := cast("Sequence[Any]", arg))
            sizes.append(len(values))
        else:
            return _argument_list(construct, args, defs, prefix)
    return found, sizes


def _accessed(self: BaseAccessor, op: Operation, objtype: type | None = None) -> object:
    """A named operand, result, region or successor, without a view of all operands."""
    if self.construct is _OPERAND:
        return self.index(op._operands)
    return _access(self, op, objtype)


def _accessed_single(
    self: BeforeVariadicSingleAccessor, op: Operation, objtype: type | None = None
) -> object:
    if self.construct is _OPERAND:
        return _tuple_item(op._operands, self.idx)
    if self.construct is _RESULT:
        return _tuple_item(op.results, self.idx)
    if self.construct is _REGION:
        return op.regions[self.idx]
    return _access(self, op, objtype)


def _accessed_last(self: UniqueVariadicAccessor, op: Operation, objtype: type | None = None) -> object:
    """The values of the only construct with any number of them; mostly it is the only one."""
    if self.construct is not _OPERAND and self.construct is not _RESULT:
        return _access(self, op, objtype)
    args: Sequence[SSAValue] = op._operands if self.construct is _OPERAND else op.results
    return args if self.num_defs == 1 else self.index(args)


def _accessed_segment(self: BaseAttrAccessor, op: Operation, objtype: type | None = None) -> object:
    """An operand, result, region or successor of an op that has their numbers as an attribute."""
    option = self.option
    sizes = (op.properties if option.as_property else op.attributes)[option.attribute_name]
    args = op._operands if self.construct is _OPERAND else get_op_constructs(op, self.construct)
    if type(args) is not SSAValues:
        return self.index(cast("tuple[int, ...]", _values(sizes)), args)
    if (bounds := vars(sizes).get(_BOUNDS)) is None:
        bounds = vars(sizes)[_BOUNDS] = _bounds(cast("tuple[int, ...]", _values(sizes)))
    begin, end = bounds[self.idx]
    if (kind := type(self)) is VariadicAttrAccessor:
        return SSAValues(cast("tuple[SSAValue, ...]", _tuple_item(args, slice(begin, end))))
    return _tuple_item(args, begin) if begin < end or kind is SingleAttrAccessor else None


def _bounds(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """The first index of each segment, and that after its last."""
    ends = list(accumulate(sizes))
    return list(zip([0, *ends], ends, strict=False))


def _is_side_effect_free(op: Operation) -> bool:
    """`is_side_effect_free`, which asks the traits of each class once."""
    free = _is_class_free(type(op))
    return _has_no_effects(op) if free is None else free


@cache
def _is_class_free(cls: type[Operation]) -> bool | None:
    """Whether the ops of a class have no effects; None where that depends on the op."""
    found = cls.get_traits_of_type(MemoryEffect)
    return bool(found) if all(isinstance(each, NoMemoryEffect) for each in found) else None


_VALUES, _BOUNDS, _CHECKS = "stepwell_values", "stepwell_bounds", "stepwell_checks"
_VARIADIC = (VarOperandDef, VarResultDef, VarRegionDef, VarSuccessorDef)
_BY_IDENTITY = (_IRNode, IRDLOperation, SSAValue, Use)
_OPERAND, _RESULT, _REGION = VarIRConstruct.OPERAND, VarIRConstruct.RESULT, VarIRConstruct.REGION
_tuple_item = cast("Callable[[object, int | slice], object]", vars(tuple)["__getitem__"])
_unpack = cast("Callable[[object], object]", vars(DenseArrayBase)["get_values"])
_pack = cast("Callable[[Any, Any], DenseArrayBase]", DenseArrayBase.from_list)
_argument_list, _build_op = operations.irdl_build_arg_list, operations.irdl_op_init
_verify_all, _has_no_effects = ParamAttrDef.verify, traits.is_side_effect_free
_access = cast("Callable[[object, object, object], object]", vars(BaseAccessor)["__get__"])


def replace_methods() -> None:
    """Put the functions of this file in the places of xDSL's."""
    for owner, name, faster in (
        *((cls, name, vars(object)[name]) for cls in _BY_IDENTITY for name in ("__eq__", "__hash__")),
        (Block, "walk", _walk_block),
        (Region, "walk", _walk_region),
        (Operation, "walk", _walk_op),
        (BlockOps, "__iter__", _ops),
        (DenseArrayBase, "get_values", _values),
        (DenseArrayBase, "from_list", staticmethod(_array)),
        (SSAValues, "__getitem__", _item),
        (IRDLOperation, "__post_init__", _fill_in_defaults),
        (traits, "is_side_effect_free", _is_side_effect_free),
        (operations, "irdl_build_arg_list", _arguments),
        (operations, "irdl_op_init", _init_irdl_op),
        (Attribute, "__post_init__", _verify_new),
        (ParamAttrDef, "verify", _verify_parameters),
        (BaseAccessor, "__get__", _accessed),
        (BeforeVariadicSingleAccessor, "__get__", _accessed_single),
        (UniqueVariadicAccessor, "__get__", _accessed_last),
        (BaseAttrAccessor, "__get__", _accessed_segment),
    ):
        setattr(owner, name, faster)
