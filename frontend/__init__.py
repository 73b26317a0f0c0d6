"""Model files in and out."""

from stepwell.frontend.exporter import export_onnx
from stepwell.frontend.importer import import_onnx
from stepwell.frontend.source import ModelSource, ModelWarning

__all__ = ["ModelSource", "ModelWarning", "export_onnx", "import_onnx"]
