"""`apply-schedule`: kernels get the schedules that scripts decide."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects.schedule_script import ScriptOp, intrinsics_of, scripts_of
from stepwell.dialects.schedule_script.files import read_scripts
from stepwell.passes.analysis.scripts.replay import apply_script
from stepwell.passes.analysis.scripts.stages import chooses_form, kernel_for
from stepwell.passes.base import Pass
from stepwell.runtime.errors import StepwellError, did_you_mean

_PARTS = {"all": (True, True), "forms": (True, False), "loops": (False, True)}


@dataclass(frozen=True)
class ApplySchedulePass(Pass):
    """
    Replace the schedules of ops by those of scripts; ops that no script names keep theirs, or get one from
    `choose-schedules`.

    ```mlir
    %y = linalg.generic {…} ins(%x : tensor<512xf32>) outs(%0 : tensor<512xf32>) …
    sched.script @long for "k0" {
      %c = sched.stage "y"
      %i = sched.loops %c
      %i0, %i1 = sched.split %i by [?, 64]
      sched.parallel %i0
      sched.vectorize %i1
    }
    // ->
    %y = linalg.generic {…} ins(%x : tensor<512xf32>) outs(%0 : tensor<512xf32>)
      attrs = {sched.schedule = #sched.schedule<tile = [64], parallel = [0], vectorize = 0>} …
    ```
    An illegal step is an error with the reason, and leaves the program unchanged. Class: rounding.
    """

    name = "apply-schedule"

    preserves = ("padded-tensors",)  # it writes attributes only

    file: str = ""
    """
    The file of the scripts; if empty, the module's own, which are then removed (except with `part=forms`).
    """
    script: str = ""
    """The symbol of one of them; if empty, all."""
    part: str = "all"
    """`forms` or `loops`: steps about these alone, since forms become loops before loops are final."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.part not in _PARTS:
            raise StepwellError("bad-option", None, f"part is {' or '.join(_PARTS)}, found {self.part!r}")
        forms, loops = _PARTS[self.part]
        wanted = self._chosen(read_scripts(self.file, ctx) if self.file else scripts_of(op))
        for script in wanted:
            apply_script(
                script, kernel_for(script, op), lambda stage: not (forms if chooses_form(stage) else loops)
            )
        if not self.file and loops:
            for step in (*wanted, *intrinsics_of(op).values()):
                step.detach()

    def _chosen(self, scripts: list[ScriptOp]) -> list[ScriptOp]:
        if not self.script:
            if not scripts:
                raise StepwellError(
                    "no-file", self.file or None, "there is no sched.script",
                    help="`schedule-to-script` prints one of a kernel's schedules",
                )  # fmt: skip
            return scripts
        names = [script.sym_name.data for script in scripts]
        if self.script not in names:
            help = f"{did_you_mean(self.script, names)}the scripts are {', '.join(names) or 'none'}"
            raise StepwellError("bad-option", None, f"no script is named {self.script!r}", help=help)
        return [script for script in scripts if script.sym_name.data == self.script]
