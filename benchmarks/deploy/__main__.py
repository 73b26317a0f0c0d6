"""
Exported models against their bounds: `python -m benchmarks.deploy`, a table in Markdown.

Each group of figures is measured in a process of its own and kept in a file, so that `--resume` goes on where
a run was ended; `--rows` chooses groups. Times of calls in one process are processor time, which a busy
machine lengthens less. Peers that are not there are named: onnxruntime-web is found by NODE_PATH, onnx2c by
PATH.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.deploy.calls import calls_from_c, calls_there
from benchmarks.deploy.figures import FAILED, HEAD, Figure, add, figures_of, sums
from benchmarks.deploy.files import exported, library_time, sizes
from benchmarks.deploy.requests import batches, requests
from benchmarks.deploy.sources import microcontroller, sources
from benchmarks.deploy.web import web
from benchmarks.zoo import F32_MODELS, QUANTIZED_MODELS, REPOSITORY

_ERROR = re.compile(r"([\w.:]*[\w\])]: )?(fatal )?(\w*Error|error|\w*Exception)\b.*:")
_LIBRARIES = [*F32_MODELS, *QUANTIZED_MODELS]
GROUPS: Mapping[str, Callable[[Path], Iterator[Figure]]] = {
    "sizes": sizes,
    "export": exported,
    "call": calls_from_c,
    "there": calls_there,
    "requests": requests,
    "batches": batches,
    "sources": sources,
    "microcontroller": microcontroller,
    "web": web,
    **{f"library-{name}": partial(library_time, name) for name in _LIBRARIES},
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; returns 1 where a group failed."""
    parser = ArgumentParser(prog="benchmarks.deploy", description=__doc__)
    parser.add_argument("--rows", nargs="+", choices=GROUPS, default=[*GROUPS], help="default: all")
    parser.add_argument("--resume", action="store_true", help="leave out the groups that the file has")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "build/deploy-figures.jsonl")
    parser.add_argument("--inside", choices=GROUPS, help="measure a group in this process, for JSON")
    args = parser.parse_args(argv)
    if args.inside:
        with tempfile.TemporaryDirectory() as folder:
            for figure in GROUPS[args.inside](Path(folder)):
                print(json.dumps(figure), flush=True)
        return 0
    known = figures_of(args.results) if args.resume else {}
    print(HEAD)
    all_figures: list[Figure] = []
    for group in args.rows:
        figures = known.get(group) or _measured(group)
        print(*figures, sep="\n", flush=True)
        all_figures += figures
        if group not in known and not any(figure.verdict == FAILED for figure in figures):
            add(args.results, group, figures)
    print("\n" + ", ".join(sums(all_figures)))
    return 1 if any(figure.verdict == FAILED for figure in all_figures) else 0


def _measured(group: str) -> list[Figure]:
    """The figures of a group, and its failure."""
    command = [sys.executable, "-m", "benchmarks.deploy", "--inside", group]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY)
    figures = [Figure(*json.loads(line)) for line in done.stdout.splitlines() if line.startswith("[")]
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        figures.append(Figure(group, reason_of(done.stderr, done.returncode)[:300], "", FAILED))
    return figures


def reason_of(text: str, status: int) -> str:
    """The line of an output that names the error: of Python, of Node, or of a compiler."""
    lines = [line for line in text.strip().splitlines() if not line.startswith("Node.js v")]
    named = [line for line in lines if _ERROR.match(line.strip())]
    return (named or lines or [f"status {status}"])[-1].strip()


if __name__ == "__main__":
    sys.exit(main())
