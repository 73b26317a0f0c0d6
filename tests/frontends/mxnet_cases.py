"""Functions of MXNet as symbols: for each some operands, with the results of MXNet itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stepwell.runtime.interface import Array


class Case(NamedTuple):
    """A function of MXNet's operators and its operands, or a block."""

    name: str
    function: Callable[..., Any]
    inputs: Sequence[Array]


def numbers(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> Array:
    """Numbers in a range, equal for equal arguments."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def cases() -> list[Case]:
    """All cases."""
    nn: Any = import_module("mxnet.gluon.nn")
    x, y, positive = numbers(2, 3, 4), numbers(2, 3, 4, seed=1), numbers(2, 3, 4, low=0.1)
    image, small = numbers(2, 4, 7, 9), numbers(1, 4, 3, 5, seed=3)
    ids = np.array([[2, 0, 1], [1, 2, 0]], np.float32)
    found: list[Case] = []

    def add(name: str, function: Callable[..., Any], *inputs: Array) -> None:
        found.append(Case(name, function, inputs))

    names = "abs ceil cos erf exp expm1 floor negative relu sigmoid sign sin softsign square tanh trunc"
    for name in names.split():
        add(name, lambda F, a, name=name: getattr(F, name)(a), x)
    for name in "log log10 log1p log2 reciprocal rsqrt sqrt".split():
        add(name, lambda F, a, name=name: getattr(F, name)(a), positive)
    for (
        name
    ) in "add sub mul greater greater_equal lesser lesser_equal equal not_equal maximum minimum".split():
        add(
            name,
            lambda F, a, b, name=name: getattr(F, f"broadcast_{name}")(a, b),
            x,
            numbers(2, 1, 4, seed=2),
        )
    add("div", lambda F, a, b: F.broadcast_div(a, b), x, positive)
    add("power", lambda F, a, b: F.broadcast_power(a, b), positive, y)
    add("elementwise", lambda F, a, b: (a + b) * (a - b) / (b * b + 1), x, y)
    add("numbers", lambda F, a: 2 / (a + 1.5) - (3 - a * 0.5) + a / 4 + (a - 1), positive)
    add("number_bounds", lambda F, a: F.maximum(F.minimum(a, 1.0), -0.5) + (a**2) + (a**3), x)
    add("number_compares", lambda F, a: (a > 0) + (a >= 1) * 2 + (a < 0.5) * 4 + (a <= -1) * 8 + (a == 0), x)
    for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign"):
        add(f"activation_{kind}", lambda F, a, kind=kind: F.Activation(a, act_type=kind), x)
    for kind in ("leaky", "elu", "selu", "gelu"):
        add(f"leaky_{kind}", lambda F, a, kind=kind: F.LeakyReLU(a, act_type=kind), x)
    add("clip", lambda F, a: F.clip(a, -0.5, 1.0), x)
    add("cast", lambda F, a: F.cast(F.cast(a, "int32"), "float32"), x)
    add("add_n", lambda F, a, b: F.add_n(a, b, a), x, y)
    add("where", lambda F, a, b: F.where(a > 0, a, b), x, y)
    add("div_sqrt_dim", lambda F, a: F.contrib.div_sqrt_dim(a), x)
    add("like", lambda F, a: F.zeros_like(a) + F.ones_like(a) * a, x)
    add("constants", lambda F, a: a * F.ones((2, 3)) + F.zeros((2, 3)), numbers(2, 3))
    add("arange", lambda F, a: F.broadcast_add(a, F.reshape(F.arange(4), shape=(1, 1, 4))), x)
    for name in ("sum", "mean", "max", "min", "prod"):
        add(name, lambda F, a, name=name: getattr(F, name)(a, axis=1), x)
        add(f"{name}_kept", lambda F, a, name=name: getattr(F, name)(a, axis=(0, 2), keepdims=True), x)
    add("sum_all", lambda F, a: F.sum(a), x)
    add("mean_others", lambda F, a: F.mean(a, axis=1, exclude=True), x)
    add("argmax", lambda F, a: F.argmax(a, axis=1), x)
    add("argmin", lambda F, a: F.argmin(a, axis=2, keepdims=True), x)
    add("topk", lambda F, a: F.topk(a, k=2, ret_typ="value"), x)
    add("topk_both", lambda F, a: F.concat(*F.topk(a, k=2, axis=1, ret_typ="both"), dim=1), x)
    add("topk_indices", lambda F, a: F.topk(a, k=2, is_ascend=True), x)
    add("softmax", lambda F, a: F.softmax(a, axis=1), x)
    add("log_softmax", lambda F, a: F.log_softmax(a), x)
    add("batch_dot", lambda F, a, b: F.batch_dot(a, b, transpose_b=True), x, y)
    add("dot", lambda F, a, b: F.dot(a, F.transpose(b, axes=(2, 1, 0))), x, y)
    add("dot_turned", lambda F, a, b: F.dot(a, b, transpose_a=True), numbers(3, 2), numbers(3, 4))
    add("reshape", lambda F, a: F.reshape(a, shape=(0, -1)), x)
    add("reshape_codes", lambda F, a: F.reshape(a, shape=(-3, -4, 2, -1)), x)
    add("reshape_rest", lambda F, a: F.reshape(a, shape=(1, 2, -2)), numbers(2, 3, 4)[:, :1])
    add("flatten", lambda F, a: F.flatten(a), image)
    add("squeeze", lambda F, a: F.squeeze(F.expand_dims(a, axis=1), axis=1), x)
    add(
        "transpose",
        lambda F, a: F.transpose(a, axes=(2, 0, 1)) + F.transpose(F.transpose(a, axes=(1, 0, 2))) * 0,
        numbers(3, 3, 3),
    )
    add("swapaxes", lambda F, a: F.swapaxes(a, 1, 2), x)
    add("concat", lambda F, a, b: F.concat(a, b, dim=1), x, y)
    add("stack", lambda F, a, b: F.stack(a, b, axis=1), x, y)
    add("split", lambda F, a: F.split(a, num_outputs=2, axis=2)[1], x)
    add("split_squeeze", lambda F, a: F.split(a, num_outputs=3, axis=1, squeeze_axis=True)[2], x)
    add("tile", lambda F, a: F.tile(a, (1, 2, 3)), x)
    add("repeat", lambda F, a: F.repeat(a, 2, 1), x)
    add("reverse", lambda F, a: F.reverse(a, axis=(1, 2)), x)
    add("broadcast_axis", lambda F, a: F.broadcast_axis(F.expand_dims(a, 1), axis=1, size=2), x)
    width = (0, 0, 0, 0, 1, 0, 2, 1)
    add("pad", lambda F, a: F.pad(a, mode="constant", pad_width=width, constant_value=3), image)
    add("pad_edge", lambda F, a: F.pad(a, mode="edge", pad_width=width), image)
    add("pad_reflect", lambda F, a: F.pad(a, mode="reflect", pad_width=width), image)
    add("slice", lambda F, a: F.slice(a, begin=(0, 1), end=(None, 3)), x)
    add("slice_step", lambda F, a: F.slice(a, begin=(None, None, 3), end=(None, None, 0), step=(1, 1, -1)), x)
    add("slice_axis", lambda F, a: F.slice_axis(a, axis=2, begin=1, end=None), x)
    add("take", lambda F, a, i: F.take(a, F.slice_axis(i, axis=0, begin=0, end=1), axis=1), x, ids)
    add("one_hot", lambda F, i: F.one_hot(i, 3, on_value=2), ids)
    threes: Any = {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}
    twos: Any = {"kernel": (2, 2), "stride": (2, 2), "pooling_convention": "full"}
    add("max_pool", lambda F, a: F.Pooling(a, **threes), image)
    add("max_pool_full", lambda F, a: F.Pooling(a, **twos), image)
    add("avg_pool", lambda F, a: F.Pooling(a, pool_type="avg", **threes), image)
    add("global_pool", lambda F, a: F.Pooling(a, global_pool=True, kernel=(1, 1), pool_type="avg"), image)
    add("upsample", lambda F, a: F.UpSampling(a, scale=2, sample_type="nearest"), small)
    add("l2", lambda F, a: F.L2Normalization(a), x)
    add("lrn", lambda F, a: F.LRN(a, nsize=3), image)
    for name, block, value in (
        ("dense", nn.Dense(5), image),
        ("dense_rows", nn.Dense(5, flatten=False, use_bias=False), x),
        ("embedding", nn.Embedding(5, 4), ids),
        ("conv", nn.Conv2D(6, 3, 2, 1), image),
        ("conv_groups", nn.Conv2D(6, 3, groups=2, dilation=2, use_bias=False), image),
        ("conv_1d", nn.Conv1D(5, 2, 2), x),
        ("deconv", nn.Conv2DTranspose(4, 3, 2, 1, 1), small),
        ("batch_norm", nn.BatchNorm(), image),
        ("batch_norm_fixed", nn.BatchNorm(scale=False), image),
        ("instance_norm", nn.InstanceNorm(), image),
        ("layer_norm", nn.LayerNorm(), x),
        ("prelu", nn.PReLU(), image),
        ("dropout", nn.Dropout(0.3), x),
    ):
        add(name, block, value)
    return found


def models() -> list[Case]:
    """Small models of three kinds, of the layers that MXNet has for them."""
    nn: Any = import_module("mxnet.gluon.nn")
    zoo_residual = import_module("mxnet.gluon.model_zoo.vision.resnet")
    zoo_mobile = import_module("mxnet.gluon.model_zoo.vision.mobilenet")
    residual = nn.HybridSequential()
    residual.add(nn.Conv2D(16, 3, 2, 1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(3, 2, 1))
    residual.add(zoo_residual.BottleneckV1(16, 1, False, 16), zoo_residual.BottleneckV1(24, 2, True, 16))
    residual.add(nn.GlobalAvgPool2D(), nn.Dense(5))
    mobile = nn.HybridSequential()
    mobile.add(nn.Conv2D(8, 3, 2, 1), zoo_mobile.RELU6(), zoo_mobile.LinearBottleneck(8, 8, 2, 1))
    mobile.add(zoo_mobile.LinearBottleneck(8, 12, 2, 2), nn.GlobalAvgPool2D(), nn.Dropout(0.2), nn.Dense(5))
    image, ids = numbers(1, 3, 16, 16), np.array([[1, 5, 2, 7, 0]], np.float32)
    return [
        Case("residual", residual, [image]),
        Case("mobile", mobile, [image]),
        Case("transformer", transformer(), [ids]),
    ]


def transformer() -> Any:
    """Two layers of attention over numbers of words."""
    nn, gluon = import_module("mxnet.gluon.nn"), import_module("mxnet.gluon")

    class Layer(gluon.HybridBlock):
        def __init__(self, width: int, heads: int):
            super().__init__()
            self.heads = heads
            self.first, self.second = nn.LayerNorm(), nn.LayerNorm()
            self.q, self.k, self.v, self.out = (nn.Dense(width, flatten=False) for _ in range(4))
            self.up, self.down = nn.Dense(2 * width, flatten=False), nn.Dense(width, flatten=False)

        def split(self, F: Any, x: Any) -> Any:
            parts = F.transpose(F.reshape(x, shape=(0, 0, self.heads, -1)), axes=(0, 2, 1, 3))
            return F.reshape(parts, shape=(-3, 0, 0))

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            y = self.first(x)
            q, k, v = (self.split(F, each(y)) for each in (self.q, self.k, self.v))
            scores = F.softmax(F.batch_dot(F.contrib.div_sqrt_dim(q), k, transpose_b=True), axis=-1)
            joined = F.reshape(F.batch_dot(scores, v), shape=(-4, -1, self.heads, 0, 0))
            x = x + self.out(F.reshape(F.transpose(joined, axes=(0, 2, 1, 3)), shape=(0, 0, -3)))
            return x + self.down(F.LeakyReLU(self.up(self.second(x)), act_type="gelu"))

    made = nn.HybridSequential()
    made.add(nn.Embedding(11, 8), Layer(8, 2), Layer(8, 2), nn.Dense(11, flatten=False))
    return made


def written(case: Case, folder: Path) -> tuple[Path, list[Array]]:
    """Write a case as a symbol with parameters; returns the symbol's file, and the results of MXNet."""
    mx: Any = import_module("mxnet")
    block: Any = case.function
    if not isinstance(block, mx.gluon.HybridBlock):
        block = _as_block(mx, case.function)
    mx.random.seed(0)
    block.initialize(mx.init.Uniform(0.5))
    block.hybridize()
    tensors = [mx.nd.array(each) for each in case.inputs]
    block(*tensors)
    rng = np.random.default_rng(0)
    for name, parameter in sorted(block.collect_params().items()):
        if name.endswith(("gamma", "beta", "running_mean", "running_var")):
            parameter.set_data(mx.nd.array(rng.uniform(0.5, 1.5, parameter.shape)))
    made = block(*tensors)
    block.export(str(folder / case.name))
    return folder / f"{case.name}-symbol.json", [np.asarray(made.asnumpy())]


def _as_block(mx: Any, function: Callable[..., Any]) -> Any:
    class OfOne(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return function(F, x)

    class OfTwo(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, y: Any) -> Any:
            return function(F, x, y)

    return (OfOne if function.__code__.co_argcount - len(function.__defaults__ or ()) == 2 else OfTwo)()
