"""Models of Keras 3 on their backends, against Keras itself; the backend is chosen when keras is imported."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.components import needs
from tests.support.imports import ROOT

os.environ.setdefault("KERAS_BACKEND", "numpy")  # without tensorflow, the default
needs("keras")
pytestmark = pytest.mark.slow

MODELS = """
    import os, sys
    os.environ["KERAS_BACKEND"] = sys.argv[1]
    import keras, numpy as np
    import stepwell

    layers = keras.layers
    keras.utils.set_random_seed(0)

    def images():
        image = keras.Input((16, 16, 3), name="image")
        x = layers.Conv2D(8, 3, 2, padding="same", activation="relu")(image)
        x = layers.BatchNormalization()(x)
        x = layers.DepthwiseConv2D(3, padding="same")(x)
        x = layers.MaxPooling2D()(x)
        x = layers.GlobalAveragePooling2D()(layers.Dropout(0.3)(x))
        return keras.Model(image, layers.Dense(5, activation="softmax")(x))

    def words():
        ids = keras.Input((6,), dtype="int32")
        x = layers.Embedding(11, 8)(ids)
        for _ in range(2):
            x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
            x = x + layers.Dense(8)(layers.Dense(16, activation="gelu")(x))
        return keras.Model(ids, layers.Dense(11)(x))

    def two():
        a, b = keras.Input((4,)), keras.Input((3,))
        return keras.Model([a, b], layers.Dense(2)(layers.Concatenate()([layers.Dense(3)(a), b])))

    rng = np.random.default_rng(0)
    for make in (images, words, two):
        model = make()
        compiled = stepwell.compile(model)
        for batch in (1, 3):
            arrays = [
                rng.integers(0, 11, (batch, *each.shape[1:])).astype("int32")
                if each.dtype == "int32"
                else rng.normal(size=(batch, *each.shape[1:])).astype("float32")
                for each in model.inputs
            ]
            given = arrays[0] if len(arrays) == 1 else arrays
            wanted = keras.ops.convert_to_numpy(model(given, training=False))
            np.testing.assert_allclose(np.asarray(compiled(*arrays)), wanted, rtol=1e-4, atol=1e-5)
    print("equal")
"""


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_models_give_what_keras_gives(backend: str) -> None:
    needs(backend)
    program = [sys.executable, "-c", textwrap.dedent(MODELS), backend]
    found = subprocess.run(program, capture_output=True, text=True, check=False)
    assert found.stdout.strip() == "equal", found.stderr


ARCHIVES = """
    import os, sys
    os.environ["KERAS_BACKEND"] = sys.argv[1]
    import keras, numpy as np
    import stepwell

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, "relu"), keras.layers.Dense(2)])
    model.save("m.keras")
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    found = stepwell.compile("m.keras", executor="interpreter")(x)
    wanted = keras.ops.convert_to_numpy(model(x))
    np.testing.assert_allclose(np.asarray(found).reshape(5, 2), wanted, rtol=1e-4, atol=1e-5)

    keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda x: x + 1)]).save("l.keras")
    try:
        stepwell.read("l.keras")
    except stepwell.StepwellError as error:
        print(error.code)
"""


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_archives_are_read_by_keras_in_a_process(backend: str, tmp_path: Path) -> None:
    needs(backend)
    program = [sys.executable, "-c", textwrap.dedent(ARCHIVES), backend]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    found = subprocess.run(
        program,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert found.stdout.strip() == "unsafe-file", found.stderr
