"""Random models: a planted fault is found by `validate`, named by `bisect`, and kept by `reduce`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.fuzz.generate import Program, random_program
from tests.support.faults import FAULTS, planted
from tests.support.forks import found_in

NODES = (4, 9)
HEALTHY = (2,)
WITH_SUBTRACTION = (33,)
"""Models with a subtraction that is left when the faulty pass runs."""
MANY = range(200)


def files(seed: int, folder: Path) -> Program:
    """A random model, written with its inputs to `m.onnx` and `m.npz`."""
    program = random_program(seed, NODES)
    onnx.save(program.model, folder / "m.onnx")
    np.savez(folder / "m.npz", allow_pickle=False, **program.inputs)
    return program


def judged(folder: Path, *words: str) -> tuple[int, set[str]]:
    """The exit status of `validate`, and the passes that are wrong."""
    status, found = found_in(folder, "validate", "m.onnx", "--inputs", "m.npz", *words)
    wrong = [row for row in found["runs"] if row["status"] in ("differs", "failed")]
    return status, {row["pass"].partition("{")[0] for row in wrong}


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", HEALTHY)
def test_a_healthy_model(seed: int, tmp_path: Path) -> None:
    files(seed, tmp_path)
    assert judged(tmp_path) == (0, set())
    status, found = found_in(tmp_path, "bisect", "m.onnx", "--inputs", "m.npz", "--level", "graph")
    assert (status, found["found"]) == (0, False)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", WITH_SUBTRACTION)
def test_a_fault(seed: int, tmp_path: Path) -> None:
    files(seed, tmp_path)
    expect_found("simplify-expr", tmp_path)


def expect_found(name: str, folder: Path) -> None:
    """Require the three commands to find a planted fault in `m.onnx`."""
    load = ("--load", planted(name, folder).name)
    level = ("--level", "graph") if FAULTS[name].level == "graph" else ()
    assert judged(folder, *load, *level) == (1, {name})
    words = ("m.onnx", "--inputs", "m.npz", *load)
    status, found = found_in(folder, "bisect", *words)
    assert (status, found["pass"]) == (1, name)
    status, found = found_in(folder, "reduce", *words, "-o", "small.onnx")
    assert (status, found["signature"]["pass"]) == (0, name)
    assert "Sub" in [node.op_type for node in onnx.load(folder / "small.onnx").graph.node]
    assert found["nodes_after"] <= 2


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", MANY)
def test_any_model(seed: int, tmp_path: Path) -> None:
    """All levels of a healthy model; where the fault changes it, the commands find it."""
    files(seed, tmp_path)
    assert judged(tmp_path) == (0, set())
    plugin = planted("simplify-expr", tmp_path).name
    if judged(tmp_path, "--load", plugin, "--level", "graph")[0]:
        expect_found("simplify-expr", tmp_path)
