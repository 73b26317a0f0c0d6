"""Functions of torch as ML programs of Core ML: for each some operands, with the results of torch itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stepwell.runtime.interface import Array


class Case(NamedTuple):
    """A function of tensors, and its operands."""

    name: str
    function: Callable[..., Any]
    inputs: Sequence[Array]
    open_batch: bool = False
    half: bool = False
    """Whether the program computes in 16 bits."""
    target: str = "iOS16"
    """The set of operations."""


def numbers(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> Array:
    """Numbers in a range, equal for equal arguments."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def _of_layer(make: Callable[[Any], Any], *inputs: Array, **options: Any) -> Any:
    """A layer of torch with random weights as a case without a name."""
    torch: Any = import_module("torch")
    torch.manual_seed(0)
    layer = make(torch.nn).eval()
    for each in layer.buffers():
        if each.dtype.is_floating_point:
            each.data += torch.rand_like(each) * 0.5
    return layer, inputs, options


def cases() -> list[Case]:
    """All cases."""
    torch: Any = import_module("torch")
    f: Any = torch.nn.functional
    x, y, positive = numbers(2, 3, 4), numbers(2, 3, 4, seed=1), numbers(2, 3, 4, low=0.1)
    image, small = numbers(2, 4, 7, 9), numbers(1, 4, 3, 5, seed=3)
    unit, ints = numbers(2, 3, 4, low=-0.9, high=0.9), np.array([[2, 0, 1], [1, 2, 0]], np.int32)
    found: list[Case] = []

    def add(name: str, function: Callable[..., Any], *inputs: Array, **options: Any) -> None:
        found.append(Case(name, function, inputs, **options))

    for name in "abs atan ceil cos cosh erf exp floor relu round sigmoid sign sin sinh square tanh".split():
        add(name, getattr(torch, name), x)
    for name in ("acos", "asin", "atanh"):
        add(name, getattr(torch, name), unit)
    add("tan", torch.tan, unit)
    for name in ("log", "rsqrt", "sqrt", "exp2"):
        add(name, getattr(torch, name), positive)
    for name in ("relu6", "silu", "softplus", "softsign", "elu", "leaky_relu", "gelu", "hardswish"):
        add(name, getattr(f, name), x)
    add("gelu_tanh", lambda a: f.gelu(a, approximate="tanh"), x)
    add("hardsigmoid", f.hardsigmoid, x)
    add("clip", lambda a: torch.clamp(a, -0.5, 1.0), x)
    add("threshold", lambda a: f.threshold(a, 0.5, 0.0), x)
    for name in ("add", "sub", "mul", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"):
        add(name, lambda a, b, name=name: 1.0 * getattr(torch, name)(a, b), x, y)
    add("div", torch.div, x, positive)
    add("floor_div", lambda a, b: torch.div(a, b, rounding_mode="floor"), x, positive)
    add("pow", torch.pow, positive, y)
    add("broadcast", lambda a, b: a + b, x, numbers(3, 1))
    add("remainder", torch.remainder, x, positive)
    add("where", lambda a, b: torch.where(a > 0, a, b), x, y)
    both = torch.logical_and
    add("logic", lambda a, b: 1.0 * torch.logical_or(both(a > 0, b > 0), torch.logical_not(a < b)), x, y)
    for name in ("sum", "mean", "amax", "amin"):
        add(name, lambda a, name=name: getattr(torch, name)(a, (0, 2)), x)
        add(f"{name}_kept", lambda a, name=name: getattr(torch, name)(a, (1,), keepdim=True), x)
    add("logsumexp", lambda a: torch.logsumexp(a, 1), x)
    add("norm", lambda a: torch.norm(a, 2, 1), x)
    add("norm1", lambda a: torch.norm(a, 1, 1), x)
    add("argmax", lambda a: torch.argmax(a, 1).to(torch.int32), x)
    add("argmin", lambda a: torch.argmin(a, 2).to(torch.int32), x)
    add("cumsum", lambda a: torch.cumsum(a, 1), x)
    add("topk", lambda a: torch.topk(a, 2, 2)[0], x)
    add("topk_indices", lambda a: torch.topk(a, 2, 2)[1].to(torch.int32), x)
    add("argsort", lambda a: torch.argsort(a, 2).to(torch.int32), x)
    add("var", lambda a: torch.var(a, 2), x)
    add("softmax", lambda a: torch.softmax(a, 1), x)
    add("log_softmax", lambda a: torch.log_softmax(a, -1), x)
    add("matmul", torch.matmul, numbers(2, 3, 4), numbers(2, 4, 5))
    add(
        "matmul_turned",
        lambda a, b: a.transpose(1, 2) @ b.transpose(1, 2),
        numbers(2, 4, 3),
        numbers(2, 5, 4),
    )
    add(
        "einsum", lambda a, b: torch.einsum("bnqd,bnkd->bnqk", a, b), numbers(2, 2, 3, 4), numbers(2, 2, 5, 4)
    )
    add("attention", f.scaled_dot_product_attention, *(numbers(1, 2, 5, 4, seed=s) for s in range(3)))
    add("reshape", lambda a: a.reshape(a.shape[0], -1), x, open_batch=True)
    add("flatten", lambda a: torch.flatten(a, 1), image)
    add("squeeze", lambda a: a.unsqueeze(1).squeeze(1) + a, x)
    add("transpose", lambda a: a.permute(2, 0, 1), x)
    add("cat", lambda a, b: torch.cat([a, b], 1), x, y)
    add("stack", lambda a, b: torch.stack([a, b], 1), x, y)
    add("split", lambda a: torch.split(a, [1, 3], 2)[1] * 2, x)
    add("chunk", lambda a: torch.chunk(a, 2, 2)[0] + torch.chunk(a, 2, 2)[1], x)
    add("slice", lambda a: a[:, 1:, ::2], x)
    add("select", lambda a: a[:, -1], x)
    add("slice_open", lambda a: a[:, :2] * 2, x, open_batch=True)
    add("pad", lambda a: f.pad(a, (1, 2, 0, 1), value=1.5), image)
    add("pad_reflect", lambda a: f.pad(a, (1, 2, 2, 1), mode="reflect"), image)
    add("pad_replicate", lambda a: f.pad(a, (1, 2, 2, 1), mode="replicate"), image)
    add("tile", lambda a: a.repeat(1, 2, 3), x)
    add("flip", lambda a: torch.flip(a, (1, 2)), x)
    add("pixel_shuffle", lambda a: f.pixel_shuffle(a, 2), image)
    add("pixel_unshuffle", lambda a: f.pixel_unshuffle(a, 2), numbers(1, 3, 4, 6))
    add("full_like", lambda a: torch.full_like(a, 2.5) + a, x)
    add("tril", torch.tril, x)
    add("triu", lambda a: torch.triu(a), x)
    add("index_select", lambda a: torch.index_select(a, 1, torch.tensor([2, 0])), x)
    add("gather", lambda a, i: torch.gather(a, 1, i.long()), numbers(2, 3), ints)
    add("embedding", lambda i: f.embedding(i.long(), torch.linspace(0, 1, 20).reshape(5, 4)), ints)
    add("scatter", lambda a, i: a.scatter(1, i.long(), 7.0), numbers(2, 3), ints)
    add("index_put", lambda a: torch.index_put(a, (torch.tensor([0, 1]),), torch.ones(2, 3, 4)), x)
    add("one_hot", lambda i: f.one_hot(i.long(), 3).to(torch.int32), ints)
    add("max_pool", lambda a: f.max_pool2d(a, 3, 2, 1), image)
    add("max_pool_ceil", lambda a: f.max_pool2d(a, 2, 2, ceil_mode=True), image)
    add("avg_pool", lambda a: f.avg_pool2d(a, 3, 2, 1), image)
    add("avg_pool_inside", lambda a: f.avg_pool2d(a, 3, 2, 1, count_include_pad=False), image)
    add("max_pool_1d", lambda a: f.max_pool1d(a, 2, 2), x)
    add("adaptive", lambda a: f.adaptive_avg_pool2d(a, 1), image)
    add("nearest", lambda a: f.interpolate(a, scale_factor=2, mode="nearest"), small)
    add("bilinear", lambda a: f.interpolate(a, scale_factor=2, mode="bilinear"), small)
    add("corners", lambda a: f.interpolate(a, scale_factor=2, mode="bilinear", align_corners=True), small)
    add("to_size", lambda a: f.interpolate(a, size=(6, 7), mode="bilinear", align_corners=True), small)
    for target in ("iOS15", "iOS17", "iOS18"):
        add(f"newer_{target}", lambda a: torch.relu(a[:, :2]).mean(-1, keepdim=True), x, target=target)
    rows = [numbers(1, 2, 5, 4, seed=s) for s in range(3)]
    add("attention_18", f.scaled_dot_product_attention, *rows, target="iOS18")
    add("half", lambda a: torch.softmax(a * 2, -1), x, half=True)
    layers: dict[str, Any] = {
        "linear": _of_layer(lambda nn: nn.Linear(4, 5), x, open_batch=True),
        "conv": _of_layer(lambda nn: nn.Conv2d(4, 6, 3, 2, 1, dilation=1), image, open_batch=True),
        "conv_same": _of_layer(lambda nn: nn.Conv2d(4, 6, (3, 2), padding="same"), image),
        "conv_groups": _of_layer(lambda nn: nn.Conv2d(4, 6, 3, groups=2, dilation=2), image),
        "conv_depthwise": _of_layer(lambda nn: nn.Conv2d(4, 4, 3, groups=4, bias=False), image),
        "conv_1d": _of_layer(lambda nn: nn.Conv1d(3, 5, 2, 2), x),
        "conv_3d": _of_layer(lambda nn: nn.Conv3d(2, 3, 2), numbers(1, 2, 3, 4, 5)),
        "deconv": _of_layer(lambda nn: nn.ConvTranspose2d(4, 3, 3, 2, 1), small),
        "deconv_extra": _of_layer(lambda nn: nn.ConvTranspose2d(4, 4, 3, 2, 1, 1, groups=2), small),
        "batch_norm": _of_layer(lambda nn: nn.BatchNorm2d(4), image),
        "batch_norm_1d": _of_layer(lambda nn: nn.BatchNorm1d(3), x),
        "instance_norm": _of_layer(lambda nn: nn.InstanceNorm2d(4, affine=True), image),
        "layer_norm": _of_layer(lambda nn: nn.LayerNorm([3, 4]), x),
        "group_norm": _of_layer(lambda nn: nn.GroupNorm(2, 4), image),
        "prelu": _of_layer(lambda nn: nn.PReLU(4), image),
        "lstm": _of_layer(lambda nn: _First(nn.LSTM(4, 3)), x),
        "lstm_both": _of_layer(lambda nn: _First(nn.LSTM(4, 3, bidirectional=True)), x),
    }
    found += [Case(name, layer, inputs, **options) for name, (layer, inputs, options) in layers.items()]
    return found


def _First(layer: Any) -> Any:
    """A module with the first result of a recurrent layer."""
    torch: Any = import_module("torch")

    class First(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            return self.layer(x)[0]

    return First()


def expected(case: Case) -> list[Array]:
    """The results of torch."""
    torch: Any = import_module("torch")
    with torch.no_grad():
        made = case.function(*(torch.from_numpy(each.copy()) for each in case.inputs))
    results = made if isinstance(made, tuple | list) else [made]
    return [np.asarray(each.detach().numpy()) for each in results]


def write(case: Case, path: Path) -> None:
    """Write a case as a package."""
    converted(case).save(str(path))


def converted(case: Case) -> Any:
    """A case as a model of coremltools."""
    torch, ct = import_module("torch"), import_module("coremltools")
    module: Any = case.function
    if not isinstance(module, torch.nn.Module):
        module = _as_module(case.function)
    tensors = tuple(torch.from_numpy(each.copy()) for each in case.inputs)
    with torch.no_grad():
        traced = torch.jit.trace(module.eval(), tensors, check_trace=False)
    inputs = [
        ct.TensorType(name=f"x{i}", shape=_shape(ct, each, case.open_batch), dtype=each.dtype.type)
        for i, each in enumerate(case.inputs)
    ]
    precision = ct.precision.FLOAT16 if case.half else ct.precision.FLOAT32
    return ct.convert(
        traced,
        inputs=inputs,
        convert_to="mlprogram",
        compute_precision=precision,
        minimum_deployment_target=getattr(ct.target, case.target),
    )


def _as_module(function: Callable[..., Any]) -> Any:
    torch: Any = import_module("torch")

    class Function(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return function(*args)

    return Function()


def _shape(ct: Any, array: Array, is_open: bool) -> Any:
    return ct.Shape([ct.RangeDim(1, 8), *array.shape[1:]]) if is_open else array.shape
