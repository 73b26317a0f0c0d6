"""The table of kinds of models: found by suffix or by class, without importing a framework."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import onnx
import pytest

import stepwell
from stepwell.frontend.formats import (
    FORMATS,
    Format,
    format_of,
    formats,
    is_model_path,
    is_onnx,
    model_suffixes,
    read_model,
    with_keywords,
)
from tests.support.imports import FRAMEWORKS, ROOT


class Module:
    """A class of the name that torch's modules have, without torch."""


Module.__module__, Module.__qualname__ = "torch.nn.modules.module", "Module"


class Mine(Module):
    """A module of a user."""


def test_files_are_found_by_suffix() -> None:
    assert format_of("a/m.pt2").name == "an exported PyTorch program"
    assert format_of(Path("m.onnx")) is FORMATS[0] and format_of("unknown.x") is FORMATS[0]
    known = ".onnx .stablehlo .mlirbc .mlpackage .mlmodel -symbol.json .json .pdmodel .tflite .pt2 .keras .pb"
    assert list(model_suffixes()) == known.split()
    assert format_of("a/m-symbol.json").name == "an MXNet symbol"
    assert format_of("a/inference.json").name == "a Paddle program"
    assert format_of("a/m.pdmodel").name == "a Paddle program"
    assert is_onnx(b"") and is_onnx("m.onnx") and not is_onnx("m.pt2")


SAMPLES = ROOT / "tests" / "models"


