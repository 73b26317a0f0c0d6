"""Parallel loops with a mapping → launches of the `gpu` dialect."""

from stepwell.lowering.parallel_loops_to_gpu.convert import ConvertParallelLoopsToGpuPass

__all__ = ["ConvertParallelLoopsToGpuPass"]
