"""`stepwell cache info|clear`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from stepwell.runtime.cache import KernelCache


def add_arguments(parser: ArgumentParser) -> None:
    """`info` or `clear`."""
    parser.add_argument("action", choices=("info", "clear"))


def run(args: Namespace) -> int:
    """Show or clear the cache; returns the exit status."""
    cache = KernelCache()
    if args.action == "clear":
        print(f"removed {cache.clear()} kernels from {cache.folder}")
        return 0
    info = cache.info()
    print(f"folder: {info.folder}")
    print(f"kernels: {info.entries}")
    print(f"size: {info.total_bytes / 1e6:.1f} MB of at most {cache.max_bytes / 1e6:.0f} MB")
    return 0
