// RUN: stepwell-opt %s -p 'choose-schedules{mcpu=x86-64-v4},tile-and-fuse,vectorize,unroll-vectors{mcpu=x86-64-v4},bufferize,linalg-to-loops' | filecheck %s

// A candidate of a suppression meets 16 selected boxes in one register: nothing is left that is done one by one.
// CHECK-LABEL: func.func private @meet
// CHECK: scf.for %[[BLOCK:.*]] = %c0 to %blocks
// CHECK: %[[BOXES:.*]] = vector.transfer_read %kept[%first], {{.*}} : memref<64xf32>, vector<16xf32>
// CHECK: %[[SHARED:.*]] = arith.minimumf %[[BOXES]], %{{.*}} : vector<16xf32>
// CHECK: arith.divf %[[SHARED]], %{{.*}} : vector<16xf32>
// CHECK: %[[ABOVE:.*]] = arith.cmpf ogt, {{.*}} : vector<16xf32>
// CHECK: vector.reduction <or>, %[[ABOVE]]
// CHECK-NOT: scf.for
// CHECK: func.return
#lane = affine_map<(d0, d1) -> (d1)>
#one = affine_map<(d0, d1) -> (d0)>
func.func private @meet(%kept: tensor<64xf32>, %areas: tensor<64xf32>, %blocks: index) -> tensor<1xi1>
    attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, symbols = ["B"]>} {
  %box = arith.constant 2.0 : f32
  %most = arith.constant 0.5 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %false = arith.constant false
  %none = tensor.empty() : tensor<1xi1>
  %no = linalg.fill ins(%false : i1) outs(%none : tensor<1xi1>) -> tensor<1xi1>
  %hit = scf.for %block = %c0 to %blocks step %c1 iter_args(%so_far = %no) -> (tensor<1xi1>) {
    %first = arith.muli %block, %c16 : index
    %a = tensor.extract_slice %kept[%first] [16] [1] : tensor<64xf32> to tensor<16xf32>
    %b = tensor.extract_slice %areas[%first] [16] [1] : tensor<64xf32> to tensor<16xf32>
    %any = linalg.generic {indexing_maps = [#lane, #lane, #one], iterator_types = ["parallel", "reduction"]}
        ins(%a, %b : tensor<16xf32>, tensor<16xf32>) outs(%so_far : tensor<1xi1>) {
    ^bb0(%x: f32, %y: f32, %z: i1):
      %shared = arith.minimumf %x, %box : f32
      %overlap = arith.divf %shared, %y : f32
      %above = arith.cmpf ogt, %overlap, %most : f32
      %either = arith.ori %z, %above : i1
      linalg.yield %either : i1
    } -> tensor<1xi1>
    scf.yield %any : tensor<1xi1>
  }
  func.return %hit : tensor<1xi1>
}
