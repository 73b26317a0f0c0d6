// RUN: stepwell-opt %s -p dead-code-elimination | filecheck %s
// RUN: stepwell-opt %s -p dead-code-elimination{inline-once} | filecheck %s --check-prefix ONCE
// RUN: stepwell-opt %s -p dead-code-elimination{ignore-effects} | filecheck %s --check-prefix IGNORE

func.func private @peek(%r: !ref.cell<tensor<f32>>) -> tensor<f32> {
  %v = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
  func.return %v : tensor<f32>
}
func.func private @set(%r: !ref.cell<tensor<f32>>, %x: tensor<f32>) -> tensor<f32> {
  ref.write %r, %x : !ref.cell<tensor<f32>>, tensor<f32>
  func.return %x : tensor<f32>
}

// A read after a write is the value; then the cell is only written, and goes.
// CHECK-LABEL: @forward
// CHECK-NEXT: %[[A:.*]] = graph.exp
// CHECK-NEXT: func.return %[[A]]
func.func @forward(%x: tensor<f32>) -> tensor<f32> {
  %r = ref.new %x : tensor<f32> -> !ref.cell<tensor<f32>>
  %a = graph.exp %x : tensor<f32> -> tensor<f32>
  ref.write %r, %a : !ref.cell<tensor<f32>>, tensor<f32>
  %b = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
  func.return %b : tensor<f32>
}

// A call that only reads goes; one that writes stays, and what follows reads again, once.
// CHECK-LABEL: @calls
// CHECK-NEXT: ref.new
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.call @set
// CHECK-NEXT: %[[B:.*]] = ref.read
// CHECK-NEXT: graph.add %[[B]], %[[B]]
// CHECK-NEXT: func.return
// ONCE-LABEL: @calls
// ONCE-NEXT: %[[A:.*]] = graph.exp
// ONCE-NEXT: graph.add %[[A]], %[[A]]
// ONCE-NEXT: func.return
// IGNORE-LABEL: @calls
// IGNORE-NOT: graph.call
// IGNORE: func.return
func.func @calls(%x: tensor<f32>) -> tensor<f32> {
  %r = ref.new %x : tensor<f32> -> !ref.cell<tensor<f32>>
  %u = graph.call @peek(%r) : (!ref.cell<tensor<f32>>) -> tensor<f32>
  %a = graph.exp %x : tensor<f32> -> tensor<f32>
  %w = graph.call @set(%r, %a) : (!ref.cell<tensor<f32>>, tensor<f32>) -> tensor<f32>
  %b = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
  %c = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
  %d = graph.add %b, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %d : tensor<f32>
}

// Cells that are given may be the same one; a new one is no other.
// CHECK-LABEL: @aliases
// CHECK-NEXT: ref.write %p, %x
// CHECK-NEXT: ref.write %q, %y
// CHECK-NEXT: %[[V:.*]] = ref.read %p
// CHECK-NEXT: func.return %[[V]], %x
func.func @aliases(%p: !ref.cell<tensor<f32>>, %q: !ref.cell<tensor<f32>>, %x: tensor<f32>, %y: tensor<f32>)
    -> (tensor<f32>, tensor<f32>) {
  %r = ref.new %x : tensor<f32> -> !ref.cell<tensor<f32>>
  %s = ref.new %y : tensor<f32> -> !ref.cell<tensor<f32>>
  ref.write %p, %x : !ref.cell<tensor<f32>>, tensor<f32>
  ref.write %q, %y : !ref.cell<tensor<f32>>, tensor<f32>
  %v = ref.read %p : !ref.cell<tensor<f32>> -> tensor<f32>
  ref.write %r, %x : !ref.cell<tensor<f32>>, tensor<f32>
  ref.write %s, %y : !ref.cell<tensor<f32>>, tensor<f32>
  %w = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
  func.return %v, %w : tensor<f32>, tensor<f32>
}

// A branch that may write: the cell is read again after it.
// CHECK-LABEL: @branch
// CHECK: graph.if
// CHECK: ref.write
// CHECK: %[[V:.*]] = ref.read
// CHECK-NEXT: func.return %[[V]]
func.func @branch(%c: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %r = ref.new %x : tensor<f32> -> !ref.cell<tensor<f32>>
  %y = graph.if %c : tensor<i1> -> (tensor<f32>) {
    %n = graph.neg %x : tensor<f32> -> tensor<f32>
    ref.write %r, %n : !ref.cell<tensor<f32>>, tensor<f32>
    graph.yield %n : tensor<f32>
  } else {
    graph.yield %x : tensor<f32>
  }
  %v = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
  func.return %v : tensor<f32>
}
