"""TFLite models of several graphs, with variables and recurrent layers: results equal to those of LiteRT."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.constants import array_of
from stepwell.dialects.graph_ir.state import state_pairs
from stepwell.dialects.types import dims_of, dtype_of, tensor_of
from stepwell.frontend.tflite.read import module_of_bytes
from stepwell.lowering.interpret import Program
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_MODELS
from stepwell.runtime.interface import Array
from tests.support.imports import ROOT
from tests.unit.frontend.test_tflite import close

PROGRAMS = zipfile.ZipFile(ROOT / "tests" / "models" / "tflite" / "programs.zip")
NAMES = [name.removesuffix(".tflite") for name in PROGRAMS.namelist() if name.endswith(".tflite")]


def calls_of(name: str, kind: str) -> list[list[Array]]:
    """The inputs (`in`) or results (`out`) of each call of a sample."""
    found: list[list[Array]] = []
    with np.load(io.BytesIO(PROGRAMS.read(f"{name}.npz"))) as arrays:
        for key in sorted(key for key in arrays if key.startswith(kind)):
            call = int(key.removeprefix(kind).partition("_")[0])
            found += [[]] * (call + 1 - len(found))
            found[call] = [*found[call], arrays[key]]
    return found


def _zeros(value: SSAValue) -> Array:
    return np.zeros([dim.value for dim in dims_of(value.type)], dtype_of(tensor_of(value).element_type))


class Interpreted:
    """Level 1 of a model, whose states live between calls."""

    def __init__(self, name: str):
        context = StepwellContext()
        module = module_of_bytes(memoryview(PROGRAMS.read(f"{name}.tflite")), f"{name}.tflite", context)
        run_pipeline(module, FROM_MODELS["tflite"], context)
        main = module.body.block.first_op
        assert isinstance(main, FuncOp)
        self._pairs = state_pairs(main)
        self._program = Program(module, context, quick=True)
        self._states = [
            array_of(pair.initial, context.weights)
            if pair.initial is not None
            else _zeros(main.body.block.args[pair.argument])
            for pair in self._pairs
        ]

    def __call__(self, inputs: list[Array]) -> list[Array]:
        assert [pair.argument for pair in self._pairs] == list(range(len(self._pairs)))
        found = [np.asarray(each) for each in self._program([*self._states, *inputs])]
        written = {pair.result for pair in self._pairs}
        self._states = [
            self._states[i] if pair.result is None else found[pair.result]
            for i, pair in enumerate(self._pairs)
        ]
        return [each for i, each in enumerate(found) if i not in written]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", NAMES)
def test_calls_in_a_row_give_what_litert_gives(name: str) -> None:
    model = Interpreted(name)
    for inputs, wanted in zip(calls_of(name, "in"), calls_of(name, "out"), strict=True):
        assert all(close(a, b) for a, b in zip(model(inputs), wanted, strict=True)), name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["counter", "rows", "lstm-projected", "svdf-rank"])
def test_sessions_of_compiled_models_keep_variables(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(PROGRAMS.read(f"{name}.tflite"))
    session = stepwell.compile(path).session()
    for _ in range(2):
        for inputs, wanted in zip(calls_of(name, "in"), calls_of(name, "out"), strict=True):
            found = session(*inputs)
            assert close(np.asarray(found), wanted[0])
        session.reset()
