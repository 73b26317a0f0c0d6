"""Models of TensorFlow: what is asked of the process that converts them, with a stand-in for TensorFlow."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.frontend.formats import format_of
from tests.support.imports import ROOT
from tests.support.samples import whole

SAMPLE = ROOT / "tests" / "models" / "tflite" / "classifier.tflite"
# What the program calls, with a body in place of the conversion.
TENSORFLOW = """
import os, sys

class lite:
    class OpsSet:
        TFLITE_BUILTINS, SELECT_TF_OPS = "builtins", "select"

    class TFLiteConverter:
        @staticmethod
        def from_saved_model(folder, signature_keys):
            made = lite.TFLiteConverter()
            made.target_spec, made.folder, made.keys = type("Spec", (), {{}})(), folder, signature_keys
            return made

        def convert(self):
            print(self.target_spec.supported_ops)
            print("noise of a framework")
            {body}

class saved_model:
    @staticmethod
    def load(folder):
        return type("Loaded", (), dict(signatures={signatures}))()
"""
GIVEN = f"assert self.keys in (['serving_default'], ['only']); return open({str(SAMPLE)!r}, 'rb').read()"


def saved(
    folder: Path, monkeypatch: pytest.MonkeyPatch, body: str, signatures: str = "dict(serving_default=1)"
) -> Path:
    """The folder of a SavedModel, beside which tensorflow is a module with a body for the conversion."""
    (folder / "tensorflow.py").write_text(TENSORFLOW.format(body=body, signatures=signatures))
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
    monkeypatch.syspath_prepend(folder)
    path = folder / "model"
    path.mkdir()
    (path / "saved_model.pb").write_bytes(b"")
    return path


def test_a_folder_is_converted_in_a_process_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, monkeypatch, GIVEN, "dict(only=1)")
    for given in (path, str(path / "saved_model.pb")):
        module = stepwell.read(given)
        assert [str(each) for each in module.inputs] == ["image: float32[image_0, 16, 16, 3]"]
        assert "tflite.conv_2d" in str(module)
    assert "tensorflow" not in sys.modules


@pytest.mark.sample(9)
@pytest.mark.parametrize(
    ("body", "signatures", "message"),
    [
        ("raise ValueError('no\\n op')", "dict(serving_default=1)", "cannot convert the model: no op"),
        ("os.abort()", "dict(serving_default=1)", "TensorFlow ended with SIGABRT while it converted"),
        ("sys.exit(0)", "dict(serving_default=1)", "TensorFlow ended with status 0"),
        ("print('[1]'); sys.exit(3)", "dict(serving_default=1)", "TensorFlow ended with status 3"),
        ("raise ValueError('element_shape')", "dict(a=1)", "fix the batch"),
        ("", "dict(a=1, b=2)", "cannot load the model: the SavedModel has the signatures a, b"),
        ("", "dict()", "the SavedModel has no signature"),
    ],
)
def test_errors(
    body: str, signatures: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path, monkeypatch, body or "pass", signatures)
    with pytest.raises(stepwell.StepwellError) as caught:
        stepwell.read(path)
    assert caught.value.code == "export-failed" and message in caught.value.render()


@whole
def test_what_the_process_writes_is_read_as_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, monkeypatch, "return b'nonsense of a kind'")
    with pytest.raises(stepwell.StepwellError, match="bytes 4 to 7 are not TFL3") as caught:
        stepwell.read(path)
    assert caught.value.code == "invalid-model"


@whole
def test_operators_without_a_counterpart_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "'tf.B' op is neither a custom op nor a flex op; 'tf.A' op is neither a custom op nor a flex op"
    path = saved(tmp_path, monkeypatch, f'raise ValueError("{text}")')
    with pytest.raises(stepwell.StepwellError, match="TFLite has no operator for tf.A, tf.B") as caught:
        stepwell.read(path)
    assert caught.value.code == "unsupported-op"


@pytest.mark.sample(2)
def test_operators_that_tflite_lacks_are_tried_as_flex_operators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = f"assert len(self.target_spec.supported_ops) == 2, 'builtins do not suffice'; {GIVEN}"
    assert stepwell.read(saved(tmp_path, monkeypatch, body)).inputs


def test_without_tensorflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwell.frontend.tensorflow.read.find_spec", lambda name: None)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "saved_model.pb").write_bytes(b"")
    (tmp_path / "graph.pb").write_bytes(b"")
    for path in (folder, tmp_path / "graph.pb"):
        for attempt in (stepwell.compile, stepwell.read):
            with pytest.raises(
                stepwell.StepwellError, match=f"reading {path.name} needs tensorflow"
            ) as caught:
                attempt(path)
            assert caught.value.code == "missing-package"
            assert "pip install 'stepwell[tensorflow]'" in caught.value.render()
    with pytest.raises(stepwell.StepwellError, match="No such file") as caught:
        stepwell.compile(tmp_path / "none.pb")
    assert caught.value.code == "no-file"


def test_commands_take_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stepwell.tools.cli import main

    monkeypatch.setattr("stepwell.frontend.tensorflow.read.find_spec", lambda name: None)
    (tmp_path / "saved_model.pb").write_bytes(b"")
    assert main(["inspect", str(tmp_path)]) == 1


class Function:
    """A class of the name that functions of TensorFlow have, whose tracing fails."""

    def get_concrete_function(self, *given: object) -> None:
        raise TypeError(f"missing a required argument beside {len(given)}")


Function.__module__ = "tensorflow.python.eager.polymorphic_function.polymorphic_function"


def test_functions_are_found_by_their_class_and_errors_name_the_keyword() -> None:
    assert format_of(Function()).name == "a function of TensorFlow"
    with pytest.raises(stepwell.StepwellError, match="cannot trace the function: missing") as caught:
        stepwell.compile(Function())
    assert caught.value.code == "export-failed" and "example_inputs=(x,)" in caught.value.render()
    with pytest.raises(stepwell.StepwellError, match="must be a tuple of arrays") as caught:
        stepwell.compile(Function(), example_inputs=np)
    assert caught.value.code == "bad-model"
