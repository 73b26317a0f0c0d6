"""
Models on a GPU, in two steps: `prepare --out DIR` anywhere, `run DIR --json F` where a GPU is present.

`prepare` compiles each model for CUDA at each architecture and precision asked for, and stores samples of
outputs; its weights are drawn, and the folder has their seeds. `run` needs the runtime alone (no xDSL, no
onnx): it draws the weights again, compares outputs, then measures calls, beside ONNX Runtime and torch where
they are, and ends in time with what it has; `--resume F` goes on.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.gpu_runs.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
