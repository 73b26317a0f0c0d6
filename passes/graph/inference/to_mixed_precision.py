"""`to-mixed-precision`: contractions, and the ops after them that allow it, on 16-bit floats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import BFloat16Type, Float16Type, ModuleOp, TensorType, bf16, f16, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import IsolatedFromAbove

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.graph_ir.node_patterns import matches, matching
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.locations import adopt_location, node_names
from stepwell.dialects.types import dims_of, dtype_of, tensor_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.context import count, remark
from stepwell.passes.graph.inference.precision_lists import Precision, default_precision
from stepwell.passes.options import named_ops
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

_TYPES: Mapping[str, Float16Type | BFloat16Type] = {"f16": f16, "bf16": bf16}

# Their scale and bias stay f32: they are small, and are combined with numbers of the compute type.
_FIRST_OPERAND_ONLY = (graph.LayerNormOp, graph.RmsNormOp)


@dataclass(frozen=True)
class ToMixedPrecisionPass(FunctionPass):
    """
    Compute on f16 or bf16 instead of f32, by three lists of ops, with casts between narrow and f32 ops.

    Contractions are always narrow, and sum in f32 as before. Ops that move numbers, or apply a function that
    is not sensitive to rounding, follow when all their operands are narrow; the others stay f32. A value is
    cast once for all its users. Inputs and results of the function keep their types, and so do ops on
    constants out of the narrow type's range.

    ```mlir
    %0 = graph.matmul %a, %b : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %1 = graph.relu %0 : tensor<4x4xf32> -> tensor<4x4xf32>
    %y = graph.softmax %1 axis 1 : tensor<4x4xf32> -> tensor<4x4xf32>
    // ->
    %2 = graph.cast %a to bf16 saturate true round "nearest" : tensor<4x8xf32> -> tensor<4x8xbf16>
    %3 = graph.cast %b to bf16 saturate true round "nearest" : tensor<8x4xf32> -> tensor<8x4xbf16>
    %4 = graph.matmul %2, %3 : (tensor<4x8xbf16>, tensor<8x4xbf16>) -> tensor<4x4xbf16>
    %5 = graph.relu %4 : tensor<4x4xbf16> -> tensor<4x4xbf16>
    %6 = graph.cast %5 to f32 saturate true round "nearest" : tensor<4x4xbf16> -> tensor<4x4xf32>
    %y = graph.softmax %6 axis 1 : tensor<4x4xf32> -> tensor<4x4xf32>
    ```
    With `operands` all other ops stay f32, and contractions give f32: matrix products of narrow operands sum
    in f32 without another rounding, the operands of other contractions are rounded to the narrow type and
    back.
    `keep` has patterns of names of the model's nodes that stay f32 as a whole.

    Class: approximate, so in no pipeline unless `precision` asks for it. Runs before `fold-constant`, which
    casts the weights, and before `fuse-ops`.
    Source: TVM's ToMixedPrecision.
    """

    name = "to-mixed-precision"
    opt_level = 1
    numerics = Numerics.APPROXIMATE

    dtype: str = "bf16"
    """`bf16` or `f16`."""
    always: tuple[str, ...] = ()
    """Names of ops, such as `exp`, that are narrow whatever the lists say."""
    follow: tuple[str, ...] = ()
    """Names of ops that follow their operands."""
    never: tuple[str, ...] = ()
    """Names of ops that stay f32."""
    operands: bool = False
    """Whether only operands of contractions are narrow, and all results f32."""
    keep: tuple[str, ...] = ()
    """Names of nodes of the model, with `*`, whose ops stay f32."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.keep:
            ops = (each for each in op.walk() if isinstance(each, GraphOp))
            matching(self.keep, [name for each in ops for name in node_names(each.location)], "keep-f32")
        super().apply(ctx, op)

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if self.dtype not in _TYPES:
            raise StepwellError(
                "bad-option",
                None,
                f"to-mixed-precision has no dtype {self.dtype!r}",
                help=f"there are {' and '.join(_TYPES)}",
            )
        chosen = {
            name: precision
            for names, precision in (
                (self.always, Precision.ALWAYS),
                (self.follow, Precision.FOLLOW),
                (self.never, Precision.NEVER),
            )
            for name in named_ops(names, ctx)
        }
        kept = [
            each
            for each in (func.walk() if self.keep else ())
            if any(matches(name, pattern) for name in node_names(each.location) for pattern in self.keep)
        ]
        kind = _Operands if self.operands else _Narrowing
        narrowing = kind(_TYPES[self.dtype], weights_of(ctx), chosen, frozenset(kept))
        for block in func.body.blocks:
            narrowing.convert(block, _Forms(_TYPES[self.dtype]))


@dataclass
class _Forms:
    """The narrow and the f32 versions of values that are available in a block."""

    narrow_type: Float16Type | BFloat16Type
    narrow: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    wide: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    computed: set[SSAValue] = field(default_factory=set[SSAValue])
    """Values that an op computes in the narrow type."""

    def inside(self) -> _Forms:
        """A copy for an inner region: it sees the versions made so far; casts made in it stay inside."""
        return _Forms(self.narrow_type, dict(self.narrow), dict(self.wide), set(self.computed))

    def narrow_of(self, value: SSAValue, before: Operation) -> SSAValue:
        """The narrow version of an f32 value, cast before an op when there is none yet."""
        if value not in self.narrow:
            source = value.owner
            if isinstance(source, graph.CastOp) and tensor_of(source.input).element_type == self.narrow_type:
                self.narrow[value] = source.input
            else:
                self.narrow[value] = _insert(graph.CastOp(value, self.narrow_type), before)
        return self.narrow[value]

    def wide_of(self, value: SSAValue, before: Operation) -> SSAValue:
        """The f32 version of a value, cast before an op when only the narrow version was computed."""
        if value not in self.computed:
            return value
        if value not in self.wide:
            made = graph.CastOp(self.narrow[value], f32)
            if isinstance(producer := self.narrow[value].owner, Operation):
                adopt_location(made, producer.location)
            self.wide[value] = _insert(made, before)
        return self.wide[value]


