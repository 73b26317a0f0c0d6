// RUN: stepwell-opt %s -p simplify-expr | filecheck %s
// RUN: stepwell-opt %s -p SimplifyExpr,simplify-expr | filecheck %s

// Casts by way of a type that holds all values; not by way of one that rounds.
// CHECK-LABEL: @casts
// CHECK-NEXT: %[[A:.*]] = graph.cast %h to f64
// CHECK-NEXT: %[[B:.*]] = graph.cast %i to i64
// CHECK-NEXT: %[[C:.*]] = graph.cast %d to f32
// CHECK-NEXT: %[[E:.*]] = graph.cast %[[C]] to f64
// CHECK-NEXT: %[[F:.*]] = graph.cast %n to f32
// CHECK-NEXT: %[[G:.*]] = graph.cast %[[F]] to i32
// CHECK-NEXT: func.return %[[A]], %i, %[[B]], %[[E]], %[[G]]
func.func @casts(%h: tensor<4xf16>, %i: tensor<4xi8>, %d: tensor<4xf64>, %n: tensor<4xi32>) -> (tensor<4xf64>, tensor<4xi8>, tensor<4xi64>, tensor<4xf64>, tensor<4xi32>) {
  %0 = graph.cast %h to f32 saturate true round "nearest" : tensor<4xf16> -> tensor<4xf32>
  %a = graph.cast %0 to f64 saturate true round "nearest" : tensor<4xf32> -> tensor<4xf64>
  %1 = graph.cast %i to f32 saturate true round "nearest" : tensor<4xi8> -> tensor<4xf32>
  %b = graph.cast %1 to i8 saturate true round "nearest" : tensor<4xf32> -> tensor<4xi8>
  %c = graph.cast %1 to i64 saturate true round "nearest" : tensor<4xf32> -> tensor<4xi64>
  %2 = graph.cast %d to f32 saturate true round "nearest" : tensor<4xf64> -> tensor<4xf32>
  %e = graph.cast %2 to f64 saturate true round "nearest" : tensor<4xf32> -> tensor<4xf64>
  %3 = graph.cast %n to f32 saturate true round "nearest" : tensor<4xi32> -> tensor<4xf32>
  %f = graph.cast %3 to i32 saturate true round "nearest" : tensor<4xf32> -> tensor<4xi32>
  func.return %a, %b, %c, %e, %f : tensor<4xf64>, tensor<4xi8>, tensor<4xi64>, tensor<4xf64>, tensor<4xi32>
}

// Zero times what may be NaN stays.
// CHECK-LABEL: @zero
// CHECK: %[[I:.*]] = graph.constant dense<0> : tensor<4xi32>
// CHECK: %[[F:.*]] = graph.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: %[[X:.*]] = graph.multiply %x
// CHECK-NEXT: func.return %[[I]], %[[F]], %[[X]]
func.func @zero(%n: tensor<4xi32>, %x: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) {
  %z = graph.constant dense<0> : tensor<i32>
  %o = graph.constant dense<0.0> : tensor<f32>
  %a = graph.multiply %n, %z : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %f = graph.cast %n to f32 saturate true round "nearest" : tensor<4xi32> -> tensor<4xf32>
  %b = graph.multiply %o, %f : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %c = graph.multiply %x, %o : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %a, %b, %c : tensor<4xi32>, tensor<4xf32>, tensor<4xf32>
}

