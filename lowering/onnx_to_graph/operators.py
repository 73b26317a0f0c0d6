"""Operators of other domains, which plugins register, → `graph`."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import onnx
from stepwell.dialects.plugins.operators import Operator, as_sequence, operator_of
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.lowering.plugin_lowerings import Call


class OperatorLowering(OnnxLowering):
    """
    Operators of other domains, by the functions that plugins register for them.

    ```mlir
    %y = "onnx.Call"(%x) <{domain = "com.acme", op_type = "Cube", arguments = {}}>
    // ->
    %0 = graph.multiply %x, %x …
    %y = graph.multiply %0, %x …
    ```
    """

    def converts(self, op: Operation) -> bool:
        """Whether a plugin has registered the operator."""
        return operator_of(op) is not None

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CallOp, rewriter: PatternRewriter) -> None:
        """Call the plugin's function, and replace the node by the values that it returns."""
        if (operator := operator_of(op)) is None:
            return
        call = Call(op, op.title, operator.defined)
        if operator.pattern is not None:
            with call.running(rewriter):
                operator.pattern().match_and_rewrite(op, rewriter)
            return
        values = _values(op, operator, call, rewriter)
        used = [(i, value) for i, value in enumerate(values) if op.uses_output(i)]
        if len(used) < len(op.outputs):
            what = f"the model uses {len(op.outputs)} outputs, and the lowering returns {len(values)}"
            raise call.error(what)
        if absent := [i for i, value in used if value is None]:
            raise call.error(f"the lowering gives no output {absent[0]}, which the model uses")
        rewriter.replace(op, [], [value for _, value in used])


def _values(
    op: onnx.CallOp, operator: Operator, call: Call, rewriter: PatternRewriter
) -> list[SSAValue | None]:
    """The values that replace the outputs. Raises: StepwellError."""
    assert operator.formal is not None and operator.lower is not None
    inputs, attributes = operator.formal.bind(op)
    with call.running(rewriter):
        values = call.results(operator.lower(rewriter, *inputs, **attributes), rewriter)
        types = None if operator.types is None else as_sequence(operator.types(*inputs, **attributes))
    if types is not None and len(types) != len(values):
        raise call.error(f"{len(types)} types are declared, and the lowering returns {len(values)} values")
    for position, (value, type) in enumerate(zip(values, types or (), strict=False)):
        if value is not None:
            call.expect_type(position, value, type)
    return values
