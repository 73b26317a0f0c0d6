// SYNTAX TEST "source.mlir"

// RUN: stepwell-opt %s
// <---- comment.line.directive.mlir
   // expected-error: no
// ^^^^^^^^^^^^^^^^^^^^^ comment.line.directive.mlir

func.func private @f(%x: tensor<4x?xf32>) attributes {sched.model = "graph.relu"} {
// <--------- support.function.mlir
//        ^^^^^^^ keyword.other.mlir
//                ^^ entity.name.type.symbol.mlir
//                   ^^ variable.other.mlir
//                       ^^^^^^ storage.type.mlir
//                              ^^^^ constant.numeric.dimension.mlir
//                                  ^^^ storage.type.element.mlir
//                                                    ^^^^^^^^^^^ entity.other.attribute-name.mlir
//                                                                  ^^^^^^^^^^^^ string.quoted.double.mlir

  %y:2 = "mine.op"(%x#1) {a = #sched.schedule<tile = [4]>} : (!llvm.ptr) -> f32
//       ^^^^^^^^^ entity.name.function.mlir
//                 ^^^^ variable.other.mlir
//                            ^^^^^^^^^^^^^^^ constant.other.attribute.mlir
//                                                            ^^^^^^^^^ storage.type.mlir
  %z = mine.op dense<-1.5e-3> loc("n")
//     ^^^^^^^ entity.name.function.mlir
//             ^^^^^ constant.language.mlir
//                   ^^^^^^^ constant.numeric.float.mlir
//                            ^^^ keyword.other.location.mlir
  ^bb0(%i: index):
//^^^^ entity.name.label.mlir
//         ^^^^^ storage.type.element.mlir
