"""The early process: gets ready for kernels, and compiles them with workers of its own."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from select import select
from threading import Lock
from typing import IO, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.costs.kernels import COMPILER
from stepwell.dialects.parser import parse_module
from stepwell.lowering.kernels.early import SEPARATOR
from stepwell.lowering.kernels.handover import described, taken_over
from stepwell.lowering.kernels.kernel import compile_kernel
from stepwell.lowering.kernels.kernel_object import KernelObject, Kernels, Results, text_of
from stepwell.lowering.kernels.main_code import main_object
from stepwell.lowering.kernels.packed import packed, unpacked
from stepwell.lowering.kernels.pool import Pool
from stepwell.lowering.kernels.pool_code import pool_of
from stepwell.lowering.kernels.sample import SAMPLE
from stepwell.lowering.kernels.worker import import_passes, parsed_module
from stepwell.passes import run_pipeline
from stepwell.passes.context import PassContext
from stepwell.runtime.collector import collector_paused, free_young_cycles, late_methods
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import Frame, Head, read_frame, write_frame
from stepwell.runtime.log import collecting
from stepwell.runtime.machine.target import TargetDescription


def main(
    requests: IO[bytes],
    replies: IO[bytes],
    load: Callable[[str], None],
    target: Callable[[], TargetDescription],
) -> None:
    """
    The program of the early process, up to the end of requests.

    Args: `load` loads a plugin by name; `target` makes the target that a sample is compiled for.
    """
    with collector_paused(), late_methods():
        import_passes()
        with suppress(Exception):  # a bad target is an error of the compilation
            _warm_up(target(), lambda: bool(select([requests], [], [], 0)[0]))
        while (request := read_frame(requests)) is not None:
            write_frame(replies, *_answer(request, replies, load))


def _warm_up(target: TargetDescription, is_asked: Callable[[], bool]) -> None:
    """
    Compile a sample and the thread pool, unless there is a request.

    Op definitions, methods of data classes and LLVM's tables are made when they are first needed: after the
    sample, which takes 0.07 s, each process compiles the first kernels 0.06 s sooner (a larger one, a
    convolution and a sigmoid, takes 0.17 s and saves 0.07).
    """
    ctx = StepwellContext()
    if not is_asked():
        with collecting():
            compile_kernel(lambda: parse_module(ctx, SAMPLE), ctx, target)
        free_young_cycles(COMPILER.freed_objects)
    if not is_asked():
        pool_of(target)


def _answer(request: Frame, replies: IO[bytes], load: Callable[[str], None]) -> Frame:
    """The last answer to a request, after one for each kernel."""
    try:
        context = taken_over(request.head, load)
    except StepwellError as error:
        return Frame({"refusal": error.render()}, b"")
    target = TargetDescription.from_json(cast(Mapping[str, object], request.head["target"]))
    with context, collecting():  # the answers have the messages of kernels
        if "kernels" in request.head:
            return Frame(_compile(request, replies, target, context), b"")
        unwatched = context.with_own_remarks()
        unwatched.reproducers = False
        with suppress(Exception), unwatched.active():  # the parent does it too, and reports what is wrong
            return Frame({}, _made(request, target))
        return Frame({}, b"")


def _made(request: Frame, target: TargetDescription) -> bytes:
    """The functions of a request after passes, the object of its `@main`, or the code of the thread pool."""
    ctx = StepwellContext()
    ctx.target = target
    if "pipeline" in request.head:
        functions = unpacked(request.body)
        run_pipeline(ModuleOp(functions), str(request.head["pipeline"]), ctx)
        return packed(functions)
    if request.head["code"] == "main":
        (module,) = unpacked(request.body, ModuleOp)
        return main_object(module, ctx)
    return pickle.dumps(pool_of(target, records=bool(request.head["records"])))


def _compile(request: Frame, replies: IO[bytes], target: TargetDescription, context: PassContext) -> Head:
    """Compile the kernels of a request, and send the object of each; the last answer."""
    lock = Lock()

    def send(key: str, kernel: KernelObject) -> None:
        head = {"kernel": key, "meta": dict(kernel.meta), "log": results.messages[key]}
        with lock:
            write_frame(replies, head, kernel.code)

    results = Results(_kernels_of(request), send)
    pool, processes = Pool(results, target, deque(results.kernels)), cast(int, request.head["processes"])
    try:
        with ExitStack() as stack:
            workers = pool.workers(processes, [], stack, COMPILER.fork_pays)
            pool.run(context, {}, workers)
    except Exception as error:  # the parent reports it
        unsent = {key: found for key, found in results.messages.items() if key not in results.done}
        return {"error": described(error), "log": unsent}
    return {}


def _kernels_of(request: Frame) -> Kernels:
    """The kernels of a request, parsed where they are texts only."""
    rows, end = cast("list[tuple[str, str]]", request.head["kernels"]), cast(int, request.head["packed"])
    texts = request.body[end:].decode().split(SEPARATOR)
    if end:
        functions = unpacked(request.body[:end])
    else:
        ctx, named = StepwellContext(), zip(rows, texts, strict=True)
        modules = [parsed_module(ctx, text_of(symbol, text)) for (_, symbol), text in named]
        functions = [cast(FuncOp, module.body.block.first_op) for module in modules]
    return {key: (func, text) for (key, _), func, text in zip(rows, functions, texts, strict=True)}
