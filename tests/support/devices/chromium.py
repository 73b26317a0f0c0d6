"""Kernels in Chromium without a window: its shader compiler is stricter than those of drivers."""

from __future__ import annotations

import json
import subprocess
import threading
from base64 import b64decode, b64encode
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from stepwell.lowering.emit_source.kernel import SourceKernel, emit_kernels
from stepwell.runtime.machine.named_target import Target
from tests.support.devices.shaders import Launcher, uniform_words

_SECONDS = 90
# WebGPU needs a page of 127.0.0.1; SwiftShader is the implementation on the CPU.
_OPTIONS = ("--headless=new", "--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader")
_PAGE = """<!doctype html><script type="module">
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0))
const text = (data) => btoa(Array.from(new Uint8Array(data), (b) => String.fromCharCode(b)).join(""))
const run = async (job) => {
  const adapter = await navigator.gpu.requestAdapter()
  const requiredFeatures = ["subgroups", "shader-f16"].filter((each) => adapter.features.has(each))
  const device = await adapter.requestDevice({ requiredFeatures })
  const { STORAGE, UNIFORM, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage
  const made = (data, usage) => {
    const buffer = device.createBuffer({ size: Math.ceil(data.length / 4) * 4, usage: usage | COPY_DST })
    device.queue.writeBuffer(buffer, 0, data)
    return buffer
  }
  device.pushErrorScope("validation")
  const module = device.createShaderModule({ code: job.code })
  const compute = { module, entryPoint: job.entry }
  const pipeline = device.createComputePipeline({ layout: "auto", compute })
  const buffers = job.buffers.map((each) => made(bytes(each), STORAGE | COPY_SRC))
  const uniform = job.uniform ? [made(bytes(job.uniform), UNIFORM)] : []
  const entries = [...buffers, ...uniform].map((buffer, binding) => ({ binding, resource: { buffer } }))
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries })
  const encoder = device.createCommandEncoder()
  const pass = encoder.beginComputePass()
  pass.setPipeline(pipeline)
  pass.setBindGroup(0, group)
  pass.dispatchWorkgroups(...job.grid)
  pass.end()
  const copies = buffers.map((buffer) => {
    const copy = device.createBuffer({ size: buffer.size, usage: MAP_READ | COPY_DST })
    encoder.copyBufferToBuffer(buffer, 0, copy, 0, buffer.size)
    return copy
  })
  device.queue.submit([encoder.finish()])
  const error = await device.popErrorScope()
  if (error) return { error: error.message }
  await Promise.all(copies.map((copy) => copy.mapAsync(GPUMapMode.READ)))
  return { buffers: copies.map((copy) => text(copy.getMappedRange())) }
}
const job = await (await fetch("/job")).json()
const result = await run(job).catch((error) => ({ error: String(error) }))
await fetch("/result", { method: "POST", body: JSON.stringify(result) })
</script>"""


class Chromium:
    """A browser that runs one kernel after the other, each in a process of its own."""

    def __init__(self, program: str, folder: Path):
        self._program, self._folder, self._count = program, folder, 0

    def launcher(self, module: ModuleOp, target: str = "webgpu") -> Launcher:
        """A launcher of the module's kernels as WGSL."""
        kernels = {kernel.name: kernel for kernel in emit_kernels(module, Target(target))}

        def launch(function: Operation, grid: Sequence[int], values: Sequence[Any]) -> None:
            self._run(kernels[function.properties["sym_name"].data], grid, values)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]

        return launch

    def _run(self, kernel: SourceKernel, grid: Sequence[int], values: Sequence[Any]) -> None:
        """Run a kernel, and write its results into the arrays."""
        arrays = [values[number] for number in kernel.buffers]
        words = uniform_words(kernel, values)
        found = self.result(
            {
                "code": kernel.text,
                "entry": kernel.name,
                "grid": [int(each) for each in grid],
                "buffers": [_text(np.ascontiguousarray(array).tobytes()) for array in arrays],
                "uniform": _text(words.tobytes()) if words.size else "",
            }
        )
        assert "error" not in found, found["error"]
        for array, data in zip(arrays, found["buffers"], strict=True):
            array[...] = np.frombuffer(b64decode(data)[: array.nbytes], array.dtype).reshape(array.shape)

    def result(self, job: dict[str, Any]) -> Any:
        """What the page says about a kernel: its buffers, or the error."""
        done, found = threading.Event(), dict[str, Any]()

        class Handler(BaseHTTPRequestHandler):
            """The page, the kernel, and the result."""

            def do_GET(self) -> None:
                body = json.dumps(job) if self.path == "/job" else _PAGE
                self.send_response(200)
                self.send_header("Content-Type", "application/json" if self.path == "/job" else "text/html")
                self.end_headers()
                self.wfile.write(body.encode())

            def do_POST(self) -> None:
                found.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()
                done.set()

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: pytest shows what failed."""

        self._count += 1
        profile = f"--user-data-dir={self._folder / f'profile{self._count}'}"
        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}/"
            process = subprocess.Popen(
                [self._program, *_OPTIONS, profile, address],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            try:
                assert done.wait(_SECONDS), "the page gave no result"
            finally:
                process.terminate()
                process.wait(_SECONDS)
                server.shutdown()
        return found


def _text(data: bytes) -> str:
    return b64encode(data).decode()
