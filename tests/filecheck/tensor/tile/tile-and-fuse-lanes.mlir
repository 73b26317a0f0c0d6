// RUN: stepwell-opt %s -p tile-and-fuse | filecheck %s

// Rows that are not tiled, and whose number is open: a partial result for each row and lane.
// CHECK-LABEL: @open_rows
// CHECK: %[[N:.*]] = tensor.dim %e
// CHECK: %[[P:.*]] = tensor.empty(%[[N]]) : tensor<?x8xf32>
// CHECK: linalg.fill {{.*}} outs(%[[P]] : tensor<?x8xf32>)
func.func private @open_rows(%x: tensor<?x64xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x64xf32>) outs(%e : tensor<?xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 8], vectorize = 1>} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}