@pytest.mark.parametrize(
    ("files", "opened"),
    [
        (["config.json", "m.json", "m.pdiparams"], "m.json"),
        (["inference.pdmodel", "inference.pdiparams", "inference.yml"], "inference.pdmodel"),
        (["inference.json", "inference.pdmodel", "inference.pdiparams"], "inference.json"),
        (["m-symbol.json", "m-0000.params"], "m-symbol.json"),
        (["saved_model.pb", "fingerprint.pb"], "."),
        (["Manifest.json"], "."),
    ],
)
def test_folders_are_found_by_their_files(
    files: list[str], opened: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in files:
        (tmp_path / name).write_bytes(b"")
    kind = format_of(tmp_path)
    read: list[Path] = []
    module, _, function = kind.reader.partition(":")
    monkeypatch.setattr(import_module(module), function, lambda path, _: read.append(path))
    read_model(str(tmp_path), None)
    assert read == [tmp_path / opened] and is_model_path(tmp_path)


def test_a_folder_without_a_model_or_with_several(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    for attempt in (stepwell.read, stepwell.compile):
        with pytest.raises(stepwell.StepwellError, match="the folder has no model") as caught:
            attempt(tmp_path)
        assert caught.value.code == "unknown-file-type"
    text = " ".join(caught.value.render().split())
    assert "saved_model.pb (a model of TensorFlow)" in text
    assert "*.json with .pdiparams beside it (a Paddle program)" in text
    for name in "abcde":
        (tmp_path / f"{name}.pdmodel").write_bytes(b"")
    with pytest.raises(stepwell.StepwellError, match="5 models: a.pdmodel, b.pdmodel, c") as caught:
        stepwell.read(tmp_path)
    assert caught.value.code == "bad-model" and "e.pdmodel" not in caught.value.render()


def test_a_folder_with_models_of_two_kinds_is_refused_by_both_names(tmp_path: Path) -> None:
    """Unless its name is that of one of the kinds; each file can be named."""
    for name in ("saved_model.pb", "x.pdmodel"):
        (tmp_path / name).write_bytes(b"")
    for attempt in (stepwell.read, stepwell.compile, format_of):
        with pytest.raises(stepwell.StepwellError, match="the folder has 2 kinds of models") as caught:
            attempt(tmp_path)
        assert caught.value.code == "bad-model"
        assert "a Paddle program (x.pdmodel), a model of TensorFlow (saved_model.pb)" in caught.value.message
        assert "name the file of one of them" in caught.value.render()
    assert is_model_path(tmp_path)
    assert format_of(tmp_path / "saved_model.pb").name == "a model of TensorFlow"
    package = shutil.copytree(SAMPLES / "coreml" / "residual.mlpackage", tmp_path / "residual.mlpackage")
    (package / "x.pdmodel").write_bytes(b"")
    assert stepwell.read(package).inputs == stepwell.read(SAMPLES / "coreml" / "residual.mlpackage").inputs


def test_a_folder_of_paddle_is_the_program_in_it(tmp_path: Path) -> None:
    for suffix in ("json", "pdiparams"):
        shutil.copy(SAMPLES / "paddle" / f"residual.{suffix}", tmp_path)
    assert str(stepwell.read(tmp_path)) == str(stepwell.read(SAMPLES / "paddle" / "residual.json"))
    package = shutil.copytree(SAMPLES / "coreml" / "residual.mlpackage", tmp_path / "package")
    assert stepwell.read(package).inputs == stepwell.read(SAMPLES / "coreml" / "residual.mlpackage").inputs


FILE_SUFFIXES = [suffix for kind in FORMATS for suffix in kind.suffixes]


@pytest.mark.parametrize("suffix", FILE_SUFFIXES)
def test_a_missing_model_of_each_kind_has_the_help_of_a_similar_name(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"resnet{suffix}").touch()
    with pytest.raises(stepwell.StepwellError, match="cannot read the model: No such file") as caught:
        stepwell.read(tmp_path / f"resnt{suffix}")
    assert caught.value.code == "no-file" and caught.value.help == f"did you mean resnet{suffix}?"


def test_objects_are_found_by_the_names_of_their_classes() -> None:
    assert format_of(Mine()).name == "a PyTorch module"
    assert format_of(onnx.ModelProto()) is FORMATS[0]
    with pytest.raises(stepwell.StepwellError, match="found dict") as caught:
        format_of({})
    assert caught.value.code == "bad-model"


def test_a_module_needs_examples_and_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(stepwell.StepwellError, match="example_inputs is missing") as caught:
        stepwell.compile(Mine())
    assert caught.value.code == "bad-model" and "example_inputs=(x,)" in str(caught.value.help)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(stepwell.StepwellError) as caught:
        stepwell.compile(Mine(), example_inputs=(1,))
    assert caught.value.code == "missing-package"
    assert "pip install 'stepwell[torch]'" in caught.value.render()


def test_keywords_of_programs_of_python_are_refused_for_files() -> None:
    with pytest.raises(stepwell.StepwellError, match="example_inputs is for programs of Python") as caught:
        stepwell.compile("m.onnx", example_inputs=(1,))
    assert caught.value.code == "bad-model"
    with pytest.raises(stepwell.StepwellError, match="dynamic_shapes is for programs of Python"):
        stepwell.read(ROOT / "tests" / "models" / "torch" / "mlp.pt2", dynamic_shapes={})
    assert with_keywords("m.onnx", {"example_inputs": None}) == "m.onnx"


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("m.pt", 'torch.export.save(torch.export.export(module, args), "m.pt2")'),
        ("m.pth", "a pickle of weights or TorchScript"),
        ("m.torchscript", "a pickle of weights or TorchScript"),
        ("m.gguf", "it is weights without a graph"),
        ("m.safetensors", "weights_from=FILE"),
        ("m.caffemodel", "convert it to ONNX"),
        ("m.prototxt", "a model of Caffe"),
        ("yolo.cfg", "torch.export"),
        ("yolo.weights", "those beside a program as text"),
        ("m.h5", "keras.saving.load_model"),
    ],
)
def test_files_that_are_recognized_and_not_read(name: str, help: str) -> None:
    for attempt in (lambda: stepwell.compile(name), lambda: stepwell.read(name)):
        with pytest.raises(stepwell.StepwellError, match=f"ends in .{name.partition('.')[2]}") as caught:
            attempt()
        assert caught.value.code == "unknown-file-type"
        assert help in " ".join(caught.value.render().split())


@pytest.fixture
def plugged_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A kind of model that another package adds."""

    class Point:
        @staticmethod
        def load() -> Format:
            return Format("a toy", f"{__name__}:read_toy", (".toy",))

    monkeypatch.setattr("stepwell.frontend.formats.entry_points", lambda group: (Point(),))
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    formats.cache_clear()
    yield
    formats.cache_clear()


def read_toy(path: Path, ctx: object) -> object:
    return path, ctx


def test_other_packages_add_kinds(plugged_in: None) -> None:
    assert ".toy" in model_suffixes()
    assert read_model("m.toy", "context") == (Path("m.toy"), "context")


def test_reading_imports_no_framework() -> None:
    sample = ROOT / "tests" / "models" / "torch" / "mlp.pt2"
    code = f"""
import sys, stepwell
stepwell.read({str(sample)!r}).run("functionalize-torch,convert-torch-to-graph")
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(done.stdout.split())
    assert not loaded & FRAMEWORKS and "onnx" not in loaded
