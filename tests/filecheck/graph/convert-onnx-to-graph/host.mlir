// RUN: stepwell-opt %s -p convert-onnx-to-graph | filecheck %s

builtin.module attributes {onnx.opsets = {"" = 20 : i64, "ai.onnx.ml" = 3 : i64}} {
  // Pieces lose the axis only where `keepdims` is 0 and no lengths are given.
  // CHECK-LABEL: func.func @split
  func.func @split(%x: tensor<2x6x4xf32>, %n: tensor<2xi64>) {
    // CHECK: "host.split_to_sequence" {{.*}}axis\22: 0, \22keepdims\22: 1{{.*}}(%x) : {{.*}} -> !onnx.seq<tensor<?x?x?xf32>>
    %0 = "onnx.SplitToSequence"(%x) : (tensor<2x6x4xf32>) -> !onnx.any
    // CHECK: "host.split_to_sequence" {{.*}}axis\22: 1, \22keepdims\22: 0{{.*}}(%x) : {{.*}} -> !onnx.seq<tensor<?x?xf32>>
    %1 = "onnx.SplitToSequence"(%x) <{axis = 1 : i64, keepdims = 0 : i64}> : (tensor<2x6x4xf32>) -> !onnx.any
    // CHECK: "host.split_to_sequence" {{.*}}axis\22: -1, \22keepdims\22: 1{{.*}}(%x, %n) : {{.*}} -> !onnx.seq<tensor<?x?x?xf32>>
    %2 = "onnx.SplitToSequence"(%x, %n) <{axis = -1 : i64, keepdims = 0 : i64}> : (tensor<2x6x4xf32>, tensor<2xi64>) -> !onnx.any
    // CHECK: "host.concat_from_sequence" {{.*}}new_axis\22: 1{{.*}} -> (tensor<?x?x?x?xf32
    %3 = "onnx.ConcatFromSequence"(%0) <{axis = 1 : i64, new_axis = 1 : i64}> : (!onnx.any) -> !onnx.any
    // CHECK: "host.concat_from_sequence" {{.*}}new_axis\22: 0{{.*}} -> (tensor<?x?x?xf32
    %4 = "onnx.ConcatFromSequence"(%0) <{axis = 1 : i64}> : (!onnx.any) -> !onnx.any
    func.return
  }
  // CHECK-LABEL: func.func @lists
  func.func @lists(%x: tensor<2xf32>, %y: tensor<3xf32>, %i: tensor<i64>) {
    // CHECK: %[[L:.*]] = graph.host_call {{.*}} "host.sequence_construct" {{.*}}(%x, %y) : {{.*}} -> !onnx.seq<tensor<?xf32>>
    %0 = "onnx.SequenceConstruct"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> !onnx.any
    // CHECK: "host.sequence_construct" {{.*}}() : () -> !onnx.seq<tensor<*xi64>>
    %1 = "onnx.SequenceEmpty"() <{dtype = 7 : i64}> : () -> !onnx.any
    // CHECK: "host.sequence_construct" {{.*}}() : () -> !onnx.seq<tensor<*xf32>>
    %2 = "onnx.SequenceEmpty"() : () -> !onnx.any
    // CHECK: %[[M:.*]] = graph.host_call {{.*}} "host.sequence_insert" {{.*}}(%[[L]], %x, %i) : {{.*}} -> !onnx.seq<tensor<?xf32>>
    %3 = "onnx.SequenceInsert"(%0, %x, %i) : (!onnx.any, tensor<2xf32>, tensor<i64>) -> !onnx.any
    // CHECK: %[[N:.*]] = graph.host_call {{.*}} "host.sequence_erase" {{.*}}(%[[M]], %i) : {{.*}} -> !onnx.seq<tensor<?xf32>>
    %4 = "onnx.SequenceErase"(%3, %i) : (!onnx.any, tensor<i64>) -> !onnx.any
    // CHECK: "host.sequence_at" {{.*}}(%[[N]], %i) defines {{.*}} -> (tensor<?xf32,
    %5 = "onnx.SequenceAt"(%4, %i) : (!onnx.any, tensor<i64>) -> !onnx.any
    // CHECK: "host.sequence_length" {{.*}}(%[[N]]) : {{.*}} -> tensor<i64>
    %6 = "onnx.SequenceLength"(%4) : (!onnx.any) -> !onnx.any
    func.return
  }
  // Whether there is a value is known of absent inputs and of tensors.
  // CHECK-LABEL: func.func @optional
  func.func @optional(%x: tensor<2xf32>) {
    // CHECK: %[[O:.*]] = graph.host_call {{.*}} "host.optional" {{.*}}(%x) : {{.*}} -> !onnx.optional<tensor<?xf32>>
    %0 = "onnx.Optional"(%x) : (tensor<2xf32>) -> !onnx.any
    // CHECK: "host.optional_has_element" {{.*}}(%[[O]]) : {{.*}} -> tensor<i1>
    %1 = "onnx.OptionalHasElement"(%0) : (!onnx.any) -> !onnx.any
    // CHECK: "host.optional_get_element" {{.*}}(%[[O]]) defines {{.*}} -> (tensor<?xf32,
    %2 = "onnx.OptionalGetElement"(%0) : (!onnx.any) -> !onnx.any
    // CHECK-NEXT: graph.constant dense<true>
    %3 = "onnx.OptionalHasElement"(%x) : (tensor<2xf32>) -> !onnx.any
    // CHECK-NEXT: graph.constant dense<false>
    %4 = "onnx.OptionalHasElement"() : () -> !onnx.any
    // CHECK-NEXT: func.return
    %5 = "onnx.OptionalGetElement"(%x) : (tensor<2xf32>) -> !onnx.any
    func.return
  }
  // CHECK-LABEL: func.func @image
  func.func @image(%x: tensor<?xui8>) {
    // CHECK: "host.image_decoder" {{.*}}RGB{{.*}} -> (tensor<?x?x3xui8
    %0 = "onnx.ImageDecoder"(%x) : (tensor<?xui8>) -> !onnx.any
    // CHECK: "host.image_decoder" {{.*}}Grayscale{{.*}} -> (tensor<?x?x1xui8
    %1 = "onnx.ImageDecoder"(%x) <{pixel_format = "Grayscale"}> : (tensor<?xui8>) -> !onnx.any
    func.return
  }
  // Without a limit all parts are split; -1 is no position in the list of categories.
  // CHECK-LABEL: func.func @strings
  func.func @strings(%x: tensor<2x3x!onnx.string>) {
    // CHECK: "host.string_split" {{.*}}maxsplit\22: -1}
    %0, %1 = "onnx.StringSplit"(%x) : (tensor<2x3x!onnx.string>) -> (!onnx.any, !onnx.any)
    // CHECK: "host.encode_labels" {{.*}}[\22a\22, \22b\22], \22values\22: [0, 1], \22default\22: -1}
    %2 = "onnx.ml.OneHotEncoder"(%x) <{cats_strings = ["a", "b"]}> : (tensor<2x3x!onnx.string>) -> !onnx.any
    func.return
  }
}
