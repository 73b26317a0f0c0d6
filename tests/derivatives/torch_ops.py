"""Graph ops in torch, for operands as tensors; those that torch has in the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.components import needs

torch: Any = needs("torch")
F: Any = torch.nn.functional
Meaning = Callable[..., Any]


def _dims(op: Any, name: str) -> list[int]:
    """A property with dimensions as numbers."""
    return [dim.value for dim in op.properties[name].get()]


def _ints(op: Any, name: str) -> list[int]:
    return list(op.properties[name].get_values())


def _pads(op: Any) -> tuple[list[int], list[int]]:
    pads = _ints(op, "pads")
    half = len(pads) // 2
    return pads[:half], pads[half:]


def _padded(op: Any, x: Any, value: float = 0.0) -> Any:
    """x with the pads of a window around its spatial axes."""
    begins, ends = _pads(op)
    flat = [pad for pair in zip(reversed(begins), reversed(ends), strict=True) for pad in pair]
    return F.pad(x, flat, value=value)


def _reduce(op: Any, x: Any) -> Any:
    axes, keep = _ints(op, "axes"), bool(op.keep_dims)
    match op.kind.data:
        case "sum":
            return x.sum(axes, keepdim=keep)
        case "mean":
            return x.mean(axes, keepdim=keep)
        case "sum_square":
            return (x * x).sum(axes, keepdim=keep)
        case "l1":
            return x.abs().sum(axes, keepdim=keep)
        case "l2":
            return torch.linalg.vector_norm(x, dim=axes, keepdim=keep)
        case "log_sum_exp":
            return torch.logsumexp(x, axes, keepdim=keep)
        case "max":
            return x.amax(axes, keepdim=keep)
        case "min":
            return x.amin(axes, keepdim=keep)
        case _:
            for axis in reversed(axes):
                x = x.prod(axis, keepdim=keep)
            return x


def _scan(op: Any, x: Any) -> Any:
    axis = op.axis.value.data
    if bool(op.reverse):
        x = x.flip(axis)
    kind = op.kind.data
    if bool(op.exclusive):
        first = torch.full_like(x.narrow(axis, 0, 1), 0.0 if kind == "sum" else 1.0)
        x = torch.cat([first, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
    found = {
        "sum": lambda: x.cumsum(axis),
        "prod": lambda: x.cumprod(axis),
        "max": lambda: x.cummax(axis).values,
        "min": lambda: x.cummin(axis).values,
    }[kind]()
    return found.flip(axis) if bool(op.reverse) else found


def _matmul(op: Any, a: Any, b: Any) -> Any:
    a = a.mT if bool(op.transpose_a) else a
    return torch.matmul(a, b.mT if bool(op.transpose_b) else b)


def _conv(op: Any, x: Any, w: Any) -> Any:
    run = {1: F.conv1d, 2: F.conv2d}[w.dim() - 2]
    steps = {"stride": _ints(op, "strides"), "dilation": _ints(op, "dilations")}
    return run(_padded(op, x), w, groups=op.groups.value.data, **steps)


def _conv_transpose(op: Any, x: Any, w: Any) -> Any:
    run = {1: F.conv_transpose1d, 2: F.conv_transpose2d}[w.dim() - 2]
    steps = {"stride": _ints(op, "strides"), "dilation": _ints(op, "dilations")}
    whole = run(x, w, groups=op.groups.value.data, **steps)
    begins, ends = _pads(op)
    more = _ints(op, "output_padding")
    cuts = [(-b, e - p) for b, p, e in zip(begins, ends, more, strict=True)]
    return F.pad(whole, [cut for pair in reversed(cuts) for cut in pair])


def _pool(op: Any, x: Any) -> Any:
    kernel, strides = _ints(op, "kernel"), _ints(op, "strides")
    run = {1: F.max_pool1d, 2: F.max_pool2d}[len(kernel)]
    return run(_padded(op, x, -torch.inf), kernel, strides, ceil_mode=bool(op.ceil))


def _attention(op: Any, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    scores = q @ k.mT * op.scale.value.data
    scores = scores if mask is None else scores + mask
    p = torch.softmax(scores, -1)
    if bool(op.zero_masked):
        p = torch.where(scores.amax(-1, keepdim=True) == -torch.inf, torch.zeros_like(p), p)
    return p @ v


def _scatter(op: Any, x: Any, indices: Any, updates: Any) -> Any:
    axis, at = op.axis.value.data, indices % x.shape[op.axis.value.data]
    if op.combine.data == "none":
        return x.scatter(axis, at, updates)
    kind = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[op.combine.data]
    return x.scatter_reduce(axis, at, updates, kind)


def _gather(op: Any, x: Any, indices: Any) -> Any:
    axis = op.axis.value.data
    found = x.index_select(axis, (indices % x.shape[axis]).flatten())
    return found.reshape([*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]])


def _pad(op: Any, x: Any) -> Any:
    pads = _dims(op, "pads")
    half = len(pads) // 2
    flat = [pad for axis in reversed(range(half)) for pad in (pads[axis], pads[half + axis])]
    return F.pad(x, flat)


def _resize(op: Any, x: Any) -> Any:
    return F.interpolate(x, tuple(_dims(op, "shape")[2:]), mode="bilinear", align_corners=False)


MEANINGS: dict[str, Meaning] = {
    **{
        f"graph.{name}": (lambda op, x, name=name: getattr(torch, name)(x))
        for name in (
            *("neg", "abs", "exp", "expm1", "sin", "cos", "atan", "sinh", "cosh", "tanh", "asinh", "erf"),
            *("relu", "sigmoid", "log", "log1p", "sqrt", "rsqrt", "asin", "acos", "atanh", "tan", "acosh"),
        )
    },
    "graph.leaky_relu": lambda op, x: F.leaky_relu(x, op.alpha.value.data),
    "graph.elu": lambda op, x: F.elu(x, op.alpha.value.data),
    "graph.softplus": lambda op, x: F.softplus(x),
    "graph.silu": lambda op, x: F.silu(x),
    "graph.gelu": lambda op, x: F.gelu(x, approximate=op.approximate.data),
    "graph.clip": lambda op, x, *b: torch.clamp(x, *b) if len(b) == 2 else torch.clamp(x, max=b[0]),
    "graph.scan": _scan,
    "graph.add": lambda op, a, b: a + b,
    "graph.subtract": lambda op, a, b: a - b,
    "graph.multiply": lambda op, a, b: a * b,
    "graph.divide": lambda op, a, b: a / b,
    "graph.maximum": lambda op, a, b: torch.maximum(a, b),
    "graph.minimum": lambda op, a, b: torch.minimum(a, b),
    "graph.power": lambda op, a, b: torch.pow(a, b),
    "graph.remainder": lambda op, a, b: (torch.remainder if "fl" in op.rounding.data else torch.fmod)(a, b),
    "graph.where": lambda op, c, a, b: torch.where(c, a, b),
    "graph.reduce": _reduce,
    "graph.softmax": lambda op, x: torch.softmax(x, op.axis.value.data),
    "graph.log_softmax": lambda op, x: torch.log_softmax(x, op.axis.value.data),
    "graph.lp_norm": lambda op, x: F.normalize(x, op.p.value.data, op.axis.value.data, eps=0.0),
    "graph.top_k": lambda op, x: (
        torch.topk(x, _dims(op, "k")[0], op.axis.value.data, bool(op.largest)).values
    ),
    "graph.transpose": lambda op, x: x.permute(_ints(op, "perm")),
    "graph.reshape": lambda op, x: x.reshape(_dims(op, "shape")),
    "graph.broadcast_to": lambda op, x: x.expand(_dims(op, "shape")),
    "graph.reverse": lambda op, x: x.flip(_ints(op, "axes")),
    "graph.concat": lambda op, *x: torch.cat(x, op.axis.value.data),
    "graph.tile": lambda op, x: x.tile(_dims(op, "repeats")),
    "graph.pad": _pad,
    "graph.gather": _gather,
    "graph.gather_elements": lambda op, x, i: x.gather(1, i % x.shape[1]),
    "graph.scatter_elements": _scatter,
    "graph.bias_add": lambda op, x, b: x + b[:, None],
    "graph.matmul": _matmul,
    "graph.einsum": lambda op, *x: torch.einsum(op.equation.data, *x),
    "graph.attention": _attention,
    "graph.conv": _conv,
    "graph.conv_transpose": _conv_transpose,
    "graph.pool": _pool,
    "graph.resize": _resize,
    "graph.layer_norm": lambda op, x, s, b: F.layer_norm(x, x.shape[1:], s, b, op.eps.value.data),
}
"""Maps the name of an op to its meaning, from the op and its operands; the first result of several."""

OTHERS = (
    *("graph.pool avg", "graph.pool lp", "graph.pool max ceil", "graph.gather in batches"),
    *("graph.gather clipped", "graph.clip lo above hi", "graph.scatter_elements none"),
    *("graph.pad with a value", "graph.pad by data", "graph.pad reflect", "graph.pad edge", "graph.pad wrap"),
    *("graph.resize repeated", "graph.resize nearest", "graph.resize linear down", "graph.resize cubic"),
    "graph.attention masked",  # NaN in torch where a query sees no key
    *("graph.resize by scales", "graph.resize cropped", "graph.einsum ab,ab->a", "graph.einsum iij->ji"),
)
"""Cases whose meaning is another one in torch, by how their names begin."""