// A root that something else reads is computed anyway.
// CHECK-LABEL: @roots
// CHECK-DAG: graph.rsqrt %x
// CHECK-DAG: %[[S:.*]] = graph.sqrt %r
// CHECK-DAG: graph.multiply %x, %[[S]]
// CHECK-DAG: %[[R:.*]] = graph.rsqrt %r
// CHECK-DAG: graph.multiply %x, %[[R]]
// CHECK: %[[K:.*]] = graph.sqrt %x
// CHECK-NEXT: graph.divide %{{.*}}, %[[K]]
func.func @roots(%x: tensor<2x4xf32>, %r: tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.sqrt %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %a = graph.divide %one, %0 : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = graph.rsqrt %r : tensor<2x1xf32> -> tensor<2x1xf32>
  %b = graph.divide %x, %1 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = graph.sqrt %r : tensor<2x1xf32> -> tensor<2x1xf32>
  %c = graph.divide %x, %2 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %3 = graph.sqrt %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %d = graph.divide %one, %3 : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %a, %b, %c, %d, %3 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: @shapes
// CHECK-NEXT: graph.full %v shape <["N", 4]>
// CHECK-NEXT: graph.broadcast_to %b shape <["N", 4]>
// CHECK-NEXT: func.return
func.func @shapes(%x: tensor<?x4xf32, #graph.dims<["N", 4]>>, %v: tensor<f32>, %b: tensor<4xf32>) -> (tensor<?x4xf32, #graph.dims<["N", 4]>>, tensor<?x4xf32, #graph.dims<["N", 4]>>) {
  %s = graph.shape_of %x start 0 end 2 : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<2xi64>
  %y = graph.full %v shape_value %s : tensor<2xi64> : tensor<f32> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  %z = graph.broadcast_to %b shape_value %s : tensor<2xi64> : tensor<4xf32> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  func.return %y, %z : tensor<?x4xf32, #graph.dims<["N", 4]>>, tensor<?x4xf32, #graph.dims<["N", 4]>>
}

// Both results are cut alike; a whole one is needed whole.
// CHECK-LABEL: @top
// CHECK-NEXT: %[[V:.*]], %[[I:.*]] = graph.top_k %x k <[2]> axis 0
// CHECK-NEXT: %[[W:.*]], %[[J:.*]] = graph.top_k %x k <[6]> axis 0
// CHECK-NEXT: %[[C:.*]] = graph.slice %[[W]]
// CHECK-NEXT: func.return %[[V]], %[[I]], %[[C]], %[[J]]
func.func @top(%x: tensor<9xf32>) -> (tensor<2xf32>, tensor<2xi64>, tensor<2xf32>, tensor<6xi64>) {
  %v, %i = graph.top_k %x k <[5]> axis 0 largest true : tensor<9xf32> -> (tensor<5xf32>, tensor<5xi64>)
  %a = graph.slice %v starts <[0]> limits <[2]> steps [1] : tensor<5xf32> -> tensor<2xf32>
  %b = graph.slice %i starts <[0]> limits <[2]> steps [1] : tensor<5xi64> -> tensor<2xi64>
  %w, %j = graph.top_k %x k <[6]> axis 0 largest true : tensor<9xf32> -> (tensor<6xf32>, tensor<6xi64>)
  %c = graph.slice %w starts <[0]> limits <[2]> steps [1] : tensor<6xf32> -> tensor<2xf32>
  func.return %a, %b, %c, %j : tensor<2xf32>, tensor<2xi64>, tensor<2xf32>, tensor<6xi64>
}

// Constants of bf16 are numbers too.
// CHECK-LABEL: @brain_floats
// CHECK: %[[C:.*]] = graph.constant dense<1.250000e-01> : tensor<bf16>
// CHECK-NEXT: graph.multiply %x, %[[C]]
func.func @brain_floats(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %c = graph.constant dense<8.0> : tensor<bf16>
  %y = graph.divide %x, %c : (tensor<4xbf16>, tensor<bf16>) -> tensor<4xbf16>
  func.return %y : tensor<4xbf16>
}

// Two finite constants whose sum or product is not: x may be as large, of the other sign.
// CHECK-LABEL: @no_infinity
// CHECK-COUNT-2: graph.add
// CHECK-COUNT-2: graph.multiply
func.func @no_infinity(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = graph.constant dense<3.0e38> : tensor<f32>
  %0 = graph.add %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = graph.add %0, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = graph.multiply %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = graph.multiply %2, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// Truth values are numbers of each type; a cast to the same type is none.
// CHECK-LABEL: @casts_of_all_values
// CHECK-NEXT: %[[B:.*]] = graph.cast %b to i32
// CHECK-NEXT: %[[F:.*]] = graph.cast %f to f64
// CHECK-NEXT: func.return %[[B]], %[[F]]
func.func @casts_of_all_values(%b: tensor<4xi1>, %f: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf64>) {
  %0 = graph.cast %b to f32 saturate true round "nearest" : tensor<4xi1> -> tensor<4xf32>
  %1 = graph.cast %0 to i32 saturate true round "nearest" : tensor<4xf32> -> tensor<4xi32>
  %2 = graph.cast %f to f32 saturate true round "nearest" : tensor<4xf32> -> tensor<4xf32>
  %3 = graph.cast %2 to f64 saturate true round "nearest" : tensor<4xf32> -> tensor<4xf64>
  func.return %1, %3 : tensor<4xi32>, tensor<4xf64>
}

// A mask of zeros goes; one that leaves each query a key needs no guard, one that leaves a query none keeps it.
// CHECK-LABEL: @masks
// CHECK: graph.attention %q, %k, %k scale 5.000000e-01 : (
// CHECK: graph.attention %q, %k, %k mask %{{.*}} : tensor<2x2xf32> scale 5.000000e-01 : (
// CHECK: graph.attention %q, %k, %k mask %{{.*}} : tensor<2x2xf32> scale 5.000000e-01 zero_masked true
// CHECK: graph.attention %q, %k, %k mask %m : tensor<2xf32> scale 5.000000e-01 zero_masked true
func.func @masks(%q: tensor<2x4xf32>, %k: tensor<2x4xf32>, %m: tensor<2xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %z = graph.constant dense<0.0> : tensor<2xf32>
  %c = graph.constant dense<[[0.0, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  %b = graph.constant dense<[[0xFF800000, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  %0 = graph.attention %q, %k, %k mask %z : tensor<2xf32> scale 0.5 zero_masked true : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = graph.attention %q, %k, %k mask %c : tensor<2x2xf32> scale 0.5 zero_masked true : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = graph.attention %q, %k, %k mask %b : tensor<2x2xf32> scale 0.5 zero_masked true : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = graph.attention %q, %k, %k mask %m : tensor<2xf32> scale 0.5 zero_masked true : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %0, %1, %2, %3 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// A size that depends on data, and is known after the `top_k` only, is no k of it.
// CHECK-LABEL: @top_k_of_late_size
// CHECK: graph.top_k %x k <[5]>
// CHECK: graph.bind_sizes
// CHECK: graph.top_k %x k <[5]>
func.func @top_k_of_late_size(%x: tensor<9xf32>, %n: tensor<1xi64>) -> (tensor<?xf32, #graph.dims<["K"]>>, tensor<?xf32>) {
  %v, %i = graph.top_k %x k <[5]> axis 0 largest true : tensor<9xf32> -> (tensor<5xf32>, tensor<5xi64>)
  %k = graph.bind_sizes %n names ["K"] : tensor<1xi64> -> index
  %y = graph.slice %v starts <[0]> limits <["K"]> steps [1] : tensor<5xf32> -> tensor<?xf32, #graph.dims<["K"]>>
  %w, %j = graph.top_k %x k <[5]> axis 0 largest true : tensor<9xf32> -> (tensor<5xf32>, tensor<5xi64>)
  %z = graph.slice %w starts <[0]> limits_value %n : tensor<1xi64> steps [1] : tensor<5xf32> -> tensor<?xf32>
  func.return %y, %z : tensor<?xf32, #graph.dims<["K"]>>, tensor<?xf32>
}
