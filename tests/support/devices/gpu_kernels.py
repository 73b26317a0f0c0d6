"""Kernels with schedules of blocks and threads: small programs on buffers, and what they compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret
from stepwell.passes.manager import run_pipeline

PASSES = (
    "tile-to-grid,linalg-to-loops{parallel=true},map-loops-to-gpu,convert-parallel-loops-to-gpu,"
    "gpu-kernel-outlining,expand-all-reduce,pipeline-copies,insert-gpu-barriers"
)


def kernel_module(body: str, arguments: str, memory: str = "", *, threads: int) -> ModuleOp:
    """A module with a kernel `@m::@k` for blocks of some threads."""
    text = f"""
gpu.module @m {{
  gpu.func @k({arguments}){memory} kernel attributes {{gpu.known_block_size = array<i32: {threads}, 1, 1>}} {{
    {body}
    gpu.return
  }}
}}"""
    module = parse_module(StepwellContext(), text, "kernel.mlir")
    module.verify()
    return module


@dataclass(frozen=True)
class ProductCase:
    """A product with a schedule: rows, columns and sums; tiles of a block; those of a thread."""

    sizes: tuple[int, int, int]
    block: tuple[int, int, int]
    thread: tuple[int, int]
    stages: int = 1
    transposed: bool = False
    """Whether the right operand is stored column by column."""
    split: int = 0
    """The products of tensor cores for one, whose tiles are warps'; 0 for threads."""
    target: str = ""
    """The target of the kernels; none by default."""
    copy_bytes: int = 1
    """The most bytes that a thread copies together."""
    split_k: int = 1
    """The parts of the sums, each by blocks of its own."""
    element: str = "f32"
    """The type of the elements of both operands: `f32` or `f16`."""

    def schedule(self) -> str:
        """The text of the schedule."""
        inner = [*self.thread, 0]
        bind = "warp" if self.split else "thread"
        levels = f'<tile = {list(self.block)}, bind = "block">, <tile = {inner}, bind = "{bind}">'
        more = f', intrinsic = "m16n8k8.tf32", split = {self.split}' if self.split else ""
        copies = f", copy_bytes = {self.copy_bytes}" if self.copy_bytes > 1 else ""
        more += f", split_k = {self.split_k}" if self.split_k > 1 else ""
        return f"#sched.schedule<levels = [{levels}], stage = [0, 1], stages = {self.stages}{copies}{more}>"

    def module(self) -> ModuleOp:
        """The program, on buffers: `z = relu(x y + b)`."""
        m, n, k = self.sizes
        right, dims = (f"{n}x{k}", "d1, d2") if self.transposed else (f"{k}x{n}", "d2, d1")
        left, right = f"memref<{m}x{k}x{self.element}>", f"memref<{right}x{self.element}>"
        types = left, right, f"memref<{n}xf32>", f"memref<{m}x{n}xf32>"
        is_half = self.element != "f32"
        converted = "".join(f"  %{a}f = arith.extf %{a} : f16 to f32\n" for a in "pq" if is_half)
        factors = "%pf, %qf" if is_half else "%p, %q"
        arguments = ", ".join(f"%{name}: {type}" for name, type in zip("xybz", types, strict=True))
        text = f"""
func.func @main({arguments}) {{
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%z : memref<{m}x{n}xf32>)
  linalg.generic {{indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
      affine_map<(d0, d1, d2) -> ({dims})>, affine_map<(d0, d1, d2) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x, %y : {left}, {right}) outs(%z : memref<{m}x{n}xf32>)
      attrs = {{sched.schedule = {self.schedule()}}} {{
  ^bb0(%p: {self.element}, %q: {self.element}, %sum: f32):
  {converted}  %r = arith.mulf {factors} : f32
    %s = arith.addf %sum, %r : f32
    linalg.yield %s : f32
  }}
  linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%b : memref<{n}xf32>) outs(%z : memref<{m}x{n}xf32>) {{
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %q, %p : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  }}
  func.return
}}"""
        if self.target:
            text = f"builtin.module attributes {{sched.target = {self.target}}} {{{text}}}"
        module = parse_module(StepwellContext(), text, "product.mlir")
        run_pipeline(module, PASSES, StepwellContext())
        module.verify()
        return module

    def inputs(self) -> list[Any]:
        """Operands, and an output that nothing has written."""
        m, n, k = self.sizes
        rng = np.random.default_rng(m * n + k)
        y = rng.standard_normal((n, k) if self.transposed else (k, n), np.float32)
        x, b = rng.standard_normal((m, k), np.float32), rng.standard_normal(n, np.float32)
        if self.element == "f16":
            x, y = x.astype(np.float16), y.astype(np.float16)
        return [x, y, b, np.full((m, n), np.nan, np.float32)]

    def check(self, found: Any, inputs: Sequence[Any]) -> None:
        """Compare a result with numpy's."""
        x, y, b, _ = inputs
        y = y.T if self.transposed else y
        x, y = x.astype(np.float32), y.astype(np.float32)
        expected = np.maximum(x.astype(np.float64) @ y.astype(np.float64) + b, 0)
        # Two TF32 have 22 bits: both operands are rounded by 2**-22, and the product left out is as small.
        units = 2 * self.sizes[2] + (12 if self.split else 0)
        bound = units * 2.0**-24 * (np.abs(x) @ np.abs(y) + np.abs(b)) + 1e-30
        assert (np.abs(found - expected) <= bound).all()


