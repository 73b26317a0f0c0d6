"""Operators of ONNX Runtime's own domain, `com.microsoft` → `graph`."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import onnx
from stepwell.lowering.onnx_to_graph.contrib import (
    DOMAIN,
    activation,
    attention,
    cache,
    norm,
    product,
    quantized,
    rotary,
    standard,
)
from stepwell.lowering.onnx_to_graph.contrib.node import ContribNode, Meaning
from stepwell.lowering.onnx_to_graph.support import OnnxLowering

OPERATORS: Mapping[str, Meaning] = {
    **activation.OPERATORS,
    **attention.OPERATORS,
    **cache.OPERATORS,
    **norm.OPERATORS,
    **product.OPERATORS,
    **quantized.OPERATORS,
    **rotary.OPERATORS,
    **standard.OPERATORS,
}
"""All supported operators of the domain with their meanings."""

ON_HOST = standard.ON_HOST
"""The operators that the host computes."""

WITHOUT_DOMAIN = frozenset({"SimplifiedLayerNormalization"})
"""The operators that ONNX Runtime writes into the standard domain."""


class ContribLowering(OnnxLowering):
    """
    Operators of `com.microsoft`, converted by the table `OPERATORS`.

    ```mlir
    %y = "onnx.Call"(%a, %s, %z, %b, %t, %w, %u, %v) <{domain = "com.microsoft", op_type = "QLinearAdd", …}>
    // ->
    %0 = graph.dequantize %a, %s zero_point %z …
    %1 = graph.dequantize %b, %t zero_point %w …
    %2 = graph.add %0, %1 …
    %y = graph.quantize %2, %u zero_point %v …
    ```
    """

    def converts(self, op: Operation) -> bool:
        """Whether the operator is in the table."""
        return isinstance(op, onnx.CallOp) and meaning_of(op) is not None

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CallOp, rewriter: PatternRewriter) -> None:
        """Emit the meaning of a known operator, and replace the call by the results that the model uses."""
        if (meaning := meaning_of(op)) is None:
            return
        node = ContribNode(op, self, rewriter)
        made = meaning(node)
        results = [made] if isinstance(made, SSAValue) else made
        rewriter.replace(op, [], [_given(node, i, value) for i, value in enumerate(results) if node.wants(i)])


def _given(node: ContribNode, position: int, value: SSAValue | None) -> SSAValue:
    """
    A result that the model uses. Raises: StepwellError `unsupported` if the meaning does not compute it.
    """
    if value is None:
        raise node.unsupported(f"output {position} is not supported yet")
    return value


def meaning_of(op: onnx.CallOp) -> Meaning | None:
    """The meaning of a call; None for an unknown operator."""
    name = op.op_type.data
    is_known = op.domain.data == DOMAIN or (op.domain.data in ("", "ai.onnx") and name in WITHOUT_DOMAIN)
    return OPERATORS.get(name) if is_known else None
