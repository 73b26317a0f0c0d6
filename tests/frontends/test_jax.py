"""Functions of JAX against JAX itself: single ones, with open sizes, and the commands on its bytecode."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.stablehlo.jax_functions import read_exported
from stepwell.lowering.interpret import Program
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_MODELS
from tests.frontends.jax_cases import Case, cases, jax, jnp

pytestmark = pytest.mark.slow
export = jax.export


def interpreted(exported: Any, arguments: Any) -> list[Any]:
    context = StepwellContext()
    module = read_exported(exported, context)
    run_pipeline(module, FROM_MODELS["stablehlo"], context)
    results = Program(module, context, quick=True)([np.asarray(each) for each in arguments])
    return [np.asarray(each) for each in results]


def same(found: Any, wanted: Any) -> bool:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    kind = bool if wanted.dtype == bool else np.float64
    return np.allclose(found.astype(kind), wanted.astype(kind), rtol=2e-4, atol=2e-5, equal_nan=True)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_a_function_gives_what_jax_gives(case: Case) -> None:
    jitted = jax.jit(case.function)
    wanted = [np.asarray(each) for each in jax.tree.leaves(jitted(*case.arguments))]
    specs = [jax.ShapeDtypeStruct(np.shape(each), np.asarray(each).dtype) for each in case.arguments]
    found = interpreted(export.export(jitted)(*specs), case.arguments)
    assert all(same(a, b) for a, b in zip(found, wanted, strict=True))


def test_a_jitted_function_has_the_names_of_its_open_sizes() -> None:
    weights = np.ones([4, 3], np.float32)
    function = jax.jit(lambda x: jax.nn.softmax(x @ weights))
    example = np.zeros([2, 4], np.float32)
    model = stepwell.compile(function, example_inputs=(example,), dynamic_shapes={0: {0: "b"}})
    assert str(model) == "<CompiledModel (arg0: float32[b, 4]) -> (result: float32[b, 3])>"
    for count in (1, 7):
        x = np.random.default_rng(count).normal(size=(count, 4)).astype(np.float32)
        assert np.allclose(np.asarray(model(x)), function(x), atol=1e-5)


def test_a_function_needs_examples_and_must_be_traceable() -> None:
    with pytest.raises(stepwell.StepwellError, match="example_inputs is missing"):
        stepwell.compile(jax.jit(jnp.sin))
    with pytest.raises(stepwell.StepwellError) as caught:
        stepwell.compile(jax.jit(lambda x: x if x.sum() > 0 else -x), example_inputs=(np.ones(3),))
    assert caught.value.code == "export-failed"


def test_the_pretty_form_is_read_in_a_process_of_its_own(tmp_path: Path) -> None:
    exported = export.export(jax.jit(jnp.tanh))(jax.ShapeDtypeStruct((3,), jnp.float32))
    path = tmp_path / "m.stablehlo"
    path.write_text(exported.mlir_module(), encoding="utf-8")
    assert '"stablehlo.tanh"' in str(stepwell.read(path))
    path.write_text("module { this is nothing }", encoding="utf-8")
    with pytest.raises(stepwell.StepwellError, match="jaxlib cannot read the file") as caught:
        stepwell.read(path)
    assert 'error: "-":1:10' in caught.value.render()


def test_bytecode_is_read_with_versions_and_without(tmp_path: Path) -> None:
    """Artifacts of `jax.export` are in VHLO, a dialect with versions; other bytecode is in StableHLO."""
    ir, mlir = import_module("jaxlib.mlir.ir"), import_module("jax._src.interpreters.mlir")
    exported = export.export(jax.jit(jnp.tanh))(jax.ShapeDtypeStruct((3,), jnp.float32))
    artifact, plain, cut = (tmp_path / f"{name}.stablehlo" for name in ("artifact", "plain", "cut"))
    artifact.write_bytes(exported.mlir_module_serialized)
    with mlir.make_ir_context(), plain.open("wb") as file:
        ir.Module.parse(exported.mlir_module()).operation.write_bytecode(file)
    x = np.linspace(-1, 1, 3, dtype=np.float32)
    for path in (artifact, plain):
        assert np.allclose(np.asarray(stepwell.compile(path)(x)), np.tanh(x), rtol=1e-6)
    cut.write_bytes(exported.mlir_module_serialized[:300])
    with pytest.raises(stepwell.StepwellError, match="jaxlib cannot read the file") as caught:
        stepwell.read(cut)
    assert caught.value.code == "invalid-model" and "bytes" in caught.value.render()
