// RUN: stepwell-opt %s -p plan-memory --split-input-file | filecheck %s

// The next value is written over the one before, whose last read is earlier.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %0: memref<4xf32>, %1: memref<4xf32>, %2: memref<4xf32>, %3: memref<4xf32>, %4: memref<?xi8>)
// CHECK-SAME: in_place = [1]
// CHECK-NEXT: func.call @k(%0, %1, %2)
// CHECK-NEXT: func.call @k(%1, %1, %0)
// CHECK-NOT: memref.copy
func.func @main(%s: tensor<4xf32> {graph.state = "s"}, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32> {graph.state = "s"}) {
  %y = func.call @k(%s, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %n = func.call @k(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y, %n : tensor<4xf32>, tensor<4xf32>
}
func.func private @k(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  func.return %a : tensor<4xf32>
}

// -----

// A kernel that reads the value before writes the next one elsewhere, and the buffers change places.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %0: memref<4xf32>, %1: memref<4xf32>, %2: memref<4xf32>, %3: memref<?xi8>)
// CHECK-NOT: in_place
// CHECK: func.call @k(%0, %1, %2)
// CHECK-NOT: memref.copy
func.func @main(%s: tensor<4xf32> {graph.state = "s"}, %x: tensor<4xf32>) -> (tensor<4xf32> {graph.state = "s"}) {
  %n = func.call @k(%s, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %n : tensor<4xf32>
}
func.func private @k(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  func.return %a : tensor<4xf32>
}

// -----

// A value that is read after the next one was written stays until then.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: in_place
// CHECK: func.call @k(%1, %1, %2)
// CHECK: func.call @k(%0, %2, %3)
func.func @main(%s: tensor<4xf32> {graph.state = "s"}, %x: tensor<4xf32>) -> (tensor<4xf32> {graph.state = "s"}, tensor<4xf32>) {
  %n = func.call @k(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = func.call @k(%s, %n) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %n, %y : tensor<4xf32>, tensor<4xf32>
}
func.func private @k(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  func.return %a : tensor<4xf32>
}

// -----

// Of states that change places each is copied to where the other one's buffer is afterwards; one that stays is not.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %0: memref<4xf32>, %1: memref<4xf32>, %2: memref<4xf32>, %3: memref<4xf32>, %4: memref<4xf32>,
// CHECK-SAME: in_place = [2]
// CHECK-NEXT: "memref.copy"(%1, %3)
// CHECK-NEXT: "memref.copy"(%0, %4)
// CHECK-NEXT: func.return
func.func @main(%a: tensor<4xf32> {graph.state = "a"}, %b: tensor<4xf32> {graph.state = "b"}, %c: tensor<4xf32> {graph.state = "c"})
    -> (tensor<4xf32> {graph.state = "a"}, tensor<4xf32> {graph.state = "b"}, tensor<4xf32> {graph.state = "c"}) {
  func.return %b, %a, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
