"""Model files in and out."""

from stepwell.frontend.importer import import_onnx
from stepwell.frontend.source import ModelSource, ModelWarning

__all__ = ["ModelSource", "ModelWarning", "import_onnx"]
