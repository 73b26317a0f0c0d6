// RUN: stepwell-opt %s -p compact-registers | filecheck %s

// A result takes the register of an operand that dies; the second parameter is free from the start.
// CHECK-LABEL: vm.func private @chain (2) registers 2 {
// CHECK-NEXT: vm.get_field r0, r0 [1]
// CHECK-NEXT: vm.get_field r0, r0 [0]
// CHECK-NEXT: vm.ret r0
vm.func private @chain (2) registers 5 {
  vm.get_field r2, r0 [1]
  vm.get_field r3, r2 [0]
  vm.move r4, r3
  vm.ret r4
}

// Values that are needed at once stay apart, also those of one instruction.
// CHECK-LABEL: vm.func private @apart (1) registers 3 {
// CHECK-NEXT: vm.get_field r1, r0 [0]
// CHECK-NEXT: vm.get_field r0, r0 [1]
// CHECK-NEXT: vm.invoke_packed @both(r1, r0) -> (r0, r2)
// CHECK-NEXT: vm.alloc_adt r0, tuple(r0, r2, r1)
// CHECK-NEXT: vm.ret r0
vm.func private @apart (1) registers 6 {
  vm.get_field r1, r0 [0]
  vm.get_field r2, r0 [1]
  vm.invoke_packed @both(r1, r2) -> (r3, r4)
  vm.alloc_adt r5, tuple(r3, r4, r1)
  vm.ret r5
}
func.func private @both(tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>) attributes {vm.segment}

// Both arms leave the result in the register of their own value: no move is left.
// CHECK-LABEL: vm.func private @arms (3) registers 3 {
// CHECK-NEXT: vm.if r0, ^bb1, ^bb2
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: vm.goto ^bb3
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: vm.move r1, r2
// CHECK-NEXT: vm.goto ^bb3
// CHECK-NEXT: ^bb3:
// CHECK-NEXT: vm.ret r1
vm.func private @arms (3) registers 4 {
  vm.if r0, ^bb1, ^bb2
^bb1:
  vm.move r3, r1
  vm.goto ^bb3
^bb2:
  vm.move r3, r2
  vm.goto ^bb3
^bb3:
  vm.ret r3
}

// The next turn of the loop reads r1, so that nothing else is put there.
// CHECK-LABEL: vm.func private @loop (2) registers 3 {
// CHECK-NEXT: vm.goto ^bb1
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: vm.alloc_adt r2, tuple(r1)
// CHECK-NEXT: vm.if r0, ^bb1, ^bb2
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: vm.ret r2
vm.func private @loop (2) registers 3 {
  vm.goto ^bb1
^bb1:
  vm.alloc_adt r2, tuple(r1)
  vm.if r0, ^bb1, ^bb2
^bb2:
  vm.ret r2
}

// The second field is read on the other path alone: the call would keep it. A tag keeps nothing.
// CHECK-LABEL: vm.func private @kept (1) registers 3 {
// CHECK: vm.switch r1, [^bb1, ^bb2]
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: vm.kill r0
// CHECK-NEXT: vm.invoke r0, @kept(r2)
// CHECK-NEXT: vm.ret r0
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: vm.ret r0
vm.func private @kept (1) registers 6 {
  vm.get_field r1, r0 [0]
  vm.get_field r2, r0 [1]
  vm.alloc_adt r3, tuple(r1, r2)
  vm.get_tag r5, r1
  vm.switch r5, [^bb1, ^bb2]
^bb1:
  vm.invoke r4, @kept(r3)
  vm.ret r4
^bb2:
  vm.ret r2
}
