// RUN: stepwell-opt %s -p fuse-ops | filecheck %s

// A use of a kernel's first output moves after the kernel, and with it all that must stay after that use.
// CHECK-LABEL: @writes
// CHECK: %[[A:.*]], %{{.*}} = graph.fused
// CHECK: ref.write %c, %[[A]]
// CHECK-NEXT: ref.write %c, %x
// CHECK-NEXT: ref.read
func.func @writes(%x: tensor<i64>, %c: !ref.cell<tensor<i64>>) -> (tensor<i64>, tensor<i64>) {
  %a = graph.add %x, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
  ref.write %c, %a : !ref.cell<tensor<i64>>, tensor<i64>
  ref.write %c, %x : !ref.cell<tensor<i64>>, tensor<i64>
  %b = graph.subtract %x, %a : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %v = ref.read %c : !ref.cell<tensor<i64>> -> tensor<i64>
  func.return %b, %v : tensor<i64>, tensor<i64>
}

// The second op uses what is read after the first one's result was written: no kernel can compute both.
// CHECK-LABEL: @through_a_cell
// CHECK: graph.fused {{.*}} attributes {kind = "single"}
// CHECK: ref.write
// CHECK: ref.read
// CHECK: graph.fused {{.*}} attributes {kind = "single"}
func.func @through_a_cell(%x: tensor<i64>, %c: !ref.cell<tensor<i64>>) -> tensor<i64> {
  %a = graph.add %x, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
  ref.write %c, %a : !ref.cell<tensor<i64>>, tensor<i64>
  %v = ref.read %c : !ref.cell<tensor<i64>> -> tensor<i64>
  %b = graph.subtract %v, %a : (tensor<i64>, tensor<i64>) -> tensor<i64>
  func.return %b : tensor<i64>
}

// The same with a write in a branch, and a function value whose calls may read.
// CHECK-LABEL: @through_a_call
// CHECK: graph.fused {{.*}} attributes {kind = "single"}
// CHECK: graph.if
// CHECK: graph.call %f(%x)
// CHECK: graph.fused {{.*}} attributes {kind = "single"}
func.func @through_a_call(%x: tensor<i64>, %d: tensor<i1>, %c: !ref.cell<tensor<i64>>, %f: (tensor<i64>) -> tensor<i64>) -> tensor<i64> {
  %a = graph.add %x, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %y = graph.if %d : tensor<i1> -> (tensor<i64>) {
    ref.write %c, %a : !ref.cell<tensor<i64>>, tensor<i64>
    graph.yield %x : tensor<i64>
  } else {
    graph.yield %x : tensor<i64>
  }
  %v = graph.call %f(%x) : (tensor<i64>) -> tensor<i64>
  %b = graph.subtract %v, %a : (tensor<i64>, tensor<i64>) -> tensor<i64>
  func.return %b : tensor<i64>
}
