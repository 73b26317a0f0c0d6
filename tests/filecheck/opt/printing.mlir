// RUN: stepwell-opt %s -p canonicalize,cse --print-ir-after-all 2>&1 | filecheck %s --check-prefix=ALL
// RUN: stepwell-opt %s -p canonicalize,cse --print-ir-before-all 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: stepwell-opt %s -p canonicalize,cse --print-ir-after-change 2>&1 | filecheck %s --check-prefix=CHANGE
// RUN: stepwell-opt %s -p canonicalize,cse --print-ir-after cse 2>&1 | filecheck %s --check-prefix=NAMED
// RUN: stepwell-opt %s -p canonicalize,cse --print-ir-before cse 2>&1 | filecheck %s --check-prefix=EARLIER
// RUN: stepwell-opt %s -p canonicalize --print-ir-diff 2>&1 | filecheck %s --check-prefix=DIFF
// RUN: stepwell-opt %s -p canonicalize --print-op-counts 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: stepwell-opt %s -p canonicalize,cse --time-passes 2>&1 | filecheck %s --check-prefix=TIME
// RUN: stepwell-opt %s --print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: stepwell-opt %s --print-debuginfo | stepwell-opt --print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: stepwell-opt %s -p canonicalize --snapshots %t && cat %t/01-canonicalize.mlir | filecheck %s --check-prefix=AFTER

// ALL-LABEL: IR after canonicalize
// ALL-NOT: arith.addi
// ALL-LABEL: IR after cse
// BEFORE-LABEL: IR before canonicalize
// BEFORE: arith.addi
// BEFORE-LABEL: IR before cse
// NAMED-NOT: IR after canonicalize
// NAMED: IR after cse
// EARLIER-NOT: canonicalize
// EARLIER: IR before cse
// CHANGE: IR after canonicalize
// CHANGE: IR after cse: no change
// DIFF: -{{.*}}arith.addi
// COUNT: canonicalize: 5 -> 3 ops (arith.addi 1 -> 0, arith.constant 1 -> 0)
// TIME: 100.0% total
// TIME: canonicalize
// TIME: cse
func.func @add_zero(%x: i32) -> i32 {
  %zero = arith.constant 0 : i32
  // LOC: arith.addi %x, %zero : i32 loc("{{.*}}printing.mlir":33:3)
  %y = arith.addi %x, %zero : i32
  // AFTER: func.return %x
  // LOC: func.return %y : i32 loc("end")
  func.return %y : i32 loc("end")
}
