"""Ops that have forms → ops of `linalg_ext`, which `expand-forms` writes as loops once a form is chosen."""

from __future__ import annotations

from xdsl.dialects.builtin import bf16, f16, f32, i32, i64
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph, linalg_ext
from stepwell.dialects.costs.kernels import POOLS
from stepwell.dialects.costs.machine import MACHINE
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.mixed import mixed_dims
from stepwell.dialects.graph.relations import element_of_value, shape_text
from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.linalg_builder.slices import copied
from stepwell.dialects.linalg_builder.sums import accumulator, rounded
from stepwell.dialects.linalg_builder.support import elementwise, empty, empty_like, is_returned
from stepwell.dialects.linalg_builder.views import join_dims, split_dims
from stepwell.dialects.linalg_ext import FormsOp
from stepwell.dialects.tensor_ir.gpu_modules import is_for_gpu
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.lowering.graph_to_linalg.pool_windows import Windows
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


def _into_empty(op: GraphOp, rewriter: PatternRewriter) -> FormsOp:
    """The op of `linalg_ext` that writes the results of a graph op into empty tensors; it is not inserted."""
    # By its name, so that no other op is imported.
    form: type[FormsOp] = getattr(linalg_ext, type(op).__name__)
    return form.writing(op, [empty_like(result, rewriter) for result in op.results])


class FormsLowering(RewritePattern):
    """`graph.scan`, `graph.top_k`, `graph.tree_ensemble` → the ops of `linalg_ext`, into empty tensors."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.ScanOp | graph.TopKOp | graph.TreeEnsembleOp, rewriter: PatternRewriter
    ) -> None:
        """Replace the op; on a GPU, a scan becomes a `linalg_ext.grid_scan`."""
        if isinstance(op, graph.ScanOp) and is_for_gpu(op):
            from stepwell.dialects.linalg_ext.grids import SCANNED

            if (kept := accumulator(element_of_value(op.input))) in SCANNED:
                rewriter.replace(op, [], [_grid_scan(op, kept, rewriter)])
                return
        rewriter.replace(op, _into_empty(op, rewriter))


def _grid_scan(op: graph.ScanOp, kept: Attribute, rewriter: PatternRewriter) -> SSAValue:
    """The result of a scan by one grid, with totals of type `kept`."""
    source, type = op.input, tensor_type(kept, dims_of(op.input.type))
    if source.type != type:
        source = elementwise(type, [source], lambda s: s[0], op, rewriter)
    made = rewriter.insert(linalg_ext.GridScanOp(source, empty(type, rewriter), op.properties))
    return rounded(made.results[0], element_of_value(op.input), rewriter)


class AttentionLowering(RewritePattern):
    """`graph.attention` → `linalg_ext.attention` into an empty tensor, or one grid on a GPU."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AttentionOp, rewriter: PatternRewriter) -> None:
        """Replace the op. Raises: StepwellError `unsupported` unless rows are f32 and of known size."""
        depth, columns = dims_of(op.q.type)[-1], dims_of(op.v.type)[-1]
        if element_of_value(op.q) != f32 or not depth.is_static or not columns.is_static:
            raise StepwellError(
                "unsupported",
                op,
                f"a kernel of graph.attention needs f32 rows of known size, found {op.q.type}, {op.v.type}",
                help="run `legalize{set=kernels}` before",
            )
        if is_for_gpu(op) and not op.pairs.value.data and _takes_rows(depth, columns):
            init, is_zero = empty_like(op.result, rewriter), bool(op.zero_masked.value.data)
            operands = [op.q, op.k, op.v]
            made = linalg_ext.GridAttentionOp(operands, init, op.mask, op.scale, zero_masked=is_zero)
            rewriter.replace(op, made)
            return
        rewriter.replace(op, _into_empty(op, rewriter))


def _takes_rows(depth: Dim, columns: Dim) -> bool:
    """Whether one grid can compute attention with rows of these sizes."""
    from stepwell.dialects.linalg_ext.grids import takes_rows

    return takes_rows(depth.value, columns.value)


def has_vector_rows(op: graph.PoolOp, windows: Windows) -> bool:
    """
    Whether a pool has small windows on row-major planes of a kernel argument, so that rows can be vectors;
    False on a GPU, whose threads have no long vectors.
    """
    extents = [*windows.out[2:], *windows.sizes]
    if windows.rank != 2 or windows.axes != [2, 3] or windows.data.block_axis("C") is not None:
        return False
    if not all(dim.is_static and dim.value > 0 for dim in extents) or any(d > 1 for d in windows.dilations):
        return False
    planes = windows.out[0] * windows.out[1]
    corners = [(axis, at) for axis in (0, 1) for at in (0, extents[axis].value - 1)]
    return (
        isinstance(op.x, BlockArgument)
        and is_returned(op.outputs[0])
        and tensor_of(op.x).element_type in (f32, f16, bf16)
        and windows.out[3].value >= POOLS.least_columns
        and windows.strides[1] <= MACHINE.shuffled_stride
        and windows.kernel[0] <= POOLS.most_points
        and all(windows.along(axis).cells(with_pads=False, position=at) for axis, at in corners)
        and not (planes.is_static and planes.value < POOLS.least_planes)
        and not is_for_gpu(op)
    )


