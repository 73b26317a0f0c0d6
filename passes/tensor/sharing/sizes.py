"""The content of a kernel on tensors without its sizes, and the sizes in an order of their own."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias, cast

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from stepwell.dialects.sched_kernel import KERNEL
from stepwell.dialects.types import Tensor, tensor_of

Site: TypeAlias = "SSAValue | tuple[Operation, str]"
"""A tensor, whose type has sizes, or an op with the name of a property that lists some."""

_LISTS: dict[type[Operation], tuple[str, ...]] = {
    tensor.InsertSliceOp: ("static_offsets", "static_sizes"),
    tensor.ExtractSliceOp: ("static_offsets", "static_sizes"),
    tensor.ExpandShapeOp: ("static_output_shape",),
}


@dataclass(frozen=True)
class SizedContent:
    """A kernel's computation with its sizes apart: kernels of one `content` differ in `sizes` only."""

    content: Hashable
    sizes: tuple[int, ...]

    @staticmethod
    def of(kernel: FuncOp) -> SizedContent:
        """The content and the sizes of a kernel, the sizes as `sites` lists them."""
        attributes = tuple(sorted((name, attr) for name, attr in kernel.attributes.items() if name == KERNEL))
        signature = kernel.arg_attrs, kernel.res_attrs
        sizes = tuple(size for site in sites(kernel) for size in sizes_at(site))
        return SizedContent((attributes, signature, _content(kernel.body.block, {})), sizes)


def sites(kernel: FuncOp) -> Iterator[Site]:
    """The sized places of a kernel in program order: definitions of tensors, and lists of sizes."""
    yield from _tensors(kernel.args)
    for op in kernel.body.walk():
        yield from ((op, name) for name in _LISTS.get(type(op), ()))
        yield from _tensors(op.results)
        for region in op.regions:
            for block in region.blocks:
                yield from _tensors(block.args)


def sizes_at(site: Site) -> Sequence[int]:
    """The sizes of a place; `DYNAMIC_INDEX` for one that is known at run time only."""
    if isinstance(site, SSAValue):
        return tensor_of(site).get_shape()
    op, name = site
    return cast("DenseArrayBase[IntegerType]", op.properties[name]).get_values()


def _tensors(values: Sequence[SSAValue]) -> Iterator[SSAValue]:
    return (value for value in values if isinstance(value.type, TensorType))


def _content(block: Block, numbers: dict[SSAValue, int]) -> Hashable:
    """The computation of a block without sizes, names and locations."""
    numbers.update(zip(block.args, count(len(numbers)), strict=False))
    ops: list[Hashable] = []
    for op in block.ops:
        lists = _LISTS.get(type(op), ())
        operands = tuple([numbers[value] for value in op.operands])
        properties = frozenset((name, attr) for name, attr in op.properties.items() if name not in lists)
        results = tuple([_without_sizes(result.type) for result in op.results])
        regions = tuple([tuple([_content(b, numbers) for b in region.blocks]) for region in op.regions])
        ops.append((op.name, operands, results, properties, frozenset(op.attributes.items()), regions))
        numbers.update(zip(op.results, count(len(numbers)), strict=False))
    return tuple([_without_sizes(type) for type in block.arg_types]), tuple(ops)


def _without_sizes(type: Attribute) -> Hashable:
    if not isinstance(type, TensorType):
        return type
    tensor_type = cast(Tensor, type)
    return tensor_type.element_type, tensor_type.encoding, len(tensor_type.get_shape())
