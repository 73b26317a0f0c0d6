"""The pass `convert-loops-to-llvm`: its patterns, and cleanup of addresses without uses."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
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
    entry,
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
from stepwell.lowering.loops_to_llvm.odd_lanes import carry_bits
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.state import State
from stepwell.patterns.driver.conversion import convert
from stepwell.patterns.driver.pattern_set import patterns_in
from stepwell.runtime.machine.target import target_from

_PATTERNS: list[type[LoopsToLLVMPattern]] = patterns_in(
    LoopsToLLVMPattern,
    functions,
    entry,
    affine_maps,
    control_flow,
    parallel,
    runtime_calls,
    vector_divisions,  # before `arithmetic`, which has patterns of the same ops
    arithmetic,
    byte_products,
    tiles,
    memory,
    views,
    math_functions,
    vectors,
    vector_memory,
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

    Kernels (`#sched.kernel`) and `@main` (`#sched.program`) get the binary interface of kernels, and
    `sched.entry` becomes the functions by which programs in C call `@main`. Needs vectors of one dimension
    (`unroll-vectors`) and no transcendental functions (`expand-math`). Fails, and lists them all, when other
    ops are left.
    """

    name: ClassVar[str] = "convert-loops-to-llvm"

    mcpu: str = ""
    """The target, as `stepwell compile --mcpu` takes it; without it, the one of the compilation."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """
        Convert in program order, split blocks at early returns, erase unused ops and release tile registers.
        """
        state = State.of(op, target_from(self.mcpu) if self.mcpu else target_of(ctx))
        patterns: list[RewritePattern] = [pattern(state) for pattern in (*_PATTERNS, *_of_devices())]
        convert(op, patterns, _ILLEGAL, type_converter=control_flow.block_argument_type, convert_new_ops=True)
        functions.part_blocks(state)
        for function in op.ops:
            if isinstance(function, llvm.FuncOp):
                carry_bits(function)
                _erase_unused(function)
                if state.uses_tiles:
                    tiles.release_tiles(function)


def _of_devices() -> Sequence[type[LoopsToLLVMPattern]]:
    """The patterns of ops of `gpu`, if a module may have any: then their dialect was imported (8 ms)."""
    return _patterns_of_devices() if "stepwell.dialects.gpu" in sys.modules else ()


@cache
def _patterns_of_devices() -> Sequence[type[LoopsToLLVMPattern]]:
    from stepwell.lowering.loops_to_llvm import async_copies, matrix_loads

    return patterns_in(LoopsToLLVMPattern, async_copies, matrix_loads)


def _erase_unused(function: llvm.FuncOp) -> None:
    """Erase pure ops without uses, mostly parts of addresses."""
    for block in reversed(list(function.body.blocks)):
        inner: Operation | None = block.last_op
        while inner is not None:
            before = inner.prev_op
            for result in inner.results:  # a loop: `any` takes twice as long
                if result.first_use is not None:
                    break
            else:
                if inner.results and _is_pure(inner):
                    inner.detach()
                    inner.erase()
            inner = before


def _is_pure(op: Operation) -> bool:
    """Whether an op may be erased if it has no uses."""
    return is_side_effect_free(op) or isinstance(op, llvm.AllocaOp | llvm.LoadOp)