def run(module: ModuleOp, inputs: Sequence[Any]) -> Any:
    """The output after the kernels of a program have run on the interpreter, with all checks."""
    return interpret(module, StepwellContext(), "main", inputs)[-1]


@dataclass(frozen=True)
class RowCase:
    """Softmax of rows, with a schedule: rows, columns, threads of a block."""

    rows: int
    columns: int
    threads: int
    has_shuffles: bool = False
    """Whether the threads of a warp exchange their parts of a total."""

    def schedule(self) -> str:
        """The text of the schedule."""
        inner = '[0, 32], bind = "warp"' if self.has_shuffles else '[0, 1], bind = "thread"'
        levels = f'<tile = [0, {self.threads}], bind = "block">, <tile = {inner}>'
        more = ', intrinsic = "shuffle"' if self.has_shuffles else ""
        return f"#sched.schedule<levels = [{levels}]{more}>"

    def module(self) -> ModuleOp:
        """The program, on buffers."""
        full, row = f"memref<{self.rows}x{self.columns}xf32>", f"memref<{self.rows}xf32>"
        schedule = f"attrs = {{sched.schedule = {self.schedule()}}}"
        all_of, of_row = "affine_map<(d0, d1) -> (d0, d1)>", "affine_map<(d0, d1) -> (d0)>"
        maps = f'{{indexing_maps = [{all_of}, {of_row}], iterator_types = ["parallel", "reduction"]}}'
        three = f'[{all_of}, {of_row}, {all_of}], iterator_types = ["parallel", "parallel"]'
        two = three.replace(f"[{all_of}, ", "[")
        text = f"""
func.func @main(%x: {full}, %z: {full}) {{
  %m = memref.alloca() : {row}
  %t = memref.alloca() : {row}
  %low = arith.constant 0xff800000 : f32
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%low : f32) outs(%m : {row})
  linalg.generic {maps} ins(%x : {full}) outs(%m : {row}) {schedule} {{
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %b, %a : f32
    linalg.yield %c : f32
  }}
  linalg.generic {{indexing_maps = {three}}} ins(%x, %m : {full}, {row}) outs(%z : {full}) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.subf %a, %b : f32
    %e = math.exp %d : f32
    linalg.yield %e : f32
  }}
  linalg.fill ins(%zero : f32) outs(%t : {row})
  linalg.generic {maps} ins(%z : {full}) outs(%t : {row}) {{
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %b, %a : f32
    linalg.yield %c : f32
  }}
  linalg.generic {{indexing_maps = {two}}} ins(%t : {row}) outs(%z : {full}) {{
  ^bb0(%a: f32, %b: f32):
    %d = arith.divf %b, %a : f32
    linalg.yield %d : f32
  }}
  func.return
}}"""
        module = parse_module(StepwellContext(), text, "rows.mlir")
        run_pipeline(module, PASSES, StepwellContext())
        module.verify()
        return module

    def inputs(self) -> list[Any]:
        """Rows, and an output that nothing has written."""
        rng = np.random.default_rng(self.columns)
        x = rng.standard_normal((self.rows, self.columns), np.float32)
        return [x, np.full_like(x, np.nan)]

    def check(self, found: Any, inputs: Sequence[Any]) -> None:
        """Compare a result with numpy's."""
        exp = np.exp(inputs[0].astype(np.float64))
        np.testing.assert_allclose(found, exp / exp.sum(1, keepdims=True), rtol=1e-5)


