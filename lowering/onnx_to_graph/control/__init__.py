"""Operators with subgraphs: branches, loops, scans, maps over lists."""

from stepwell.lowering.onnx_to_graph.control import loops, regions, scans, sequence_maps
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.patterns.driver.pattern_set import patterns_in

PATTERNS = patterns_in(OnnxLowering, loops, regions, scans, sequence_maps)
