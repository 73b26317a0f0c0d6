"""Steps that inline stages, or change how a tensor is stored: legality in the user's names."""

from __future__ import annotations

from math import prod

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import OpResult, SSAValue, Use
from xdsl.ir.affine import AffineMap

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.rewrites.copies import tensor_named
from stepwell.dialects.tensor_ir.rewrites.inlining import inline_producer
from stepwell.dialects.tensor_ir.rewrites.layouts import Layout
from stepwell.dialects.tensor_ir.rewrites.regions import plain_slice
from stepwell.dialects.tensor_ir.slices import Slice, extract_slice
from stepwell.dialects.tensor_ir.structured import Structured, single_dim, tensor_shape
from stepwell.passes.analysis.scripts.formula import Formula, listed, map_text
from stepwell.passes.analysis.scripts.nest import IllegalStepError, Nest
from stepwell.passes.analysis.scripts.padding import pad
from stepwell.passes.analysis.scripts.rewrites import Target, generic_of
from stepwell.passes.context import remark
from stepwell.runtime.integers.analyzer import Analyzer
from stepwell.runtime.integers.bijections import Meeting


def compute_inline(target: Target) -> None:
    """Compute a stage in the bodies of its readers."""
    target.expect_fresh("compute_inline")
    maker = _inlinable(target)
    uses: list[Use] = list(maker.results[0].uses)
    for use in uses:
        _expect_reader(target, maker, use)
    for use in uses:
        if isinstance(use.operation, tensor.ExtractSliceOp):
            _inline_slice(maker, use.operation)
        else:
            _inline(maker, use)
    maker.detach()
    maker.erase()


def reverse_compute_inline(target: Target) -> None:
    """Compute a stage in the body of its producer."""
    target.expect_fresh("reverse_compute_inline")
    op = generic_of(target)
    for position, value in enumerate(op.inputs):
        if not isinstance(value, OpResult) or not isinstance(value.op, linalg.GenericOp):
            continue
        view = Structured.of(value.op)
        if view is not None and value.has_one_use() and _obstacle(view) is None:
            inline_producer(op, position, value.op)
            value.op.detach()
            value.op.erase()
            return
    raise IllegalStepError(f"{target.name} reads no stage without sums that has no other reader")


def _inlinable(target: Target) -> linalg.GenericOp:
    """The op of a stage that can be computed anywhere. Raises: IllegalStepError."""
    op = generic_of(target)
    if (reason := _obstacle(target.view)) is not None:
        raise IllegalStepError(f"{target.name} {reason}", f"compute_at({target.name}, …) instead")
    if not op.results[0].first_use:
        raise IllegalStepError(f"nothing reads {target.name}")
    return op


def _obstacle(view: Structured) -> str | None:
    """The reason why an op cannot be in the body of another one."""
    if not all(view.parallel):
        return "sums: it would sum again for each element of its readers"
    if len(view.op.results) != 1 or view.init_maps[0] != AffineMap.identity(view.rank):
        return "computes several tensors together, or not in the order of its loops"
    if view.body.args[-1].first_use:
        return "starts from a tensor, in place"
    return None


def _expect_reader(target: Target, maker: linalg.GenericOp, use: Use) -> None:
    """Require a use that is computed by a structured op, from any place in the result."""
    user = use.operation
    if isinstance(user, linalg.GenericOp):
        if use.index >= len(user.inputs):
            raise IllegalStepError(f"a stage writes in place of {target.name}")
        return
    if not isinstance(user, tensor.ExtractSliceOp):
        what = "is a result of the kernel" if user.name == "func.return" else f"is read by {user.name}"
        raise IllegalStepError(f"{target.name} {what}")
    inner: list[Use] = list(user.result.uses)
    if plain_slice(user) is None or not all(
        isinstance(each.operation, linalg.GenericOp) and each.index < len(each.operation.inputs)
        for each in inner
    ):
        raise IllegalStepError(f"a slice of {target.name} is no operand of a stage, or has strides")
    if any(_slice_of(maker, position, user) is None for position in range(len(maker.inputs))):
        raise IllegalStepError(f"a slice of {target.name} is not one of what it reads")


def _inline(maker: linalg.GenericOp, use: Use) -> None:
    assert isinstance(use.operation, linalg.GenericOp)
    inline_producer(use.operation, use.index, maker)


