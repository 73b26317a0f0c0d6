"""The program of a process that compiles candidates: their choice, and the object file of the kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from math import prod
from typing import IO

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, TensorType, UnitAttr, VectorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.linalg_ext import FormsOp
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched import SCHEDULE, Schedule, schedule_of
from stepwell.dialects.sched_kernel import kernel_of
from stepwell.dialects.schedule_script import SetFormOp, SetSizeOp
from stepwell.dialects.schedule_script.files import script_of_text
from stepwell.dialects.tensor_ir.register_file import register_file
from stepwell.dialects.tensor_ir.structured import Structured, linear, tensor_element, tensor_shape
from stepwell.dialects.types import element_bytes
from stepwell.lowering.kernels.kernel import object_of
from stepwell.passes import run_pipeline
from stepwell.passes.context import PassContext
from stepwell.passes.pipelines import LLVM_PIPELINE, LOOP_PIPELINE, schedule_steps, text_of
from stepwell.runtime.collector import collector_paused, free_young_cycles
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import Frame, Head, read_frame, write_frame
from stepwell.runtime.json_values import as_mapping, as_text, as_texts
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.rpc.messages import failure
from stepwell.tools.tuning.candidate import Access, Candidate, FormedOp, Schedules, TiledOp, schedules_from
from stepwell.tools.tuning.kernel_scripts import apply_part, decided, rewrites_of, script_text, steps_of

PROGRAM = "stepwell.tools.tuning.building:main"
MOST_VECTOR_OPS = 800
"""Code of more ops on vectors than that is never fast, and takes seconds to compile."""
_BETWEEN = text_of(schedule_steps("choose-forms", "collapse-loops"))
_TILES = "choose-schedules"
_AFTER = text_of(schedule_steps("choose-schedules"))


class Builder:
    """A kernel, its last chosen candidate, and the answers to requests about them."""

    def __init__(self) -> None:
        self._text = ""
        self._target: TargetDescription | None = None
        self._chosen: tuple[str, ModuleOp, StepwellContext] | None = None
        self._before_tiles: dict[str, tuple[ModuleOp, Sequence[Schedule | None]]] = {}
        """The kernel before loops are scheduled, and the forms in it, by the script of these."""
        self._answers: dict[str, Callable[[Head, bytes], Frame]] = {
            "open": self._open,
            "choose": self._choose,
            "compile": self._compile,
            "read": self._read,
        }

    def answer(self, request: Frame) -> Frame:
        """The answer to a request; a failure is one too."""
        try:
            with PassContext():
                return self._answers[str(request.head["op"])](request.head, request.body)
        except Exception as error:
            return failure(error)
        finally:
            free_young_cycles()

    def _open(self, head: Head, body: bytes) -> Frame:
        self._text = body.decode()
        self._target = TargetDescription.from_json(as_mapping(head["target"]))
        self._chosen, self._before_tiles = None, {}
        return Frame({}, b"")

    def _choose(self, head: Head, body: bytes) -> Frame:
        """The script of a candidate with all decisions taken, and its ops."""
        text, rewrite = str(head.get("script") or ""), str(head.get("rewrite") or "")
        module, ctx, formed = self._formed(text, schedules_from(head.get("forms")))
        forms = [_formed(op) for op in formed]
        lists: dict[str, Attribute] = {"forms": _schedules(formed)} if formed else {}
        steps = steps_of(module, ctx)
        run_pipeline(module, _BETWEEN, ctx)
        before = module.clone()
        if text:
            apply_part(text, module, forms=False)
            steps += rewrites_of(text)
        if rewrite:
            apply_part(rewrite, module, forms=False)
            for op in module.walk():
                op.attributes.pop(SCHEDULE, None)  # a nest without decisions: the choosers take these
            steps += rewrites_of(rewrite)
        if not text:
            _write([view.op for view in _views(module)], schedules_from(head.get("tiles")))
        run_pipeline(module, _TILES, ctx)
        views = _views(module)
        lists["tiles"] = _schedules([view.op for view in views])
        steps += steps_of(module, ctx)
        script = script_text(steps, before, module, DictionaryAttr(lists))
        self._chosen = script, module, ctx
        assert self._target is not None
        facts = {
            "forms": [asdict(op) for op in forms],
            "tiles": [_tiled(v, self._target).to_json() for v in views],
        }
        return Frame({"script": script, **facts}, b"")

    def _formed(self, text: str, forms: Schedules | None) -> tuple[ModuleOp, StepwellContext, list[FormsOp]]:
        """The kernel with forms, by a script or schedules, else by the choosers; and the ops of these."""
        ctx = StepwellContext()
        assert self._target is not None
        ctx.target = self._target
        module = parse_module(ctx, self._text, "kernel.mlir")
        formed = [op for op in module.walk() if isinstance(op, FormsOp)]
        _write(formed, forms)
        if text:
            apply_part(text, module, forms=True)
        run_pipeline(module, "choose-forms", ctx)
        return module, ctx, formed

    def _read(self, head: Head, body: bytes) -> Frame:
        """The schedules of scripts, null for one that is not legal here."""
        found: list[object] = []
        for text in as_texts(head["scripts"]):
            try:
                found.append(self._schedules_of(text))
            except StepwellError:
                found.append(None)
        return Frame({"candidates": found}, b"")

    def _schedules_of(self, text: str) -> Mapping[str, object]:
        """The schedules of a script. Raises: StepwellError as `apply_part`."""
        script = script_of_text(text)
        has_forms = any(isinstance(step, SetFormOp | SetSizeOp) for step in script.steps)
        key = text if has_forms else ""
        if key not in self._before_tiles:
            module, ctx, formed = self._formed(key, None)
            run_pipeline(module, _BETWEEN, ctx)
            self._before_tiles[key] = module, [schedule_of(op) for op in formed]
        module, forms = self._before_tiles[key]
        found = decided(script, module)
        tiles = None if found is None else tuple(found.get(view.op) for view in _views(module))
        return Candidate(tuple(forms) or None, tiles).to_json()

    def _compile(self, head: Head, body: bytes) -> Frame:
        """The object file of the candidate that was chosen last."""
        assert self._chosen is not None and self._target is not None
        script, module, ctx = self._chosen
        if as_text(head["script"]) != script:
            raise StepwellError("bad-message", None, "the script is not that of the candidate chosen last")
        run_pipeline(module, _AFTER, ctx)
        vectors = sum(isinstance(r.type, VectorType) for op in module.walk() for r in op.results)
        if vectors > MOST_VECTOR_OPS:
            raise StepwellError(
                "bad-schedule",
                None,
                f"the kernel has {vectors} ops on vectors, at most {MOST_VECTOR_OPS} are tried",
            )
        run_pipeline(module, LOOP_PIPELINE, ctx)
        (kernel,) = [found for op in module.ops if (found := kernel_of(op)) is not None]
        run_pipeline(module, LLVM_PIPELINE, ctx)
        code = object_of(module, self._target)
        digest = hashlib.blake2b(code, digest_size=8).hexdigest()
        return Frame({"scratch": kernel.scratch.data, "code": digest, "vectors": vectors}, code)


def _views(module: ModuleOp) -> list[Structured]:
    """The structured ops of the kernel, in the order in which `choose-schedules` counts them."""
    kernels = [op for op in module.ops if isinstance(op, FuncOp)]
    return [view for func in kernels for op in func.walk() if (view := Structured.of(op)) is not None]


def _write(ops: Sequence[Operation], schedules: Schedules | None) -> None:
    """Give ops schedules. Raises: StepwellError `bad-schedule` where they are not as many."""
    if schedules is None:
        return
    if len(schedules) != len(ops):
        raise StepwellError("bad-schedule", None, f"{len(schedules)} schedules are given for {len(ops)} ops")
    for op, schedule in zip(ops, schedules, strict=True):
        if schedule is not None:
            op.attributes[SCHEDULE] = schedule.attr()


def _schedules(ops: Sequence[Operation]) -> ArrayAttr[Attribute]:
    return ArrayAttr([op.attributes.get(SCHEDULE, UnitAttr()) for op in ops])


def _formed(op: FormsOp) -> FormedOp:
    chosen = schedule_of(op)
    assert chosen is not None
    legal = {name: form for name, form in op.forms().items() if form.refusal is None}
    forms = {
        name: {size: (each.default, each.most, each.step, each.is_power) for size, each in form.sizes.items()}
        for name, form in legal.items()
    }
    return FormedOp(chosen, forms)


def _tiled(view: Structured, target: TargetDescription) -> TiledOp:
    registers = register_file(view, target)
    values: list[SSAValue] = list(view.op.operands)
    accesses = [
        Access(
            _strides(value, map, view.rank),
            element_bytes(tensor_element(value)),
            n >= len(view.inputs),
            value.index
            if isinstance(value, BlockArgument) and isinstance(value.block.parent_op(), FuncOp)
            else -1,
        )  # fmt: skip
        for n, (value, map) in enumerate(zip(values, view.maps, strict=True))
        if isinstance(value.type, TensorType)
    ]
    return TiledOp(
        tuple(n or 0 for n in view.extents),
        view.parallel,
        registers.lanes,
        schedule_of(view.op),
        len(view.body.ops),
        tuple(accesses),
        registers.count,
        view.op.name,
    )


def _strides(value: SSAValue, map: AffineMap, rank: int) -> tuple[int, ...]:
    """The stride of each loop in an operand, in elements; open sizes count as 1."""
    shape = [max(1, n) for n in tensor_shape(value)]
    strides = [0] * rank
    for position, index in enumerate(map.results):
        terms = linear(index)
        for loop, factor in terms.terms if terms is not None else ():
            strides[loop] += factor * prod(shape[position + 1 :])
    return tuple(strides)


def main(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until their stream ends."""
    builder = Builder()
    with collector_paused():
        while (request := read_frame(requests)) is not None:
            answer = builder.answer(request)
            write_frame(answers, answer.head, answer.body)