def _insert(op: GraphOp, before: Operation) -> SSAValue:
    count("casts")
    return IRBuilder.before(before).value(op)


@dataclass
class _Narrowing:
    """The conversion of blocks in program order: narrow or f32 versions of operands for each op."""

    type: Float16Type | BFloat16Type
    weights: WeightStore
    chosen: Mapping[str, Precision]
    kept: frozenset[Operation] = frozenset()
    """Ops that stay f32."""

    def convert(self, block: Block, forms: _Forms) -> None:
        """Convert the ops of a block, and of its regions that are not isolated from above."""
        replaced: list[Operation] = []
        for op in list(block.ops):
            if isinstance(op, GraphOp) and self._is_narrow(op, forms):
                self._compute_narrow(op, forms)
                replaced.append(op)
                continue
            wide = [forms.wide_of(operand, op) for operand in op.operands]
            if any(value in forms.computed for value in op.operands):
                op.operands = wide  # in one assignment: a function may return thousands
            if not op.has_trait(IsolatedFromAbove):
                for inner in [inner for region in op.regions for inner in region.blocks]:
                    self.convert(inner, forms.inside())
        for op in reversed(replaced):
            Rewriter.erase_op(op)

    def _is_narrow(self, op: GraphOp, forms: _Forms) -> bool:
        precision = self.chosen.get(op.name, default_precision(op))
        floats = [value for value in self._taken(op) if _is_f32(value)]
        if precision is Precision.NEVER or not floats or op in self.kept:
            return False
        given = [value for value in floats if not isinstance(value.owner, graph.ConstantOp)]
        if precision is Precision.FOLLOW and not (given and all(value in forms.computed for value in given)):
            return False
        if all(self._can_represent(value) for value in floats):
            return True
        remark(op, f"stays f32: {self.type} cannot represent a constant that it reads")
        return False

    def _taken(self, op: GraphOp) -> list[SSAValue]:
        return list(op.operands[:1]) if isinstance(op, _FIRST_OPERAND_ONLY) else list(op.operands)

    def _can_represent(self, value: SSAValue) -> bool:
        """Whether no number of a constant becomes infinite or 0 in the narrow type."""
        array = constant_of(value, self.weights)
        if array is None:
            return True
        with np.errstate(all="ignore"):
            narrow = array.astype(dtype_of(self.type)).astype(array.dtype)
        return bool(
            (np.isfinite(narrow) == np.isfinite(array)).all() and ((narrow == 0) == (array == 0)).all()
        )

    def _compute_narrow(self, op: GraphOp, forms: _Forms) -> None:
        taken = self._taken(op)
        operands = [
            forms.narrow_of(value, op) if i < len(taken) and _is_f32(value) else forms.wide_of(value, op)
            for i, value in enumerate(op.operands)
        ]
        made = IRBuilder.before(op).insert(op.on(operands))
        count("narrow ops")
        for old, new in zip(op.results, made.results, strict=True):
            new.name_hint = old.name_hint
            if new.type == old.type:
                old.replace_all_uses_with(new)
            else:
                forms.narrow[old] = new
                forms.computed.add(old)


class _Operands(_Narrowing):
    """The conversion of contractions alone, which give f32."""

    def _is_narrow(self, op: GraphOp, forms: _Forms) -> bool:
        precision = self.chosen.get(op.name, default_precision(op))
        return precision is Precision.ALWAYS and super()._is_narrow(op, forms)

    def _compute_narrow(self, op: GraphOp, forms: _Forms) -> None:
        if isinstance(op, graph.MatmulOp):
            narrow = [forms.narrow_of(value, op) if _is_f32(value) else value for value in op.operands]
            made: GraphOp = graph.MatmulOp(
                *narrow,
                transpose_a=bool(op.transpose_a.value.data),
                transpose_b=bool(op.transpose_b.value.data),
                packing=op.panel,
                out_type=f32,
            )
        else:
            made = op.on([self._rounded(value, forms, op) for value in op.operands])
        made = IRBuilder.before(op).insert(made)
        count("narrow ops")
        for old, new in zip(op.results, made.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)

    def _rounded(self, value: SSAValue, forms: _Forms, op: Operation) -> SSAValue:
        """A value in f32 with the digits of the narrow type; a constant stays one, which layouts may pack."""
        if not _is_f32(value):
            return value
        if isinstance(constant := value.owner, graph.ConstantOp):
            if value not in forms.wide:
                dims, kind = dims_of(value.type), dtype_of(self.type)
                made = constant.derived(
                    str(self.type), lambda x: x.astype(kind).astype(x.dtype), dims, self.weights
                )
                forms.wide[value] = IRBuilder.after(constant).value(made)
            return forms.wide[value]
        return _insert(graph.CastOp(forms.narrow_of(value, op), f32), op)


def _is_f32(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and tensor_of(value).element_type == f32
