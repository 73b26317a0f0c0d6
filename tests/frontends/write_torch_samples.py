"""
Writes the samples of `tests/models/torch/`: programs as `torch.export.save` writes them, with the results of
eager mode. Run `python -m tests.frontends.write_torch_samples` with the torch whose format is to be tested.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils import _pytree

FOLDER = Path(__file__).resolve().parents[1] / "models" / "torch"


class Mlp(nn.Module):
    """Two linear layers whose weights are one, and a result by name."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 6), nn.Linear(6, 6)
        self.last.weight = self.first.weight

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"logits": self.last(torch.relu(self.first(x))), "size": x.sum(0)}


class Cnn(nn.Module):
    """A convolution with batch normalization, a pool and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(16, 3)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.conv(image)))
        x = nn.functional.max_pool2d(x, 2).flatten(1)
        return torch.softmax(self.head(x), -1)


class Cache(nn.Module):
    """A buffer of which each call changes a part, nested arguments, and `chunk`."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("k", torch.zeros(4))

    def forward(self, x: torch.Tensor, past: dict[str, list[torch.Tensor]]) -> tuple[torch.Tensor, ...]:
        self.k[1:3] += 1
        left, right = x.chunk(2, -1)
        return left * right + past["a"][0], self.k.sum()


class Types(nn.Module):
    """Weights of other element types and layouts."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("narrow", torch.arange(6).reshape(2, 3).to(torch.bfloat16))
        self.register_buffer("turned", torch.arange(6.0).reshape(2, 3).t())
        self.register_buffer("mask", torch.tensor([True, False, True]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.where(self.mask, x + self.narrow.to(torch.float32), self.turned.t() * 2)


Sample = tuple[nn.Module, tuple[Any, ...], Any]


def samples() -> dict[str, Sample]:
    """The programs by name, with arguments and open sizes."""
    torch.manual_seed(0)
    batch = torch.export.Dim("N", max=64)
    past = {"a": [torch.randn(2)]}
    return {
        "cache": (Cache(), (torch.randn(3, 4), past), ({0: batch}, {"a": [None]})),
        "cnn": (Cnn(), (torch.randn(2, 3, 4, 4),), ({0: batch},)),
        "mlp": (Mlp(), (torch.randn(2, 6),), ({0: batch},)),
        "types": (Types(), (torch.randn(2, 3),), None),
    }


def _without_paths(program: torch.export.ExportedProgram) -> None:
    """Shorten the paths in the stack traces of a program to those inside of the folders of packages."""
    folders = [f"{Path(str(torch.__file__)).parents[2]}/", f"{FOLDER.parents[2]}/"]
    for node in program.graph.nodes:
        trace = node.meta.get("stack_trace") or ""
        for folder in folders:
            trace = trace.replace(folder, "")
        node.meta["stack_trace"] = trace


def main() -> None:
    """Write all samples."""
    FOLDER.mkdir(exist_ok=True)
    for name, (module, args, shapes) in samples().items():
        module = module.eval()
        program = torch.export.export(module, args, dynamic_shapes=shapes)
        _without_paths(program)
        torch.export.save(program, FOLDER / f"{name}.pt2")
        leaves = [leaf.numpy() for leaf in _pytree.tree_flatten(args)[0]]
        with torch.no_grad():
            results = [leaf.numpy() for leaf in _pytree.tree_flatten(module(*args))[0]]
        arrays = {f"in{i}": each for i, each in enumerate(leaves)}
        arrays |= {f"out{i}": each for i, each in enumerate(results)}
        np.savez(FOLDER / f"{name}.npz", **arrays)


if __name__ == "__main__":
    main()
