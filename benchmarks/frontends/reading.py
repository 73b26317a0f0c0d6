"""Reader and conversion of ResNet-50 and bert_base after `torch.export`: processor time and memory."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.functional.rows import Row

MOST_SECONDS, MOST_MB = 1.0, 150


def reading_rows() -> Iterator[Row]:
    """Two rows for each model; the memory is that beyond the module's weights, which are shared."""
    for name, make in MODELS.items():
        seconds, megabytes = _figures(make())
        yield Row(f"{name} to level 1", f"{seconds:.2f} s", f"< {MOST_SECONDS:.1f} s", seconds < MOST_SECONDS)
        yield Row(
            f"{name}: memory beyond weights", f"{megabytes:.0f} MB", f"< {MOST_MB} MB", megabytes < MOST_MB
        )


def _resnet50() -> Any:
    import timm
    import torch

    model = timm.create_model("resnet50").eval()
    shapes = {"x": {0: torch.export.Dim("N")}}
    return torch.export.export(model, (torch.randn(2, 3, 224, 224),), dynamic_shapes=shapes, strict=False)


def _bert_base() -> Any:
    import torch
    from transformers import BertConfig, BertModel

    inputs = {"input_ids": torch.randint(0, 1000, (2, 128)), "attention_mask": torch.ones(2, 128).long()}
    return torch.export.export(BertModel(BertConfig()).eval(), (), inputs, strict=False)


MODELS: Mapping[str, Callable[[], Any]] = {"ResNet-50": _resnet50, "bert_base": _bert_base}


def _figures(program: Any) -> tuple[float, float]:
    """The least seconds of three readings, and the most megabytes by which the process grew in the first."""
    seconds, megabytes = [], 0.0
    for number in range(3):
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
        before, start = _memory("VmRSS"), process_time()
        _read(program)
        seconds.append(process_time() - start)
        megabytes = megabytes if number else _memory("VmHWM") - before
    return min(seconds), megabytes


def _read(program: Any) -> object:
    from stepwell.dialects._xdsl import StepwellContext
    from stepwell.frontend.torch.exported import read_torch
    from stepwell.passes.manager import run_pipeline
    from stepwell.passes.pipelines import FROM_MODELS

    context = StepwellContext()
    module = read_torch(program, context)
    run_pipeline(module, FROM_MODELS["torch"], context)
    return module


def _memory(field: str) -> float:
    """A field of the process's status, in megabytes."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition(f"{field}:")[2].split()[0]) / 1024
