// RUN: stepwell-opt %s -p simplify-match,dead-code-elimination,lambda-lift,convert-graph-to-vm | filecheck %s

// One switch a tag; the case that two tests lead to is a function, called in tail position.
// CHECK-LABEL: vm.func private @pairs (2)
// CHECK-NEXT: vm.get_tag r2, r0
// CHECK-NEXT: vm.switch r2, [^bb1, ^bb4]
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: vm.get_field r3, r0 [0]
// CHECK-NEXT: vm.get_tag r4, r1
// CHECK-NEXT: vm.switch r4, [^bb2, ^bb3]
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: vm.ret r3
// CHECK-NEXT: ^bb3:
// CHECK-NEXT: vm.tail_invoke @pairs_lambda_0(r0)
// CHECK-NEXT: ^bb4:
// CHECK-NEXT: vm.tail_invoke @pairs_lambda_0(r0)
func.func private @pairs(%xs: !adt.data<@List, i64>, %ys: !adt.data<@List, i64>) -> i64 {
  %p = graph.tuple %xs, %ys : !adt.data<@List, i64>, !adt.data<@List, i64>
  %r = adt.match %p : tuple<!adt.data<@List, i64>, !adt.data<@List, i64>> -> (i64) case (Cons(%x: i64, _), Cons(_, _)) {
    graph.yield %x : i64
  } case (%a: !adt.data<@List, i64>, _) {
    %n = graph.call @first(%a) : (!adt.data<@List, i64>) -> i64
    %m = graph.call @first(%a) : (!adt.data<@List, i64>) -> i64
    graph.yield %m : i64
  }
  func.return %r : i64
}

// A partial match goes on to an error.
// CHECK-LABEL: vm.func private @first (1)
// CHECK-NEXT: vm.get_tag r1, r0
// CHECK-NEXT: vm.switch r1, [^bb1, ^bb2]
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: vm.get_field r2, r0 [0]
// CHECK-NEXT: vm.ret r2
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: vm.fatal "no-case", "no case of this match fits Nil"
func.func private @first(%l: !adt.data<@List, i64>) -> i64 {
  %r = adt.match partial %l : !adt.data<@List, i64> -> (i64) case Cons(%a: i64, _) {
    graph.yield %a : i64
  }
  func.return %r : i64
}

// Of a nested pattern, the part that fits nothing is named as one.
// CHECK-LABEL: vm.func private @single (1)
// CHECK: vm.fatal "no-case", "no case of this match fits a value with Cons inside"
// CHECK: vm.fatal "no-case", "no case of this match fits Nil"
func.func private @single(%l: !adt.data<@List, i64>) -> i64 {
  %r = adt.match partial %l : !adt.data<@List, i64> -> (i64) case Cons(%a: i64, Nil) {
    graph.yield %a : i64
  }
  func.return %r : i64
}

// A data type of one constructor has no tag to test.
// CHECK-LABEL: vm.func private @value (1)
// CHECK-NEXT: vm.get_field r1, r0 [0]
// CHECK-NEXT: vm.ret r1
func.func private @value(%t: !adt.data<@Tree, i64>) -> i64 {
  %r = adt.match %t : !adt.data<@Tree, i64> -> (i64) case Rose(%x: i64, _) {
    graph.yield %x : i64
  }
  func.return %r : i64
}
