"""Edits that make a module smaller: each changes a copy, which need not be valid afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import cast

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, OptAttributeDef, OptPropertyDef
from xdsl.traits import IsTerminator

Edit = Callable[[ModuleOp], None]
_EXTENT = re.compile(r"(?<=[<x])\d+(?=x)")
_WEIGHT = re.compile(r'#graph\.weight<"[^"]*", "\w+", tensor<[^>]*>')
_MARKED = r"(?<![\w.%@#^\-$]){}(?![\w.])"
"""A number that is no part of a name or of a fraction."""


class CannotEdit(Exception):
    """An edit that a module does not allow."""


def without_ops(positions: Collection[int], *, observed: bool = False) -> Edit:
    """
    Remove ops by position in the walk; used results become arguments of the function around.

    Args: `observed`: whether functions return what the removed ops have read, and not what they have made.
    """

    def edit(module: ModuleOp) -> None:
        ops = list(module.walk())
        read = {result for op in ops for result in op.results if result.first_use is not None}
        arguments = {value for op in module.ops if (block := entry_of(op)) for value in block.args}
        for position in sorted(positions, reverse=True):  # users first
            _remove(ops[position])
        for op in module.ops if observed else ():
            _observe(op, read, arguments)
        _synchronise(module)

    return edit


def _observe(op: Operation, read: Collection[SSAValue], known: Collection[SSAValue]) -> None:
    """Return values of a function's body that had a use, and no arguments that are new."""
    block = entry_of(op)
    if block is None or not isinstance(end := block.last_op, func.ReturnOp):
        return
    unused = [r for inner in block.ops for r in inner.results if r.first_use is None and r in read]
    new = {i for i, v in enumerate(end.operands) if isinstance(v, BlockArgument) and v not in known}
    _keep_attributes(op, "res_attrs", new)
    end.operands = [*(value for index, value in enumerate(end.operands) if index not in new), *unused]


def bypassed(positions: Collection[int]) -> Edit:
    """Remove ops by position in the walk, each of whose results is an operand of its type from then on."""

    def edit(module: ModuleOp) -> None:
        ops = list(module.walk())
        for position in sorted(positions, reverse=True):
            for result, operand in zip(ops[position].results, _alike(ops[position]), strict=True):
                result.replace_all_uses_with(operand)
            _remove(ops[position])

    return edit


def may_be_bypassed(op: Operation) -> bool:
    """Whether each of an op's results, one at least, has the type of an operand."""
    return 0 < len(op.results) == len(_alike(op))


def _alike(op: Operation) -> list[SSAValue]:
    """For each result of an op, the first operand of its type; fewer where one has none."""
    found = (next((o for o in op.operands if o.type == result.type), None) for result in op.results)
    return [operand for operand in found if operand is not None]


def hoisted(position: int, region: int) -> Edit:
    """
    Replace an op by the ops of one of its regions; the arguments of that become operands of the op, each the
    first left of its type (so the lower bound for a loop's index), or else arguments of the function.
    """

    def edit(module: ModuleOp) -> None:
        op = list(module.walk())[position]
        block = op.regions[region].block
        yielded: tuple[SSAValue, ...] = ()
        if (end := block.last_op) is not None and end.has_trait(IsTerminator):
            yielded = tuple(end.operands)
            end.detach()
            end.erase()
        given = list(op.operands)
        for argument in list(block.args):
            value = next((value for value in given if value.type == argument.type), None)
            if value is not None:
                given.remove(value)
            argument.replace_all_uses_with(value or _argument_for(op, argument))
        around = _block_of(op)
        for inner in list(block.ops):
            inner.detach()
            around.insert_op_before(inner, op)
        for index, result in enumerate(op.results):
            if index < len(yielded) and yielded[index].type == result.type:
                result.replace_all_uses_with(yielded[index])
        _remove(op)
        _synchronise(module)

    return edit


def declared(position: int) -> Edit:
    """Make a function a declaration."""

    def edit(module: ModuleOp) -> None:
        op = list(module.ops)[position]
        if not isinstance(op, func.FuncOp) or op.body.first_block is None:
            raise CannotEdit
        op.detach_region(op.body)
        op.add_region(Region())
        op.sym_visibility = StringAttr("private")

    return edit


def without_results(function: int, dropped: Collection[int]) -> Edit:
    """Drop results of a function by number, of that at a position among the module's ops."""

    def edit(module: ModuleOp) -> None:
        op = list(module.ops)[function]
        for end in [end for end in op.walk() if isinstance(end, func.ReturnOp)]:
            end.operands = [value for index, value in enumerate(end.operands) if index not in dropped]
        _keep_attributes(op, "res_attrs", dropped)
        _synchronise(module)

    return edit


