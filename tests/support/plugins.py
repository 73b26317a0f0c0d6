"""Isolation of what plugins leave in a process, for tests that load them."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from stepwell.runtime.plugins import DECORATED, IMPORTED, INSTALLED, LOADED, REGISTRIES, UNKEYED


@contextmanager
def forgotten_plugins() -> Generator[None]:
    """Forget in the end what was loaded and registered inside, so that another plugin can have its names."""
    modules = set(sys.modules)
    registries = [registry.snapshot() for registry in REGISTRIES]
    files = [(known, set(known)) for known in (DECORATED, IMPORTED, INSTALLED, UNKEYED)]
    loaded = dict(LOADED)
    try:
        yield
    finally:
        plugins = LOADED.keys() | DECORATED
        for name in sys.modules.keys() - modules:
            if getattr(sys.modules[name], "__file__", None) in plugins:
                del sys.modules[name]
        for index, registry in enumerate(REGISTRIES):  # those of modules imported inside are new
            registry.restore(registries[index] if index < len(registries) else {})
        for known, before in files:
            known.intersection_update(before)
        LOADED.clear()
        LOADED.update(loaded)
