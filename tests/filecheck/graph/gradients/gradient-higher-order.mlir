// RUN: stepwell-opt %s -p gradient | filecheck %s
// RUN: stepwell-opt %s -p 'gradient{mode=higher-order}' | filecheck %s

// A cell's content is a pair of a value and a cell with its cotangent; each op adds a step to the function in %bp.
// CHECK-LABEL: func.func private @square.gradient_0(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>)
// CHECK: %[[ID:.*]] = graph.lambda () -> () {
// CHECK: %bp = ref.new %[[ID]]
// CHECK: %[[Y:.*]] = graph.call @square.dual(%bp, %[[X:.*]])
// CHECK: %[[STEPS:.*]] = ref.read %bp
// CHECK-NEXT: graph.call %[[STEPS]]() : () -> ()
// CHECK: %[[V:.*]] = graph.get %[[Y]][0]
// CHECK: %[[D:.*]] = ref.read
// CHECK: func.return %[[V]], %[[D]]
// CHECK-LABEL: func.func private @square.dual(%bp: !ref.cell<() -> ()>,
// CHECK: %[[A:.*]] = ref.read %{{.*}} : !ref.cell<tuple<tensor<f32>, !ref.cell<tensor<f32>>>>
// CHECK: %[[S:.*]] = graph.multiply
// CHECK: %[[P:.*]] = graph.tuple %[[S]], %{{.*}}
// CHECK: %[[BEFORE:.*]] = ref.read %bp
// CHECK-NEXT: %[[STEP:.*]] = graph.lambda () -> () {
// CHECK: ref.write
// CHECK: ref.write
// CHECK: graph.call %[[BEFORE]]() : () -> ()
// CHECK: ref.write %bp, %[[STEP]]
// CHECK: ref.write %{{.*}}, %[[P]]
func.func @square(%x: tensor<f32>) -> tensor<f32> {
  %r = ref.new %x : tensor<f32> -> !ref.cell<tensor<f32>>
  %a = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
  %s = graph.multiply %a, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
  ref.write %r, %s : !ref.cell<tensor<f32>>, tensor<f32>
  %y = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
  func.return %y : tensor<f32>
}
func.func @main() {
  %g = graph.gradient @square wrt [0] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  func.return
}
