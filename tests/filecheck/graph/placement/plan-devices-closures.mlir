// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0 io=device}' | filecheck %s
// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0 io=device},place-devices{default=gpu0 io=device}' | filecheck %s

// A tuple with a function is the host's, and so is what its fields meet in a call.
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {dev.on = @host}, %y: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %f = graph.function @sum {dev.on = @host}
// CHECK-NEXT: %t = graph.tuple %f, %x {dev.on = @host}
// CHECK-NEXT: %u = graph.get %t[1] {dev.on = @host}
// CHECK-NEXT: %g = graph.get %t[0] {dev.on = @host}
// CHECK-NEXT: %r = graph.call %g(%u, %y) {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %r from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: func.return %0 : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func private @sum(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %f = graph.function @sum : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = graph.tuple %f, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>
  %u = graph.get %t[1] : tuple<(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  %g = graph.get %t[0] : tuple<(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>>
    -> (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = graph.call %g(%u, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// A condition that chooses between functions: they see the value around them, which is the host's then.
// CHECK-LABEL: func.func @main(%c: tensor<i1> {dev.on = @gpu0}, %y: tensor<4xf32> {dev.on = @host}, %z: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %f = graph.lambda (%a: tensor<4xf32>) -> (tensor<4xf32>) attributes {dev.on = @host} {
// CHECK-NEXT: %s = graph.add %a, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK:      %g = graph.lambda (%b: tensor<4xf32>) -> (tensor<4xf32>) attributes {dev.on = @host} {
// CHECK-NEXT: %d = graph.subtract %b, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK:      %0 = dev.copy %c from @gpu0 to @host : tensor<i1>
// CHECK-NEXT: %h = graph.if %0
// CHECK:      %r = graph.call %h(%z) {dev.on = @host}
// CHECK-NEXT: %1 = dev.copy %r from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: func.return %1 : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%c: tensor<i1>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %f = graph.lambda (%a: tensor<4xf32>) -> (tensor<4xf32>) {
    %s = graph.add %a, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %s : tensor<4xf32>
  }
  %g = graph.lambda (%b: tensor<4xf32>) -> (tensor<4xf32>) {
    %d = graph.subtract %b, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %d : tensor<4xf32>
  }
  %h = graph.if %c : tensor<i1> -> ((tensor<4xf32>) -> tensor<4xf32>) {
    graph.yield %f : (tensor<4xf32>) -> tensor<4xf32>
  } else {
    graph.yield %g : (tensor<4xf32>) -> tensor<4xf32>
  }
  %r = graph.call %h(%z) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// A function that makes a function: what the inner one sees of outside is copied to the host once.
// CHECK-LABEL: func.func private @twice(%g: (tensor<4xf32>) -> tensor<4xf32>, %x: tensor<4xf32> {dev.on = @host}, %a: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %p = graph.call %g(%a) {dev.on = @host}
// CHECK-NEXT: %q = graph.call %g(%p) {dev.on = @host}
// CHECK-NEXT: %s = graph.add %q, %x {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %s from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: func.return %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {dev.on = @gpu0}, %y: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK:      %0 = dev.copy %x from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %f = graph.closure @twice(%h, %0) {dev.on = @host}
// CHECK-NEXT: %r = graph.call %f(%y) {dev.on = @host}
// CHECK-NEXT: %1 = dev.copy %r from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %z = graph.subtract %x, %1 {dev.on = @gpu0}
// CHECK-NEXT: func.return %z : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func private @twice(%g: (tensor<4xf32>) -> tensor<4xf32>, %x: tensor<4xf32>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %p = graph.call %g(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %q = graph.call %g(%p) : (tensor<4xf32>) -> tensor<4xf32>
  %s = graph.add %q, %x {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32> {dev.on = @gpu0}, %y: tensor<4xf32>) -> tensor<4xf32> {
  %h = graph.lambda (%b: tensor<4xf32>) -> (tensor<4xf32>) {
    %n = graph.neg %b : tensor<4xf32> -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  %f = graph.closure @twice(%h, %x) : ((tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>) -> ((tensor<4xf32>) -> tensor<4xf32>)
  %r = graph.call %f(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %z = graph.subtract %x, %r {dev.on = @gpu0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}

// -----

// A parameter of a function is pinned: each caller's value goes there, and its others stay.
// CHECK-LABEL: func.func private @f(%a: tensor<4xf32> {dev.on = @gpu0}, %b: tensor<4xf32> {dev.on = @host}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %0 = dev.copy %b from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %s = graph.add %a, %0 {dev.on = @gpu0}
// CHECK-NEXT: func.return %s : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {dev.on = @host}, %y: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %r = graph.call @f(%y, %x) {dev.on = @gpu0}
// CHECK-NEXT: func.return %r : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func private @f(%a: tensor<4xf32>, %b: tensor<4xf32> {dev.on = @host}) -> tensor<4xf32> {
  %s = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = graph.call @f(%y, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// Values in the memory of another device: one that is free goes there, one that is elsewhere is copied.
// CHECK-LABEL: func.func private @there(%x: tensor<4xf32> {dev.on = @gpu1}) -> (tensor<4xf32> {dev.on = @gpu1}) {
// CHECK-NEXT: func.return %x : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @gpu1}, %b: tensor<4xf32> {dev.on = @gpu0}, %c: tensor<4xf32> {dev.on = @gpu1}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %p = graph.call @there(%a) {dev.on = @gpu1}
// CHECK-NEXT: %0 = dev.copy %b from @gpu0 to @gpu1 : tensor<4xf32>
// CHECK-NEXT: %q = graph.call @there(%0) {dev.on = @gpu1}
// CHECK-NEXT: %r = graph.call @there(%c) {dev.on = @gpu1}
// CHECK-NEXT: %s = graph.add %p, %q {dev.on = @gpu1}
// CHECK-NEXT: %t = graph.add %s, %r {dev.on = @gpu1}
// CHECK-NEXT: %1 = dev.copy %t from @gpu1 to @gpu0 : tensor<4xf32>
// CHECK-NEXT: func.return %1 : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func private @there(%x: tensor<4xf32> {dev.on = @gpu1}) -> (tensor<4xf32> {dev.on = @gpu1}) {
  func.return %x : tensor<4xf32>
}
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32> {dev.on = @gpu0}, %c: tensor<4xf32> {dev.on = @gpu1}) -> (tensor<4xf32> {dev.on = @gpu0}) {
  %p = graph.call @there(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %q = graph.call @there(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %r = graph.call @there(%c) : (tensor<4xf32>) -> tensor<4xf32>
  %s = graph.add %p, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = graph.add %s, %r : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %t : tensor<4xf32>
}

// -----

// A function without a body is the host's: what is free goes there, what a device has is copied.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @host}, %b: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %0 = dev.copy %b from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %r = graph.call @gemm(%a, %0) {dev.on = @host}
// CHECK-NEXT: %1 = dev.copy %r from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %y = graph.neg %1 {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func private @gemm(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32> {dev.on = @gpu0}) -> tensor<4xf32> {
  %r = graph.call @gemm(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.neg %r {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
