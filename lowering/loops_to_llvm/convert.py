"""The pass `convert-loops-to-llvm`: its patterns, and cleanup of addresses without uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import is_side_effect_free

from stepwell.dialects._xdsl import target_of
from stepwell.lowering.loops_to_llvm import (
    affine_maps,
    arithmetic,
    byte_products,
    control_flow,
    functions,
    math_functions,
    memory,
    parallel,
    runtime_calls,
    tiles,
    vector_divisions,
    vector_memory,
    vectors,
    views,
)
from stepwell.lowering.loops_to_llvm.state import State
from stepwell.patterns.driver.conversion import convert
from stepwell.runtime.machine.target import target_from

_PATTERNS = (
    functions.FunctionLowering,
    functions.CallLowering,
    functions.ReturnLowering,
    affine_maps.ApplyLowering,
    affine_maps.LoadLowering,
    affine_maps.StoreLowering,
    affine_maps.ForLowering,
    control_flow.ForLowering,
    control_flow.IfLowering,
    control_flow.WhileLowering,
    control_flow.IndexSwitchLowering,
    control_flow.BranchLowering,
    parallel.ParallelLowering,
    runtime_calls.AllocateLowering,
    runtime_calls.CheckLowering,
    runtime_calls.PublishLowering,
    runtime_calls.HostCallLowering,
    runtime_calls.ClockLowering,
    arithmetic.ConstantLowering,
    vector_divisions.VectorDivisionLowering,
    arithmetic.IntegerOpLowering,
    arithmetic.FloatOpLowering,
    arithmetic.RoundingDivisionLowering,
    arithmetic.CompareLowering,
    arithmetic.SelectLowering,
    arithmetic.CastLowering,
    arithmetic.FloatToIntegerLowering,
    arithmetic.IndexCastLowering,
    arithmetic.FloatCastLowering,
    byte_products.DotBytesLowering,
    byte_products.DotShortsLowering,
    byte_products.DotBfloatsLowering,
    tiles.ConfigureLowering,
    tiles.TileZeroLowering,
    tiles.TileMemoryLowering,
    tiles.TileMulLowering,
    memory.LoadLowering,
    memory.StoreLowering,
    memory.AllocaLowering,
    memory.GetGlobalLowering,
    memory.GlobalLowering,
    memory.CopyLowering,
    views.SubviewLowering,
    views.ViewLowering,
    views.CastLowering,
    views.ReinterpretCastLowering,
    views.CollapseShapeLowering,
    views.ExpandShapeLowering,
    views.DimLowering,
    views.AssumeAlignmentLowering,
    views.AddressLowering,
    math_functions.FloatOpLowering,
    math_functions.RsqrtLowering,
    math_functions.ScaleLowering,
    math_functions.IntegerOpLowering,
    math_functions.LibraryLowering,
    vectors.BroadcastLowering,
    vectors.FmaLowering,
    vectors.ExtractLowering,
    vectors.InsertLowering,
    vectors.ShuffleLowering,
    vectors.CastLowering,
    vectors.ReductionLowering,
    vector_memory.LoadLowering,
    vector_memory.StoreLowering,
    vector_memory.MaskedLoadLowering,
    vector_memory.MaskedStoreLowering,
    vector_memory.TransferReadLowering,
    vector_memory.TransferWriteLowering,
    vector_memory.CreateMaskLowering,
)
_ILLEGAL = (
    "func",
    "arith",
    "math",
    "cf",
    "scf",
    "affine",
    "memref",
    "vector",
    "linalg",
    "tensor",
    "sched",
    "amx",
)


@dataclass(frozen=True)
class ConvertLoopsToLLVMPass(ModulePass):
    """
    Lower `func`, `arith`, `math`, `cf`, `scf`, `affine`, `memref` and `vector` to `llvm`, for one target.

    Kernels (`sched.kernel`) and `@main` (`#sched.program`) get the binary interface of kernels. Needs vectors
    of one dimension (`unroll-vectors`) and no transcendental functions (`expand-math`). Fails, and lists them
    all, when other ops are left.
    """

    name: ClassVar[str] = "convert-loops-to-llvm"

    mcpu: str = ""
    """The target, as `stepwell compile --mcpu` takes it; without it, the one of the compilation."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """
        Convert in program order, split blocks at early returns, erase unused ops and release tile registers.
        """
        state = State.of(op, target_from(self.mcpu) if self.mcpu else target_of(ctx))
        patterns: list[RewritePattern] = [pattern(state) for pattern in _PATTERNS]
        convert(op, patterns, _ILLEGAL, type_converter=control_flow.block_argument_type, convert_new_ops=True)
        functions.part_blocks(state)
        for function in op.ops:
            if isinstance(function, llvm.FuncOp):
                _erase_unused(function)
                tiles.release_tiles(function)


def _erase_unused(function: llvm.FuncOp) -> None:
    """Erase pure ops without uses, mostly parts of addresses."""
    for block in reversed(list(function.body.blocks)):
        inner: Operation | None = block.last_op
        while inner is not None:
            before = inner.prev_op
            if inner.results and all(r.first_use is None for r in inner.results) and _is_pure(inner):
                inner.detach()
                inner.erase()
            inner = before


def _is_pure(op: Operation) -> bool:
    """Whether an op may be erased if it has no uses."""
    return is_side_effect_free(op) or isinstance(op, llvm.AllocaOp | llvm.LoadOp)
