// RUN: stepwell-opt %s -p 'choose-schedules{mcpu=x86-64-v3}' --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p 'choose-schedules{mcpu=x86-64-v3}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// A kernel with schedules that were measured gets these, also where the chooser has others, and loses the list.
// CHECK-LABEL: @transposed(
// CHECK-NOT: sched.tuned
// CHECK: #sched.schedule<tile = [4, 8], parallel = [1, 0], vectorize = 1>
func.func private @transposed(%x: tensor<40x24xf32>) -> tensor<24x40xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>, sched.tuned = {tiles = [#sched.schedule<tile = [4, 8], parallel = [1, 0], vectorize = 1>]}} {
  %e = tensor.empty() : tensor<24x40xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<40x24xf32>) outs(%e : tensor<24x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<24x40xf32>
  func.return %y : tensor<24x40xf32>
}

// -----

// An op for which a unit is listed gets no schedule.
// CHECK-LABEL: @left(
// CHECK-NOT: sched.schedule
// CHECK: func.return
func.func private @left(%x: tensor<40xf32>) -> tensor<40xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>, sched.tuned = {tiles = [unit]}} {
  %e = tensor.empty() : tensor<40xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<40xf32>) outs(%e : tensor<40xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %a : f32
    linalg.yield %c : f32
  } -> tensor<40xf32>
  func.return %y : tensor<40xf32>
}

// -----

// Schedules that do not fit are left out, and the chooser decides.
// REMARK: remark: the tuned schedule is not used: loop 1 is a reduction, its iterations are not independent
// CHECK-LABEL: @summed(
// CHECK-NOT: sched.tuned
// CHECK: #sched.schedule<tile = [{{.*}}], parallel = [0], vectorize
func.func private @summed(%x: tensor<40x24xf32>, %i: tensor<40xf32>) -> tensor<40xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>, sched.tuned = {tiles = [#sched.schedule<tile = [4, 8], parallel = [1, 0]>]}} {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<40x24xf32>) outs(%i : tensor<40xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<40xf32>
  func.return %y : tensor<40xf32>
}

// -----

// A script is replayed; the name of an op by its kind does not depend on the names of values.
// CHECK-LABEL: @replayed(
// CHECK-NOT: sched.tuned
// CHECK: #sched.schedule<tile = [4, 8], parallel = [1, 0], vectorize = 1>
func.func private @replayed(%x: tensor<40x24xf32>) -> tensor<24x40xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>, sched.tuned = "sched.script @tuned for \"kernel\" {\n  %c = sched.stage \"linalg.generic.0\"\n  %i, %j = sched.loops %c\n  %i0, %i1 = sched.split %i by [?, 4]\n  %j0, %j1 = sched.split %j by [?, 8]\n  sched.reorder %j0, %i0, %i1, %j1\n  sched.parallel %j0, %i0\n  sched.unroll %i1\n  sched.vectorize %j1\n}"} {
  %e = tensor.empty() : tensor<24x40xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<40x24xf32>) outs(%e : tensor<24x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<24x40xf32>
  func.return %y : tensor<24x40xf32>
}

// -----

// A script with a step that is not legal here is left out, with its reason.
// REMARK: remark: the tuned schedule is not used: {{.*}}loop j of y is summed over
// CHECK-LABEL: @illegal(
// CHECK-NOT: sched.tuned
// CHECK: #sched.schedule<tile = [{{.*}}], parallel = [0], vectorize
func.func private @illegal(%x: tensor<40x24xf32>, %i: tensor<40xf32>) -> tensor<40xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>, sched.tuned = "sched.script @tuned for \"kernel\" {\n  %c = sched.stage \"linalg.generic.0\"\n  %i, %j = sched.loops %c\n  sched.parallel %j\n}"} {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<40x24xf32>) outs(%i : tensor<40xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<40xf32>
  func.return %y : tensor<40xf32>
}

// -----

// A script without steps about loops leaves them to the chooser.
// CHECK-LABEL: @other(
// CHECK-NOT: sched.tuned
// CHECK: #sched.schedule<tile
func.func private @other(%x: tensor<40x24xf32>) -> tensor<24x40xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>, sched.tuned = "sched.script @tuned for \"kernel\" {\n}"} {
  %e = tensor.empty() : tensor<24x40xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<40x24xf32>) outs(%e : tensor<24x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<24x40xf32>
  func.return %y : tensor<24x40xf32>
}
