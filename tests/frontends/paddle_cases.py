"""Functions of Paddle as inference programs: for each some operands, with the results of Paddle itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stepwell.runtime.interface import Array


class Case(NamedTuple):
    """A function of tensors, or a layer, and its operands."""

    name: str
    function: Callable[..., Any]
    inputs: Sequence[Array]
    open_batch: bool = False


def numbers(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> Array:
    """Numbers in a range, equal for equal arguments."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def cases() -> list[Case]:
    """All cases."""
    paddle: Any = import_module("paddle")
    f, nn = paddle.nn.functional, paddle.nn
    x, y, positive = numbers(2, 3, 4), numbers(2, 3, 4, seed=1), numbers(2, 3, 4, low=0.1)
    image, small = numbers(2, 4, 7, 9), numbers(1, 4, 3, 5, seed=3)
    unit, ints = numbers(2, 3, 4, low=-0.9, high=0.9), np.array([[2, 0, 1], [1, 2, 0]], np.int64)
    found: list[Case] = []

    def add(name: str, function: Callable[..., Any], *inputs: Array, **options: Any) -> None:
        found.append(Case(name, function, inputs, **options))

    def layer(name: str, make: Callable[[], Any], *inputs: Array, **options: Any) -> None:
        paddle.seed(0)
        add(name, make(), *inputs, **options)

    names = "abs atan ceil cos cosh erf exp expm1 floor round sign sin sinh square tan tanh"
    for name in names.split():
        add(name, getattr(paddle, name), unit if name == "tan" else x)
    for name in ("acos", "asin", "atanh"):
        add(name, getattr(paddle, name), unit)
    for name in ("log", "log2", "log10", "log1p", "rsqrt", "sqrt", "reciprocal"):
        add(name, getattr(paddle, name), positive)
    names = (
        "sigmoid relu relu6 silu softplus softsign elu leaky_relu gelu hardswish hardsigmoid hardtanh mish"
    )
    for name in f"{names} swish selu celu".split():
        add(name, getattr(f, name), x)
    add("gelu_tanh", lambda a: f.gelu(a, approximate=True), x)
    add("log_sigmoid", f.log_sigmoid, x)
    add("clip", lambda a: paddle.clip(a, -0.5, 1.0), x)
    add("scale", lambda a: a * 2.0 + 1.0, x)
    names = "add subtract multiply maximum minimum equal not_equal less_than less_equal"
    for name in f"{names} greater_than greater_equal".split():
        add(name, lambda a, b, name=name: paddle.cast(getattr(paddle, name)(a, b), "float32"), x, y)
    add("divide", paddle.divide, x, positive)
    add("pow", paddle.pow, positive, y)
    add("pow_number", lambda a: paddle.pow(a, 2.0), x)
    add("broadcast", lambda a, b: a + b, x, numbers(3, 1))
    add("floor_divide", lambda a, b: paddle.cast(paddle.floor_divide(a, b), "float32"), ints, ints + 1)
    add("remainder", paddle.remainder, x, positive)
    add("where", lambda a, b: paddle.where(a > 0, a, b), x, y)
    add("logic", lambda a, b: paddle.cast(_logic(paddle, a, b), "int32"), x, y)
    for name in ("sum", "mean", "max", "min", "prod"):
        add(name, lambda a, name=name: getattr(paddle, name)(a, 1), x)
        add(f"{name}_kept", lambda a, name=name: getattr(paddle, name)(a, -1, keepdim=True), x)
    add("mean_all", paddle.mean, x)
    add("logsumexp", lambda a: paddle.logsumexp(a, 1), x)
    add("norm", lambda a: paddle.linalg.norm(a, 2, 1), x)
    add("argmax", lambda a: paddle.argmax(a, 1), x)
    add("argmin", lambda a: paddle.argmin(a, 2, keepdim=True), x)
    add("cumsum", lambda a: paddle.cumsum(a, 1), x)
    add("topk", lambda a: paddle.topk(a, 2, 2), x)
    add("argsort", lambda a: paddle.argsort(a, 2), x)
    add("softmax", lambda a: f.softmax(a, 1), x)
    add("log_softmax", lambda a: f.log_softmax(a, -1), x)
    add("matmul", paddle.matmul, numbers(2, 3, 4), numbers(2, 4, 5))
    add("matmul_turned", lambda a, b: paddle.matmul(a, b, True, True), numbers(2, 4, 3), numbers(2, 5, 4))
    add("bmm", paddle.bmm, numbers(2, 3, 4), numbers(2, 4, 5))
    add("einsum", lambda a, b: paddle.einsum("bqd,bkd->bqk", a, b), x, y)
    add("reshape", lambda a: a.reshape([0, -1]), x, open_batch=True)
    add("reshape_size", lambda a: a.reshape([a.shape[0], 12]), x, open_batch=True)
    add("flatten", lambda a: paddle.flatten(a, 1), image, open_batch=True)
    add("squeeze", lambda a: paddle.squeeze(paddle.unsqueeze(a, [1, 3]), [1]), x)
    add("transpose", lambda a: paddle.transpose(a, [2, 0, 1]), x)
    add("concat", lambda a, b: paddle.concat([a, b], 1), x, y)
    add("stack", lambda a, b: paddle.stack([a, b], 1), x, y)
    add("unstack", lambda a: paddle.unstack(a, 1)[1] * 2, x)
    add("split", lambda a: paddle.split(a, [1, 3], 2)[1] * 2, x)
    add("chunk", lambda a: paddle.split(a, 2, 2)[0] + paddle.split(a, 2, 2)[1], x)
    add("slice", lambda a: a[:, 1:], x)
    add("select", lambda a: a[:, -1], x)
    add("strided_slice", lambda a: a[:, ::2, ::-1], x)
    add("pad", lambda a: f.pad(a, [1, 2, 0, 1], value=1.5), image)
    add("pad_reflect", lambda a: f.pad(a, [1, 2, 2, 1], mode="reflect"), image)
    add("tile", lambda a: paddle.tile(a, [1, 2, 3]), x)
    add("expand", lambda a: paddle.expand(a, [2, 3, 4]), numbers(3, 1))
    add("flip", lambda a: paddle.flip(a, [1, 2]), x)
    add("roll", lambda a: paddle.roll(a, 1, 1), x)
    add("pixel_shuffle", lambda a: f.pixel_shuffle(a, 2), image)
    add("full_like", lambda a: paddle.full_like(a, 2.5) + a, x)
    add("arange", lambda a: a + paddle.arange(4, dtype="float32"), x)
    add("tril", paddle.tril, x)
    add("triu", paddle.triu, x)
    add("gather", lambda a, i: paddle.gather(a, i[0], axis=1), x, ints)
    add("gather_nd", lambda a, i: paddle.gather_nd(a, i[:, :1]), numbers(3, 4), ints)
    add("index_select", lambda a, i: paddle.index_select(a, i[0], axis=1), x, ints)
    add("take_along_axis", lambda a, i: paddle.take_along_axis(a, i, 1), numbers(2, 3), ints)
    add("one_hot", lambda i: f.one_hot(i, 3), ints)
    add("cast", lambda i: paddle.cast(i, "float32") / 2, ints)
    add("max_pool", lambda a: f.max_pool2d(a, 3, 2, 1), image)
    add("max_pool_ceil", lambda a: f.max_pool2d(a, 2, 2, ceil_mode=True), image)
    add("avg_pool", lambda a: f.avg_pool2d(a, 3, 2, 1), image)
    add("avg_pool_all", lambda a: f.avg_pool2d(a, 3, 2, 1, exclusive=False), image)
    add("adaptive", lambda a: f.adaptive_avg_pool2d(a, 1), image)
    add("adaptive_3", lambda a: f.adaptive_avg_pool2d(a, [2, 3]), numbers(1, 2, 4, 6))
    add("nearest", lambda a: f.interpolate(a, scale_factor=2, mode="nearest"), small)
    add("bilinear", lambda a: f.interpolate(a, scale_factor=2, mode="bilinear"), small)
    add("corners", lambda a: f.interpolate(a, scale_factor=2, mode="bilinear", align_corners=True), small)
    add("to_size", lambda a: f.interpolate(a, size=[6, 7], mode="bilinear"), small)
    layer("linear", lambda: nn.Linear(4, 5), x, open_batch=True)
    layer("embedding", lambda: nn.Embedding(5, 4), ints, open_batch=True)
    layer("conv", lambda: nn.Conv2D(4, 6, 3, 2, 1), image, open_batch=True)
    layer("conv_same", lambda: nn.Conv2D(4, 6, (3, 2), 2, padding="SAME"), image)
    layer("conv_pads", lambda: nn.Conv2D(4, 6, 3, padding=[1, 2, 0, 1]), image)
    layer("conv_groups", lambda: nn.Conv2D(4, 6, 3, groups=2, dilation=2), image)
    layer("conv_depthwise", lambda: nn.Conv2D(4, 4, 3, groups=4), image)
    layer("conv_3d", lambda: nn.Conv3D(2, 3, 2), numbers(1, 2, 3, 4, 5))
    layer("deconv", lambda: nn.Conv2DTranspose(4, 3, 3, 2, 1), small)
    layer("deconv_extra", lambda: nn.Conv2DTranspose(4, 4, 3, 2, 1, 1, groups=2), small)
    layer("batch_norm", lambda: nn.BatchNorm2D(4), image)
    layer("instance_norm", lambda: nn.InstanceNorm2D(4), image)
    layer("layer_norm", lambda: nn.LayerNorm([3, 4]), x)
    layer("group_norm", lambda: nn.GroupNorm(2, 4), image)
    layer("prelu", lambda: nn.PReLU(4), image)
    layer("dropout", lambda: nn.Dropout(0.3), x)
    return found


