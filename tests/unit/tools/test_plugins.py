"""Plugins: what they change is never taken for what is compiled without them, in whichever process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import onnx
import pytest

from stepwell import plugin
from stepwell.lowering.kernels.fingerprint import plugins_fingerprint
from stepwell.plugin import onnx_op
from stepwell.runtime.environment import CACHE
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.plugins import LOADED
from stepwell.tools import cli
from stepwell.tools.driver.kept_models import kept_model
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.plugins import load_plugin
from tests.commands import Capture, written
from tests.onnx_models import onnx_model
from tests.support.forks import Result, forked
from tests.support.samples import whole

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

    def run() -> Result:
        os.chdir(folder)
        os.environ[CACHE.name] = str(folder / "cache")
        return cli.main(["run", "m.onnx", "--fill", "ones", "--outputs", "out.npz", *options]), "", ""

    status, _, errors = forked(run)
    assert status == 0, errors
    with np.load(folder / "out.npz") as outputs:
        return [float(outputs[name].reshape(-1)[0]) for name in outputs.files]


def test_what_a_plugin_made_is_not_taken_without_it(tmp_path: Path) -> None:
    onnx.save(onnx_model("g (float[4] x) => (float[4] y) { y = Add(x, x) }"), tmp_path / "m.onnx")
    (tmp_path / "broken.py").write_text(BROKEN)
    assert sums_of(tmp_path, "--load", "broken.py") == [1]
    assert sums_of(tmp_path) == [2]
    assert sums_of(tmp_path, "--load", "broken.py") == [1]


def test_no_object_is_under_the_same_key_with_a_plugin(tmp_path: Path) -> None:
    """Those of the kernel, and of `@main`."""
    onnx.save(onnx_model("g (float[4] x) => (float[4] y) { y = Add(x, x) }"), tmp_path / "m.onnx")
    (tmp_path / "talkative.py").write_text(TALKATIVE)
    found: list[set[str]] = []
    for options in ((), ("--load", "talkative.py")):
        before = {path.name for path in (tmp_path / "cache").glob("*")}
        sums_of(tmp_path, *options)
        found.append({path.name for path in (tmp_path / "cache").glob("*.kernel")} - before)
    assert [len(names) for names in found] == [2, 2]


@pytest.mark.usefixtures("kernel_workers")
@whole
def test_a_plugin_changes_all_kernels(tmp_path: Path) -> None:
    """Also those that worker processes compile."""
    sizes = range(3, 27)
    inputs = ", ".join(f"float[{n}] x{n}" for n in sizes)
    outputs = ", ".join(f"float[{n}] y{n}" for n in sizes)
    nodes = " ".join(f"a{n} = Sin(x{n}) b{n} = Sub(a{n}, a{n}) y{n} = Add(x{n}, b{n})" for n in sizes)
    onnx.save(onnx_model(f"g ({inputs}) => ({outputs}) {{ {nodes} }}"), tmp_path / "m.onnx")
    (tmp_path / "broken.py").write_text(BROKEN)
    assert set(sums_of(tmp_path, "--no-cache", "--load", "broken.py")) == {0}


def fingerprint_of(folder: Path, *files: str) -> str:
    """What keys know of plugins where some are loaded."""

    def load() -> Result:
        os.chdir(folder)
        sys.path.insert(0, "")
        for name in files:
            load_plugin(name)
        return 0, plugins_fingerprint(), ""

    status, found, errors = forked(load)
    assert status == 0, errors
    return found


def fingerprint_of_installed(folder: Path) -> str:
    """What keys know of packages, where those of a folder are installed too."""
    code = "from stepwell.lowering.kernels.fingerprint import plugins_fingerprint as f; print(f())"
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def test_keys_hold_the_content_of_plugins(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("A = 1")
    (tmp_path / "a.py").write_text(f"import helper\n{TALKATIVE}")
    (tmp_path / "b.py").write_text(TALKATIVE.replace("any", "all"))
    prints = {fingerprint_of(tmp_path, "a.py", "b.py"), fingerprint_of(tmp_path, "a.py", "./a.py", "a")}
    (tmp_path / "helper.py").write_text("A = 22")
    prints |= {fingerprint_of(tmp_path, "a.py"), fingerprint_of(tmp_path)}
    assert len(prints) == 4


def test_keys_hold_the_content_of_installed_plugins(tmp_path: Path) -> None:
    """Editable ones change without a new version; other packages are not in the keys."""
    plain = fingerprint_of_installed(tmp_path)
    (tmp_path / "acme.py").write_text("A = 1")
    (about := tmp_path / "acme-0.1.dist-info").mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text("[console_scripts]\nacme = acme:main\n")
    assert fingerprint_of_installed(tmp_path) == plain
    (about / "entry_points.txt").write_text("[stepwell.passes]\nacme-mix = acme:Mix\n")
    installed = fingerprint_of_installed(tmp_path)
    (tmp_path / "acme.py").write_text("A = 2")
    assert len({plain, installed, fingerprint_of_installed(tmp_path)}) == 3


OPERATOR = """
from stepwell.plugin import constant, graph, onnx_op
@onnx_op("{domain}", "Scale")
def scale(rewriter, x):
    return graph.MultiplyOp(x, constant(rewriter, {factor}, like=x))
