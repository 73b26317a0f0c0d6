"""`group-heads`: heads that share keys and values read these from a state once, in one product."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph_ir.state import is_growing_state
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of
from stepwell.passes.base import Numerics, Pass
from stepwell.passes.context import count
from stepwell.passes.graph.constant_operands import scalar_of
from stepwell.runtime.dims import Dim

_RANK = 4
"""The rank of keys [batch, heads, tokens, size]."""


@dataclass(frozen=True)
class GroupHeadsPass(Pass):
    """
    Let a product read keys or values of a growing state themselves, not copies that are repeated for each
    head, transposed, or scaled.

    ```mlir
    %w = graph.expand_dims %k axes [2] : tensor<1x2x?x4xf32, …> -> tensor<1x2x1x?x4xf32, …>
    %r = graph.broadcast_to %w shape <[1, 2, 3, "T", 4]> …
    %h = graph.reshape %r shape <[1, 6, "T", 4]> …
    %t = graph.transpose %h perm [0, 1, 3, 2] …
    %y = graph.matmul %q, %t : (tensor<1x6x?x4xf32, …>, tensor<1x6x4x?xf32, …>) -> tensor<1x6x?x?xf32, …>
    // ->
    %g = graph.reshape %q shape <[1, 2, 3, "S", 4]> …
    %w = graph.expand_dims %k axes [2] …
    %p = graph.matmul %g, %w transpose_b true …
    %y = graph.reshape %p shape <[1, 6, "S", "T"]> …
    ```
    The heads of a group are rows of one product. Constant factors of keys are moved to the product. Only
    operands that are the used part of a state are followed (`append-to-states`), since a copy of it would
    cost as much as the text is long, in each call.

    Class: rounding, of the factors.
    """

    name = "group-heads"
    opt_level: ClassVar[int] = 1
    numerics = Numerics.ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for product in [each for each in op.walk() if isinstance(each, graph.MatmulOp)]:
            shared = _followed(product.b)
            if shared is not None and shared.is_copied and _fits(product, shared):
                _rewrite(product, shared)
                count("products that read states")


@dataclass
class _Shared:
    """A part of a state, and how an operand is made of it."""

    part: SSAValue
    repeats: int = 1
    """The number of heads that share keys."""
    is_swapped: bool = False
    """Whether the last two dimensions are exchanged."""
    factors: list[SSAValue] = field(default_factory=list[SSAValue])

    @property
    def is_copied(self) -> bool:
        """Whether a kernel would make the operand."""
        return self.repeats > 1 or self.is_swapped or bool(self.factors)


def _followed(value: SSAValue) -> _Shared | None:
    """The part of a state that a value repeats, transposes or scales; None for any other value."""
    repeats, is_swapped, factors = 1, False, list[SSAValue]()
    while not isinstance(op := value.owner, graph.SliceOp):
        if isinstance(op, graph.TransposeOp) and _is_swap(op):
            value, is_swapped = op.input, not is_swapped
        elif isinstance(op, graph.MultiplyOp) and (pair := _scaled(op)) is not None:
            value, factor = pair
            factors.append(factor)
        elif repeats == 1 and isinstance(op, graph.ReshapeOp) and (source := _repeated(op)) is not None:
            value, repeats = source
        else:
            return None
    if not is_growing_state(op.input) or len(dims_of(value.type)) != _RANK:
        return None
    return _Shared(value, repeats, is_swapped, factors)


def _is_swap(op: graph.TransposeOp) -> bool:
    return list(op.perm.get_values()) == [0, 1, 3, 2]


def _scaled(op: graph.MultiplyOp) -> tuple[SSAValue, SSAValue] | None:
    """The operand of a multiplication that has the result's type, and the number; None without a number."""
    for source, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if source.type == op.result.type and scalar_of(other) is not None:
            return source, other
    return None


def _repeated(op: graph.ReshapeOp) -> tuple[SSAValue, int] | None:
    """The keys [B, G, T, D] that a value [B, G * R, T, D] has R times each, and R; None for other values."""
    spread = op.input.owner
    wide = spread.input.owner if isinstance(spread, graph.BroadcastToOp) else None
    if not isinstance(spread, graph.BroadcastToOp) or not isinstance(wide, graph.ExpandDimsOp):
        return None
    keys, times = dims_of(wide.input.type), dims_of(spread.result.type)
    if list(wide.axes.get_values()) != [2] or len(keys) != _RANK or not times[2].is_static:
        return None
    is_spread = times == (*keys[:2], times[2], *keys[2:])
    is_joined = dims_of(op.result.type) == (keys[0], keys[1] * times[2], *keys[2:])
    return (wide.input, times[2].value) if is_spread and is_joined else None


def _fits(product: graph.MatmulOp, shared: _Shared) -> bool:
    """Whether a product is a plain one whose rows can be grouped."""
    is_plain = not product.transpose_a.value.data and not product.panel and product.out_type is None
    heads = dims_of(shared.part.type)[1] * shared.repeats
    rows = dims_of(product.a.type)
    return is_plain and len(rows) == _RANK and rows[1] == heads


def _rewrite(product: graph.MatmulOp, shared: _Shared) -> None:
    """Replace a product by that of grouped rows and the part of the state itself."""
    builder = Builder(InsertPoint.before(product))

    def emit(op: GraphOp) -> SSAValue:
        adopt_location(builder.insert(op), product.location)
        return op.results[0]

    rows, keys = product.a, shared.part
    if shared.repeats > 1:
        batch, _, *rest = dims_of(rows.type)
        groups = dims_of(keys.type)[1]
        rows = emit(graph.ReshapeOp(rows, [batch, groups, Dim.of(shared.repeats), *rest]))
        keys = emit(graph.ExpandDimsOp(keys, [2]))
    is_transposed = bool(product.transpose_b.value.data) is not shared.is_swapped
    found = emit(graph.MatmulOp(rows, keys, transpose_b=is_transposed))
    if shared.repeats > 1:
        found = emit(graph.ReshapeOp(found, list(dims_of(product.result.type))))
    for factor in shared.factors:
        found = emit(graph.MultiplyOp(found, factor))
    Rewriter.replace_op(product, [], [found])
