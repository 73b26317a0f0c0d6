// RUN: stepwell-opt %s --print-analysis call-graph | filecheck %s --check-prefix=CALLS
// RUN: stepwell-opt %s --print-analysis arena-plan | filecheck %s --check-prefix=PLAN
// RUN: stepwell-opt %s --print-analysis schedules | filecheck %s --check-prefix=SCHEDULES
// RUN: stepwell-opt %s -p 'choose-schedules{mcpu=x86-64-v3}' --print-analysis schedules | filecheck %s --check-prefix=CHOSEN
// RUN: stepwell-opt %s -p 'choose-schedules{mcpu=x86-64-v3}' --print-analysis tile-maps | filecheck %s --check-prefix=MAPS
// RUN: stepwell-opt --list-analyses | filecheck %s --check-prefix=LIST
// RUN: not stepwell-opt %s -p plan-memory --print-analysis arena-plan 2>&1 | filecheck %s --check-prefix=LATE
// RUN: not stepwell-opt %s.missing --print-analysis calls 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not stepwell-opt %s --verify-diagnostics --print-analysis call-graph 2>&1 | filecheck %s --check-prefix=OPTIONS

// The analysis is of the program after the passes, and is printed in its place.
// CALLS-NOT: func.func
// CALLS: @main calls @product
// CALLS-NEXT: @product calls nothing

// PLAN-NOT: func.func
// PLAN: offset {{ *}}bytes {{ *}}from {{ *}}to {{ *}}buffer
// PLAN-NEXT: {{^ *}}0 {{ *}}2048 {{ *}}1 {{ *}}1 {{.*}}print-analysis.mlir:{{[0-9]+}}:3
// PLAN-NEXT: arena: 2048 bytes of 2048 without sharing (100 %)

// SCHEDULES: @product
// SCHEDULES-NEXT: linalg.fill at {{.*}}:{{[0-9]+}}:3: loops 16, 32; no schedule
// SCHEDULES-NEXT: linalg.generic at {{.*}}:{{[0-9]+}}:3: loops 16, 32, sum 64; no schedule

// CHOSEN: linalg.generic at {{.*}}: loops 16, 32, sum 64; #sched.schedule<tile =

// MAPS: @product
// MAPS-NEXT: {{^  }}anchor linalg.generic at {{.*}}: loops 16, 32, sum 64; #sched.schedule<tile =
// MAPS-NEXT: {{^    }}linalg.fill at {{.*}}: loops 0, 1 of the anchor

// LIST: {{^}}arena-plan {{ *}}offset, bytes and life of each buffer of @main
// LIST: {{^}}tile-maps

// LATE: error[bad-main]: the memory of @main is planned already: it is on buffers
// UNKNOWN: error[bad-option]: no analysis is called 'calls'
// UNKNOWN-NEXT: = note: the analyses are arena-plan, call-graph, schedules, tile-maps
// OPTIONS: error[bad-option]: --verify-diagnostics prints no program: it does not go with --print-analysis
func.func @main(%a: tensor<16x64xf32>, %b: tensor<64x32xf32>) -> tensor<16x32xf32> {
  %y = func.call @product(%a, %b) : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  %z = func.call @product(%a, %b) : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  func.return %z : tensor<16x32xf32>
}
func.func private @product(%a: tensor<16x64xf32>, %b: tensor<64x32xf32>) -> tensor<16x32xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x64xf32>, tensor<64x32xf32>) outs(%f : tensor<16x32xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %sum, %m : f32
    linalg.yield %s : f32
  } -> tensor<16x32xf32>
  func.return %r : tensor<16x32xf32>
}
