"""The steps of all kernels of a model, each collected once, in this process and in workers."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping
from io import StringIO
from threading import Thread
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.printer import Printer

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.costs.kernels import COMPILER
from stepwell.lowering.kernels.handover import error_of, handed_over
from stepwell.passes.context import PassContext
from stepwell.runtime.child import Child, ChildError
from stepwell.runtime.collector import collector_paused, free_young_cycles
from stepwell.runtime.cores import usable_cores
from stepwell.runtime.errors import InternalError
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.explore.kernel_steps import Data, kernel_data

PROGRAM = "stepwell.tools.explore.kernel_worker:main"


class _Queue:
    """The queue of kernels that this process and workers share, and the data of finished ones."""

    def __init__(self, texts: Mapping[str, str], target: TargetDescription):
        self.texts, self.target = texts, target
        self.waiting = deque(sorted(texts, key=lambda name: -len(texts[name])))
        self.found: dict[str, Data] = {}
        self.errors: list[Exception] = []

    def drain(self, collect: Callable[[str], Data]) -> None:
        """Collect kernels until the queue is empty, or an error occurs anywhere."""
        while not self.errors:
            try:
                name = self.waiting.popleft()
            except IndexError:
                return
            try:
                self.found[name] = collect(name)
            except Exception as error:  # a thread has no caller to raise it to
                self.errors.append(error)

    def serve_worker(self, context: PassContext) -> None:
        """Give kernels to one worker; to none that cannot load the plugins."""
        child = Child(PROGRAM)
        try:
            if "error" not in child.ask(handed_over(context)).head:
                self.drain(lambda name: self._asked(child, name))
        except ChildError:
            pass  # it did not start: the other processes collect all kernels
        finally:
            child.close()

    def _asked(self, child: Child, name: str) -> Data:
        try:
            head, body = child.ask({"target": self.target.to_json()}, self.texts[name].encode())
        except ChildError as error:
            message = f"the worker that collected kernel {name} gave no answer: {error.reason}"
            raise InternalError(name, message, note=error.last_output or ()) from None
        if "error" in head:
            raise error_of(cast("dict[str, Any]", head["error"]), f"kernel {name}")
        return cast(Data, json.loads(body))


def collect_kernels(
    kernels: Mapping[str, FuncOp], target: TargetDescription, processes: int | None = None
) -> dict[str, Data]:
    """
    For each kernel function of level 2 what `kernel_data` returns.

    Raises: StepwellError of the first kernel that a pass refuses.
    """
    texts = {name: text_of_kernel(kernel) for name, kernel in kernels.items()}
    queue, context = _Queue(texts, target), PassContext.current()
    size = sum(map(len, texts.values()))
    helpers = min((processes or usable_cores()) - 1, len(texts) - 1) if size >= COMPILER.worker_pays else 0
    threads = [Thread(target=queue.serve_worker, args=(context,), daemon=True) for _ in range(helpers)]
    for thread in threads:
        thread.start()
    ctx = StepwellContext()

    def here(name: str) -> Data:
        data = kernel_data(ModuleOp([kernels[name].clone()]), ctx, target)
        free_young_cycles()
        return data

    with collector_paused():
        queue.drain(here)
    for thread in threads:
        thread.join()
    if queue.errors:
        raise queue.errors[0]
    return {name: queue.found[name] for name in kernels}


def text_of_kernel(kernel: FuncOp) -> str:
    """A kernel alone as the text of a module, with locations."""
    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(ModuleOp([kernel.clone()]))
    return stream.getvalue()
