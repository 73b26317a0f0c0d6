// RUN: not stepwell-opt %s --verify-diagnostics 2>&1 | filecheck %s

func.func @f(%x: i32) -> i32 {
  // CHECK: unexpected error:
  // CHECK-NEXT: error[invalid-ir]: arith.addi: %late is used before it is defined
  // CHECK-NEXT: --> {{.*}}verify-diagnostics-unmet.mlir:7:3
  %y = arith.addi %late, %x : i32
  %late = arith.addi %x, %x : i32
  // CHECK: :10: expected error was not found: nothing of the kind
  // expected-error: nothing of the kind
  func.return %y : i32
}
