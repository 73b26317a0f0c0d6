// RUN: stepwell-opt %s -p convert-vm-to-llvm | filecheck %s

adt.data @List<"A"> {
  adt.constructor @Cons(!graph.var<"A">, !adt.data<@List, !graph.var<"A">>)
  adt.constructor @Nil()
}
vm.constant #0 = dense<0> : tensor<i64>
func.func private @add(tensor<i64>, tensor<i64>) -> tensor<i64> attributes {vm.segment}

// The pair is dropped after its last use: the field has a reference of its own.
// CHECK-LABEL: llvm.func @f0.second(%0: !llvm.ptr, %1: !llvm.ptr,
// CHECK: [[FIELD:%[0-9]+]] = llvm.call @vm.field([[PAIR:%[0-9]+]], {{%[0-9]+}}) : (!llvm.ptr, i64) -> !llvm.ptr
// CHECK: [[LAST:%[0-9]+]] = llvm.load
// CHECK-NEXT: llvm.call @vm.release(%0, [[LAST]])
// CHECK-NEXT: llvm.store [[FIELD]],
vm.func private @second (1) registers 2 {
  vm.get_field r1, r0 [1]
  vm.ret r1
}

// Both fields of the pair are the same value, which is passed on once and gets one more reference.
// CHECK-LABEL: llvm.func @f1.pair(
// CHECK: llvm.call @vm.allocate({{%[0-9]+}}, {{%[0-9]+}}, {{%[0-9]+}})
// CHECK: llvm.call @vm.head(
// CHECK: llvm.call @vm.retain(
// CHECK-NOT: llvm.call @vm.retain(
// CHECK-NOT: llvm.call @vm.release(
// CHECK: llvm.return
vm.func private @pair (1) registers 2 {
  vm.alloc_adt r1, tuple(r0, r0)
  vm.ret r1
}

// A parameter that nothing reads is dropped at once; a call in tail position stays one.
// CHECK-LABEL: llvm.func @f2.forever(
// CHECK: llvm.call @vm.release(
// CHECK: [[RESULT:%[0-9]+]] = llvm.call musttail @f2.forever(
// CHECK-NEXT: llvm.return [[RESULT]]
vm.func private @forever (2) registers 2 {
  vm.tail_invoke @forever(r0, r0)
}

// The case of the empty list reads nothing of it: it is dropped on the way there. An error passes each call.
// CHECK-LABEL: llvm.func @f3.length(
// CHECK: llvm.call @vm.tag(
// CHECK: "llvm.switch"
// CHECK: llvm.call @vm.release(
// CHECK-NEXT: llvm.br
// CHECK: llvm.call @vm.field(
// CHECK: llvm.call @vm.release(
// CHECK: llvm.call @f3.length(
// CHECK: llvm.call @vm.trace(
vm.func @length (1) registers 4 : (!adt.data<@List, tensor<i64>>) -> tensor<i64> {
  vm.get_tag r1, r0
  vm.switch r1, [^bb1, ^bb2]
^bb1:
  vm.get_field r2, r0 [1]
  vm.invoke r3, @length(r2)
  vm.invoke_packed @add(r3, r3) -> (r3)
  vm.ret r3
^bb2:
  vm.load_const r1, #0
  vm.ret r1
}

// Closures have an entry that puts the captures before the arguments.
// CHECK-LABEL: llvm.func @f4.closure(
// CHECK-LABEL: llvm.func @f1.pair.with0(
// CHECK: llvm.call @vm.release(
// CHECK-LABEL: llvm.func @f2.forever.with1(
// CHECK: llvm.call @vm.retain(
// CHECK: llvm.call @vm.release(
// CHECK: llvm.call musttail @f2.forever(
// CHECK-NOT: adt.data
// CHECK-NOT: vm.constant
vm.func private @closure (1) registers 3 {
  vm.alloc_closure r1, @pair()
  vm.invoke_closure r2, r1(r0)
  vm.alloc_closure r2, @forever(r2)
  vm.ret r2
}
