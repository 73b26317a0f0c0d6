"""TFLite's operators by LiteRT now, and the files that are made from its schema."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

import stepwell
from tests.support.components import needs
from tests.support.imports import ROOT

needs("ai_edge_litert")
pytestmark = pytest.mark.slow


def test_the_tables_are_those_of_the_installed_schema() -> None:
    from stepwell.tools.generators import generate_tflite as generator

    schema = needs("ai_edge_litert.schema_py_generated")
    assert generator.SCHEMA.read_text(encoding="utf-8") == generator.schema_text(schema)
    assert generator.SIGNATURES.read_text(encoding="utf-8") == generator.signatures_text(schema)


def test_the_stored_programs_have_the_results_of_the_installed_kernels() -> None:
    from tests.frontends.tflite.programs import PROGRAMS

    with zipfile.ZipFile(ROOT / "tests" / "models" / "tflite" / "programs.zip") as archive:
        for name, make in PROGRAMS.items():
            calls = make()
            assert archive.read(f"{name}.tflite") == calls.model, name
            with np.load(io.BytesIO(archive.read(f"{name}.npz"))) as stored:
                for i, results in enumerate(calls.results()):
                    for j, result in enumerate(results):
                        assert np.allclose(stored[f"out{i}_{j}"], result), name


def test_litert_computes_level_0(tmp_path: Path) -> None:
    """Each operator of the stored models, as a model of its own, but for those that write variables."""
    computed, refused = 0, set[str]()
    with zipfile.ZipFile(ROOT / "tests" / "models" / "tflite" / "operators.zip") as archive:
        archive.extractall(tmp_path)
    for model in sorted(tmp_path.glob("*.tflite")):
        name, stored = model.stem, np.load(model.with_suffix(".npz"))
        program = stepwell.read(model)
        try:
            found = program.interpret(*(stored[f"in{i}"] for i in range(len(program.inputs))))
        except stepwell.StepwellError as error:
            assert error.code == "unsupported-op", error.render()
            refused.add(name)
            continue
        computed += 1
        for i, result in enumerate(found):
            np.testing.assert_allclose(
                np.asarray(result, float), np.asarray(stored[f"out{i}"], float), 1e-5, 1e-6
            )
    assert computed >= 100 and len(refused) <= 20, sorted(refused)


def test_the_stored_models_have_the_results_of_the_installed_kernels(tmp_path: Path) -> None:
    from tests.frontends.tflite.case_list import cases

    with zipfile.ZipFile(ROOT / "tests" / "models" / "tflite" / "operators.zip") as archive:
        for case in cases():
            archive.extract(f"{case.name}.npz", tmp_path)
            results = case.built()[2]
            with np.load(tmp_path / f"{case.name}.npz") as stored:
                for i, result in enumerate(results):
                    assert np.allclose(stored[f"out{i}"], result, equal_nan=True), case.name
