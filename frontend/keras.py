"""Models of Keras 3, each a function of its backend: exported by PyTorch, JAX or TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.stablehlo.jax_functions import read_jitted
from stepwell.frontend.tensorflow.read import read_keras_model
from stepwell.frontend.torch.exported import read_module
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array

_BATCH, _NAME = 2, "N"
"""The size of a batch in examples, and the name of the open size that takes its place."""
_HELP = "example_inputs=(x,), with an array for each input of the model"


def read_keras(model: Any, ctx: StepwellContext, example_inputs: object = None) -> ModuleOp:
    """
    A model as a module of level 0 for batches of any size; the sizes of images and the like are fixed.

    Args: `example_inputs` are arrays, one an input; without them the model's own description is taken. On
    tensorflow the batch of examples is the model's.
    Raises: StepwellError `bad-model` for open sizes without examples; `unsupported` for another backend;
    `missing-package`, and as the readers of the backends.
    """
    if (backend := str(import_module("keras").config.backend())) == "tensorflow":
        return read_keras_model(model, ctx, example_inputs)
    examples = _examples(model) if example_inputs is None else _arrays(example_inputs)
    if backend == "torch":
        torch: Any = import_module("torch")
        tensors = tuple(torch.from_numpy(np.ascontiguousarray(each)) for each in examples)
        return read_module(_for_inference(model, torch), ctx, tensors, (tuple({0: _NAME} for _ in tensors),))
    if backend == "jax":
        names = {i: {0: _NAME} for i, _ in enumerate(examples)}
        return read_jitted(_function(model), ctx, example_inputs=examples, dynamic_shapes=names)
    message = f"a model of Keras on the backend {backend} is not supported"
    help = "set KERAS_BACKEND=torch or KERAS_BACKEND=jax before keras is imported, and load the model again"
    raise StepwellError("unsupported", None, message, help=help)


def _arrays(examples: object) -> Sequence[Array]:
    if not isinstance(examples, Sequence):
        raise StepwellError("bad-model", None, "example_inputs must be a tuple of arrays", help=_HELP)
    return [np.asarray(each) for each in cast("Sequence[Any]", examples)]


def _examples(model: Any) -> Sequence[Array]:
    """Zeros for each input that a built model describes."""
    described = cast("Sequence[Any]", getattr(model, "inputs", None) or ())
    if not described:
        message = "the model does not describe its inputs: it is a subclass, or was never called"
        raise StepwellError("bad-model", None, message, help=_HELP)
    for each in described:
        if None in each.shape[1:]:
            message = f"input {each.name!r} has the open sizes {list(each.shape)}"
            raise StepwellError("bad-model", None, message, help=_HELP)
    return [np.zeros((_BATCH, *each.shape[1:]), np.dtype(str(each.dtype))) for each in described]


def _for_inference(model: Any, torch: Any) -> Any:
    """A module of torch that calls the model for inference."""

    class Inference(torch.nn.Module):
        def __init__(self) -> None:
            torch.nn.Module.__init__(self)
            self.model = model

        def forward(self, *inputs: Any) -> Any:
            return model(inputs[0] if len(inputs) == 1 else list(inputs), training=False)

    return Inference().eval()


def _function(model: Any) -> Any:
    """A jitted function that calls the model for inference."""
    jax: Any = import_module("jax")
    trained = [each.value for each in model.trainable_variables]
    others = [each.value for each in model.non_trainable_variables]

    def call(*inputs: Any) -> Any:
        given = inputs[0] if len(inputs) == 1 else list(inputs)
        return model.stateless_call(trained, others, given, training=False)[0]

    return jax.jit(call)
