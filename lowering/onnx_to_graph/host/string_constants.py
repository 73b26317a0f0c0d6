"""Constants of strings, in a file of their own: nearly every model has constants, and few have strings."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import onnx
from stepwell.dialects.onnx.types import StringsAttr
from stepwell.dialects.types import tensor_type
from stepwell.lowering.onnx_to_graph.host_calls import STRING, HostLowering, host_results


class StringConstantLowering(HostLowering):
    """`Constant` of strings → a host call that creates them."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ConstantOp, rewriter: PatternRewriter) -> None:
        """Call `host.strings`; constants of numbers are left to `ConstantLowering`."""
        if isinstance(op.value, StringsAttr):
            strings, shape = op.value.values(), list(op.value.type.get_shape())
        elif op.has("value_string"):
            strings, shape = [op.string("value_string").encode()], []
        elif op.has("value_strings"):
            strings = op.strings("value_strings")
            shape = [len(strings)]
        else:
            return
        attributes = {"values": [text.decode(errors="replace") for text in strings], "shape": shape}
        result = tensor_type(STRING, shape)
        rewriter.replace(op, [], host_results("host.strings", attributes, [], [result], rewriter))
