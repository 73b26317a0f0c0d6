"""`stepwell.jax.jit`: functions of JAX compiled at their calls; and the page of docs."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from tests.support.components import needs

jax = needs("jax")
jnp = jax.numpy
pytestmark = pytest.mark.slow


def same(found: Any, wanted: Any) -> None:
    """Require results of equal nesting, shapes, types and values."""
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert isinstance(a, jax.Array) and a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5, atol=1e-6)


def nested(x: Any, parameters: Any, *, factor: Any = 2.0) -> Any:
    """Arguments and results that nest, an argument that is not used, and a number of Python."""
    y = x @ parameters["w"] * factor
    return {"y": y, "rest": [y.sum(0), parameters["b"][0]]}


def test_arguments_and_results_nest() -> None:
    from stepwell.jax import jit

    rng = np.random.default_rng(0)
    parameters = {"w": rng.normal(size=(3, 2)), "b": (jnp.arange(2), np.ones(5, np.float32))}
    fast = jit(nested)
    for x in (np.ones((4, 3), np.float32), jnp.ones((4, 3)) * 3, rng.normal(size=(4, 3))):
        same(fast(x, parameters, factor=3.0), jax.jit(nested)(x, parameters, factor=3.0))
        same(fast(x, parameters), jax.jit(nested)(x, parameters))
    assert len(fast.models) == 2  # with and without the number


def test_other_shapes_and_types_are_other_code_but_for_named_sizes() -> None:
    from stepwell.jax import jit

    function = lambda x, y: (x + y).sum(0)  # noqa: E731
    fixed, open_sizes = jit(function), jit(function, dims={"x": {0: "b"}, "y": {0: "b"}})
    for count in (2, 5, 2):
        x, y = np.full((count, 3), 2.0, np.float32), np.ones((count, 3), np.float32)
        same(fixed(x, y), function(x, y) + jnp.zeros(3))
        same(open_sizes(x, y=y), function(x, y) + jnp.zeros(3))
    assert len(fixed.models) == 2 and len(open_sizes.models) == 1
    assert str(open_sizes.models[0]).startswith("<CompiledModel (arg0: float32[b, 3], y: float32[b, 3])")
    same(open_sizes(np.ones((2, 3), np.int32), y=np.ones((2, 3), np.int32)), jnp.full(3, 4, jnp.int32))
    with pytest.raises(stepwell.StepwellError) as caught:
        open_sizes(np.ones((2, 3), np.float32), y=np.ones((4, 3), np.float32))
    assert caught.value.code in ("shape-mismatch", "export-failed")


def test_types_follow_the_rules_of_jax() -> None:
    from stepwell.jax import jit

    x = jnp.ones(3, jnp.bfloat16)
    for factor in (2.0, 2, np.float32(2), True):
        same(jit(lambda v, f: v * f)(x, factor), jax.jit(lambda v, f: v * f)(x, factor))


def test_errors() -> None:
    from stepwell.jax import jit

    with pytest.raises(stepwell.StepwellError, match="the function has no such parameter") as caught:
        jit(lambda x: x, dims={"y": {0: "b"}})
    assert caught.value.code == "bad-option" and "its parameters are x" in caught.value.render()
    with pytest.raises(stepwell.StepwellError) as caught:
        jit(lambda x: x, nothing=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert caught.value.code == "bad-option"
    fast = jit(jnp.sin)
    for traced in (lambda: jax.grad(lambda x: fast(x))(1.0), lambda: jax.jit(fast)(jnp.ones(2))):
        with pytest.raises(stepwell.StepwellError, match="JAX traces a call") as caught:
            traced()
        assert caught.value.code == "bad-inputs" and "jax.grad" in caught.value.render()
    with pytest.raises(stepwell.StepwellError, match="must be an array or a number") as caught:
        fast("text")
    assert caught.value.code == "bad-inputs"
    with pytest.raises(stepwell.StepwellError) as caught:
        jit(lambda x: x if x.sum() > 0 else -x)(np.ones(3))
    assert caught.value.code == "export-failed"


def test_an_exported_function_has_the_arguments_that_it_uses() -> None:
    function = jax.jit(lambda x, y, z: y[:, 0] * 2 + z)
    shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((7,), (3, 2), (3,))]
    model = stepwell.compile(jax.export.export(function)(*shapes))
    assert str(model) == "<CompiledModel (arg1: float32[3, 2], arg2: float32[3]) -> (result: float32[3])>"
    y, z = np.arange(6, dtype=np.float32).reshape(3, 2), np.ones(3, np.float32)
    assert np.allclose(np.asarray(model(y, z)), y[:, 0] * 2 + z)
    examples = np.zeros(7, np.float32), y, z
    whole = stepwell.compile(function, example_inputs=examples)
    assert len(whole.interface.inputs) == 3 and np.allclose(np.asarray(whole(*examples)), y[:, 0] * 2 + z)
    named = stepwell.compile(function, example_inputs=dict(zip("xyz", examples, strict=True)))
    assert [spec.name for spec in named.interface.inputs] == ["x", "y", "z"]


@pytest.mark.parametrize("sizes", [[{0: "b"}], {5: {0: "b"}}, {0: "b"}])
def test_names_of_sizes_that_are_none(sizes: Any) -> None:
    with pytest.raises(stepwell.StepwellError) as caught:
        stepwell.compile(jax.jit(jnp.sin), example_inputs=(np.ones(3),), dynamic_shapes=sizes)
    assert caught.value.code == "bad-model"


def test_constraints_of_symbolic_shapes_are_checks_of_calls() -> None:
    shape = jax.export.symbolic_shape("b, 4", constraints=["b >= 3"])
    exported = jax.export.export(jax.jit(jnp.tanh))(jax.ShapeDtypeStruct(shape, jnp.float32))
    model = stepwell.compile(exported)
    assert np.asarray(model(np.zeros((4, 4), np.float32))).shape == (4, 4)
    with pytest.raises(stepwell.StepwellError, match="symbolic shape constraint b >= 3") as caught:
        model(np.zeros((2, 4), np.float32))
    assert caught.value.code == "shape-mismatch" and "found {" not in caught.value.render()


def test_a_remainder_of_sizes_is_a_check_of_calls() -> None:
    for constraint, good, bad in (
        ("mod(b, 2) == 0", (2, 6), (3, 5)),
        ("floordiv(b, 4) == 1", (4, 7), (3, 8)),
    ):
        shape = jax.export.symbolic_shape("b, 4", constraints=[constraint])
        exported = jax.export.export(jax.jit(jnp.tanh))(jax.ShapeDtypeStruct(shape, jnp.float32))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = stepwell.compile(exported)
        for count in good:
            assert np.asarray(model(np.zeros((count, 4), np.float32))).shape == (count, 4)
        for count in bad:
            with pytest.raises(stepwell.StepwellError) as caught:
                model(np.zeros((count, 4), np.float32))
            assert caught.value.code == "shape-mismatch"
            assert "symbolic shape constraint" in caught.value.render()


def powers(x: Any, count: int, *, sign: str = "+", scale: float = 1.0) -> Any:
    """A function whose loop, branch and names depend on values of Python."""
    for _ in range(count):
        x = x * x
    return {sign: x * scale if sign == "+" else -x * scale}


def test_static_arguments_are_part_of_the_code() -> None:
    from stepwell.jax import jit

    fast = jit(powers, static_argnums=1, static_argnames=("sign",), dims={"x": {0: "b"}})
    x = np.arange(3, dtype=np.float32)
    for count in (1, 2, 1):
        for sign in "+-":
            same(fast(x, count, sign=sign), powers(jnp.asarray(x), count, sign=sign))
    assert len(fast.models) == 4
    same(fast(x=np.ones(5, np.float32), count=2, sign="-"), {"-": -jnp.ones(5)})  # both by name
    same(fast(x, True, sign="+", scale=2.0), {"+": jnp.asarray(x * x * 2)})
    assert len(fast.models) == 6  # True is another value than 1, and a call by name has its own key
    reversed_places = jit(lambda n, x: x[n:], static_argnums=-2)
    same(reversed_places(2, x), jnp.asarray(x[2:]))


def test_static_arguments_that_are_none() -> None:
    from stepwell.jax import jit

    for wrong in ({"static_argnums": 4}, {"static_argnums": -3}, {"static_argnames": "nothing"}):
        with pytest.raises(stepwell.StepwellError) as caught:
            jit(lambda x, n: x, **wrong)  # pyright: ignore[reportArgumentType]
        assert caught.value.code == "bad-option"
    with pytest.raises(stepwell.StepwellError, match="the static argument 1 is a list") as caught:
        jit(lambda x, n: x, static_argnums=1)(np.ones(2), [3])
    assert caught.value.code == "bad-inputs"


def test_jax_computes_level_0() -> None:
    weights = np.arange(12, dtype=np.float32).reshape(4, 3)

    def function(x: Any) -> Any:
        y = jnp.sort(jax.nn.softmax(x @ weights), 0)[::-1]
        z = jax.lax.while_loop(lambda v: v.sum() < 50.0, lambda v: v * 2 + 1, jnp.abs(y))
        return jnp.argmax(z, 1), jnp.cumsum(z, 1).at[0].add(1.0), jnp.where(z > 3, z, 0).mean()

    program = stepwell.read(
        jax.jit(function), example_inputs=(np.ones((2, 4), np.float32),), dynamic_shapes={0: {0: "b"}}
    )
    x = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    for found, wanted in zip(program.interpret(x), function(x), strict=True):
        np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(wanted), rtol=1e-5)
    with pytest.raises(stepwell.StepwellError, match="takes 1 arguments, found 2"):
        program.interpret(x, x)


def test_the_page_of_docs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.frontends.functions.pages import run_page

    monkeypatch.chdir(tmp_path)
    run_page("jax.md", tmp_path, least=3, what="jax")
