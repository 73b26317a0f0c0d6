// RUN: stepwell-opt %s -p convert-torch-to-graph | filecheck %s

// The program records i64 for a sum with a whole number, f32 for a quotient and for a sum with a float.
// CHECK-LABEL: @promotion
// CHECK: graph.add %a, %{{.*}} : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
// CHECK: %[[A:.*]] = graph.cast %a to f32
// CHECK: graph.divide %[[A]], %{{.*}} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK: %[[B:.*]] = graph.cast %a to f32
// CHECK: graph.add %[[B]]
// CHECK: %[[C:.*]] = graph.cast %d to f32
// CHECK: graph.add %f, %[[C]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
func.func @promotion(%a: tensor<2xi64>, %f: tensor<2xf32>, %d: tensor<f64>) {
  %0 = "torch.aten.add.Scalar"(%a) {other = 1 : i64} : (tensor<2xi64>) -> tensor<2xi64>
  %1 = "torch.aten.div.Scalar"(%a) {other = 2 : i64} : (tensor<2xi64>) -> tensor<2xf32>
  %2 = "torch.aten.add.Scalar"(%a) {other = 1.5 : f64} : (tensor<2xi64>) -> tensor<2xf32>
  %3 = "torch.aten.add.Tensor"(%f, %d) : (tensor<2xf32>, tensor<f64>) -> tensor<2xf32>
  func.return
}
// A comparison is in the type to which both operands are promoted.
// CHECK-LABEL: @comparison
// CHECK: %[[F:.*]] = graph.cast %i to f32
// CHECK: graph.less %[[F]], %{{.*}} : (tensor<2xf32>, tensor<f32>) -> tensor<2xi1>
// CHECK: %[[E:.*]] = graph.equal %i, %{{.*}} : (tensor<2xi64>, tensor<i64>)
// CHECK: graph.not %[[E]]
func.func @comparison(%i: tensor<2xi64>) {
  %0 = "torch.aten.lt.Scalar"(%i) {other = 0.5 : f64} : (tensor<2xi64>) -> tensor<2xi1>
  %1 = "torch.aten.ne.Scalar"(%i) {other = 3 : i64} : (tensor<2xi64>) -> tensor<2xi1>
  func.return
}
// An integer quotient rounded down is one less where the signs differ and there is a rest.
// CHECK-LABEL: @floor_div
// CHECK: %[[Q:.*]] = graph.divide %a, %b
// CHECK: graph.xor
// CHECK: graph.subtract %[[Q]]
// CHECK: graph.remainder %a, %b rounding "trunc"
func.func @floor_div(%a: tensor<2xi64>, %b: tensor<2xi64>) {
  %0 = "torch.aten.div.Tensor_mode"(%a, %b) {rounding_mode = "floor"} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %1 = "torch.aten.fmod.Tensor"(%a, %b) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  func.return
}
// CHECK-LABEL: @clamp
// CHECK: graph.minimum %x, %h
// CHECK-NOT: graph.maximum
// CHECK: graph.gelu %x approximate "tanh"
func.func @clamp(%x: tensor<2xf32>, %h: tensor<2xf32>) {
  %0 = "torch.aten.clamp.Tensor"(%x, %h) {operandSegmentSizes = array<i32: 1, 0, 1>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = "torch.aten.gelu.default"(%x) {approximate = "tanh"} : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// The operators of Python, and the larger of two tensors; of truth values it is their disjunction.
// CHECK-LABEL: @of_python
// CHECK: graph.and %i, %i
// CHECK: graph.xor %i, %{{.*}} : (tensor<2xi64>, tensor<i64>)
// CHECK: graph.shift_left %i
// CHECK: graph.maximum %i, %i
// CHECK: graph.or %b, %b
func.func @of_python(%i: tensor<2xi64>, %b: tensor<2xi1>) {
  %0 = "torch.aten.__and__.Tensor"(%i, %i) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %1 = "torch.aten.__xor__.Scalar"(%i) {other = 3 : i64} : (tensor<2xi64>) -> tensor<2xi64>
  %2 = "torch.aten.__lshift__.Scalar"(%i) {other = 3 : i64} : (tensor<2xi64>) -> tensor<2xi64>
  %3 = "torch.aten.max.other"(%i, %i) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %4 = "torch.aten.max.other"(%b, %b) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  func.return
}
// Truth values: the greater is `or`, the product `and`, and the value of a step where neither is true is given.
// CHECK-LABEL: @truth_values
// CHECK: graph.or %x, %y
// CHECK: graph.and %{{.*}}, %y
// CHECK: graph.or %x, %y
func.func @truth_values(%x: tensor<3xi1>, %y: tensor<3xi1>, %s: tensor<3x3xi1>) {
  %0 = "torch.aten.clamp_min.Tensor"(%x, %y) : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  %1 = "torch.aten.addr.default"(%s, %x, %y) : (tensor<3x3xi1>, tensor<3xi1>, tensor<3xi1>) -> tensor<3x3xi1>
  %2 = "torch.aten.heaviside.default"(%x, %y) : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  func.return
}
// Formulas of narrow floats are computed in f32, and rounded once.
// CHECK-LABEL: @rounded_once
// CHECK: %[[A:.*]] = graph.cast %x to f32
// CHECK: %[[M:.*]] = graph.multiply %[[A]], %{{.*}} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK: %[[E:.*]] = graph.exp %[[M]] :
// CHECK-NEXT: graph.cast %[[E]] to bf16
// CHECK: %[[B:.*]] = graph.cast %x to f32
// CHECK: graph.expm1
// CHECK: %[[W:.*]] = graph.where {{.*}} -> tensor<2xf32>
// CHECK-NEXT: graph.cast %[[W]] to bf16
func.func @rounded_once(%x: tensor<2xbf16>) {
  %0 = "torch.aten.exp2.default"(%x) : (tensor<2xbf16>) -> tensor<2xbf16>
  %1 = "torch.aten.elu.default"(%x) : (tensor<2xbf16>) -> tensor<2xbf16>
  func.return
}
