"""
Requests a second of `stepwell serve`: `python -m benchmarks.serving`.

The server is a process of its own on one core, its clients are threads of others. A model of one operator
shows the cost of a request with binary tensors; an MLP, whose weights are the cost of a call, the gain of
batches at 16 clients.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing import Pool
from pathlib import Path
from socket import create_connection
from statistics import median
from time import perf_counter
from typing import NamedTuple, TypeAlias

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.parser

ONE = '<ir_version: 9, opset_import: ["" : 19]>\ng (float[16] x) => (float[16] y) { y = Relu(x) }'
"""A model of one operator."""
_CLIENTS, _SECONDS, _ROUNDS = 16, 3.0, 3

Tensors: TypeAlias = Mapping[str, tuple[str, tuple[int, ...]]]
"""Datatypes of the protocol and shapes of inputs, by name."""
BINARY: Tensors = {"x": ("FP32", (16,))}
"""The input of ONE."""
_DTYPES = {"FP32": np.float32, "INT64": np.int64}


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        onnx.save(onnx.parser.parse_model(ONE), folder / "one.onnx")
        one = served(folder / "one.onnx", BINARY)
        about = f"{one.rate:.0f} requests/s, {one.cpu_ms:.2f} ms of the core each"
        print(f"one operator, binary, {_CLIENTS} clients: {about}")
        mlp(folder / "mlp.onnx", 4096)
        # Four instances: as many requests may wait as there are clients.
        inputs = {"x0": ("FP32", (1, 4096))}
        single = served(folder / "mlp.onnx", inputs, "--max-batch", "1", "--instances", "4").rate
        batched = served(folder / "mlp.onnx", inputs, "--max-batch", "16").rate
        print(f"MLP of three 4096x4096: {single:.1f} single, {batched:.1f} batched: {batched / single:.2f} x")


def mlp(path: Path, width: int) -> None:
    """Write a model of three square layers and an open batch."""
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((width, width), np.float32) / np.sqrt(width) for _ in range(3)]
    nodes = [onnx.helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(3)]
    first, last = (
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", width])
        for name in ("x0", "x3")
    )
    tensors = [onnx.numpy_helper.from_array(w.astype(np.float32), f"w{i}") for i, w in enumerate(weights)]
    graph = onnx.helper.make_graph(nodes, "mlp", [first], [last], tensors)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)]), path)


class Served(NamedTuple):
    """A measured server."""

    rate: float
    """Answers a second; the median of rounds."""
    cpu_ms: float
    """The time of a core for an answer in milliseconds: it depends less on other programs."""


def served(model: Path, tensors: Tensors, *options: str) -> Served:
    """A server on one core, asked by its clients for the outputs of ones."""
    cores = sorted(os.sched_getaffinity(0))
    command = [
        sys.executable,
        "-m",
        "stepwell",
        "serve",
        str(model),
        "--port",
        "0",
        "--threads",
        "1",
        *options,
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        for task in os.listdir(f"/proc/{server.pid}/task"):
            os.sched_setaffinity(int(task), cores[:1])
        message = _message(model.stem, tensors)
        with Pool(2, os.sched_setaffinity, (0, cores[1:] or cores)) as pool:
            share = _CLIENTS // 2
            before, rates = _cpu_ms(server.pid), list[float]()
            for _ in range(_ROUNDS):
                rates.append(sum(pool.starmap(_ask, [(port, message, share)] * 2)))
            answers = sum(rates) * _SECONDS
            return Served(median(rates), (_cpu_ms(server.pid) - before) / answers)
    finally:
        server.terminate()
        server.wait()


def _cpu_ms(process: int) -> float:
    """The time that the threads of a process have had a core."""
    threads = os.listdir(f"/proc/{process}/task")
    return (
        sum(int(Path(f"/proc/{process}/task/{each}/schedstat").read_text().split()[0]) for each in threads)
        / 1e6
    )


def _message(model: str, tensors: Tensors) -> bytes:
    """A request with binary inputs of ones."""
    data, inputs = b"", list[dict[str, object]]()
    for name, (datatype, shape) in tensors.items():
        array = np.ones(shape, _DTYPES[datatype]).tobytes()
        size = {"binary_data_size": len(array)}
        inputs.append({"name": name, "shape": list(shape), "datatype": datatype, "parameters": size})
        data += array
    head = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
    lines = [
        f"POST /v2/models/{model}/infer HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/octet-stream",
        f"Inference-Header-Content-Length: {len(head)}",
        f"Content-Length: {len(head) + len(data)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + head + data


def _ask(port: int, message: bytes, clients: int) -> float:
    """The answers a second to clients, each of which sends its next request after its answer."""
    import selectors

    selector = selectors.DefaultSelector()
    for _ in range(clients):
        client = create_connection(("127.0.0.1", port))
        client.sendall(message)
        selector.register(client, selectors.EVENT_READ, bytearray())
    count, begin = 0, perf_counter()
    last = begin
    while selector.get_map():
        for key, _ in selector.select(timeout=1):
            client, found = key.fileobj, key.data
            found += client.recv(1 << 20)  # pyright: ignore[reportAttributeAccessIssue]
            if not _is_whole(found):
                continue
            if not found.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(found[:200].decode())
            count += 1
            found.clear()
            if (last := perf_counter()) - begin > _SECONDS:
                selector.unregister(client)
                client.close()  # pyright: ignore[reportAttributeAccessIssue]
                continue
            client.sendall(message)  # pyright: ignore[reportAttributeAccessIssue]
    return count / (last - begin)


def _is_whole(found: bytearray) -> bool:
    head, end, body = found.partition(b"\r\n\r\n")
    if not end:
        return False
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return len(body) >= int(length.split(b":")[1])


if __name__ == "__main__":
    main()
