"""Export: a compiled model as a file that programs in other languages link or load, and its header."""

from stepwell.lowering.export.c_source import CProgram
from stepwell.lowering.export.emulator.model import EmulatedModel
from stepwell.lowering.export.files import Exported, ExportOptions, with_place
from stepwell.lowering.export.merged_source import merged_program
from stepwell.lowering.export.project import export_image, export_source

__all__ = [
    "CProgram",
    "EmulatedModel",
    "ExportOptions",
    "Exported",
    "export_image",
    "export_source",
    "merged_program",
    "with_place",
]
