"""Schedules as scripts of MLIR's transform dialect: upstream's interpreter carries them out."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched import SCHEDULE, Schedule
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes import run_pipeline
from tests.support.kernels import product


def test_upstream_builds_the_loops_of_a_schedule() -> None:
    pytest.importorskip("torch_mlir.dialects.transform.interpreter", reason="torch-mlir is not installed")
    ir: Any = import_module("torch_mlir.ir")
    interpreter: Any = import_module("torch_mlir.dialects.transform.interpreter")
    ctx = StepwellContext()
    module = parse_module(ctx, product("m, n, k", "m, k", "k, n", "m, n", m=32, n=48, k=128))
    payload = re.sub(r" attributes \{.*?\} \{", " {", str(module))
    for op in module.walk():
        if (view := Structured.of(op)) is not None and view.rank == 3:
            op.attributes[SCHEDULE] = Schedule((8, 16, 4), parallel=(1, 0), vectorize=1).attr()
    run_pipeline(module, "export-transform-script", ctx)
    with ir.Context():
        script, kernel = ir.Module.parse(str(module)), ir.Module.parse(payload)
        interpreter.apply_named_sequence(kernel, next(iter(script.body.operations)), script)
        text = str(kernel)
    assert text.count("scf.forall (") == 2 and text.count("scf.for ") == 1
    assert "vector<8x16xf32>" in text
    assert text.count("linalg.generic") == payload.count("linalg.generic") - 1
