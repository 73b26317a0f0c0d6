"""`stepwell cache info|clear`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.files.model_cache import ModelCache
from stepwell.tools.report import readable_bytes


def add_arguments(parser: ArgumentParser) -> None:
    """`info` or `clear`."""
    parser.add_argument("action", choices=("info", "clear"))


def run(args: Namespace) -> int:
    """Show or clear the caches; returns the exit status."""
    caches = {"kernels": KernelCache(), "models": ModelCache()}
    for kind, cache in caches.items():
        if args.action == "clear":
            print(f"removed {cache.clear()} {kind} from {cache.folder}")
            continue
        info = cache.info()
        size = f"{readable_bytes(info.total_bytes)} of at most {readable_bytes(cache.max_bytes)}"
        print(f"{kind}: {info.entries}, {size}, in {info.folder}")
    return 0