def _inline_slice(maker: linalg.GenericOp, view: tensor.ExtractSliceOp) -> None:
    """Inline an op into the readers of a slice of its result; they then read slices of its inputs."""
    emit, offsets = IRBuilder.before(view), view.static_offsets.get_values()
    inputs: list[SSAValue] = []
    for position, value in enumerate(maker.inputs):
        block = _slice_of(maker, position, view)
        assert block is not None
        inputs.append(extract_slice(emit, value, block) if tensor_shape(value) else value)
    while use := view.result.first_use:
        assert isinstance(use.operation, linalg.GenericOp)
        inline_producer(use.operation, use.index, maker, inputs, offsets)
    view.detach()
    view.erase()


def _slice_of(maker: linalg.GenericOp, position: int, view: tensor.ExtractSliceOp) -> Slice | None:
    """The slice of an input that a slice of the result needs; None if the needed elements are no slice."""
    offsets, sizes = (attr.get_values() for attr in (view.static_offsets, view.static_sizes))
    map, shape = maker.indexing_maps.data[position].data, tensor_shape(maker.inputs[position])
    starts: list[int] = []
    counts: list[int] = []
    for index, size in zip(map.results, shape, strict=True):
        dim = single_dim(index)
        if dim is None and any(
            offsets[d] or sizes[d] != tensor_shape(view.source)[d] for d in index.used_dims()
        ):
            return None
        starts.append(0 if dim is None else offsets[dim])
        counts.append(size if dim is None else sizes[dim])
    if DYNAMIC_INDEX in counts:
        return None
    return Slice(tuple(starts), tuple(counts), (1,) * len(counts))


def transform_layout(tensor_name: str, target: Target, map: AffineMap, name: str) -> None:
    """Let a stage read a tensor in blocks, packed by a stage of a new name."""
    target.expect_fresh("transform_layout")
    op = generic_of(target)
    value = tensor_named(tensor_name, [op])
    positions = [n for n, each in enumerate(op.inputs) if each is value]
    if value is None or not positions:
        raise IllegalStepError(f"{target.name} reads no tensor {tensor_name}, or a slice of it")
    shape = tensor_shape(value)
    if DYNAMIC_INDEX in shape or map.num_dims != len(shape):
        raise IllegalStepError(
            f"{tensor_name} has {len(shape)} dimensions of {'x'.join(map_text_of(shape))}, "
            f"the layout is for {map.num_dims} of known size"
        )
    _expect_bijection(tensor_name, shape, map)
    layout = Layout.of(map)
    if layout is None:
        raise IllegalStepError(
            "an index of a layout is a dimension, or the quotient or remainder of one by a number"
        )
    has_rest = not layout.is_onto(value)
    if has_rest and len(positions) == 1:
        op = generic_of(_in_whole_blocks(target, layout, positions[0]))
        value = op.inputs[positions[0]]
    packed = layout.pack(IRBuilder.before(op), value, name)
    if (size := prod(tensor_shape(packed.results[0]))) > prod(shape):
        divided = "" if layout.is_onto(value) else ", and read by divisions"
        remark(op, f"{tensor_name} is padded from {prod(shape)} to {size} elements{divided}")
    for position in positions:
        op = layout.read(op, position, packed.results[0])


def _in_whole_blocks(target: Target, layout: Layout, position: int) -> Target:
    """The stage with longer loops, by which it reads whole blocks, as far as padding is harmless."""
    for dim, block in sorted(layout.blocks.items()):
        view = target.view
        nest = Nest.of(view, Formula.of(view, target.name))
        read = single_dim(view.maps[position].results[dim])
        loop = next((each for each in nest.loops if each.dim == read), None)
        if loop is None:
            continue
        try:
            made = Structured.of(pad(Target(target.name, view, nest), loop, block))
        except IllegalStepError:
            continue
        assert made is not None
        target = Target(target.name, made, None)
    return target


def map_text_of(shape: tuple[int, ...]) -> list[str]:
    """Extents as text."""
    return ["?" if n == DYNAMIC_INDEX else str(n) for n in shape]


def _expect_bijection(name: str, shape: tuple[int, ...], map: AffineMap) -> None:
    """Require each element to have a place of its own. Raises: IllegalStepError with two that meet."""
    names = [f"i{axis}" for axis in range(len(shape))]
    indices = [map_text(index, names).replace("//", "floordiv").replace("%", "mod") for index in map.results]
    extents = dict(zip(names, shape, strict=True))
    found = Analyzer({n: (0, size - 1) for n, size in extents.items()}).bijection(indices, extents)
    if isinstance(found, Meeting):
        first, second = (f"{name}[{', '.join(str(at[n]) for n in names)}]" for at in found)
        raise IllegalStepError(f"{first} and {second} would be at one place")
    if found is None:
        raise IllegalStepError(f"elements of {name} may meet at one place: {listed(indices)}")
