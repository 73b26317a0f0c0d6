"""ONNX operators on image files → `graph.host_call`."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import onnx
from stepwell.dialects.types import element_of as element_of_dtype
from stepwell.dialects.types import tensor_type
from stepwell.lowering.onnx_to_graph.host_calls import HostLowering, host_results
from stepwell.runtime.errors import StepwellError


class ImageDecoderLowering(HostLowering):
    """`ImageDecoder` → pixels, by the image library of the machine that runs the model."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ImageDecoderOp, rewriter: PatternRewriter) -> None:
        """Call `host.image_decoder`; the number of channels follows from the pixel format."""
        pixel_format = op.string("pixel_format") if op.has("pixel_format") else "RGB"
        if pixel_format not in ("RGB", "BGR", "Grayscale"):
            raise StepwellError("invalid-model", op, f"ImageDecoder: unknown pixel format {pixel_format!r}")
        result = tensor_type(element_of_dtype("uint8"), ["?", "?", 1 if pixel_format == "Grayscale" else 3])
        attributes = {"pixel_format": pixel_format}
        made = host_results("host.image_decoder", attributes, [op.encoded_stream], [result], rewriter)
        rewriter.replace(op, [], made)
