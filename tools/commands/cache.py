"""`stepwell cache info|clear`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from stepwell.runtime.environment import CACHE
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.files.model_cache import ModelCache
from stepwell.tools.report import readable_bytes


def add_arguments(parser: ArgumentParser) -> None:
    """Add the argument: `info` or `clear`."""
    kernels, models = (readable_bytes(cache.max_bytes) for cache in (KernelCache(), ModelCache()))
    parser.description = (
        "Show or clear the caches: compiled kernels and whole compiled models, which later compilations use "
        f"again. They are kept in the folder that {CACHE.name} names (default: {CACHE.default}), at most "
        f"{kernels} of kernels and {models} of models; what was used least recently is dropped first. "
        "--no-cache of other commands neither reads nor writes them."
    )
    parser.add_argument(
        "action",
        choices=("info", "clear"),
        help="info: the folder, how many entries there are and how large; clear: remove them all",
    )


def run(args: Namespace) -> int:
    """Show or clear the caches; returns the exit status."""
    caches = {"kernels": KernelCache(), "models": ModelCache()}
    for kind, cache in caches.items():
        if args.action == "clear":
            removed = cache.clear()
            args.facts[kind] = {"removed": removed, "folder": cache.folder}
            print(f"removed {removed} {kind} from {cache.folder}")
            continue
        info = cache.info()
        args.facts[kind] = {**asdict(info), "max_bytes": cache.max_bytes}
        size = f"{readable_bytes(info.total_bytes)} of at most {readable_bytes(cache.max_bytes)}"
        print(f"{kind}: {info.entries}, {size}, in {info.folder}")
    return 0
