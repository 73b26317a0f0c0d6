"""The level-0 dialect of a module, which names the framework of the model."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from stepwell.runtime.errors import StepwellError

MODEL_DIALECTS = ("coreml", "mxnet", "onnx", "paddle", "stablehlo", "tflite", "torch")


def model_dialect(module: ModuleOp) -> str | None:
    """
    The dialect of a module's model; None for a module that has no op of any.

    Raises: StepwellError `mixed-dialects` for ops of several.
    """
    found: dict[str, object] = {}
    for op in module.walk():
        prefix = op.name.partition(".")[0]
        if prefix in MODEL_DIALECTS:
            found.setdefault(prefix, op)
    if len(found) > 1:
        names = " and ".join(found)
        help = "convert each part on its own: a model comes from one framework"
        where = list(found.values())[1]
        raise StepwellError("mixed-dialects", where, f"a module has ops of {names}", help=help)
    return next(iter(found), None)
