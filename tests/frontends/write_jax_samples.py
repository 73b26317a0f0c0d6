"""
Writes the samples of `tests/models/stablehlo/`: functions of JAX in the generic form of StableHLO, with their
results. Run `python -m tests.frontends.write_jax_samples` where jax is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import export, lax
from jax import numpy as jnp

FOLDER = Path(__file__).resolve().parents[1] / "models" / "stablehlo"


def f(*shape: int) -> Any:
    """Random floats."""
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def network(x: Any) -> Any:
    """A perceptron for any number of rows."""
    return jax.nn.softmax(jax.nn.gelu(x @ f(4, 8)) @ f(8, 3), axis=-1)


def recurrent(h: Any, x: Any) -> Any:
    """A loop over time."""
    return lax.scan(lambda c, a: (jnp.tanh(c @ f(4, 4) + a), c.sum()), h, x)


def choices(i: Any, x: Any) -> Any:
    """Branches by a number."""
    return lax.switch(i, [lambda v: v + 1, lambda v: -v, lambda v: v * 3], x)


def indexing(x: Any, i: Any) -> Any:
    """Gathers, scatters, sorts and positions."""
    return x[i], x.at[i].add(1.0), jnp.sort(x, axis=0), jnp.argmax(x, axis=1), lax.top_k(x, 2)


def image(x: Any) -> Any:
    """A convolution and a pool, channels last."""
    numbers = ("NHWC", "HWIO", "NHWC")
    y = lax.conv_general_dilated(x, f(3, 3, 2, 4), (1, 1), "SAME", dimension_numbers=numbers)
    return lax.reduce_window(jax.nn.relu(y), -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


SAMPLES: dict[str, tuple[Callable[..., Any], Sequence[Any], Sequence[Any] | None]] = {
    "choices": (choices, [np.int32(1), f(3)], None),
    "image": (image, [f(1, 6, 6, 2)], None),
    "indexing": (indexing, [f(5, 3), np.array([4, 0, -1], np.int32)], None),
    "network": (network, [f(5, 4)], ["b, 4"]),
    "recurrent": (recurrent, [f(4), f(3, 4)], None),
}


def main() -> None:
    """Write all samples."""
    FOLDER.mkdir(exist_ok=True)
    mlir, ir = import_module("jax._src.interpreters.mlir"), import_module("jaxlib.mlir.ir")
    for name, (function, arguments, shapes) in SAMPLES.items():
        jitted = jax.jit(function)
        specs = [
            jax.ShapeDtypeStruct(export.symbolic_shape(shapes[i]) if shapes else np.shape(each), each.dtype)
            for i, each in enumerate(arguments)
        ]
        with mlir.make_ir_context():
            operation = ir.Module.parse(export.export(jitted)(*specs).mlir_module()).operation
            text = operation.get_asm(print_generic_op_form=True, enable_debug_info=False)
        (FOLDER / f"{name}.stablehlo").write_text(text, encoding="utf-8")
        arrays = {f"in{i}": np.asarray(each) for i, each in enumerate(arguments)}
        leaves = jax.tree.leaves(jitted(*arguments))
        arrays |= {f"out{i}": np.asarray(each) for i, each in enumerate(leaves)}
        np.savez(FOLDER / f"{name}.npz", **arrays)  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    main()
