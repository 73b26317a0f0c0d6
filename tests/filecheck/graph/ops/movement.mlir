// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @main
func.func @main(%x: tensor<?x6xf32, #graph.dims<["N", 6]>>, %y: tensor<?x6xf32, #graph.dims<["M", 6]>>, %v: tensor<f32>, %s: tensor<2xi64>) {
  // CHECK: graph.transpose %x perm [1, 0] : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<6x?xf32, #graph.dims<[6, "N"]>>
  %0 = graph.transpose %x perm [1, 0] : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<6x?xf32, #graph.dims<[6, "N"]>>
  // CHECK: graph.concat %x, %y axis 0 : ({{.*}}) -> tensor<?x6xf32, #graph.dims<["M + N", 6]>>
  %1 = graph.concat %x, %y axis 0 : (tensor<?x6xf32, #graph.dims<["N", 6]>>, tensor<?x6xf32, #graph.dims<["M", 6]>>) -> tensor<?x6xf32, #graph.dims<["M + N", 6]>>
  // CHECK: %{{.*}}, %{{.*}} = graph.split %x axis 1 sizes <[2, 4]> : {{.*}} -> (tensor<?x2xf32, #graph.dims<["N", 2]>>, tensor<?x4xf32, #graph.dims<["N", 4]>>)
  %2, %3 = graph.split %x axis 1 sizes <[2, 4]> : tensor<?x6xf32, #graph.dims<["N", 6]>> -> (tensor<?x2xf32, #graph.dims<["N", 2]>>, tensor<?x4xf32, #graph.dims<["N", 4]>>)
  // CHECK: graph.slice %x starts <["N - 1", 0]> limits <["N", 6]> steps [1, 2] : {{.*}} -> tensor<1x3xf32>
  %4 = graph.slice %x starts <["N - 1", 0]> limits <["N", 6]> steps [1, 2] : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<1x3xf32>
  // CHECK: graph.slice %x starts_value %s : tensor<2xi64> limits <["N", 6]> steps [1, 1]
  %5 = graph.slice %x starts_value %s : tensor<2xi64> limits <["N", 6]> steps [1, 1] : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<?x?xf32>
  // All of an axis keeps its size, whatever is known of it.
  // CHECK: %[[CUT:.*]] = graph.slice %x starts <[2, 0]>
  %cut = graph.slice %x starts <[2, 0]> limits <["N", 6]> steps [1, 1] : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<?x6xf32, #graph.dims<["max(0, N - 2)", 6]>>
  %pad = graph.pad %cut with %v : tensor<f32> pads <[-7, 0, 0, 0]> mode "constant" : tensor<?x6xf32, #graph.dims<["max(0, N - 2)", 6]>> -> tensor<?x6xf32, #graph.dims<["max(0, N - 2) - 7", 6]>>
  // CHECK: graph.slice %{{.*}} starts <[0, 1]> limits <["max(0, N - 2) - 7", 6]> {{.*}} -> tensor<?x5xf32, #graph.dims<["max(0, N - 2) - 7", 5]>>
  %all = graph.slice %pad starts <[0, 1]> limits <["max(0, N - 2) - 7", 6]> steps [1, 1] : tensor<?x6xf32, #graph.dims<["max(0, N - 2) - 7", 6]>> -> tensor<?x5xf32, #graph.dims<["max(0, N - 2) - 7", 5]>>
  // CHECK: graph.insert_slice %y into %x at <["N - M", 0]>
  %6 = graph.insert_slice %y into %x at <["N - M", 0]> : (tensor<?x6xf32, #graph.dims<["M", 6]>>, tensor<?x6xf32, #graph.dims<["N", 6]>>) -> tensor<?x6xf32, #graph.dims<["N", 6]>>
  // CHECK: graph.reverse %x axes [1]
  %7 = graph.reverse %x axes [1] : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<?x6xf32, #graph.dims<["N", 6]>>
  // CHECK: graph.pad %x with %v : tensor<f32> pads <[0, -1, 2, 3]> mode "constant"
  %8 = graph.pad %x with %v : tensor<f32> pads <[0, -1, 2, 3]> mode "constant" : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<?x8xf32, #graph.dims<["N + 2", 8]>>
  // CHECK: graph.tile %x repeats <[2, "M"]>
  %9 = graph.tile %x repeats <[2, "M"]> : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<?x?xf32, #graph.dims<["2 * N", "6 * M"]>>
  // CHECK: graph.resize %x shape <["2 * N", 6]> scales [2.{{.*}}, 1.{{.*}}] mode "linear" coordinate "half_pixel" nearest "floor" cubic_a {{.*}} antialias extrapolation
  %10 = graph.resize %x shape <["2 * N", 6]> scales [2.0, 1.0] mode "linear" coordinate "half_pixel" nearest "floor" cubic_a -7.5e-1 antialias extrapolation 0.0 : tensor<?x6xf32, #graph.dims<["N", 6]>> -> tensor<?x6xf32, #graph.dims<["2 * N", 6]>>
  func.return
}
