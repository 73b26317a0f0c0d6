"""The patterns that convert a call by the table, let torch run one, and convert weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from stepwell.dialects import torch
from stepwell.dialects._xdsl import Decompose
from stepwell.dialects.foreign import ForeignOp
from stepwell.lowering.to_graph import (
    Conversions,
    Converted,
    ForeignLowering,
    ForeignPatterns,
    ForeignWeightLowering,
    Formula,
)
from stepwell.lowering.torch_to_graph.by_torch import host_call, runs_in_torch
from stepwell.lowering.torch_to_graph.decomposed import inlined
from stepwell.lowering.torch_to_graph.support import CONVERSIONS, Call
from stepwell.passes.context import remark
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

_MAX_DEPTH = 8
"""The most decompositions within each other."""


class TorchPatterns(ForeignPatterns):
    """The patterns of the conversion: one for all overloads of the table, one for others, one for weights."""

    def __init__(self, weights: WeightStore, decompose: Decompose | None = None):
        calls = TorchLowering(weights, decompose, self)
        super().__init__(calls, WeightLowering())
        self._overloads, self._operators = (calls,), (OperatorLowering(weights),)

    def of(self, op_type: type[Operation]) -> tuple[RewritePattern, ...]:
        """The patterns for a class."""
        if issubclass(op_type, ForeignOp):
            return self._overloads
        return self._operators if op_type is torch.OperatorOp else super().of(op_type)


class WeightLowering(ForeignWeightLowering):
    """
    A weight → `graph.constant` of the same bytes.

    ```mlir
    %w = "torch.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    // ->
    %w = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
    """


@dataclass
class TorchLowering(ForeignLowering):
    """
    Any overload of the table → what its function makes.

    ```mlir
    %y = "torch.aten.relu.default"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // ->
    %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
    ```
    """

    CONVERSIONS: ClassVar[Conversions] = CONVERSIONS

    decompose: Decompose | None = None
    patterns: TorchPatterns | None = None
    depth: int = 0
    """How many calls are under decomposition, each of them a part of the one before."""

    def converted(self, op: ForeignOp, at: Formula) -> Converted:
        """
        The values of a call's results, by the operator's conversion or, where it refuses, by simpler calls.

        Raises: StepwellError `unsupported`.
        """
        call = Call(op, at)
        try:
            if op.SIGNATURE.name not in CONVERSIONS:
                raise call.unsupported("it has no conversion")
            return CONVERSIONS[op.SIGNATURE.name](call)
        except StepwellError as error:
            if error.code != "unsupported" or (simpler := self._decomposed(op, at)) is None:
                raise
            remark(op, f"is decomposed, since its own conversion refuses it: {error.message}")
            return simpler

    def _decomposed(self, op: ForeignOp, at: Formula) -> Converted | None:
        """
        The results of a call, computed by simpler calls; None where no decomposition into simpler calls is
        known.
        """
        if self.decompose is None or self.patterns is None or self.depth >= _MAX_DEPTH:
            return None
        if (made := self.decompose(op)) is None:
            return None
        self.depth += 1
        try:
            results = inlined(op, *made, self.patterns, at.rewriter)
        finally:
            self.depth -= 1
        return None if results is None else [at.value(value) for value in results]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Convert the call, or let torch run it, if the module allows that."""
        try:
            super().match_and_rewrite(op, rewriter)
        except StepwellError as error:
            if error.code != "unsupported" or not runs_in_torch(op):
                raise
            _run_in_torch(op, Formula(self, rewriter))


class OperatorLowering(TorchLowering):
    """
    An operator that the table does not have → a call of torch.

    ```mlir
    %y = "torch.operator"(%x) <{target = "mylib.foo.default", call = "{}"}> : (tensor<4xf32>) -> tensor<4xf32>
    // ->
    %y = graph.host_call "torch" "mylib.foo.default" payload "{}" (%x) : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replace the op by a host call, if the module allows it."""
        if isinstance(op, torch.OperatorOp) and runs_in_torch(op):
            _run_in_torch(op, Formula(self, rewriter))


def _run_in_torch(op: Operation, at: Formula) -> None:
    """Replace a call by one that torch runs."""
    call = host_call(op, at)
    remark(op, f"is run by torch: {call.callee.data}")
    at.rewriter.replace(op, call, list(call.values))
