"""Plugins: what they change is never taken for what is compiled without them, in whichever process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx

from stepwell.runtime.environment import CACHE
from tests.onnx_models import onnx_model

ROOT = Path(__file__).parents[3]

BROKEN = """
from xdsl.dialects.arith import AddfOp, MulfOp
from xdsl.rewriter import Rewriter
from stepwell.passes.registry import load_pass
from stepwell.patterns.registry import register_predicate

PrefetchRows = load_pass("prefetch-rows")
plain = PrefetchRows.apply

def apply(self, ctx, op):
    plain(self, ctx, op)
    for inner in list(op.walk()):
        if isinstance(inner, AddfOp):
            Rewriter.replace_op(inner, MulfOp(inner.lhs, inner.rhs))

PrefetchRows.apply = apply
register_predicate("broken.any")(lambda value: True)
"""
"""Products for sums, by a pass of kernels."""

TALKATIVE = """
from stepwell.patterns.registry import register_predicate
register_predicate("talkative.any")(lambda value: True)
"""
"""A plugin that changes nothing."""


def sums_of(folder: Path, *options: str) -> list[float]:
    """The first elements of what `stepwell run m.onnx` computes of ones, in a process of its own."""
    command = [sys.executable, "-m", "stepwell", "run", "m.onnx", "--fill", "ones", "--outputs", "out.npz"]
    environment = os.environ | {CACHE.name: str(folder / "cache")}
    subprocess.run([*command, *options], cwd=folder, env=environment, check=True, capture_output=True)
    with np.load(folder / "out.npz") as outputs:
        return [float(outputs[name].reshape(-1)[0]) for name in outputs.files]


def test_what_a_plugin_made_is_not_taken_without_it(tmp_path: Path) -> None:
    onnx.save(onnx_model("g (float[4] x) => (float[4] y) { y = Add(x, x) }"), tmp_path / "m.onnx")
    (tmp_path / "broken.py").write_text(BROKEN)
    assert sums_of(tmp_path, "--load", "broken.py") == [1]
    assert sums_of(tmp_path) == [2]
    assert sums_of(tmp_path, "--load", "broken.py") == [1]


def test_a_plugin_changes_all_kernels(tmp_path: Path) -> None:
    """Also where there are as many as worker processes would share."""
    sizes = range(3, 27)
    inputs = ", ".join(f"float[{n}] x{n}" for n in sizes)
    outputs = ", ".join(f"float[{n}] y{n}" for n in sizes)
    nodes = " ".join(f"a{n} = Sin(x{n}) b{n} = Sub(a{n}, a{n}) y{n} = Add(x{n}, b{n})" for n in sizes)
    onnx.save(onnx_model(f"g ({inputs}) => ({outputs}) {{ {nodes} }}"), tmp_path / "m.onnx")
    (tmp_path / "broken.py").write_text(BROKEN)
    assert set(sums_of(tmp_path, "--no-cache", "--load", "broken.py")) == {0}


def fingerprint_of(folder: Path, *files: str) -> str:
    """What keys know of plugins where some are loaded and some packages are installed."""
    code = "import sys; from stepwell.tools.driver.plugins import load_plugin; "
    code += "from stepwell.lowering.kernels.fingerprint import plugins_fingerprint as f; "
    code += "[load_plugin(name) for name in sys.argv[1:]]; print(f())"
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
    command = [sys.executable, "-c", code, *files]
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True
    ).stdout.decode()


def test_keys_hold_the_content_of_plugins(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("A = 1")
    (tmp_path / "a.py").write_text(f"import helper\n{TALKATIVE}")
    (tmp_path / "b.py").write_text(TALKATIVE.replace("any", "all"))
    prints = {fingerprint_of(tmp_path, "a.py", "b.py"), fingerprint_of(tmp_path, "a.py", "./a.py", "a")}
    (tmp_path / "helper.py").write_text("A = 22")
    prints |= {fingerprint_of(tmp_path, "a.py"), plain := fingerprint_of(tmp_path)}
    assert len(prints) == 4
    # Installed ones too: editable ones change without a new version.
    (tmp_path / "acme.py").write_text("A = 1")
    (about := tmp_path / "acme-0.1.dist-info").mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text("[stepwell.passes]\nacme-mix = acme:Mix\n")
    installed = fingerprint_of(tmp_path)
    (tmp_path / "acme.py").write_text("A = 2")
    assert len({plain, installed, fingerprint_of(tmp_path)}) == 3
