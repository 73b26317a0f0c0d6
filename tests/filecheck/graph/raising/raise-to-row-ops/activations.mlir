// RUN: stepwell-opt %s -p raise-to-row-ops | filecheck %s
// RUN: stepwell-opt %s -p simplify-expr,raise-to-row-ops | filecheck %s

// The factors of GELU in each order that exporters write.
// CHECK-LABEL: @gelu_half_last
// CHECK: graph.gelu %x approximate "none"
// CHECK-NEXT: func.return
func.func @gelu_half_last(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %r = graph.constant dense<1.41421354> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.divide %x, %r : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %b = graph.erf %a : tensor<2x8xf32> -> tensor<2x8xf32>
  %c = graph.add %b, %one : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %d = graph.multiply %x, %c : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %y = graph.multiply %d, %half : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}

// CHECK-LABEL: @gelu_half_first
// CHECK: graph.gelu %x approximate "none"
// CHECK-NEXT: func.return
func.func @gelu_half_first(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %r = graph.constant dense<0.707106769> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %two = graph.constant dense<2.0> : tensor<f32>
  %h = graph.divide %x, %two : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %a = graph.multiply %r, %x : (tensor<f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %b = graph.erf %a : tensor<2x8xf32> -> tensor<2x8xf32>
  %c = graph.add %one, %b : (tensor<f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %y = graph.multiply %c, %h : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}

// CHECK-LABEL: @gelu_half_inside
// CHECK: graph.gelu %x approximate "none"
// CHECK-NEXT: func.return
func.func @gelu_half_inside(%x: tensor<2x8xf16>) -> tensor<2x8xf16> {
  %r = graph.constant dense<0.70703> : tensor<f16>
  %one = graph.constant dense<1.0> : tensor<f16>
  %half = graph.constant dense<0.5> : tensor<f16>
  %a = graph.multiply %x, %r : (tensor<2x8xf16>, tensor<f16>) -> tensor<2x8xf16>
  %b = graph.erf %a : tensor<2x8xf16> -> tensor<2x8xf16>
  %c = graph.add %b, %one : (tensor<2x8xf16>, tensor<f16>) -> tensor<2x8xf16>
  %d = graph.multiply %half, %c : (tensor<f16>, tensor<2x8xf16>) -> tensor<2x8xf16>
  %y = graph.multiply %x, %d : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<2x8xf16>
  func.return %y : tensor<2x8xf16>
}

// By tanh, as JAX multiplies its cube.
// CHECK-LABEL: @gelu_tanh
// CHECK: graph.gelu %x approximate "tanh"
// CHECK-NEXT: func.return
func.func @gelu_tanh(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %k = graph.constant dense<0.044715> : tensor<f32>
  %r = graph.constant dense<0.7978845608> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.multiply %k, %x : (tensor<f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %b = graph.multiply %x, %a : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %c = graph.multiply %x, %b : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %d = graph.add %x, %c : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %e = graph.multiply %r, %d : (tensor<f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %f = graph.tanh %e : tensor<2x8xf32> -> tensor<2x8xf32>
  %g = graph.add %one, %f : (tensor<f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %h = graph.multiply %half, %g : (tensor<f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %y = graph.multiply %x, %h : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}

// The sigmoid is raised first, and then what it gates.
// CHECK-LABEL: @silu_from_exp
// CHECK: graph.silu %x alpha 1.000000e+00
// CHECK-NEXT: func.return
func.func @silu_from_exp(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %one = graph.constant dense<1.0> : tensor<f32>
  %a = graph.neg %x : tensor<2x8xf32> -> tensor<2x8xf32>
  %b = graph.exp %a : tensor<2x8xf32> -> tensor<2x8xf32>
  %c = graph.add %b, %one : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %s = graph.divide %one, %c : (tensor<f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %y = graph.multiply %s, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}

// CHECK-LABEL: @silu_alpha
// CHECK: graph.silu %x alpha 1.702
// CHECK-NEXT: func.return
func.func @silu_alpha(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %k = graph.constant dense<1.702> : tensor<f32>
  %a = graph.multiply %x, %k : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %b = graph.sigmoid %a : tensor<2x8xf32> -> tensor<2x8xf32>
  %y = graph.multiply %x, %b : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}

// Another factor, another tensor gated, something else that reads the erf: all stay.
// CHECK-LABEL: @not_gelu
// CHECK-NOT: graph.gelu
func.func @not_gelu(%x: tensor<8xf32>, %z: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %r = graph.constant dense<0.7071> : tensor<f32>
  %q = graph.constant dense<0.707106769> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %h = graph.multiply %x, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %i = graph.multiply %z, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %a = graph.multiply %x, %r : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %b = graph.erf %a : tensor<8xf32> -> tensor<8xf32>
  %c = graph.add %b, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %y0 = graph.multiply %h, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %d = graph.multiply %x, %q : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %e = graph.erf %d : tensor<8xf32> -> tensor<8xf32>
  %f = graph.add %e, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %y1 = graph.multiply %i, %f : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %g = graph.add %e, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %y2 = graph.multiply %h, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %y0, %y1, %y2, %e : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// A factor that differs from √½ by more than the rounding of f32 is another function's.
// CHECK-LABEL: @no_gelu
// CHECK: graph.erf
func.func @no_gelu(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %r = graph.constant dense<0.7075> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.multiply %x, %r : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %b = graph.erf %a : tensor<2x8xf32> -> tensor<2x8xf32>
  %c = graph.add %b, %one : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %d = graph.multiply %half, %c : (tensor<f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %y = graph.multiply %x, %d : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}
