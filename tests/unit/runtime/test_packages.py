"""The runtime by itself: packages that it imports only where a model needs them."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path

import numpy as np
import pytest

from stepwell.runtime import meaning
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import installed_version, needed

ROOT = Path(__file__).resolve().parents[3]
OPTIONAL = ("llvmlite", "ml_dtypes", "onnx", "platformdirs", "rich", "xdsl")
BLOCK = f"""
import sys
sys.modules.update(dict.fromkeys({OPTIONAL!r}))
"""


def run_without_packages(code: str, *args: str) -> str:
    """Run code in a process without the optional packages; returns what it printed."""
    command = [sys.executable, "-c", BLOCK + code, *args]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def modules_of_the_runtime() -> list[str]:
    """The dotted names of all files."""
    files = sorted((ROOT / "runtime").rglob("*.py"))
    parts = [file.relative_to(ROOT).with_suffix("").parts for file in files]
    return [".".join(("stepwell", *(part for part in name if part != "__init__"))) for name in parts]


def test_every_module_of_the_runtime_is_imported_with_numpy_alone() -> None:
    code = """
from importlib import import_module, metadata
for name in sys.argv[1:]:
    import_module(name)
print("all")
"""
    assert run_without_packages(code, *modules_of_the_runtime()) == "all"


ARITHMETIC = """
import numpy as np
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import dtype_from_name
from stepwell.runtime.meaning import evaluate
x = np.array([1.5, -300, 7], np.float32)
print(evaluate("graph.cast", [x], {"to": np.dtype(np.int8), "saturate": True, "round": "up"})[0].tolist())
scale, properties = np.array(0.5, np.float32), {"to": np.dtype(np.int8), "axis": 0}
print(evaluate("graph.quantize", [x, scale], properties)[0].tolist())
try:
    dtype_from_name("bfloat16")
except StepwellError as error:
    print(error.render())
"""


def test_conversions_of_numpys_types_need_numpy_alone() -> None:
    cast, quantized, *error = run_without_packages(ARITHMETIC).splitlines()
    assert (cast, quantized) == ("[1, -44, 7]", "[3, -128, 14]")
    assert error == [
        "error[missing-package]: the element type bfloat16 needs ml_dtypes, which is not installed",
        "  = help: pip install ml_dtypes",
    ]


def test_a_weight_file_needs_a_package_for_narrow_types_alone(tmp_path: Path) -> None:
    from stepwell.runtime.files.weight_file import write_weights
    from stepwell.runtime.interface import dtype_from_name

    plain, narrow = tmp_path / "plain.weights", tmp_path / "narrow.weights"
    write_weights(plain, {"a": np.arange(3, dtype=np.float16)})
    write_weights(narrow, {"a": np.zeros(3, dtype_from_name("int4"))})
    code = """
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weight_file import read_weights
print(read_weights(sys.argv[1])["a"].tolist())
try:
    read_weights(sys.argv[2])
except StepwellError as error:
    print(error.code, error.message)
"""
    assert run_without_packages(code, str(plain), str(narrow)).splitlines() == [
        "[0.0, 1.0, 2.0]",
        "missing-package the element type int4 needs ml_dtypes, which is not installed",
    ]


def test_a_host_call_imports_the_file_of_its_function() -> None:
    code = """
from stepwell.runtime.meaning import evaluate
print(evaluate("host.identity", [[1, 2]], {}))
print([name.rpartition(".")[2] for name in sys.modules if name.startswith("stepwell.runtime.meaning.")])
"""
    assert run_without_packages(code).splitlines() == ["([1, 2],)", "['sequences']"]


def test_the_files_of_all_meanings_are_listed() -> None:
    tables = {"graph": meaning.GRAPH_OPS, "host": meaning.HOST_FUNCTIONS}
    listed = {
        f"{dialect}.{name} {file}"
        for dialect, table in tables.items()
        for file, names in table.items()
        for name in names.split()
    }
    code = """
from importlib import import_module
from stepwell.runtime import meaning
register = meaning.meaning
def recorded(name):
    print(name, sys._getframe(1).f_globals["__name__"].rpartition(".")[2])
    return register(name)
meaning.meaning = recorded
for name in sys.argv[1:]:
    import_module(f"stepwell.runtime.meaning.{name}")
"""
    files = [file.stem for file in (ROOT / "runtime" / "meaning").glob("*.py") if file.stem != "__init__"]
    assert set(run_without_packages(code, *files).splitlines()) == listed
    assert not meaning.has_meaning("graph.no_such_op") and not meaning.has_meaning("other.op")


def test_a_missing_package_is_an_error_with_its_name() -> None:
    with pytest.raises(StepwellError, match="missing-package.*decoding needs nowhere, which") as caught:
        with needed("decoding", install="'stepwell[images]'"):
            import_module("nowhere.inside")
    assert caught.value.help == "pip install 'stepwell[images]'"


def test_versions_are_those_of_the_metadata() -> None:
    for name in ("numpy", "ml_dtypes", "xdsl", "stepwell"):
        assert installed_version(name) == metadata.version(name)
    with pytest.raises(metadata.PackageNotFoundError):
        installed_version("no_such_package")
