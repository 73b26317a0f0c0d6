"""Triples of targets: architecture, and system."""

from __future__ import annotations


def arch_of(triple: str) -> str:
    """The architecture of a triple by one name; Apple's tools write arm64, and Thumb has a version."""
    if triple.startswith("thumb"):
        return "thumb"
    return "aarch64" if triple.startswith("arm64-") else triple.partition("-")[0]


def system_of(triple: str) -> str:
    """
    The family of operating systems of a triple, which decides the format of object files; `none` for a
    machine without one, and nothing for an unknown one.
    """
    found = next((system for system in ("linux", "windows", "apple") if system in triple), "")
    return found or ("none" if "-none-" in triple else "")


def has_threads(arch: str) -> bool:
    """
    Whether there may be several threads, and stacks of megabytes.

    Atomic integers of 64 bits are missing in C99 and on microcontrollers.
    """
    return arch not in ("c", "thumb", "riscv32")