def _logic(paddle: Any, x: Any, y: Any) -> Any:
    return paddle.logical_or(paddle.logical_and(x > 0, y > 0), paddle.logical_not(x < y))


def models() -> list[Case]:
    """Small models of three kinds, of the layers that Paddle has for them."""
    paddle: Any = import_module("paddle")
    nn = paddle.nn
    block = import_module("paddle.vision.models.resnet").BottleneckBlock
    paddle.seed(0)
    residual = nn.Sequential(
        *(nn.Conv2D(3, 16, 3, 2, 1), nn.BatchNorm2D(16), nn.ReLU(), nn.MaxPool2D(3, 2, 1)),
        *(
            block(16, 4),
            block(16, 4),
            nn.AdaptiveAvgPool2D(1),
            nn.Flatten(),
            nn.Linear(16, 5),
            nn.Softmax(-1),
        ),
    )
    unit = import_module("paddle.vision.models.mobilenetv2").InvertedResidual
    mobile = nn.Sequential(
        *(nn.Conv2D(3, 8, 3, 2, 1), nn.ReLU6(), unit(8, 8, 1, 2), unit(8, 12, 2, 2)),
        *(nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(12, 5)),
    )
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu")
    transformer = nn.Sequential(nn.Embedding(11, 8), nn.TransformerEncoder(layer, 2), nn.Linear(8, 11))
    image, ids = numbers(1, 3, 16, 16), np.array([[1, 5, 2, 7, 0]], np.int64)
    return [
        Case("residual", residual, [image], open_batch=True),
        Case("mobile", mobile, [image]),
        Case("transformer", transformer, [ids], open_batch=True),
    ]


