// RUN: stepwell-opt %s -p plan-memory | filecheck %s

// Views of a weight, of the arena and of an input are one op on the buffer itself, however many there are in a row;
// a weight that is a result is copied.
// CHECK: "memref.global"() <{sym_name = "w0"
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[0-9]+]]: memref<2x4xf32>, %[[Y:[0-9]+]]: memref<8xf32>, %[[Z:[0-9]+]]: memref<1x2x4xf32>
// CHECK: %[[W:.*]] = memref.get_global @w0 : memref<8xf32>
// CHECK-NEXT: %[[CAST:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [8], strides: [1]
// CHECK-NEXT: func.call @k(%[[CAST]], %[[W]], %[[Y]])
// CHECK-NEXT: %[[FROM:.*]] = memref.reinterpret_cast %[[W]] to offset: [0], sizes: [1, 2, 4], strides: [8, 4, 1]
// CHECK-NEXT: "memref.copy"(%[[FROM]], %[[Z]])
// CHECK-NEXT: func.return
func.func @main(%x: tensor<2x4xf32>) -> (tensor<8xf32>, tensor<1x2x4xf32>) {
  %w = graph.constant dense<1.0> : tensor<8xf32>
  %a = graph.expand_dims %x axes [0] : tensor<2x4xf32> -> tensor<1x2x4xf32>
  %b = graph.squeeze %a axes [0] : tensor<1x2x4xf32> -> tensor<2x4xf32>
  %c = graph.reshape %b shape <[8]> : tensor<2x4xf32> -> tensor<8xf32>
  %y = func.call @k(%c, %w) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %z = graph.reshape %w shape <[1, 2, 4]> : tensor<8xf32> -> tensor<1x2x4xf32>
  func.return %y, %z : tensor<8xf32>, tensor<1x2x4xf32>
}
func.func private @k(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>}
