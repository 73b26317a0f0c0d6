"""StableHLO text without jax: modules of level 0, results equal to JAX's, and text that lies."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.stablehlo.read import module_of_text, read_stablehlo
from stepwell.lowering.interpret import Program
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_MODELS
from stepwell.runtime.interface import Array
from tests.support.imports import ROOT

SAMPLES = ROOT / "tests" / "models" / "stablehlo"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.stablehlo"))
MUTATIONS = 500


def arrays_of(name: str, kind: str) -> list[Array]:
    """The inputs (`in`) or results (`out`) of a sample."""
    with np.load(SAMPLES / f"{name}.npz") as arrays:
        return [arrays[key] for key in sorted(arrays) if key.startswith(kind)]


def interpreted(path: Path, inputs: Sequence[Array]) -> list[Array]:
    """The results of level 1."""
    context = StepwellContext()
    module = read_stablehlo(path, context)
    run_pipeline(module, FROM_MODELS["stablehlo"], context)
    return [np.asarray(each) for each in Program(module, context, quick=True)(inputs)]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_jax(name: str) -> None:
    found = interpreted(SAMPLES / f"{name}.stablehlo", arrays_of(name, "in"))
    for a, b in zip(found, arrays_of(name, "out"), strict=True):
        assert a.dtype == b.dtype and np.allclose(a, b, rtol=1e-4, atol=1e-5)
    assert not {"jax", "jaxlib"} & set(sys.modules)


def test_an_open_size_runs_for_several_sizes() -> None:
    path = SAMPLES / "network.stablehlo"
    whole = arrays_of("network", "out")[0]
    rows = arrays_of("network", "in")[0]
    for count in (1, 3):
        assert np.allclose(interpreted(path, [rows[:count]])[0], whole[:count], atol=1e-5)


def test_reading_twice_gives_the_same_text() -> None:
    texts = {str(stepwell.read(SAMPLES / "recurrent.stablehlo")) for _ in range(2)}
    assert len(texts) == 1 and '"stablehlo.while"' in texts.pop()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"builtin.module"() ({}) : () -> ()', "the module has no function @main"),
        (
            """
            "builtin.module"() ({
              "func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
              ^bb0(%a: tensor<2xf32>):
                %b = "func.call"(%a) <{callee = @main}> : (tensor<2xf32>) -> tensor<2xf32>
                "func.return"(%b) : (tensor<2xf32>) -> ()
              }) : () -> ()
            }) : () -> ()
            """,
            "functions call each other 101 deep: @main",
        ),
        (
            """
            "builtin.module"() ({
              "func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
              ^bb0(%a: tensor<2xf32>):
                %b = "stablehlo.add"(%a) : (tensor<2xf32>) -> tensor<2xf32>
                "func.return"(%b) : (tensor<2xf32>) -> ()
              }) : () -> ()
            }) : () -> ()
            """,
            "add: ",
        ),
    ],
)
def test_text_that_is_no_program(text: str, message: str) -> None:
    with pytest.raises(stepwell.StepwellError) as caught:
        module_of_text(text, StepwellContext(), "m.stablehlo")
    assert caught.value.code == "invalid-model" and message in caught.value.message


def test_text_that_is_cut_is_an_error_with_its_line() -> None:
    with pytest.raises(stepwell.StepwellError) as caught:
        module_of_text('"builtin.module"() ({', StepwellContext(), "m.stablehlo")
    assert caught.value.code == "syntax" and "m.stablehlo:1" in caught.value.render()


def test_the_pretty_form_needs_jax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwell.frontend.stablehlo.read.find_spec", lambda name: None)
    path = tmp_path / "m.stablehlo"
    path.write_text("module {}", encoding="utf-8")
    with pytest.raises(stepwell.StepwellError) as caught:
        stepwell.read(path)
    assert caught.value.code == "missing-package"


SHARDS = [pytest.param(i, marks=[] if i == 0 else pytest.mark.slow) for i in range(25)]


@pytest.mark.parametrize("shard", SHARDS)
def test_damaged_text_is_a_program_or_an_error(shard: int) -> None:
    rng = random.Random(shard)
    for _ in range(MUTATIONS // 25):
        text = (SAMPLES / f"{rng.choice(NAMES)}.stablehlo").read_text(encoding="utf-8")
        lines = text.splitlines()
        position = rng.randrange(len(lines))
        match rng.randrange(3):
            case 0:
                del lines[position]
            case 1:
                lines[position] = lines[position].replace(
                    rng.choice("0123456789"), rng.choice("0123456789-"), 1
                )
            case _:
                cut = rng.randrange(max(len(lines[position]), 1))
                lines[position] = lines[position][:cut] + lines[position][cut + 1 :]
        context = StepwellContext()
        try:
            module = module_of_text("\n".join(lines), context, "m.stablehlo")
            run_pipeline(module, FROM_MODELS["stablehlo"], context)
        except stepwell.StepwellError as error:
            assert error.code != "internal", error.render()