@dataclass(frozen=True)
class TransposeCase:
    """The ReLU of the sum of a transposed array and another one: sizes of the output, threads, a square."""

    sizes: tuple[int, int, int]
    perm: tuple[int, int, int] = (0, 2, 1)
    """The dimension of the output along each of the transposed array."""
    threads: int = 64
    square: int = 8
    element: str = "f32"

    def schedule(self) -> str:
        """The text of the schedule."""
        rows = self.square * self.square // self.threads
        outer = [self.square if loop in (2, self.perm[2]) else 0 for loop in range(3)]
        inner = [{2: 1, self.perm[2]: rows}.get(loop, 0) for loop in range(3)]
        levels = f'<tile = {outer}, bind = "block">, <tile = {inner}, bind = "thread">'
        return f"#sched.schedule<levels = [{levels}], stage = [0]>"

    def text(self, schedule: str) -> str:
        """The program, on buffers, with a schedule or without."""
        shape = "x".join(map(str, self.sizes))
        across = "x".join(str(self.sizes[dim]) for dim in self.perm)
        inward = ", ".join(f"d{dim}" for dim in self.perm)
        every = "affine_map<(d0, d1, d2) -> (d0, d1, d2)>"
        kinds = 'iterator_types = ["parallel", "parallel", "parallel"]'
        type = self.element
        return f"""
func.func @main(%x: memref<{across}x{type}>, %y: memref<{shape}x{type}>, %z: memref<{shape}x{type}>) {{
  %zero = arith.constant 0.0 : {type}
  linalg.generic {{indexing_maps = [affine_map<(d0, d1, d2) -> ({inward})>, {every}, {every}], {kinds}}}
      ins(%x, %y : memref<{across}x{type}>, memref<{shape}x{type}>) outs(%z : memref<{shape}x{type}>)
      {schedule} {{
  ^bb0(%a: {type}, %b: {type}, %c: {type}):
    %d = arith.addf %a, %b : {type}
    linalg.yield %d : {type}
  }}
  linalg.generic {{indexing_maps = [{every}], {kinds}}} outs(%z : memref<{shape}x{type}>) {{
  ^bb0(%a: {type}):
    %b = arith.maximumf %a, %zero : {type}
    linalg.yield %b : {type}
  }}
  func.return
}}"""

    def module(self) -> ModuleOp:
        """The program after the passes, one kernel."""
        text = self.text(f"attrs = {{sched.schedule = {self.schedule()}}}")
        module = parse_module(StepwellContext(), text, "transpose.mlir")
        run_pipeline(module, PASSES, StepwellContext())
        module.verify()
        return module

    def inputs(self) -> list[Any]:
        """Both arrays, and an output that nothing has written."""
        rng = np.random.default_rng(sum(self.sizes))
        dtype = np.float32 if self.element == "f32" else np.float16
        y = rng.standard_normal(self.sizes).astype(dtype)
        x = rng.standard_normal([self.sizes[dim] for dim in self.perm]).astype(dtype)
        return [x, y, np.full_like(y, np.nan)]

    def check(self, found: Any, inputs: Sequence[Any]) -> None:
        """Compare a result with numpy's."""
        x, y, _ = inputs
        np.testing.assert_array_equal(found, np.maximum(x.transpose(np.argsort(self.perm)) + y, 0))


