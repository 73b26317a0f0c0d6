"""Models over HTTP, by the Open Inference Protocol v2: `serve.app(models)` is an ASGI application."""

from __future__ import annotations

import os
from collections.abc import Mapping

from stepwell.runtime.model import CompiledModel
from stepwell.runtime.serve.application import Application
from stepwell.runtime.serve.batching import BatchOptions
from stepwell.runtime.serve.request_guard import RequestGuard
from stepwell.runtime.serve.served_model import ServedModel
from stepwell.runtime.values.loading import load

__all__ = ["Application", "app"]

DEFAULT_MAX_REQUEST_BYTES = 64 << 20


def app(
    models: Mapping[str, CompiledModel | str | os.PathLike[str]],
    *,
    threads: int | None = None,
    max_batch: int = 8,
    delay_ms: float = 2,
    instances: int = 1,
    max_request_bytes: int = DEFAULT_MAX_REQUEST_BYTES,
    token: str | None = None,
    hosts: tuple[str, ...] | None = None,
) -> Application:
    """
    An ASGI application for uvicorn, hypercorn or Ray Serve.

    Args: `models` are compiled models or artifacts by name; `max_batch` rows are joined to one call, for
    which a request waits `delay_ms` at most; `instances` calls of a model run at once; `token` is what
    `Authorization: Bearer` must have; `hosts` are the names that `Host` may have (default: any).
    Raises: StepwellError `unsupported-interface`; as loading does.
    """
    options = BatchOptions(max_batch, delay_ms / 1e3, instances)
    served = {
        name: ServedModel(
            name, model if isinstance(model, CompiledModel) else load(model, threads=threads), options
        )
        for name, model in models.items()
    }
    return Application(served, RequestGuard(token, hosts), max_request_bytes)
