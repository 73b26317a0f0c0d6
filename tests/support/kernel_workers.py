"""Switches for the worker processes that compile kernels: tests have a process on each core already."""

from __future__ import annotations

import sys

from stepwell.lowering.kernels import pool


def compile_kernels_here() -> None:
    """Compile all kernels in this process from now on: another one takes 0.7 s to start."""
    pool.WORKER_PAYS_CHARS = pool.NODES_PER_WORKER = sys.maxsize
