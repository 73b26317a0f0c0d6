"""Imports go one way: every import statement of the package against the table of the design."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

import pytest

from tests.support.imports import ROOT, all_imports

# Folder -> the folders of ours that it may import, itself aside.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "runtime": frozenset(),
    "dialects": frozenset({"runtime"}),
    "frontend": frozenset({"dialects", "runtime"}),
    "patterns": frozenset({"dialects", "runtime"}),
    "passes": frozenset({"patterns", "dialects", "runtime"}),
    "lowering": frozenset({"passes", "patterns", "dialects", "runtime"}),
    "lowering/backends": frozenset({"lowering", "passes", "patterns", "dialects", "runtime", "frontend"}),
    "tools": frozenset({"frontend", "lowering", "passes", "patterns", "dialects", "runtime"}),
}
# All that `runtime/` may import from elsewhere: an artifact loads and runs with it alone.
RUNTIME_NEEDS = frozenset({"cryptography", "tvm_ffi", "numpy", "ml_dtypes", "llvmlite", "platformdirs"})
# The rows that may import onnx.
ONNX_USERS = ("frontend", "tools", "lowering/backends")
_DOCSTRING = re.compile(r'(?:#.*\n|\s)*r?"""\s*\S')


@dataclass(frozen=True)
class Use:
    """An import statement: where it stands, and the module it names."""

    file: str
    line: int
    module: str

    @property
    def layer(self) -> str:
        """The row of the table that the file belongs to."""
        return max((row for row in MAY_IMPORT if self.file.startswith(f"{row}/")), key=len)

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"


@cache
def all_uses() -> list[Use]:
    """The modules that each file imports: `from stepwell import passes` names a folder, others modules."""
    return [
        Use(i.file, i.line, f"{i.module}.{i.name}" if i.name and i.module == "stepwell" else i.module)
        for i in all_imports()
    ]


def report(imports: list[Use]) -> str:
    return "\n".join(map(str, imports))


def test_folders_import_only_those_below_them() -> None:
    wrong = [
        found
        for found in all_uses()
        if found.module.startswith("stepwell.")
        and (target := found.module.split(".")[1]) in MAY_IMPORT
        and target != found.layer.split("/")[0]
        and target not in MAY_IMPORT[found.layer]
    ]
    assert not wrong, report(wrong)


def test_imports_are_absolute_and_name_the_package() -> None:
    wrong = [i for i in all_uses() if i.module.startswith(".") or i.module.split(".")[0] in MAY_IMPORT]
    assert not wrong, report(wrong)


def test_runtime_needs_neither_the_ir_nor_the_model_format() -> None:
    allowed = RUNTIME_NEEDS | sys.stdlib_module_names | {"stepwell"}
    wrong = [i for i in all_uses() if i.layer == "runtime" and i.module.split(".")[0] not in allowed]
    assert not wrong, report(wrong)


def test_onnx_is_imported_at_the_edges_only() -> None:
    wrong = [i for i in all_uses() if i.module.split(".")[0] == "onnx" and i.layer not in ONNX_USERS]
    assert not wrong, report(wrong)


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(file.relative_to(ROOT))
        for folder in (*MAY_IMPORT, "tests", "benchmarks", "examples")
        for file in (ROOT / folder).rglob("*.py")
        if not _DOCSTRING.match(file.read_text(encoding="utf-8"))
    ]
    assert not silent, silent