@dataclass(frozen=True)
class WideCase:
    """The ReLU of the scaled sum of rows and a row, by vectors: sizes, elements of a vector, threads."""

    sizes: tuple[int, int]
    lanes: int = 4
    threads: int = 32
    element: str = "f32"
    is_open: bool = False
    """Whether the number of rows is known at the launch alone."""

    def module(self) -> ModuleOp:
        """The program after the passes, one kernel."""
        rows, columns, type = "?" if self.is_open else self.sizes[0], self.sizes[1], self.element
        full, row, column = (
            f"memref<{rows}x{columns}x{type}>",
            f"memref<{columns}xf32>",
            f"memref<{rows}xf32>",
        )
        every = "affine_map<(i, j) -> (i, j)>"
        kinds = 'iterator_types = ["parallel", "parallel"]'
        maps = f"[{every}, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>, {every}]"
        outer, inner = f"[0, {self.lanes * self.threads}]", f"[0, {self.lanes}]"
        levels = f'<tile = {outer}, bind = "block">, <tile = {inner}, bind = "thread">'
        schedule = f"#sched.schedule<levels = [{levels}], vectorize = 1>"
        is_half = type != "f32"
        widened = "%p = arith.extf %a : f16 to f32" if is_half else "%p = arith.addf %a, %zero : f32"
        narrowed = "%v = arith.truncf %t : f32 to f16" if is_half else "%v = arith.addf %t, %zero : f32"
        text = f"""
func.func @main(%x: {full}, %b: {row}, %c: {column}, %z: {full}) {{
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0.0 : {type}
  linalg.generic {{indexing_maps = {maps}, {kinds}}}
      ins(%x, %b, %c : {full}, {row}, {column}) outs(%z : {full}) attrs = {{sched.schedule = {schedule}}} {{
  ^bb0(%a: {type}, %q: f32, %r: f32, %old: {type}):
    {widened}
    %s = arith.addf %p, %q : f32
    %t = arith.mulf %s, %r : f32
    {narrowed}
    linalg.yield %v : {type}
  }}
  linalg.generic {{indexing_maps = [{every}], {kinds}}} outs(%z : {full}) {{
  ^bb0(%a: {type}):
    %d = arith.maximumf %a, %low : {type}
    linalg.yield %d : {type}
  }}
  func.return
}}"""
        module = parse_module(StepwellContext(), text, "wide.mlir")
        run_pipeline(module, PASSES, StepwellContext())
        module.verify()
        return module

    def inputs(self) -> list[Any]:
        """The operands, and an output that nothing has written."""
        rng = np.random.default_rng(sum(self.sizes))
        x = rng.standard_normal(self.sizes).astype(np.float32 if self.element == "f32" else np.float16)
        b, c = (rng.standard_normal(size).astype(np.float32) for size in self.sizes[::-1])
        return [x, b, c, np.full_like(x, np.nan)]

    def check(self, found: Any, inputs: Sequence[Any]) -> None:
        """Compare a result with numpy's, bit for bit."""
        x, b, c, _ = inputs
        expected = ((x.astype(np.float32) + b) * c[:, None]).astype(x.dtype)
        np.testing.assert_array_equal(found, np.maximum(expected, 0))


Case: TypeAlias = ProductCase | RowCase
"""A program with one kernel."""