def pool_by_rows(op: graph.PoolOp, rewriter: PatternRewriter) -> SSAValue:
    """The result of a pool as a `linalg_ext.pool` into an empty tensor."""
    return rewriter.insert(_into_empty(op, rewriter)).results[0]


class WinogradLowering(RewritePattern):
    """`graph.winograd_conv` → `linalg_ext.winograd_conv` into an empty tensor."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.WinogradConvOp, rewriter: PatternRewriter) -> None:
        """Replace the op. Raises: StepwellError `unsupported` where the number of channels is open."""
        x, u = dims_of(op.x.type), dims_of(op.u.type)
        if not (x[1].is_static and u[1].is_static):
            raise StepwellError(
                "unsupported", op, f"graph.winograd_conv needs known channels, found {shape_text(x)}"
            )
        rewriter.replace(op, _into_empty(op, rewriter))


class RnnLowering(RewritePattern):
    """`graph.rnn` → `linalg_ext.rnn` into empty tensors."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.RnnOp, rewriter: PatternRewriter) -> None:
        """Replace the op. Raises: StepwellError `unsupported` for a state of unknown size."""
        if not op.hidden.is_static:
            raise StepwellError(
                "unsupported", op, f"graph.rnn needs a state of known size, found {op.hidden}"
            )
        if op.lengths is not None:
            op.operands[list(op.operands).index(op.lengths)] = _with_sign(op.lengths, op, rewriter)
        rewriter.replace(op, _into_empty(op, rewriter))


def _with_sign(value: SSAValue, op: Operation, rewriter: PatternRewriter) -> SSAValue:
    """Integers as i64, if level 2 would store them without their sign or their width."""
    element = element_of_value(value)
    if element in (i32, i64):
        return value
    numbers, wide = Scalars(element), Scalars(i64)
    type = tensor_type(i64, dims_of(value.type))
    return elementwise(type, [value], lambda s: numbers.convert(s[0], wide), op, rewriter)


class ResizeLowering(RewritePattern):
    """`graph.resize` → `linalg_ext.resize` into an empty tensor; a copy where no axis is sampled."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ResizeOp, rewriter: PatternRewriter) -> None:
        """
        Replace the op. Raises: StepwellError `unsupported` for a shape or for sums that no form supports.
        """
        from stepwell.dialects.linalg_ext.resize import neighbour_offsets, sampled_axes

        dims, shape = dims_of(op.input.type), mixed_dims(op.shape, op.shape_value)
        if any(dim.is_unknown for dim in shape):
            raise StepwellError(
                "unsupported",
                op,
                "graph.resize needs a shape that is known before the call, and this one depends on data",
            )
        axes = sampled_axes(op, dims, shape)
        if not axes:
            rewriter.replace(op, [], [copied(op.input, rewriter)])
            return
        for axis in axes:
            neighbour_offsets(op, dims, shape, axis)  # raises
        rewriter.replace(op, _into_empty(op, rewriter))


class MatmulNbitsLowering(RewritePattern):
    """`graph.matmul_nbits` → `linalg_ext.matmul_nbits` of a matrix, leading dimensions joined to rows."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MatmulNbitsOp, rewriter: PatternRewriter) -> None:
        """Replace the op."""
        leading = dims_of(op.x.type)[:-1] or (Dim.of(1),)
        columns = Dim.of(op.columns.value.data)
        x = _as_matrix(op.x, rewriter)
        x_scales, row_bytes = (
            None if value is None else _as_matrix(value, rewriter) for value in (op.x_scales, op.row_bytes)
        )
        init = empty(tensor_type(f32, [dims_of(x.type)[0], columns]), rewriter)
        made = rewriter.insert(
            linalg_ext.MatmulNbitsOp.writing(op, [init], x=x, x_scales=x_scales, row_bytes=row_bytes)
        )
        y = split_dims(made.result, [leading, [columns]], rewriter)
        if len(dims_of(op.x.type)) == 1:
            y = join_dims(y, [[Dim.of(1), columns]], rewriter)
        rewriter.replace(op, [], [y])


def _as_matrix(value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """A tensor with its leading dimensions joined to rows; a vector is one row."""
    *leading, columns = dims_of(value.type)
    if not leading:
        return split_dims(value, [[Dim.of(1), columns]], rewriter)
    return join_dims(value, [leading, [columns]], rewriter)
