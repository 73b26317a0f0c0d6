"""The program of the worker processes that compile kernels, with the loader of plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO

from xdsl.dialects.func import FuncOp

from stepwell.lowering.kernels import early_worker, worker
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.driver.plugins import load_plugin


def main(requests: IO[bytes], replies: IO[bytes], kernels: Mapping[str, FuncOp] | None = None) -> None:
    """Compile kernels from requests until they end; a fork has those of its parent by name."""
    worker.main(requests, replies, load_plugin, kernels or {})


def early(requests: IO[bytes], replies: IO[bytes], target: Callable[[], TargetDescription]) -> None:
    """Get ready for kernels, and compile those of requests until they end; `target` is that of a sample."""
    early_worker.main(requests, replies, load_plugin, target)
