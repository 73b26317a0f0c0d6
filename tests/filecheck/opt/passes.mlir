// RUN: stepwell-opt %s -p canonicalize | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic -p canonicalize | stepwell-opt - | filecheck %s

// CHECK-LABEL: @add_zero
func.func @add_zero(%x: i32) -> i32 {
  // CHECK-NEXT: func.return %x : i32
  %zero = arith.constant 0 : i32
  %y = arith.addi %x, %zero : i32
  func.return %y : i32
}
