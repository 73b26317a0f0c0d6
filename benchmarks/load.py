"""
The start of a process that runs a model: `python -m benchmarks.load`.

In fresh processes, one after the other, with numpy imported: `import stepwell`; `stepwell.load` of an
artifact, with what it imports, and the first call; and the session of ONNX Runtime on the same model, without
its import, and its first call. Files are in the page cache. Milliseconds: the median, and the least. Memory
is what loading adds to the process beside the mapped file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.zoo import F32_MODELS, model_path
from stepwell.tools.driver.compile import compile

MODELS = ("light_resnet50", "mobilenet_v2", "bert_mini_dyn")
_BEGIN = """
import json, sys
from time import perf_counter
import numpy as np
def resident():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("RssAnon")) / 1e3
feeds = dict(np.load(sys.argv[2]))
times = {}
def timed(name, run):
    begin = perf_counter()
    result = run()
    times[name] = 1e3 * (perf_counter() - begin)
    return result
def package():
    import stepwell
    return stepwell
"""
_OURS = """
stepwell = timed("import", package)
before = resident()
model = timed("load", lambda: stepwell.load(sys.argv[1]))
times["memory"] = resident() - before
timed("first call", lambda: model.run(feeds))
timed("second call", lambda: model.run(feeds))
print(json.dumps(times))
"""
_PEER = """
from onnxruntime import InferenceSession
session = timed("session", lambda: InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"]))
timed("first call", lambda: session.run(None, feeds))
timed("second call", lambda: session.run(None, feeds))
print(json.dumps(times))
"""
_COLUMNS = ("import", "load", "first call", "second call")
_PEER_COLUMNS = ("session", "first call", "second call")


def table(names: Sequence[str], rounds: int) -> str:
    """Times of models as a table; a model that is not available is left out."""
    theirs = (f"onnxruntime: {name}" for name in _PEER_COLUMNS)
    head = ["model", "weights, MB", *_COLUMNS, "memory, MB", *theirs]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name in names:
        if (path := model_path(name)) is not None:
            lines.append(f"| {' | '.join(_row(name, path, rounds))} |")
    return "\n".join(lines)


def _row(name: str, path: Path, rounds: int) -> list[str]:
    model = F32_MODELS[name]
    with tempfile.TemporaryDirectory() as folder:
        compiled = compile(path, input_shapes=model.input_shapes())
        megabytes = sum(weight.nbytes for weight in compiled.image.weights) / 1e6
        artifact, feeds = Path(folder) / "m.stepwell", Path(folder) / "feeds.npz"
        compiled.save(artifact)
        np.savez(feeds, allow_pickle=False, **model.feeds())
        ours: list[Mapping[str, float]] = []
        peers: list[Mapping[str, float]] = []
        for _ in range(rounds + 1):  # interleaved: a busy machine slows both; the first round writes bytecode
            ours.append(_process(_OURS, artifact, feeds))
            peers.append(_process(_PEER, path, feeds))
    times = [_shown(ours[1:], column) for column in _COLUMNS]
    memory = f"{median(run['memory'] for run in ours):.1f}"
    theirs = [_shown(peers[1:], column) for column in _PEER_COLUMNS]
    return [name, f"{megabytes:.0f}", *times, memory, *theirs]


def _process(program: str, model: Path, feeds: Path) -> Mapping[str, float]:
    command = [sys.executable, "-c", _BEGIN + program, str(model), str(feeds)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _shown(runs: Sequence[Mapping[str, float]], column: str) -> str:
    values = [run[column] for run in runs]
    return f"{median(values):.1f} ({min(values):.1f})"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = ArgumentParser(prog="benchmarks.load", description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL", help=" ".join(MODELS))
    parser.add_argument("--rounds", type=int, default=7, help="processes of each kind (default: %(default)s)")
    args = parser.parse_args(argv)
    print(table(args.models, args.rounds))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
