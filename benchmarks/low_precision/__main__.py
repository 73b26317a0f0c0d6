"""
Low precision and language models against their bounds: `python -m benchmarks.low_precision`.

Engines take turns; a ratio is the peer's time over ours, each the least median of the rounds. `--rows`
chooses among the parts; a peer or a model that is not here is a row with the reason. Peers are the
packages onnxruntime, openvino, nncf, and llama-cpp-python (built from source, some 15 minutes) with gguf.
On a busy machine `--processor-time` counts what the process used instead of what a clock says; rows of
two threads do not. What options leave alone is compared by `python -m benchmarks.replay`.
"""

from __future__ import annotations

import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time

from benchmarks.deploy.figures import HEAD, Figure, sums
from benchmarks.low_precision.decoder_model import QWEN, TINY_LLAMA
from benchmarks.low_precision.decoders import decoder_figures
from benchmarks.low_precision.measuring import Measuring
from benchmarks.low_precision.networks import bf16_figures, int8_figures
from benchmarks.low_precision.products import many_rows_figures, one_row_figures
from benchmarks.low_precision.quantizing import quantizing_figures

ROWS: Mapping[str, Callable[[Measuring], Iterator[Figure]]] = {
    "one-row": lambda how: one_row_figures(how, "f32"),
    "one-row-int8": lambda how: one_row_figures(how, "int8"),
    "many-rows": many_rows_figures,
    "qwen": lambda how: decoder_figures(how, QWEN),
    "tinyllama": lambda how: decoder_figures(how, TINY_LLAMA),
    "quantize": quantizing_figures,
    "bf16": bf16_figures,
    "int8": int8_figures,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print each row as it is known; returns the exit status."""
    parser = ArgumentParser(prog="benchmarks.low_precision", description=__doc__)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=[*ROWS], help="default: all")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--layers", type=int, help="of decoders, at most (default: all)")
    parser.add_argument("--processor-time", action="store_true", help="of the process, for a busy machine")
    args = parser.parse_args(argv)
    clock = process_time if args.processor_time else perf_counter
    print(HEAD)
    figures: list[Figure] = []
    for name in args.rows:
        begin = perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            how = Measuring(clock, args.rounds, args.threads, args.layers, Path(folder))
            for figure in ROWS[name](how):
                figures.append(figure)
                print(figure, flush=True)
        print(f"{name}: {perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    print("\n" + ", ".join(sums(figures)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
