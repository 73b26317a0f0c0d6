"""Models of TensorFlow by its own converter, against TensorFlow itself: `make frontends-tensorflow`."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from tests.support.components import needs
from tests.support.imports import ROOT

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
tf = needs("tensorflow")
pytestmark = pytest.mark.slow
X = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)


def same(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-4, atol=1e-5)


class Scores(tf.Module):
    """Two results, with a variable."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32))

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def __call__(self, x: Any) -> Any:
        return {"y": tf.nn.softmax(x @ self.w), "s": tf.reduce_sum(x, 1)}


def test_a_saved_model_has_the_names_of_its_signature(tmp_path: Path) -> None:
    model = Scores()
    tf.saved_model.save(model, str(tmp_path), signatures=model.__call__)
    compiled = stepwell.compile(tmp_path)
    assert [(each.name, str(each)) for each in compiled.interface.inputs] == [("x", "float32[x_0, 4]")]
    found, wanted = compiled.run({"x": X}), model(X)
    assert set(found) == {"y", "s"}
    for name, array in found.items():
        same(array, wanted[name])


def test_a_function_with_a_signature_and_its_frozen_graph(tmp_path: Path) -> None:
    model = Scores()
    wanted = model(X)["s"]
    same(stepwell.compile(model.__call__)(X)[0], wanted)
    tools = needs("tensorflow.python.framework.convert_to_constants")
    frozen = tools.convert_variables_to_constants_v2(model.__call__.get_concrete_function())
    path = tmp_path / "graph.pb"
    path.write_bytes(frozen.graph.as_graph_def().SerializeToString())
    same(stepwell.compile(path)(X)[0], wanted)


def test_control_flow() -> None:
    @tf.function
    def steps(a: Any, b: Any, n: Any) -> Any:
        i = tf.constant(0)
        while tf.less(i, n):
            a, i = a * b, i + 1
        return tf.cond(tf.reduce_sum(a) > 0, lambda: a + b, lambda: a - b)

    a, b, n = X[:2], X[2:4], np.array(3, np.int32)
    compiled = stepwell.compile(steps, example_inputs=(a, b, n))
    for sign in (1, -1):
        same(compiled(a * sign, b, n), steps(a * sign, b, n))


def test_a_function_that_cannot_be_converted_names_its_operators() -> None:
    functions = {"tf.Digamma": tf.math.digamma, "FlexMatrixInverse": tf.linalg.inv}
    for name, function in functions.items():
        with pytest.raises(stepwell.StepwellError, match=name) as caught:
            stepwell.compile(tf.function(function), example_inputs=(X[:4],))
        assert caught.value.code == "unsupported-op"


def test_files_that_tensorflow_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"nonsense")
    path = tmp_path / "graph.pb"
    path.write_bytes(b"nonsense")
    for each in (tmp_path, path):
        with pytest.raises(stepwell.StepwellError, match="TensorFlow cannot load the model") as caught:
            stepwell.read(each)
        assert caught.value.code == "export-failed"


KERAS = """
    import os
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import keras, numpy as np
    import stepwell

    rng = np.random.default_rng(0)
    image = keras.Input((8, 8, 3), name="image")
    y = keras.layers.Conv2D(4, 3, padding="same", activation="relu")(image)
    model = keras.Model(image, keras.layers.Dense(3)(keras.layers.GlobalAveragePooling2D()(y)))
    model.save("m.keras")
    x = rng.normal(size=(2, 8, 8, 3)).astype("float32")
    for compiled in (stepwell.compile(model), stepwell.compile("m.keras")):
        np.testing.assert_allclose(np.asarray(compiled(x)), model(x), rtol=1e-4, atol=1e-5)

    words = keras.Input((6, 3))
    layers = keras.layers
    y = layers.Bidirectional(layers.LSTM(5, return_sequences=True))(words)
    model = keras.Model(words, layers.GRU(4)(y))
    x = rng.normal(size=(1, 6, 3)).astype("float32")
    try:
        stepwell.compile(model)
    except stepwell.StepwellError as error:
        assert error.code == "export-failed" and "fix the batch" in error.render(), error.render()
    compiled = stepwell.compile(model, example_inputs=(x,))
    np.testing.assert_allclose(np.asarray(compiled(x)), model(x), rtol=1e-4, atol=1e-5)
    print("equal")
"""


def test_models_of_keras_on_tensorflow(tmp_path: Path) -> None:
    program = [sys.executable, "-c", textwrap.dedent(KERAS)]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    found = subprocess.run(
        program,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert found.stdout.strip().endswith("equal"), found.stderr
