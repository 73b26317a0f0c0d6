"""Upstream MLIR as a judge: the bindings of the package torch-mlir verify programs, lower and run them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from stepwell.runtime.interface import Array
from tests.support.components import MISSING
from tests.support.imports import ROOT

_LOWERED = ROOT / "tests/upstream/lowered.py"
PYTHON = "TEST_MLIR"
"""The environment variable that names an interpreter with torch-mlir; else the one of the tests is tried."""
_VERIFY = """
import sys
from torch_mlir import ir
module = ir.Module.parse(sys.stdin.read(), ir.Context())
assert module.operation.verify()
"""


_PASSES = """
import sys
from torch_mlir import ir
from torch_mlir.passmanager import PassManager
context = ir.Context()
module = ir.Module.parse(sys.stdin.read(), context)
PassManager.parse(sys.argv[1], context).run(module.operation)
print(module.operation.get_asm(print_generic_op_form=True))
"""


def interpreter() -> str:
    """The interpreter with the bindings; the test that asks for it is skipped where there is none."""
    if (named := os.environ.get(PYTHON)) and Path(named).exists():
        return named
    if find_spec("torch_mlir") is not None:
        return sys.executable
    MISSING.add("torch-mlir")
    pytest.skip("torch-mlir is not installed")


def fault_of(text: str) -> str:
    """The first error of upstream's strict parser and verifier in a program; empty where it is right."""
    done = subprocess.run(
        [interpreter(), "-c", _VERIFY], input=text, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else _first_error(done)


def verify(text: str) -> None:
    """Require upstream's strict parser and verifier to accept a program: no op may be unknown."""
    assert not (fault := fault_of(text)), fault


def run_passes(text: str, pipeline: str) -> str:
    """The generic form of a program after passes of upstream's, such as `builtin.module()` for none."""
    command = [interpreter(), "-c", _PASSES, pipeline]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, _first_error(done)
    return done.stdout


def run_level_2(text: str, arrays: Sequence[Array]) -> Sequence[Array]:
    """The results of a program of level 2 that upstream's passes lower; `arrays` has all arguments."""
    with tempfile.TemporaryDirectory() as folder:
        program, inputs, outputs = (Path(folder) / name for name in ("m.mlir", "in.npz", "out.npz"))
        program.write_text(text, encoding="utf-8")
        np.savez(inputs, *arrays)
        done = subprocess.run(
            [interpreter(), "-P", str(_LOWERED), str(program), str(inputs), str(outputs)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, _first_error(done)
        with np.load(outputs) as found:
            return [found[name] for name in found.files]


def _first_error(done: subprocess.CompletedProcess[str]) -> str:
    """The first line of a process that names an error; its last line, or status, where none does."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    named = [line for line in lines if "error:" in line]
    return (named or lines[-1:] or [f"exit {done.returncode}"])[0][:1000]