def statistics(layer: Any) -> None:
    """Give the statistics of norms other numbers than those of new layers."""
    rng = np.random.default_rng(0)
    for name, each in layer.named_buffers():
        if "_mean" in name or "_variance" in name:
            each.set_value(rng.uniform(0.5, 1.5, each.shape).astype(np.float32))


def as_layer(case: Case) -> Any:
    """The function of a case as a layer for inference."""
    paddle: Any = import_module("paddle")

    class Function(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.function = case.function

    class OfOne(Function):
        def forward(self, x: Any) -> Any:
            return self.function(x)

    class OfTwo(Function):
        def forward(self, x: Any, y: Any) -> Any:
            return self.function(x, y)

    made = OfOne() if len(case.inputs) == 1 else OfTwo()
    statistics(made)
    made.eval()
    return made


def expected(case: Case) -> list[Array]:
    """The results of Paddle."""
    paddle: Any = import_module("paddle")
    made = as_layer(case)(*map(paddle.to_tensor, case.inputs))
    return [np.asarray(each.numpy()) for each in (made if isinstance(made, tuple | list) else [made])]


def write(case: Case, folder: Path) -> Path:
    """Write a case as `NAME.json`, by version 2 as `NAME.pdmodel`; returns the file."""
    paddle: Any = import_module("paddle")
    specs = [
        paddle.static.InputSpec(
            [None if case.open_batch and axis == 0 else size for axis, size in enumerate(each.shape)],
            str(each.dtype),
            f"x{i}",
        )
        for i, each in enumerate(case.inputs)
    ]
    paddle.jit.save(as_layer(case), str(folder / case.name), input_spec=specs)
    program = folder / f"{case.name}.json"
    return program if program.exists() else without_stacks(folder / f"{case.name}.pdmodel")


def without_stacks(program: Path) -> Path:
    """Drop the places in Python files that each operator of a program of version 2 has."""
    description = import_module("paddle.base.proto.framework_pb2").ProgramDesc()
    description.ParseFromString(program.read_bytes())
    for op in (op for block in description.blocks for op in block.ops):
        kept = [each for each in op.attrs if each.name != "op_callstack"]
        del op.attrs[:]
        op.attrs.extend(kept)
    program.write_bytes(description.SerializeToString(deterministic=True))
    return program
