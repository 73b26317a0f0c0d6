"""Models over HTTP: the Open Inference Protocol, batches and metrics, as an ASGI application."""

from stepwell.runtime.serve.application import app as app
