// RUN: stepwell-opt %s -p outline-dataflow | filecheck %s

// A loop with calls inside is written by a condition; its ops are segments.
// CHECK-LABEL: func.func @counted(
// CHECK: %{{.*}}, %[[Y:.*]] = graph.while (%[[I:.*]] = %{{.*}} : tensor<i64>, %{{.*}} = %x : tensor<f32>)
// CHECK-NEXT: %[[C:.*]] = graph.call @counted_[[T:[0-9]+]](%[[I]], %n)
// CHECK-NEXT: graph.yield %[[C]]
// CHECK: graph.call @counted(
// CHECK: func.return %[[Y]]
func.func @counted(%x: tensor<f32>, %n: tensor<i64>) -> tensor<f32> {
  %y = graph.for %i to %n (%a = %x : tensor<f32>) -> (tensor<f32>) {
    %b = graph.call @counted(%a, %i) : (tensor<f32>, tensor<i64>) -> tensor<f32>
    graph.yield %b : tensor<f32>
  }
  func.return %y : tensor<f32>
}
// A size that no shape tells goes to the cases as a number, and has its name again in their segments.
// CHECK-LABEL: func.func @sized(
// CHECK: %[[E:.*]] = graph.call @sized_[[S:[0-9]+]](%s) : (tensor<1xi64>) -> tensor<1xi64>
// CHECK: adt.match %l
// CHECK: graph.call @sized_[[U:[0-9]+]](%{{.*}}, %[[E]])
func.func @sized(%l: !adt.data<@Option, tensor<?xf32>>, %s: tensor<1xi64>) -> tensor<?xf32> {
  %n = graph.bind_sizes %s names ["data_0"] : tensor<1xi64> -> index
  %r = adt.match %l : !adt.data<@Option, tensor<?xf32>> -> (tensor<?xf32>) case Some(%x: tensor<?xf32>) {
    %y = graph.reshape %x shape <["data_0"]> : tensor<?xf32> -> tensor<?xf32, #graph.dims<["data_0"]>>
    graph.yield %y : tensor<?xf32, #graph.dims<["data_0"]>>
  } case None {
    %z = graph.constant dense<0.0> : tensor<f32>
    %y = graph.full %z shape <["data_0"]> : tensor<f32> -> tensor<?xf32, #graph.dims<["data_0"]>>
    graph.yield %y : tensor<?xf32, #graph.dims<["data_0"]>>
  }
  func.return %r : tensor<?xf32>
}
// Unknown sizes of arguments have names in a segment, and are not defined again when it runs.
// CHECK-LABEL: func.func @unknown(
func.func @unknown(%x: tensor<?x?xf32>, %y: tensor<?xf32>, %l: !adt.data<@List, tensor<?x?xf32>>) -> !adt.data<@List, tensor<?x?xf32>> {
  %s = graph.shape_of %x start 1 end 2 : tensor<?x?xf32> -> tensor<1xi64>
  %n = graph.bind_sizes %s names ["data_0"] : tensor<1xi64> -> index
  %t = graph.shape_of %y start 0 end 1 : tensor<?xf32> -> tensor<1xi64>
  %m = graph.bind_sizes %t names ["data_1"] : tensor<1xi64> -> index
  graph.assert "data_1" equals "data_0", "the rows have another length"
  %v = graph.reshape %y shape <["data_0"]> : tensor<?xf32> -> tensor<?xf32, #graph.dims<["data_0"]>>
  %z = graph.multiply %x, %v : (tensor<?x?xf32>, tensor<?xf32, #graph.dims<["data_0"]>>) -> tensor<?x?xf32>
  %r = adt.make @List::@Cons(%z, %l) : (tensor<?x?xf32>, !adt.data<@List, tensor<?x?xf32>>) -> !adt.data<@List, tensor<?x?xf32>>
  func.return %r : !adt.data<@List, tensor<?x?xf32>>
}
// CHECK: func.func private @sized_[[S]](
// CHECK: graph.bind_sizes %{{.*}} names ["data_0"]
// CHECK: graph.extents <["data_0"]>
// CHECK: func.func private @sized_[[U]](
// CHECK: graph.bind_sizes %{{.*}} names ["data_0"]
// CHECK: graph.reshape
// CHECK: func.func private @unknown_0(%x: tensor<?x?xf32, #graph.dims<["size_0", "size_1"]>>
// CHECK-SAME: %y: tensor<?xf32, #graph.dims<["size_2"]>>) -> tensor<?x?xf32, #graph.dims<["size_0", "size_1"]>>
// CHECK-NOT: graph.bind_sizes
// CHECK: graph.assert "size_2" equals "size_1"
