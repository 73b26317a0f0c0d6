// RUN: stepwell-opt %s -p expand-forms | filecheck %s

// Whole factors: a broadcast, the pairs of dimensions joined.
// CHECK-LABEL: @repeat
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<3x2x4xf32>)
// CHECK: tensor.collapse_shape {{.*}} into tensor<6x4xf32>
func.func private @repeat(%x: tensor<3x4xf32>) -> tensor<6x4xf32> {
  %e = tensor.empty() : tensor<6x4xf32>
  %y = linalg_ext.resize %x into %e mode "nearest" coordinate "half_pixel" nearest "round_prefer_floor" cubic_a 0.0 extrapolation 0.0 : (tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}

// The same by a table of indices for the one axis that is sampled.
// CHECK-LABEL: @gather
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<6xi64>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<6xi64>) outs(%{{.*}} : tensor<6x4xf32>)
// CHECK: tensor.extract %x
func.func private @gather(%x: tensor<3x4xf32>) -> tensor<6x4xf32> {
  %e = tensor.empty() : tensor<6x4xf32>
  %y = linalg_ext.resize %x into %e mode "nearest" coordinate "half_pixel" nearest "round_prefer_floor" cubic_a 0.0 extrapolation 0.0 {sched.schedule = #sched.schedule<form = "gather">} : (tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}

// One pass an axis: indices and weights in tables, then two neighbours each; rows are last.
// CHECK-LABEL: @last
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<9xi64>, tensor<9xi64>, tensor<9xf32>, tensor<9xf32>) outs(%{{.*}} : tensor<4x9xf32>)
// CHECK-COUNT-2: tensor.extract %x
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<7xi64>, tensor<7xi64>, tensor<7xf32>, tensor<7xf32>) outs(%{{.*}} : tensor<7x9xf32>)
func.func private @last(%x: tensor<4x6xf32>) -> tensor<7x9xf32> {
  %e = tensor.empty() : tensor<7x9xf32>
  %y = linalg_ext.resize %x into %e mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.0 extrapolation 0.0 : (tensor<4x6xf32>, tensor<7x9xf32>) -> tensor<7x9xf32>
  func.return %y : tensor<7x9xf32>
}

// CHECK-LABEL: @first
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<7x6xf32>)
// CHECK-COUNT-2: tensor.extract %x
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<7x9xf32>)
// CHECK-NOT: unrealized_conversion_cast
func.func private @first(%x: tensor<4x6xf32>) -> tensor<7x9xf32> {
  %e = tensor.empty() : tensor<7x9xf32>
  %y = linalg_ext.resize %x into %e mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.0 extrapolation 0.0 {sched.schedule = #sched.schedule<form = "first-axis-first">} : (tensor<4x6xf32>, tensor<7x9xf32>) -> tensor<7x9xf32>
  func.return %y : tensor<7x9xf32>
}

// Elements of bytes without sign are rounded and cut at 0 and 255.
// CHECK-LABEL: @bytes
// CHECK: arith.uitofp
// CHECK: math.roundeven
func.func private @bytes(%x: tensor<4x6xi8>) -> tensor<7x6xi8> {
  %e = tensor.empty() : tensor<7x6xi8>
  %y = linalg_ext.resize %x into %e of ui8 mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.0 extrapolation 0.0 : (tensor<4x6xi8>, tensor<7x6xi8>) -> tensor<7x6xi8>
  func.return %y : tensor<7x6xi8>
}

// The size of an input with joined dimensions is known: the resize of a resize repeats elements too, without a table.
// CHECK-LABEL: @again
// CHECK-COUNT-2: tensor.collapse_shape
// CHECK-NOT: tensor.extract
func.func private @again(%x: tensor<?x4xf32> {graph.dims = #graph.dims<["H", 4]>}, %H: index) -> tensor<?x4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["H"]>} {
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %n = arith.muli %H, %c2 : index
  %m = arith.muli %H, %c4 : index
  %d = tensor.empty(%n) : tensor<?x4xf32>
  %z = linalg_ext.resize %x into %d mode "nearest" coordinate "half_pixel" nearest "round_prefer_floor" cubic_a 0.0 extrapolation 0.0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %e = tensor.empty(%m) : tensor<?x4xf32>
  %y = linalg_ext.resize %z into %e mode "nearest" coordinate "half_pixel" nearest "round_prefer_floor" cubic_a 0.0 extrapolation 0.0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %y : tensor<?x4xf32>
}

// Unsigned bytes between two forms are stored without a sign, as those of the second one's operand must be.
// CHECK-LABEL: @twice
// CHECK: %[[ONCE:.*]] = tensor.collapse_shape %{{.*}} : tensor<2x2xi8> into tensor<4xi8>
// CHECK: linalg.generic {{.*}} ins(%[[ONCE]] : tensor<4xi8>)
func.func @twice(%x: tensor<2xi8>) -> tensor<8xi8> {
  %0 = tensor.empty() : tensor<4xi8>
  %1 = linalg_ext.resize %x into %0 of ui8 scales [2.0] mode "nearest" coordinate "half_pixel" nearest "round_prefer_floor" cubic_a -0.75 extrapolation 0.0 {sched.schedule = #sched.schedule<form = "repeat">} : (tensor<2xi8>, tensor<4xi8>) -> tensor<4xi8>
  %2 = tensor.empty() : tensor<8xi8>
  %3 = linalg_ext.resize %1 into %2 of ui8 scales [2.0] mode "nearest" coordinate "half_pixel" nearest "round_prefer_floor" cubic_a -0.75 extrapolation 0.0 {sched.schedule = #sched.schedule<form = "repeat">} : (tensor<4xi8>, tensor<8xi8>) -> tensor<8xi8>
  func.return %3 : tensor<8xi8>
}
