"""`mark-in-place`: kernels that may write a result over an operand say so."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from stepwell.dialects.sched_kernel import is_on_buffers, kernel_of, set_in_place
from stepwell.passes.analysis.overwriting import overwritable
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import count


@dataclass(frozen=True)
class MarkInPlacePass(FunctionPass):
    """
    Write into each kernel's `#sched.kernel` which results may be in the memory of which operands.

    ```mlir
    func.func @exp(%x: memref<64xf32>, %y: memref<64xf32>)
        attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
      scf.for %i = %c0 to %c64 step %c1 {
        %v = memref.load %x[%i] : memref<64xf32>
        %e = math.exp %v : f32
        memref.store %e, %y[%i] : memref<64xf32>
      }
    }
    // ->
    … attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, in_place = [0 over 0]>} …
    ```
    A result may be where an operand of as many bytes is, if each element is read for the last time before
    the kernel writes to it, in whatever order the iterations of parallel loops run. `plan-memory` then lets
    the two share memory where nothing reads the operand afterwards. Needs kernels on loops and buffers, of
    which no later pass moves reads or writes.
    """

    name = "mark-in-place"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if (kernel := kernel_of(func)) is None or not is_on_buffers(func) or not func.body.blocks:
            return
        if pairs := list(overwritable(func, kernel.inputs.data, kernel.outputs.data)):
            set_in_place(func, pairs)
            count("overwritable results")
