"""Ops that one grid computes: small programs on buffers, and their numpy meanings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from stepwell import Target
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret
from stepwell.lowering.interpret.ptx import ptx_launcher
from stepwell.passes.loop.gpu.attention_tiles import AttentionTile
from stepwell.passes.manager import run_pipeline
from stepwell.runtime.meaning import evaluate
from tests.support.devices.gpu_kernels import PASSES

_CUDA = '#target.spec<"cuda", {}>'
_ALL = PASSES.replace("map-loops-to-gpu", "expand-math{mcpu=x86-64 calls=false},map-loops-to-gpu")


def lowered(text: str) -> ModuleOp:
    """The kernels of a program on buffers, for CUDA."""
    text = f"builtin.module attributes {{sched.target = {_CUDA}}} {{{text}}}"
    module = parse_module(StepwellContext(), text, "grid.mlir")
    run_pipeline(module, _ALL, StepwellContext())
    module.verify()
    return module


def in_ptx(module: ModuleOp, inputs: Sequence[Any]) -> Any:
    """The output of the kernels in PTX."""
    launcher = ptx_launcher(module, Target("cuda"))
    return interpret(module, StepwellContext(), "main", inputs, launcher=launcher)[-1]


@dataclass(frozen=True)
class AttentionCase:
    """Attention with a tile: batch, queries, keys, elements of a key, elements of a value."""

    sizes: tuple[int, int, int, int, int]
    tile: AttentionTile
    mask: str = ""
    """The dimensions of the mask among `bqk`, of size 1 where they are capitals."""
    zero_masked: bool = False
    is_open: bool = False
    """Whether queries and keys are known at run time only."""
    products: int = 3

    @property
    def _mask_shape(self) -> list[int]:
        of = dict(zip("bqk", self.sizes, strict=False))
        return [of.get(each, 1) for each in self.mask]

    def _type(self, shape: Sequence[int], kinds: str) -> str:
        dims = ["?" if self.is_open and k in "qk" else str(n) for n, k in zip(shape, kinds, strict=True)]
        return f"memref<{''.join(f'{dim}x' for dim in dims)}f32>"

    def module(self) -> ModuleOp:
        """The program, on buffers."""
        b, q, k, depth, columns = self.sizes
        shapes = [
            ((b, q, depth), "bqd"),
            ((b, k, depth), "bkd"),
            ((b, k, columns), "bkc"),
            ((b, q, columns), "bqc"),
        ]
        types = [self._type(*each) for each in shapes]
        names = ["%q", "%k", "%v", "%y"]
        use = "%q, %k, %v into %y"
        if self.mask:
            types.append(self._type(self._mask_shape, self.mask))
            names.append("%m")
            use += " mask %m"
        schedule = self.tile.schedule(3, self.products).attr()
        order = [*names[:3], *names[4:], "%y"]
        arguments = ", ".join(f"{name}: {types[names.index(name)]}" for name in order)
        unit = " zero_masked" if self.zero_masked else ""
        return lowered(f"""
func.func @main({arguments}) {{
  linalg_ext.grid_attention {use} scale 0.3{unit} {{sched.schedule = {schedule}}} : ({", ".join(types)}) -> ()
  func.return
}}""")

    def inputs(self) -> list[Any]:
        """Operands, a mask with some -inf, and an output that nothing has written."""
        b, q, k, depth, columns = self.sizes
        rng = np.random.default_rng(sum(self.sizes))
        shapes = (b, q, depth), (b, k, depth), (b, k, columns)
        found: list[Any] = [rng.standard_normal(shape, np.float32) for shape in shapes]
        if self.mask:
            mask = rng.standard_normal(self._mask_shape, np.float32)
            found.append(np.where(rng.random(mask.shape) < 0.3, np.float32(-np.inf), mask))
        return [*found, np.full((b, q, columns), np.nan, np.float32)]

    def expected(self, inputs: Sequence[Any]) -> Any:
        """The numpy meaning, in f64."""
        operands = [each.astype(np.float64) for each in inputs[:-1]]
        operands += [] if self.mask else [None]
        with np.errstate(invalid="ignore"):
            keywords = {"scale": np.float32(0.3), "zero_masked": self.zero_masked}
            return evaluate("graph.attention", operands, keywords)[0]

    def check(self, found: Any, inputs: Sequence[Any]) -> None:
        """Compare a result with the meaning."""
        np.testing.assert_allclose(found, self.expected(inputs), rtol=3e-5, atol=5e-6)


@dataclass(frozen=True)
class ScanCase:
    """A scan with a schedule: its shape, axis, and the text of the levels."""

    shape: tuple[int, ...]
    axis: int
    kind: str
    exclusive: bool
    reverse: bool
    schedule: str
    element: str = "f32"

    def module(self) -> ModuleOp:
        """The program, on buffers."""
        type = f"memref<{''.join(f'{size}x' for size in self.shape)}{self.element}>"
        flags = f"exclusive {str(self.exclusive).lower()} reverse {str(self.reverse).lower()}"
        return lowered(f"""
func.func @main(%x: {type}, %y: {type}) {{
  linalg_ext.grid_scan %x into %y kind "{self.kind}" axis {self.axis} {flags}
    {{sched.schedule = {self.schedule}}} : ({type}, {type}) -> ()
  func.return
}}""")

    def inputs(self) -> list[Any]:
        """Numbers, and an output that nothing has written."""
        rng = np.random.default_rng(sum(self.shape))
        if self.element == "f32":
            x = rng.uniform(0.5, 1.5, self.shape).astype(np.float32)
            return [x, np.full_like(x, np.nan)]
        x = rng.integers(-9, 9, self.shape).astype({"i32": np.int32, "i64": np.int64}[self.element])
        return [x, np.full_like(x, 99)]

    def check(self, found: Any, inputs: Sequence[Any]) -> None:
        """Compare a result with the meaning."""
        keywords = {name: getattr(self, name) for name in ("kind", "axis", "exclusive", "reverse")}
        expected: Any = evaluate("graph.scan", [inputs[0]], keywords)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-5 if self.element == "f32" else 0)
