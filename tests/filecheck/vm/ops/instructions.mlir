// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK: adt.data @List<"A"> {
adt.data @List<"A"> {
  adt.constructor @Cons(!graph.var<"A">, !adt.data<@List, !graph.var<"A">>)
  adt.constructor @Nil()
}
// CHECK: vm.constant #0 = dense<0> : tensor<i64>
vm.constant #0 = dense<0> : tensor<i64>
// CHECK-NEXT: vm.constant #1 = dense<[1.500000e+00, -2.000000e+00]> : tensor<2xf32>
vm.constant #1 = dense<[1.5, -2.0]> : tensor<2xf32>
func.func private @length_0(%n: tensor<i64>) -> tensor<i64> attributes {vm.segment} {
  func.return %n : tensor<i64>
}
// CHECK: func.func private @two(tensor<i64>) -> (tensor<i64>, tensor<f32>) attributes {vm.host}
func.func private @two(tensor<i64>) -> (tensor<i64>, tensor<f32>) attributes {vm.host}

// CHECK-LABEL: vm.func private @length (1) registers 4 {
vm.func private @length (1) registers 4 {
  // CHECK-NEXT: vm.get_tag r1, r0
  vm.get_tag r1, r0
  // CHECK-NEXT: vm.switch r1, [^bb1, ^bb2]
  vm.switch r1, [^bb1, ^bb2]
// CHECK-NEXT: ^bb1:
^bb1:
  // CHECK-NEXT: vm.get_field r2, r0 [1]
  vm.get_field r2, r0 [1]
  // CHECK-NEXT: vm.kill r0
  vm.kill r0
  // CHECK-NEXT: vm.invoke r3, @length(r2)
  vm.invoke r3, @length(r2)
  // CHECK-NEXT: vm.invoke_packed @length_0(r3) -> (r1)
  vm.invoke_packed @length_0(r3) -> (r1)
  // CHECK-NEXT: vm.ret r1
  vm.ret r1
// CHECK-NEXT: ^bb2:
^bb2:
  // CHECK-NEXT: vm.load_const r1, #0
  vm.load_const r1, #0
  // CHECK-NEXT: vm.ret r1
  vm.ret r1
}

// CHECK-LABEL: vm.func @main (2) registers 5 : (!adt.data<@List, tensor<i64>>, tensor<i1>) -> tensor<i64> attributes {vm.names = ["list", "wanted"]} {
vm.func @main (2) registers 5 : (!adt.data<@List, tensor<i64>>, tensor<i1>) -> tensor<i64> attributes {vm.names = ["list", "wanted"]} {
  // CHECK-NEXT: vm.if r1, ^bb1, ^bb2
  vm.if r1, ^bb1, ^bb2
^bb1:
  // CHECK: vm.alloc_closure r2, @length()
  vm.alloc_closure r2, @length()
  // CHECK-NEXT: vm.invoke_closure r3, r2(r0)
  vm.invoke_closure r3, r2(r0)
  // CHECK-NEXT: vm.goto ^bb3
  vm.goto ^bb3
^bb2:
  // CHECK: vm.fatal "no-case", "no case fits"
  vm.fatal "no-case", "no case fits"
^bb3:
  // CHECK: vm.new_ref r4, r3
  vm.new_ref r4, r3
  // CHECK-NEXT: vm.write_ref r4, r3
  vm.write_ref r4, r3
  // CHECK-NEXT: vm.read_ref r3, r4
  vm.read_ref r3, r4
  // CHECK-NEXT: vm.check r1, "size-mismatch", "N is not M"
  vm.check r1, "size-mismatch", "N is not M"
  // CHECK-NEXT: vm.alloc_adt r4, @List::@Cons(r3, r0)
  vm.alloc_adt r4, @List::@Cons(r3, r0)
  // CHECK-NEXT: vm.alloc_adt r4, tuple(r3, r0, r1)
  vm.alloc_adt r4, tuple(r3, r0, r1)
  // CHECK-NEXT: vm.alloc_adt r4, tuple()
  vm.alloc_adt r4, tuple()
  // CHECK-NEXT: vm.move r4, r0
  vm.move r4, r0
  // CHECK-NEXT: vm.tail_invoke @length(r4)
  vm.tail_invoke @length(r4)
}

// CHECK-LABEL: vm.func private @memory (1) registers 6 {
vm.func private @memory (1) registers 6 {
  // CHECK-NEXT: vm.load_consti r1, -7
  vm.load_consti r1, -7
  // CHECK-NEXT: vm.alloc_storage r2, r1 align 64
  vm.alloc_storage r2, r1 align 64
  // CHECK-NEXT: vm.alloc_tensor r3, r2 [16] : tensor<4x2xf32>
  vm.alloc_tensor r3, r2 [16] : tensor<4x2xf32>
  // CHECK-NEXT: vm.shape_of r4, r3
  vm.shape_of r4, r3
  // CHECK-NEXT: vm.alloc_tensor_reg r5, r2 [0], r4 : i64
  vm.alloc_tensor_reg r5, r2 [0], r4 : i64
  // CHECK-NEXT: vm.reshape_tensor r5, r3, r4
  vm.reshape_tensor r5, r3, r4
  // CHECK-NEXT: vm.device_copy r5, r5 device 0
  vm.device_copy r5, r5 device 0
  // CHECK-NEXT: vm.invoke_packed @two(r5) into (r3, r5)
  vm.invoke_packed @two(r5) into (r3, r5)
  // CHECK-NEXT: vm.tail_invoke_closure r0(r3, r5)
  vm.tail_invoke_closure r0(r3, r5)
}
