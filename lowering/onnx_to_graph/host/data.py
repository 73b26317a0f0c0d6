"""ONNX operators on image files and random numbers → `graph.host_call`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import onnx
from stepwell.dialects.types import dtype_of, tensor_type
from stepwell.dialects.types import element_of as element_of_dtype
from stepwell.lowering.onnx_to_graph.host_calls import HostLowering, host_results
from stepwell.lowering.onnx_to_graph.support import element_of, element_type, shape_of
from stepwell.runtime.dims import Dim
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


@dataclass(frozen=True)
class _Distribution:
    """A host function that draws random numbers, with its parameters and their defaults."""

    function: str
    parameters: Mapping[str, float]


_NORMAL = _Distribution("host.random_normal", {"mean": 0.0, "scale": 1.0})
_UNIFORM = _Distribution("host.random_uniform", {"low": 0.0, "high": 1.0})


class RandomLowering(HostLowering):
    """`RandomNormal`, `RandomUniform` and their `…Like` forms → random numbers, by the host."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self,
        op: onnx.RandomNormalOp | onnx.RandomUniformOp | onnx.RandomNormalLikeOp | onnx.RandomUniformLikeOp,
        rewriter: PatternRewriter,
    ) -> None:
        """Call the generator of the distribution, with the shape of an attribute or of another tensor."""
        is_normal = isinstance(op, onnx.RandomNormalOp | onnx.RandomNormalLikeOp)
        kind = _NORMAL if is_normal else _UNIFORM
        like = op.operands[0] if op.operands else None
        element: Attribute = f32 if like is None else element_of(like)
        if op.has("dtype"):
            element = element_type(op.integer("dtype"), op)
        shape = [] if like is not None else list(op.integers("shape"))
        result = tensor_type(element, shape if like is None else shape_of(like, op))
        given = {name: op.floating(name) if op.has(name) else x for name, x in kind.parameters.items()}
        attributes = {**given, "shape": shape, **_seed_and_type(op, element)}
        made = host_results(kind.function, attributes, [like], [result], rewriter, effect=True)
        rewriter.replace(op, [], made)


class DrawLowering(HostLowering):
    """`Bernoulli`, `Multinomial` → draws by the probabilities of a tensor."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.BernoulliOp | onnx.MultinomialOp, rewriter: PatternRewriter) -> None:
        """Call `host.bernoulli` or `host.multinomial` on the probabilities."""
        dims = list(shape_of(op.input, op))
        element = element_of(op.input) if isinstance(op, onnx.BernoulliOp) else i32
        if op.has("dtype"):
            element = element_type(op.integer("dtype"), op)
        attributes = _seed_and_type(op, element)
        if isinstance(op, onnx.MultinomialOp):
            count = op.integer("sample_size") if op.has("sample_size") else 1
            dims, attributes = [dims[0], Dim.of(count)], {**attributes, "sample_size": count}
        name = "host.bernoulli" if isinstance(op, onnx.BernoulliOp) else "host.multinomial"
        result = tensor_type(element, dims)
        rewriter.replace(op, [], host_results(name, attributes, [op.input], [result], rewriter, effect=True))


def _seed_and_type(op: onnx.OnnxOp, element: Attribute) -> dict[str, object]:
    """The attributes `seed` and `to` of a random function."""
    return {"seed": op.floating("seed") if op.has("seed") else None, "to": dtype_of(element)}
