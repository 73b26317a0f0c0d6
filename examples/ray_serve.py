"""
Models behind Ray Serve: `python examples/ray_serve.py m.stepwell`, with `pip install 'ray[serve]'`.

Replicas, autoscaling and other machines are Ray's work; a replica answers the Open Inference Protocol as
`stepwell serve` does: `curl http://127.0.0.1:8000/v2/models/m`.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import stepwell


def main(argv: Sequence[str] | None = None) -> int:
    """Serve artifacts until Ctrl-C; returns the exit status."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.stepwell")
    parser.add_argument("--replicas", type=int, default=1, metavar="N")
    args = parser.parse_args(argv)
    try:
        from ray import serve
    except ImportError:
        print("Ray Serve is not installed: pip install 'ray[serve]'", file=sys.stderr)
        return 1
    paths = {path.stem: str(path.resolve()) for path in args.models}

    def application() -> object:
        """The application of a replica, which maps the files: all share the memory of weights."""
        return stepwell.serve.app({name: stepwell.load(path, threads=1) for name, path in paths.items()})

    class Models:
        """A replica."""

    deployment: Any = serve.deployment(num_replicas=args.replicas)(serve.ingress(application)(Models))
    serve.run(deployment.bind(), blocking=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
