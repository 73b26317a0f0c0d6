"""TFLite's operators by LiteRT now, and the files that are made from its schema."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

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


def test_the_stored_models_have_the_results_of_the_installed_kernels(tmp_path: Path) -> None:
    from tests.frontends.tflite.case_list import cases

    with zipfile.ZipFile(ROOT / "tests" / "models" / "tflite" / "operators.zip") as archive:
        for case in cases():
            archive.extract(f"{case.name}.npz", tmp_path)
            results = case.built()[2]
            with np.load(tmp_path / f"{case.name}.npz") as stored:
                for i, result in enumerate(results):
                    assert np.allclose(stored[f"out{i}"], result, equal_nan=True), case.name
