"""Operators with subgraphs: branches, loops, scans, maps over lists."""

from stepwell.lowering.onnx_to_graph.control import loops, regions, scans, sequence_maps
from stepwell.lowering.onnx_to_graph.support import OnnxLowering

PATTERNS: list[type[OnnxLowering]] = [
    *loops.PATTERNS,
    *regions.PATTERNS,
    *scans.PATTERNS,
    *sequence_maps.PATTERNS,
]