def without_arguments(function: int, dropped: Collection[int]) -> Edit:
    """Drop unused arguments of a function by number."""

    def edit(module: ModuleOp) -> None:
        op = list(module.ops)[function]
        block = entry_of(op)
        if block is None:
            raise CannotEdit
        for index in sorted(dropped, reverse=True):
            block.erase_arg(block.args[index])
        _keep_attributes(op, "arg_attrs", dropped)
        _synchronise(module)

    return edit


def without_attributes(names: Collection[tuple[int, str]]) -> Edit:
    """Drop attributes and optional properties, by the position of the op in the walk and by name."""

    def edit(module: ModuleOp) -> None:
        ops = list(module.walk())
        for position, name in names:
            op = ops[position]
            if op.attributes.pop(name, None) is None:
                del op.properties[name]

    return edit


def outer_attributes(module: ModuleOp) -> list[tuple[int, str]]:
    """As `attributes_of`, of the module and its functions alone: they may constrain types of functions."""
    return attributes_of(module, {module, *module.ops})


def attributes_of(module: ModuleOp, ops: Collection[Operation] | None = None) -> list[tuple[int, str]]:
    """Attributes for `without_attributes`: op positions with names, of some ops, or of all."""
    found: list[tuple[int, str]] = []
    for position, op in enumerate(module.walk()):
        if ops is not None and op not in ops:
            continue
        required: set[str] = set()
        if isinstance(op, IRDLOperation):
            of_op = op.get_irdl_definition()
            required = {n for n, d in of_op.attributes.items() if not isinstance(d, OptAttributeDef)}
            required |= {n for n, d in of_op.properties.items() if not isinstance(d, OptPropertyDef)}
        found += [(position, name) for name in (*op.attributes, *op.properties) if name not in required]
    return found


def entry_of(op: Operation) -> Block | None:
    """The first block of a function; None of another op, or of a declaration."""
    return op.body.first_block if isinstance(op, func.FuncOp | llvm.FuncOp) else None


def other_sizes(text: str) -> Iterator[tuple[int, int]]:
    """Extents of types in a text, each with smaller numbers to put in its place."""
    for size in sorted({int(size) for size in _EXTENT.findall(text)}, reverse=True):
        smaller = [number for number in (1, 2, size // 2) if number < size]
        yield from ((size, number) for number in dict.fromkeys(smaller) if number)


def resized(text: str, size: int, other: int) -> Iterator[str]:
    """A text with another extent in all types, and with another number everywhere; weights keep theirs."""
    of_types = re.sub(rf"(?<=[<x]){size}(?=x)", str(other), text)
    for made in (of_types, re.sub(_MARKED.format(size), str(other), of_types)):
        if _WEIGHT.findall(made) == _WEIGHT.findall(text):
            yield made


def _remove(op: Operation) -> None:
    for result in op.results:
        if result.first_use is not None:
            result.replace_all_uses_with(_argument_for(op, result))
    op.detach()
    op.erase()


def _argument_for(op: Operation, value: SSAValue) -> BlockArgument:
    """A new last argument of the function around an op. Raises: CannotEdit outside of functions."""
    around = op.parent_op()
    while around is not None and entry_of(around) is None:
        around = around.parent_op()
    if around is None or (block := entry_of(around)) is None:
        raise CannotEdit
    made = block.insert_arg(value.type, len(block.args))
    made.name_hint = value.name_hint
    return made


def _block_of(op: Operation) -> Block:
    if (block := op.parent) is None:
        raise CannotEdit
    return block


def _keep_attributes(op: Operation, name: str, dropped: Collection[int]) -> None:
    if (known := _parts(op, name)) is not None:
        op.properties[name] = ArrayAttr([part for index, part in enumerate(known) if index not in dropped])


def _parts(op: Operation, name: str) -> Sequence[Attribute] | None:
    """The elements of a property that is an array."""
    known = op.properties.get(name)
    return cast("ArrayAttr[Attribute]", known).data if isinstance(known, ArrayAttr) else None


def _synchronise(module: ModuleOp) -> None:
    """Make the types and attributes of functions those of their arguments and results."""
    for op in module.ops:
        if (block := entry_of(op)) is None:
            continue
        inputs = [argument.type for argument in block.args]
        counts = {"arg_attrs": len(inputs)}
        if isinstance(op, func.FuncOp):
            outputs = _returned(op.body)
            kept = op.function_type.outputs.data if outputs is None else outputs
            op.function_type = FunctionType.from_lists(inputs, kept)
            counts["res_attrs"] = len(kept)
        elif isinstance(op, llvm.FuncOp):
            op.function_type = llvm.LLVMFunctionType(inputs, op.function_type.output)
        for name, count in counts.items():
            if (known := _parts(op, name)) is not None:
                more = [DictionaryAttr({})] * (count - len(known))
                op.properties[name] = ArrayAttr([*known, *more])


def _returned(body: Region) -> list[Attribute] | None:
    """The types that a function returns; None where it does not."""
    ends = (block.last_op for block in body.blocks)
    end = next((end for end in ends if isinstance(end, func.ReturnOp)), None)
    return None if end is None else [value.type for value in end.operands]
