"""The program of the worker processes that compile kernels, with the loader of plugins."""

from __future__ import annotations

from typing import IO

from stepwell.lowering.kernels import worker
from stepwell.tools.driver.plugins import load_plugin


def main(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Compile kernels from requests until they end."""
    worker.main(requests, replies, load_plugin)
