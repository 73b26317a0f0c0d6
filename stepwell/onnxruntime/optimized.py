"""The model of a session as a file of ONNX, for `SessionOptions.optimized_model_filepath`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.onnxruntime.options import SessionOptions
from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    from stepwell.frontend.messages import ModelProto
    from stepwell.tools.api.module import Module

_LEAST_BYTES = 1024
_ENTRY = "session.optimized_model_external_initializers_"


def write_optimized(module: Module, options: SessionOptions) -> None:
    """
    Write a program as ONNX, with initializers in a file beside it if configuration entries name one.

    Raises: StepwellError `unsupported`; `bad-option` for a path that cannot be written.
    """
    model, path = module.to_onnx(), Path(options.optimized_model_filepath)
    name, least = (options.entry(_ENTRY + each) for each in ("file_name", "min_size_in_bytes"))
    try:
        _save(model, path, name, int(least) if least.isdecimal() else _LEAST_BYTES)
    except OSError as error:
        raise StepwellError("bad-option", None, f"optimized_model_filepath: {error}") from error


def _save(model: ModelProto, path: Path, name: str, least_bytes: int) -> None:
    """Write a model; initializers of a size to the file of a name in its folder, if there is a name."""
    import onnx

    if not name:
        path.write_bytes(model.SerializeToString())
        return
    (path.parent / name).unlink(missing_ok=True)
    onnx.save_model(  # pyright: ignore[reportUnknownMemberType]
        model, str(path), save_as_external_data=True, location=name, size_threshold=least_bytes
    )
