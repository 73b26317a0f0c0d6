"""`stepwell devices`: the devices that are here, and why others are not."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from stepwell.runtime.devices.table import devices
from stepwell.runtime.machine.target import host_target
from stepwell.tools.report import readable_bytes

_WIDTH = 20


def add_arguments(parser: ArgumentParser) -> None:
    """Add no arguments."""


def run(args: Namespace) -> int:
    """Print the table; returns the exit status."""
    found, missing = devices()
    args.facts["devices"] = [info._asdict() for info in found]
    args.facts["missing"] = missing
    print(f"{'host':<{_WIDTH}} {host_target()}")
    for info in found:
        memory = "" if info.memory_bytes is None else f", {readable_bytes(info.memory_bytes)}"
        print(f"{info.name:<{_WIDTH}} {info.about}{memory}")
    for kind, reason in missing.items():
        print(f"{kind:<{_WIDTH}} not here: {reason}")
    return 0
