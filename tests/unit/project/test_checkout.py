"""A checkout without symbolic links, as git leaves it on Windows: it imports, compiles and builds in full."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.onnx_models import onnx_model
from tests.support.components import needs

ROOT = Path(__file__).resolve().parents[3]
_COMPILE = """
import sys, numpy, stepwell
from stepwell.dialects import graph
x = numpy.array([-1, 2], numpy.float32)
assert stepwell.compile("m.onnx", processes=1)(x).tolist() == [0, 2]
loaded = [(name, getattr(module, "__file__", None) or "") for name, module in list(sys.modules.items())]
files = [(name.split(".")[0], file) for name, file in loaded]
assert all(file.startswith(sys.argv[1]) for name, file in files if name == "stepwell")
assert not [file for name, file in files if name in ("dialects", "runtime", "lowering")]
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources in which each symbolic link is a file of text with its target."""
    copy = tmp_path_factory.mktemp("checkout").resolve()
    shutil.copytree(ROOT / "stepwell", copy / "stepwell", symlinks=True)
    shutil.copy(ROOT / "setup.py", copy)
    for link in [path for path in (copy / "stepwell").iterdir() if path.is_symlink()]:
        target = os.readlink(link)
        shutil.copytree(ROOT / "stepwell" / target, link.parent / target)
        link.unlink()
        link.write_text(target)
    return copy


def _run(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_it_imports_and_compiles(checkout: Path) -> None:
    model = onnx_model("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    (checkout / "m.onnx").write_bytes(model.SerializeToString())
    _run(checkout, "-c", _COMPILE, str(checkout))


def test_a_build_has_every_module(checkout: Path) -> None:
    """The metadata, which wants a newer setuptools than many environments have, is left out."""
    needs("setuptools")
    _run(checkout, "setup.py", "-q", "build", "--build-lib", "built")
    built = _modules(checkout / "built")
    assert built == _modules(ROOT) and len(built) > 500
    assert (checkout / "built" / "stepwell" / "py.typed").exists()


def _modules(folder: Path) -> set[str]:
    walk = os.walk(folder / "stepwell", followlinks=True)
    paths = [Path(where, name).relative_to(folder) for where, _, names in walk for name in names]
    return {str(path) for path in paths if path.suffix == ".py"}
