// RUN: stepwell-opt %s -p 'pack-narrow-weights{min-elems=4}' | filecheck %s
// RUN: stepwell-opt %s -p pack-narrow-weights | filecheck %s --check-prefix=SMALL

// Two elements share a byte: the first half of them all in the lower bits, so that each half is one run.
// CHECK-LABEL: func.func @four_bits
// SMALL-LABEL: func.func @four_bits
func.func @four_bits() -> tensor<2x3xi4> {
  // CHECK: %[[BYTES:.*]] = graph.constant dense<[161, 187, 198]> : tensor<3xui8>
  // CHECK: %[[LOW:.*]] = graph.and %[[BYTES]]
  // CHECK: %[[A:.*]] = graph.bitcast %[[LOW]] to i4
  // CHECK: %[[HIGH:.*]] = graph.shift_right %[[BYTES]]
  // CHECK: %[[B:.*]] = graph.bitcast %[[HIGH]] to i4
  // CHECK: %[[ALL:.*]] = graph.concat %[[A]], %[[B]] axis 0
  // CHECK: graph.reshape %[[ALL]] shape <[2, 3]>
  // SMALL-NEXT: graph.constant
  // SMALL-NEXT: func.return
  %w = graph.constant dense<[[1, -5, 6], [-6, -5, -4]]> : tensor<2x3xi4>
  func.return %w : tensor<2x3xi4>
}
// What does not fill the last byte is cut off.
// CHECK-LABEL: func.func @two_bits
func.func @two_bits() -> tensor<5xui2> {
  // CHECK: graph.constant dense<[39, 1]> : tensor<2xui8>
  // CHECK: graph.concat {{.*}} -> tensor<8xui2>
  // CHECK: graph.slice {{.*}} -> tensor<5xui2>
  %w = graph.constant dense<[3, 1, 1, 0, 2]> : tensor<5xui2>
  func.return %w : tensor<5xui2>
}
// Bytes are narrow enough.
// CHECK-LABEL: func.func @bytes
func.func @bytes() -> tensor<5xi8> {
  // CHECK-NEXT: graph.constant
  // CHECK-NEXT: func.return
  %w = graph.constant dense<[3, 1, 1, 0, 2]> : tensor<5xi8>
  func.return %w : tensor<5xi8>
}
