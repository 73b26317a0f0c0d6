// RUN: stepwell-opt %s -p sink-reshapes | filecheck %s
// RUN: stepwell-opt %s -p sink-reshapes,sink-reshapes | filecheck %s

// Two elementwise ops follow a matrix product on panels: bias by column, then a residual and relu.
// CHECK-LABEL: @epilogue
// CHECK-SAME: %[[P:[a-z]+]]: tensor<?x2x16xf32>, %[[B:[a-z]+]]: tensor<32xf32>, %[[R:[a-z]+]]: tensor<?x32xf32>, %[[M:[a-z]+]]: index
func.func @epilogue(%p: tensor<?x2x16xf32>, %b: tensor<32xf32>, %r: tensor<?x32xf32>, %m: index) -> tensor<?x32xf32> {
  %0 = tensor.collapse_shape %p [[0 : i64], [1 : i64, 2 : i64]] : tensor<?x2x16xf32> into tensor<?x32xf32>
  // CHECK-DAG: %[[B2:.*]] = tensor.expand_shape %[[B]] {{.*}} output_shape [2, 16] : tensor<32xf32> into tensor<2x16xf32>
  // CHECK-DAG: %[[E:.*]] = tensor.empty(%[[M]]) : tensor<?x2x16xf32>
  // CHECK: %[[BIASED:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[P]], %[[B2]] : {{.*}}) outs(%[[E]] : tensor<?x2x16xf32>)
  %1 = tensor.empty(%m) : tensor<?x32xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %b : tensor<?x32xf32>, tensor<32xf32>) outs(%1 : tensor<?x32xf32>) {
  ^bb0(%x: f32, %y: f32, %old: f32):
    %3 = arith.addf %x, %y : f32
    linalg.yield %3 : f32
  } -> tensor<?x32xf32>
  // CHECK: %[[R2:.*]] = tensor.expand_shape %[[R]] {{.*}} : tensor<?x32xf32> into tensor<?x2x16xf32>
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[BIASED]], %[[R2]] :
  %4 = tensor.empty(%m) : tensor<?x32xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2, %r : tensor<?x32xf32>, tensor<?x32xf32>) outs(%4 : tensor<?x32xf32>) {
  ^bb0(%x: f32, %y: f32, %old: f32):
    %6 = arith.addf %x, %y : f32
    linalg.yield %6 : f32
  } -> tensor<?x32xf32>
  // CHECK: %[[OUT:.*]] = tensor.collapse_shape %[[SUM]] {{.*}} : tensor<?x2x16xf32> into tensor<?x32xf32>
  // CHECK: return %[[OUT]]
  func.return %5 : tensor<?x32xf32>
}

// A reduction over the columns stays behind the view.
// CHECK-LABEL: @reduction
// CHECK: %[[JOINED:.*]] = tensor.collapse_shape
// CHECK: linalg.generic {{.*}} ins(%[[JOINED]]
func.func @reduction(%p: tensor<8x2x16xf32>, %init: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tensor.collapse_shape %p [[0 : i64], [1 : i64, 2 : i64]] : tensor<8x2x16xf32> into tensor<8x32xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<8x32xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%x: f32, %old: f32):
    %2 = arith.addf %x, %old : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  func.return %1 : tensor<8xf32>
}

// A schedule, maybe edited by hand, names the loops that its op has.
// CHECK-LABEL: @scheduled
// CHECK: %[[JOINED:.*]] = tensor.collapse_shape
// CHECK: linalg.generic {{.*}} ins(%[[JOINED]] : tensor<8x32xf32>)
func.func @scheduled(%p: tensor<8x2x16xf32>) -> tensor<8x32xf32> {
  %0 = tensor.collapse_shape %p [[0 : i64], [1 : i64, 2 : i64]] : tensor<8x2x16xf32> into tensor<8x32xf32>
  %1 = tensor.empty() : tensor<8x32xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<8x32xf32>) outs(%1 : tensor<8x32xf32>) attrs = {sched.schedule = #sched.schedule<tile = [1, 16], parallel = [0, 1], vectorize = 1>} {
  ^bb0(%x: f32, %old: f32):
    %3 = arith.addf %x, %x : f32
    linalg.yield %3 : f32
  } -> tensor<8x32xf32>
  func.return %2 : tensor<8x32xf32>
}

// So does an op that shares the loops of one with a schedule.
// CHECK-LABEL: @in_a_group
// CHECK: %[[JOINED:.*]] = tensor.collapse_shape
// CHECK: linalg.generic {{.*}} ins(%[[JOINED]] : tensor<8x32xf32>)
func.func @in_a_group(%p: tensor<8x2x16xf32>) -> tensor<8x32xf32> {
  %0 = tensor.collapse_shape %p [[0 : i64], [1 : i64, 2 : i64]] : tensor<8x2x16xf32> into tensor<8x32xf32>
  %1 = tensor.empty() : tensor<8x32xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<8x32xf32>) outs(%1 : tensor<8x32xf32>) {
  ^bb0(%x: f32, %old: f32):
    %3 = arith.addf %x, %x : f32
    linalg.yield %3 : f32
  } -> tensor<8x32xf32>
  %4 = tensor.empty() : tensor<8x32xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<8x32xf32>) outs(%4 : tensor<8x32xf32>) attrs = {sched.schedule = #sched.schedule<tile = [1, 16], parallel = [0, 1], vectorize = 1>} {
  ^bb0(%x: f32, %old: f32):
    %6 = arith.mulf %x, %x : f32
    linalg.yield %6 : f32
  } -> tensor<8x32xf32>
  func.return %5 : tensor<8x32xf32>
}

// An op that uses the index of a loop keeps its loops: their indices would be those of the parts.
// CHECK-LABEL: @index
// CHECK: %[[JOINED:.*]] = tensor.collapse_shape
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[JOINED]] : tensor<8x32xf32>)
func.func @index(%p: tensor<8x2x16xf32>) -> tensor<8x32xf32> {
  %0 = tensor.collapse_shape %p [[0 : i64], [1 : i64, 2 : i64]] : tensor<8x2x16xf32> into tensor<8x32xf32>
  %1 = tensor.empty() : tensor<8x32xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<8x32xf32>) outs(%1 : tensor<8x32xf32>) {
  ^bb0(%x: f32, %old: f32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    %3 = arith.addf %x, %k : f32
    linalg.yield %3 : f32
  } -> tensor<8x32xf32>
  func.return %2 : tensor<8x32xf32>
}
