"""Upstream MLIR as a judge: the bindings of the package torch-mlir verify programs, lower and run them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.components import MISSING

PYTHON = "TEST_MLIR"
"""The environment variable that names an interpreter with torch-mlir; else the one of the tests is tried."""
_VERIFY = """
import sys
from torch_mlir import ir
module = ir.Module.parse(sys.stdin.read(), ir.Context())
assert module.operation.verify()
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
    found = [line for line in done.stderr.splitlines() if "error:" in line]
    return "" if done.returncode == 0 else (found or [done.stderr[-300:] or f"exit {done.returncode}"])[0]


def verify(text: str) -> None:
    """Require upstream's strict parser and verifier to accept a program: no op may be unknown."""
    run_there(_VERIFY, text)


def run_there(program: str, text: str) -> str:
    """The output of a program that the bindings run on a text; fails with the beginning of its errors."""
    done = subprocess.run(
        [interpreter(), "-c", program], input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]
    return done.stdout
