"""`stepwell.jax.jit`: functions of JAX compiled at their calls; and the page of docs."""

from __future__ import annotations

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


def test_the_page_of_docs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.frontends.functions.pages import run_page

    monkeypatch.chdir(tmp_path)
    run_page("jax.md", tmp_path, least=3, what="jax")