@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("import stepwell", ("numpy", "xdsl", "onnx", "llvmlite", "logging")),
        ("import stepwell.runtime.model", ("xdsl", "onnx", "llvmlite", "ml_dtypes")),
        ("import stepwell.plugin", ("onnx", "llvmlite", "importlib.metadata")),
        # At most 30 ms over `import stepwell`: numpy alone takes longer.
        ("from stepwell import te", ("numpy", "xdsl", "onnx", "llvmlite", "logging")),
        # Each takes milliseconds of the few in which a model is loaded.
        (
            "import stepwell.runtime.model",
            ("_hashlib", "importlib.metadata", "logging", "tempfile", "stepwell.runtime.link.elf"),
        ),
        ("import stepwell.lowering.kernels.worker", ("onnx", "stepwell.frontend")),
        # They are for another process, which gets ready for kernels meanwhile.
        ("import stepwell.tools.driver.lower", ("llvmlite", "stepwell.lowering.emit_llvm")),
    ],
)
def test_light_imports_stay_light(statement: str, forbidden: tuple[str, ...]) -> None:
    assert not [module for module in forbidden if module in _modules_after(statement)]


@cache
def _modules_after(program: str) -> set[str]:
    """The modules that a fresh process has after a program."""
    code = f"import sys\n{program}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


_TO_LEVEL_1 = """
from stepwell.frontend import import_onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_ONNX
from stepwell.lowering.interpret import Program
run_pipeline(module := import_onnx("tests/models/gru_seq.onnx", ctx := StepwellContext()), FROM_ONNX, ctx)
Program(module, ctx, quick=True)
"""
_FOLDERS_TO_LEVEL_1 = {"dialects", "frontend", "lowering", "passes", "patterns", "runtime"}
_PATTERNS = {
    *("host.string_constants", "math.contraction", "math.elementwise", "nn.recurrent"),
    *("tensor.indexing", "tensor.movement", "tensor.shape"),
}
"""The pattern files of the operators of `gru_seq.onnx`."""
_XDSL_DIALECTS_TO_LEVEL_1 = {"builtin", "func", "utils"}


def test_a_first_answer_imports_what_it_needs() -> None:
    """The time of imports is half of the time to a first answer: each addition to these lists costs it."""
    modules = _modules_after(_TO_LEVEL_1)
    assert not modules & {"onnx", "llvmlite", "ml_dtypes", "fractions", "importlib.metadata"}
    assert not modules & {"google.protobuf.json_format", "google.protobuf.text_format"}
    assert {m.split(".")[1] for m in modules if m.startswith("stepwell.")} == _FOLDERS_TO_LEVEL_1
    assert {m.split(".")[2] for m in modules if m.startswith("xdsl.dialects.")} == _XDSL_DIALECTS_TO_LEVEL_1
    lowerings = {m.split(".")[2] for m in modules if m.startswith("stepwell.lowering.")}
    assert lowerings == {"interpret", "main_to_buffers", "onnx_to_graph", "to_graph"}
    conversion = "stepwell.lowering.onnx_to_graph."
    files = {m.removeprefix(conversion) for m in modules if m.startswith(conversion)}
    assert {m.split(".")[3] for m in modules if m.startswith("stepwell.lowering.to_graph.")} == {
        "expressions"
    }
    assert "stepwell.dialects.plugins.operators" not in modules
    assert {f for f in files if "." in f} == _PATTERNS | {"host.string_movement"}
    steps = {m.split(".")[3] for m in modules if m.startswith("stepwell.lowering.interpret.")}
    library = {"elements", "engine", "machine", "signature"}
    assert steps == {"graph_ops", "host_calls", "regions", "sizes"} | library
    assert {m.split(".")[2] for m in modules if m.startswith("stepwell.patterns.")} == {"driver"}


_FIRST_ANSWER = """
import numpy, stepwell
model = stepwell.compile("tests/models/gru_seq.onnx", start="now", use_cache=False)
model(numpy.zeros([1, 3, 64], numpy.float32))
model.close()
"""


def test_a_first_answer_imports_no_code_generation() -> None:
    modules = _modules_after(_FIRST_ANSWER)
    driver = {"image", "lower", "partitions", "model_attribute", "ir_files"}
    assert not modules & {"onnx", "llvmlite", *(f"stepwell.tools.driver.{name}" for name in driver)}
    assert not modules & {"stepwell.runtime.link.elf", "stepwell.runtime.files.exported"}
