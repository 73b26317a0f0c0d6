"""A name of this machine's processor and caches, by which measurements are found again."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from stepwell.runtime.machine.target import TargetDescription, host_target

_CPU_INFO = Path("/proc/cpuinfo")
_MODEL_KEYS = ("model name", "Model", "cpu model", "uarch")


@cache
def machine_name() -> str:
    """The processor with the sizes of its caches: `AMD EPYC 9R14/1M/32M`."""
    host = host_target()
    return "/".join([_processor() or host.arch, *map(_short, (host.l2_bytes, host.l3_bytes))])


def _processor() -> str:
    """The name of the processor as the system knows it; empty where it says none."""
    try:
        lines = _CPU_INFO.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    pairs = [line.partition(":")[::2] for line in lines]
    return next((value.strip() for key, value in pairs if key.strip() in _MODEL_KEYS and value.strip()), "")


def _short(size_bytes: int) -> str:
    return f"{size_bytes >> 20}M" if size_bytes >= 1 << 20 else f"{size_bytes >> 10}K"


def target_digest(target: TargetDescription) -> str:
    """A digest of what decides how fast a schedule is on a target: instructions, registers and caches."""
    described = [
        target.triple,
        target.features,
        [target.vector_bytes, target.vector_registers, target.l1_bytes, target.l2_bytes, target.l3_bytes],
    ]
    return hashlib.blake2b(json.dumps(described).encode(), digest_size=8).hexdigest()