"""


def test_models_of_operators_are_kept_by_the_content_of_their_plugin(tmp_path: Path) -> None:
    """A loaded plugin is in the key; for one that a program imports nothing is kept."""
    body = "g (float[4] x) => (float[4] y) { y = test.kept.Scale(x) }"
    model = written(tmp_path / "m.onnx", onnx_model(body, header=', "test.kept" : 1'))
    plain = kept_model(model, CompileOptions())
    assert plain is not None
    load_plugin(str(written(tmp_path / "kept_scale.py", OPERATOR.format(domain="test.kept", factor=2))))
    loaded = kept_model(model, CompileOptions())
    assert loaded is not None and loaded.key != plain.key
    onnx_op("test.kept", "Other")(lambda rewriter, x: x)
    assert kept_model(model, CompileOptions()) is None


def test_a_plugin_that_is_imported_before_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    written(tmp_path / "first_imported.py", OPERATOR.format(domain="test.imported", factor=3))
    import_module("first_imported")
    model = written(tmp_path / "m.onnx", onnx_model("g (float[4] x) => (float[4] y) { y = Neg(x) }"))
    assert kept_model(model, CompileOptions()) is None
    load_plugin("first_imported")
    assert kept_model(model, CompileOptions()) is not None


@pytest.mark.parametrize(
    "refused", ["x = 1", "@", "from stepwell.plugin import op\n@op('graph.f')\nclass F: ..."]
)
def test_a_plugin_that_was_refused_can_be_mended(refused: str, tmp_path: Path) -> None:
    plugin = written(tmp_path / "mended.py", refused)
    with pytest.raises(StepwellError, match="bad-plugin"):
        load_plugin(str(plugin))
    written(plugin, OPERATOR.format(domain="test.mended", factor=3))
    load_plugin(str(plugin))
    assert str(plugin) in LOADED


def test_inspect_knows_operators_of_plugins(tmp_path: Path, capsys: Capture) -> None:
    body = "g (float[4] x) => (float[4] y) { p = test.inspected.Scale(x) y = test.inspected.Other(p) }"
    model = written(tmp_path / "m.onnx", onnx_model(body, header=', "test.inspected" : 1'))
    plugin = written(tmp_path / "inspected.py", OPERATOR.format(domain="test.inspected", factor=2))
    assert cli.main(["inspect", str(model), "--load", str(plugin)]) == 1
    printed = capsys.readouterr().out
    assert re.search(r"1  test.inspected.Scale +native", printed)
    assert re.search(r"1  test.inspected.Other +missing", printed)


INSTALLED = """
from stepwell.plugin import Op, TensorType, constant, graph, lower, onnx_op, op, operand_def, result_def
@onnx_op("acme.installed", "Twice")
@op("acme_installed.twice")
class TwiceOp(Op):
    x = operand_def(TensorType)
    result = result_def(TensorType)
@lower(TwiceOp)
def twice(op, rewriter):
    return graph.AddOp(op.x, op.x)
"""
TEXT = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "acme_installed.twice"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}"""


@whole
def test_an_installed_package_brings_operators_and_a_dialect(tmp_path: Path) -> None:
    """Without `--load`: from a model, and from text."""
    written(tmp_path / "acme.py", INSTALLED)
    (about := tmp_path / "acme-0.1.dist-info").mkdir()
    written(about / "METADATA", "Metadata-Version: 2.1\nName: acme\nVersion: 0.1\n")
    points = "[stepwell.operators]\nacme.installed = acme\n[stepwell.dialects]\nacme_installed = acme\n"
    written(about / "entry_points.txt", points)
    body = "g (float[4] x) => (float[4] y) { y = acme.installed.Twice(x) }"
    written(tmp_path / "m.onnx", onnx_model(body, header=', "acme.installed" : 1'))
    written(tmp_path / "m.mlir", TEXT)
    code = "import numpy, stepwell; "
    code += "print([stepwell.compile(f)(numpy.ones(4, 'f')).sum() for f in ('m.mlir', 'm.onnx', 'm.onnx')])"
    environment = os.environ | {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
        CACHE.name: str(tmp_path / "c"),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.stdout.count("8.0") == 3, done.stderr


def test_the_prelude_offers_what_it_imports() -> None:
    imported = {name for name in vars(plugin) if not name.startswith("_")}
    assert imported == set(plugin.__all__)
    assert list(plugin.__all__) == sorted(plugin.__all__)
