"""Functions of JAX with examples of their arguments: elementwise, shapes, reductions, indexing, layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.support.components import needs

jax = needs("jax")
jnp, lax = jax.numpy, jax.lax
Array = Any


class Case(NamedTuple):
    """A function and its arguments."""

    name: str
    function: Callable[..., Any]
    arguments: Sequence[Array]


def f(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> Array:
    """Floats."""
    return np.random.default_rng(seed + sum(shape)).uniform(low, high, shape).astype(np.float32)


def n(*shape: int, low: int = -9, high: int = 9, dtype: str = "int32") -> Array:
    """Whole numbers."""
    return np.random.default_rng(sum(shape)).integers(low, high + 1, shape).astype(dtype)


def t(*shape: int) -> Array:
    """Truth values."""
    return n(*shape, low=0, high=1).astype(bool)


def cases() -> list[Case]:
    """All cases."""
    parts = (unary, binary, shapes, reductions, indexing, products, layers, integers, linear_algebra)
    return [Case(*each) for part in parts for each in part()]


Row = tuple[str, Callable[..., Any], Sequence[Array]]


def unary() -> Iterator[Row]:
    """Elementwise functions of one argument."""
    plain = "abs negative sign floor ceil round trunc exp exp2 expm1 sin cos tan tanh sinh cosh"
    plain += " arctan arcsinh square"
    for name in plain.split():
        yield name, getattr(jnp, name), [f(3, 4)]
    for name in "log log2 log10 log1p sqrt reciprocal cbrt".split():
        yield name, getattr(jnp, name), [f(3, 4, low=0.1)]
    for name in "arcsin arccos arctanh".split():
        yield name, getattr(jnp, name), [f(9, low=-0.9, high=0.9)]
    yield "arccosh", jnp.arccosh, [f(9, low=1.1, high=3.0)]
    for name in "isnan isinf isfinite".split():
        yield name, getattr(jnp, name), [np.array([1, np.nan, np.inf, -np.inf, 0], np.float32)]
    names = "relu relu6 sigmoid softplus silu gelu elu selu leaky_relu hard_tanh log_sigmoid hard_swish celu"
    for name in names.split():
        yield name, getattr(jax.nn, name), [f(3, 4)]
    yield "gelu_exact", lambda x: jax.nn.gelu(x, approximate=False), [f(3, 4)]
    yield "erf", jax.scipy.special.erf, [f(9)]
    yield "erfc", jax.scipy.special.erfc, [f(9)]
    yield "rsqrt", lax.rsqrt, [f(9, low=0.1)]
    yield "logistic", lax.logistic, [f(9)]
    yield "nan_to_num", jnp.nan_to_num, [np.array([1, np.nan, np.inf], np.float32)]
    yield "clip", lambda x: jnp.clip(x, -1, 0.5), [f(9)]
    yield "f16", lambda x: (x.astype(jnp.float16) * 2).astype(jnp.float32), [f(9)]
    yield "bf16", lambda x: (x.astype(jnp.bfloat16) * 2).astype(jnp.float32), [f(9)]
    yield "deg2rad", jnp.deg2rad, [f(4)]
    yield "sinc", jnp.sinc, [f(7, low=0.1)]
    yield "bitcast", lambda x: lax.bitcast_convert_type(x, jnp.int32), [f(5)]
    yield "round_away", lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), [f(9, low=-4.0, high=4.0)]


def binary() -> Iterator[Row]:
    """Elementwise functions of two arguments, with broadcasting."""
    names = "add subtract multiply maximum minimum fmax fmin hypot arctan2 logaddexp copysign"
    for name in names.split():
        yield name, getattr(jnp, name), [f(3, 4), f(4, seed=1)]
    for name in "divide mod fmod floor_divide remainder".split():
        yield name, getattr(jnp, name), [f(3, 4), f(4, low=0.5, seed=1)]
    yield "power", jnp.power, [f(9, low=0.1), f(9, seed=2)]
    yield "power_i", lambda x: x**3, [f(9)]
    for name in "equal not_equal less less_equal greater greater_equal".split():
        yield name, getattr(jnp, name), [n(3, 4, low=-2, high=2), n(4, low=-2, high=2)]
        yield f"{name}_f", getattr(jnp, name), [f(3, 4), f(4, seed=1)]
    for name in "logical_and logical_or logical_xor".split():
        yield name, getattr(jnp, name), [t(3, 4), t(4)]
    yield "logical_not", jnp.logical_not, [t(5)]
    yield "where", lambda c, x, y: jnp.where(c, x, y), [t(3, 4), f(3, 4), f(4)]
    yield "select_n", lambda c, x, y: lax.select(c, x, y), [t(6), f(6), f(6, seed=3)]
    yield "isclose", jnp.isclose, [f(5), f(5)]
    yield "heaviside", jnp.heaviside, [f(5), f(5, seed=2)]


def integers() -> Iterator[Row]:
    """Whole numbers and bits."""
    for name in "add subtract multiply maximum minimum bitwise_and bitwise_or bitwise_xor".split():
        yield f"i_{name}", getattr(jnp, name), [n(3, 4), n(4)]
    for name in "floor_divide mod fmod".split():
        yield f"i_{name}", getattr(jnp, name), [n(40), n(40, low=1, high=5)]
        yield f"i_{name}_negative", getattr(jnp, name), [n(40), n(40, low=-5, high=-1)]
    yield "i_shift", lambda x, y: (jnp.left_shift(x, y), jnp.right_shift(x, y)), [n(9), n(9, low=0, high=5)]
    yield "i_shift_logical", lax.shift_right_logical, [n(9), n(9, low=0, high=5)]
    yield "i_not", jnp.bitwise_not, [n(9)]
    yield "u8", lambda x: x + jnp.uint8(3), [n(9, low=0, high=200, dtype="uint8")]
    yield "i_sign", jnp.sign, [n(9)]
    yield "i_power", lambda x: x**3, [n(9)]
    yield "i_mean", jnp.mean, [n(9)]
    yield "threefry", lambda k: jax.random.uniform(k, (4,)), [np.array([1, 2], np.uint32)]
    yield "i_to_f", lambda x: x / 2, [n(9)]


def shapes() -> Iterator[Row]:
    """Views and copies."""
    yield "reshape", lambda x: x.reshape(2, -1), [f(4, 3)]
    yield "transpose", lambda x: jnp.transpose(x, (2, 0, 1)), [f(2, 3, 4)]
    yield "T", lambda x: x.T, [f(2, 3)]
    yield "swapaxes", lambda x: jnp.swapaxes(x, 0, 2), [f(2, 3, 4)]
    yield "moveaxis", lambda x: jnp.moveaxis(x, 0, -1), [f(2, 3, 4)]
    yield "squeeze", jnp.squeeze, [f(1, 3, 1)]
    yield "expand_dims", lambda x: x[:, None], [f(3)]
    yield "broadcast_to", lambda x: jnp.broadcast_to(x, (2, 3, 4)), [f(3, 1)]
    yield "concatenate", lambda x, y: jnp.concatenate([x, y], 1), [f(2, 3), f(2, 1)]
    yield "stack", lambda x, y: jnp.stack([x, y], 1), [f(2, 3), f(2, 3, seed=1)]
    yield "split", lambda x: jnp.split(x, 3, 1), [f(2, 6)]
    yield "tile", lambda x: jnp.tile(x, (2, 3)), [f(2, 3)]
    yield "repeat", lambda x: jnp.repeat(x, 3, 1), [f(2, 3)]
    yield "flip", lambda x: jnp.flip(x, 1), [f(2, 3)]
    yield "roll", lambda x: jnp.roll(x, 2, 1), [f(2, 5)]
    yield "rot90", jnp.rot90, [f(2, 3)]
    yield "ravel", jnp.ravel, [f(2, 3)]
    yield "slice", lambda x: x[1:3, ::2], [f(4, 5)]
    yield "slice_back", lambda x: x[::-1, 3:0:-1], [f(4, 5)]
    for mode in ("constant", "edge", "reflect", "wrap", "symmetric"):
        yield f"pad_{mode}", lambda x, mode=mode: jnp.pad(x, ((1, 2), (2, 1)), mode=mode), [f(4, 5)]
    yield "pad_interior", lambda x: lax.pad(x, 1.5, ((1, 0, 2), (-1, 1, 0))), [f(3, 4)]
    yield "tril", jnp.tril, [f(4, 4)]
    yield "triu", lambda x: jnp.triu(x, 1), [f(4, 4)]
    yield "diag", jnp.diag, [f(4)]
    yield "diagonal", jnp.diagonal, [f(4, 4)]
    yield "trace", jnp.trace, [f(4, 4)]
    yield "arange", lambda x: x + jnp.arange(4), [f(4)]
    yield "eye", lambda x: x @ jnp.eye(4), [f(3, 4)]
    yield "linspace", lambda x: x * jnp.linspace(0, 1, 4), [f(4)]
    yield "meshgrid", lambda x, y: jnp.meshgrid(x, y), [f(3), f(4)]
    yield "full", lambda x: x + jnp.full((3,), 2.0), [f(3)]
    yield "kron", jnp.kron, [f(2, 2), f(3, 2)]
    yield "outer", jnp.outer, [f(3), f(4)]


def reductions() -> Iterator[Row]:
    """Reductions, positions, orders."""
    names = "sum mean prod max min std var any all argmax argmin median ptp nansum nanmax"
    for name in names.split():
        yield name, getattr(jnp, name), [f(3, 5)]
        if name not in ("median", "ptp"):
            yield f"{name}_axis", lambda x, name=name: getattr(jnp, name)(x, axis=1), [f(3, 5)]
    for name in "sum max min any all".split():
        yield f"{name}_bool", getattr(jnp, name), [t(3, 5)]
    yield "count_nonzero", jnp.count_nonzero, [n(9, low=0, high=1)]
    yield "logsumexp", lambda x: jax.nn.logsumexp(x, axis=-1), [f(3, 5)]
    yield "softmax", jax.nn.softmax, [f(3, 5)]
    yield "log_softmax", jax.nn.log_softmax, [f(3, 5)]
    yield "standardize", jax.nn.standardize, [f(3, 5)]
    yield "norm", jnp.linalg.norm, [f(3, 5)]
    yield "cumsum", lambda x: jnp.cumsum(x, 1), [f(3, 5)]
    yield "cumprod", lambda x: jnp.cumprod(x, 0), [f(3, 5)]
    yield "cummax", lambda x: lax.cummax(x, 1), [f(3, 5)]
    yield "cumsum_back", lambda x: lax.cumsum(x, 1, reverse=True), [f(3, 5)]
    yield "sort", lambda x: jnp.sort(x, axis=0), [f(5, 3)]
    yield "sort_descending", lambda x: jnp.sort(x, descending=True), [f(5, 3)]
    yield "argsort", jnp.argsort, [f(5, 3)]
    yield "sort_i", jnp.sort, [n(9)]
    yield "sort_pairs", lambda k, v: lax.sort((k, v), num_keys=1), [n(9), f(9)]
    yield "top_k", lambda x: lax.top_k(x, 3), [f(4, 6)]
    yield "diff", jnp.diff, [f(9)]
    yield "average", lambda x, w: jnp.average(x, weights=w), [f(9), f(9, low=0.1)]
    yield "bincount", lambda x: jnp.bincount(x, length=5), [n(9, low=0, high=4)]
    yield "searchsorted", jnp.searchsorted, [np.arange(9, dtype=np.float32), f(4, low=0.0, high=9.0)]


def indexing() -> Iterator[Row]:
    """Gathers and scatters."""
    yield "take", lambda x, i: jnp.take(x, i, axis=0), [f(4, 3), n(5, low=0, high=3)]
    yield "take_1", lambda x, i: jnp.take(x, i, axis=1), [f(4, 3), n(2, 2, low=0, high=2)]
    yield "index", lambda x, i: x[i], [f(4, 3), n(5, low=-4, high=3)]
    yield "index_clip", lambda x, i: x.at[i].get(mode="clip"), [f(4, 3), n(5, low=0, high=9)]
    yield "index_fill", lambda x, i: x.at[i].get(mode="fill", fill_value=7), [f(4, 3), n(5, low=0, high=9)]
    yield "index_2", lambda x, i, j: x[i, j], [f(4, 3), n(5, low=0, high=3), n(5, low=0, high=2)]
    yield "index_mid", lambda x, i: x[:, i, :], [f(2, 4, 3), n(5, low=0, high=3)]
    yield "index_scalar", lambda x, i: x[i], [f(4, 3), np.int32(2)]
    yield "take_along_axis", lambda x, i: jnp.take_along_axis(x, i, 1), [f(4, 3), n(4, 2, low=0, high=2)]
    yield "set", lambda x, i, u: x.at[i].set(u), [f(5, 3), np.array([3, 0], np.int32), f(2, 3)]
    for name in "add multiply max min".split():
        function = lambda x, i, u, name=name: getattr(x.at[i], name)(u)  # noqa: E731
        yield f"at_{name}", function, [f(5, 3), n(4, low=-5, high=7), f(4, 3)]
    yield "at_2", lambda x, i, j, u: x.at[i, j].add(u), [f(5, 3), n(4, low=0), n(4, low=0, high=2), f(4)]
    yield "at_slice", lambda x, u: x.at[1:3].set(u), [f(5, 3), f(2, 3)]
    yield "at_column", lambda x, i, u: x.at[:, i].add(u), [f(5, 3), n(2, low=0, high=2), f(5, 2)]
    yield "dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 2)), [f(5, 4), np.int32(4)]
    yield "dynamic_index", lambda x, i: lax.dynamic_index_in_dim(x, i, 0), [f(5, 4), np.int32(2)]
    yield (
        "dynamic_update_slice",
        lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 1)),
        [f(5, 4), f(2, 2), np.int32(4)],
    )
    yield "segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 4), [f(6, 2), n(6, low=0, high=3)]
    yield "one_hot", lambda i: jax.nn.one_hot(i, 4), [n(5, low=0, high=3)]
    yield "vmap_index", jax.vmap(lambda x, i: x[i]), [f(4, 5), n(4, low=0, high=4)]
    yield (
        "vmap_dynamic",
        jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))),
        [f(4, 5), n(4, low=0, high=3)],
    )
    yield "embedding", lambda e, i: e[i].sum(1), [f(10, 4), n(2, 3, low=0, high=9)]


def products() -> Iterator[Row]:
    """Products, convolutions, pools."""
    yield "matmul", jnp.matmul, [f(3, 4), f(4, 5)]
    yield "matmul_batch", jnp.matmul, [f(2, 3, 4), f(2, 4, 5)]
    yield "matmul_broadcast", jnp.matmul, [f(2, 3, 4), f(4, 5)]
    yield "dot", jnp.dot, [f(4), f(4, seed=1)]
    yield "vdot", jnp.vdot, [f(2, 3), f(2, 3, seed=1)]
    yield "tensordot", lambda x, y: jnp.tensordot(x, y, ((1, 2), (0, 1))), [f(2, 3, 4), f(3, 4, 5)]
    for equation in ("ij,kj->ik", "bhqd,bhkd->bhqk", "ii->i", "ij->j", "abc,cd->abd", "bi,bj->bij"):
        shapes = {letter: size for size, letter in enumerate(sorted({*equation} - {*",->"}), 2)}
        operands = equation.partition("->")[0].split(",")
        arrays = [f(*(shapes[letter] for letter in each), seed=i) for i, each in enumerate(operands)]
        yield f"einsum {equation}", lambda *x, e=equation: jnp.einsum(e, *x), arrays
    image, filters = f(2, 3, 8, 9), f(4, 3, 3, 3)
    for title, options in (
        ("valid", dict(window_strides=(1, 1), padding="VALID")),
        ("same", dict(window_strides=(2, 2), padding="SAME")),
        ("dilated", dict(window_strides=(1, 1), padding="SAME", rhs_dilation=(2, 3))),
        ("transposed", dict(window_strides=(1, 1), padding=((2, 2), (1, 1)), lhs_dilation=(2, 2))),
        ("cropped", dict(window_strides=(1, 1), padding=((-1, 0), (1, -2)))),
    ):
        yield f"conv_{title}", lambda x, w, o=options: lax.conv_general_dilated(x, w, **o), [image, filters]
    numbers = ("NHWC", "HWIO", "NHWC")
    options = dict(window_strides=(1, 2), padding="SAME", dimension_numbers=numbers)
    function = lambda x, w: lax.conv_general_dilated(x, w, **options)  # noqa: E731
    yield "conv_nhwc", function, [f(2, 8, 9, 3), f(3, 3, 3, 4)]
    grouped = dict(window_strides=(1, 1), padding="SAME", feature_group_count=2)
    function = lambda x, w: lax.conv_general_dilated(x, w, **grouped)  # noqa: E731
    yield "conv_groups", function, [f(1, 4, 6, 6), f(6, 2, 3, 3)]
    yield "conv_1d", lambda x, w: jnp.convolve(x, w), [f(9), f(3)]
    pool = ((1, 1, 2, 3), (1, 1, 2, 2))
    yield "max_pool", lambda x: lax.reduce_window(x, -np.inf, lax.max, *pool, "SAME"), [f(1, 2, 7, 8)]
    yield "min_pool", lambda x: lax.reduce_window(x, np.inf, lax.min, *pool, "VALID"), [f(1, 2, 7, 8)]
    yield "sum_pool", lambda x: lax.reduce_window(x, 0.0, lax.add, *pool, "SAME"), [f(1, 2, 7, 8)]
    last = ((1, 2, 2, 1), (1, 2, 2, 1))
    yield "pool_nhwc", lambda x: lax.reduce_window(x, -np.inf, lax.max, *last, "VALID"), [f(1, 6, 6, 3)]
    yield "resize", lambda x: jax.image.resize(x, (6, 10), "linear"), [f(3, 5)]
    yield "resize_nearest", lambda x: jax.image.resize(x, (6, 10), "nearest"), [f(3, 5)]


def layers() -> Iterator[Row]:
    """Small networks, and control flow."""
    yield "mlp", _mlp, [f(3, 4), f(4, 8), f(8), f(8, 2)]
    yield "attention", _attention, [f(2, 5, 8), f(8, 24)]
    yield "layer_norm", _layer_norm, [f(3, 8), f(8), f(8, seed=1)]
    yield "cond", lambda x: lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x), [f(5)]
    yield "scan", lambda h, x: lax.scan(lambda c, a: (jnp.tanh(c + a), c.sum()), h, x), [f(4), f(3, 4)]
    yield "fori_loop", lambda x: lax.fori_loop(0, 3, lambda i, v: v * 2 + i, x), [f(4)]
    yield (
        "while_loop",
        lambda x: lax.while_loop(lambda v: v.sum() < 100, lambda v: v * 2 + 1, x),
        [f(4, low=0.1)],
    )
    yield (
        "switch",
        lambda i, x: lax.switch(i, [lambda v: v, lambda v: -v, lambda v: v * 3], x),
        [np.int32(2), f(4)],
    )
    yield "vmap", jax.vmap(lambda x, y: x @ y), [f(3, 4), f(3, 4, seed=2)]
    yield "grad", jax.grad(lambda x: (jnp.tanh(x) ** 2).sum()), [f(5)]


def _mlp(x: Any, a: Any, b: Any, c: Any) -> Any:
    return jax.nn.log_softmax(jax.nn.relu(x @ a + b) @ c)


def _attention(x: Any, w: Any) -> Any:
    q, k, v = jnp.split(x @ w, 3, axis=-1)
    scores = q @ jnp.swapaxes(k, -1, -2) / np.sqrt(8).astype(np.float32)
    return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((5, 5), bool)), scores, -1e9)) @ v


def _layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


def linear_algebra() -> Iterator[Row]:
    """Decompositions and solutions, which JAX's runtime computes by LAPACK; signs of vectors cancel."""
    a, s = f(4, 4), f(4, 4) @ f(4, 4).T + 2 * np.eye(4, dtype=np.float32)
    many = f(2, 3, 3) + 3 * np.eye(3, dtype=np.float32)
    yield "solve", jnp.linalg.solve, [a, f(4, 2)]
    yield "solve_vector", jnp.linalg.solve, [a, f(4)]
    yield "solve_batch", jnp.linalg.solve, [many, f(2, 3, 2)]
    yield "inv", jnp.linalg.inv, [a]
    yield "inv_batch", jnp.linalg.inv, [many]
    yield "det", jnp.linalg.det, [f(5, 5)]
    yield "slogdet", jnp.linalg.slogdet, [many]
    yield "cholesky", jnp.linalg.cholesky, [s]
    yield "cholesky_of_no_positive", jnp.linalg.cholesky, [-s]
    yield "cho_solve", lambda x, y: jax.scipy.linalg.cho_solve((x, True), y), [np.tril(s), f(4, 2)]
    yield "triangular", lambda x, y: jax.scipy.linalg.solve_triangular(x, y, trans=1), [s, f(4, 2)]
    yield "singular_values", lambda x: jnp.linalg.svd(x, compute_uv=False), [f(3, 5)]
    yield "svd", lambda x: _product(jnp.linalg.svd(x, full_matrices=False)), [f(2, 5, 3)]
    yield "pinv", jnp.linalg.pinv, [f(4, 3)]
    yield "lstsq", lambda x, y: jnp.linalg.lstsq(x, y)[0], [f(5, 3), f(5, 2)]
    yield "qr", lambda x: jnp.matmul(*jnp.linalg.qr(x)), [f(5, 3)]
    yield "qr_complete", lambda x: jnp.abs(jnp.linalg.qr(x, mode="complete")[0]), [f(4, 3)]
    yield "eigvalsh", jnp.linalg.eigvalsh, [s]
    yield "eigh", lambda x: jnp.abs(jnp.linalg.eigh(x)[1]), [s]


def _product(parts: Any) -> Any:
    u, s, v = parts
    return (u * s[..., None, :]) @ v
