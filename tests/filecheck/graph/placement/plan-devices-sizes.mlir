// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0 io=device}' | filecheck %s
// RUN: stepwell-opt %s --split-input-file -p 'place-devices{default=gpu0 io=device},place-devices{default=gpu0 io=device}' | filecheck %s

// The shape of a value on a device is known to the host, without a copy.
// CHECK-LABEL: func.func @main(%a: tensor<?xf32> {dev.on = @gpu0}) -> (tensor<1xi64> {dev.on = @gpu0}) {
// CHECK-NEXT: %e = graph.exp %a {dev.on = @gpu0}
// CHECK-NEXT: %s = graph.shape_of %e start 0 end 1 {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %s from @host to @gpu0 : tensor<1xi64>
// CHECK-NEXT: func.return %0 : tensor<1xi64>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<?xf32>) -> tensor<1xi64> {
  %e = graph.exp %a {dev.on = @gpu0} : tensor<?xf32> -> tensor<?xf32>
  %s = graph.shape_of %e start 0 end 1 : tensor<?xf32> -> tensor<1xi64>
  func.return %s : tensor<1xi64>
}

// -----

// A size that decides a shape is read on the host, where its arithmetic is.
// CHECK-LABEL: func.func @main(%a: tensor<6xf32> {dev.on = @gpu0}, %n: tensor<1xi64> {dev.on = @gpu0}) -> (tensor<?x?xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %k = graph.constant {dev.on = @host} dense<3>
// CHECK-NEXT: %0 = dev.copy %n from @gpu0 to @host : tensor<1xi64>
// CHECK-NEXT: %m = graph.add %0, %k {dev.on = @host}
// CHECK-NEXT: %s = graph.concat %m, %k axis 0 {dev.on = @host}
// CHECK-NEXT: %y = graph.reshape %a shape_value %s : tensor<2xi64> {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<?x?xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<6xf32>, %n: tensor<1xi64>) -> tensor<?x?xf32> {
  %k = graph.constant dense<[3]> : tensor<1xi64>
  %m = graph.add %n, %k : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %s = graph.concat %m, %k axis 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %y = graph.reshape %a shape_value %s : tensor<2xi64> {dev.on = @gpu0} : tensor<6xf32> -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}

// -----

// Values of open sizes are placed as others.
// CHECK-LABEL: func.func @main(%a: tensor<?xf32> {dev.on = @host}, %b: tensor<?xf32> {dev.on = @host}) -> (tensor<?xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %s = graph.add %a, %b {dev.on = @host}
// CHECK-NEXT: %0 = dev.copy %s from @host to @gpu0 : tensor<?xf32>
// CHECK-NEXT: %y = graph.exp %0 {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<?xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %s = graph.add %a, %b {dev.on = @host} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %y = graph.exp %s : tensor<?xf32> -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}

// -----

// A network in two halves: the first block on a device, the second one on another, weights on each.
// CHECK-LABEL: func.func @main(%x: tensor<1x3x8x8xf32> {dev.on = @gpu1}, %w: tensor<4x3x3x3xf32> {dev.on = @gpu1}, %v: tensor<4x4x1x1xf32> {dev.on = @gpu0}) -> (tensor<1x4x8x8xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %p = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] {dev.on = @gpu1}
// CHECK-NEXT: %k = graph.constant {dev.on = @gpu1} dense<1.000000e+00>
// CHECK-NEXT: %k_1 = graph.constant {dev.on = @gpu0} dense<1.000000e+00>
// CHECK-NEXT: %q = graph.add %p, %k {dev.on = @gpu1}
// CHECK-NEXT: %r = graph.relu %q {dev.on = @gpu1}
// CHECK-NEXT: %0 = dev.copy %r from @gpu1 to @gpu0 : tensor<1x4x8x8xf32>
// CHECK-NEXT: %s = graph.conv %0, %v strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] {dev.on = @gpu0}
// CHECK-NEXT: %t = graph.add %s, %k_1 {dev.on = @gpu0}
// CHECK-NEXT: func.return %t : tensor<1x4x8x8xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %v: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %p = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1]
    : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  %k = graph.constant dense<1.0> : tensor<f32>
  %q = graph.add %p, %k : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x8x8xf32>
  %r = graph.relu %q {dev.on = @gpu1} : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  %s = graph.conv %r, %v strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
    : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %t = graph.add %s, %k : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x8x8xf32>
  func.return %t : tensor<1x4x8x8xf32>
}

// -----

// A residual block around a node of the host: the input of both branches stays, one value crosses each way.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32> {dev.on = @gpu0}) -> (tensor<4xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %e = graph.exp %a {dev.on = @gpu0}
// CHECK-NEXT: %0 = dev.copy %e from @gpu0 to @host : tensor<4xf32>
// CHECK-NEXT: %t = graph.tanh %0 {dev.on = @host}
// CHECK-NEXT: %1 = dev.copy %t from @host to @gpu0 : tensor<4xf32>
// CHECK-NEXT: %y = graph.add %1, %e {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<4xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
dev.device @gpu1 #target.spec<"cuda", {}>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %e = graph.exp %a {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
  %t = graph.tanh %e {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
  %y = graph.add %t, %e {dev.on = @gpu0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// The host reads the sizes of an array that a device makes.
// CHECK-LABEL: func.func @main(%a: tensor<i64> {dev.on = @gpu0}, %b: tensor<i64> {dev.on = @host}) -> (tensor<?xi64> {dev.on = @gpu0}) {
// CHECK-NEXT: %k = graph.constant {dev.on = @host} dense<1>
// CHECK-NEXT: %0 = dev.copy %a from @gpu0 to @host : tensor<i64>
// CHECK-NEXT: %y = graph.range %b, %0, %k {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<?xi64>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%a: tensor<i64> {dev.on = @gpu0}, %b: tensor<i64> {dev.on = @host}) -> tensor<?xi64> {
  %k = graph.constant dense<1> : tensor<i64>
  %y = graph.range %b, %a, %k {dev.on = @gpu0} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  func.return %y : tensor<?xi64>
}

// -----

// A shape that is constant is made on the host, the data stay on the device.
// CHECK-LABEL: func.func @main(%x: tensor<2x8xf32> {dev.on = @gpu0}) -> (tensor<?x?x?xf32> {dev.on = @gpu0}) {
// CHECK-NEXT: %s = graph.constant {dev.on = @host} dense<[2, 4, 2]>
// CHECK-NEXT: %y = graph.reshape %x shape_value %s : tensor<3xi64> {dev.on = @gpu0}
// CHECK-NEXT: func.return %y : tensor<?x?x?xf32>
// CHECK-NEXT: }
dev.device @gpu0 #target.spec<"cuda", {}>
func.func @main(%x: tensor<2x8xf32>) -> tensor<?x?x?xf32> {
  %s = graph.constant dense<[2, 4, 2]> : tensor<3xi64>
  %y = graph.reshape %x shape_value %s : tensor<3xi64> : tensor<2x8xf32> -> tensor<?x?x?xf32>
  func.return %y : tensor<?x?x?xf32>
}
