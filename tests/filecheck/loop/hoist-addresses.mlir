// RUN: stepwell-opt %s -p hoist-addresses | filecheck %s
// RUN: stepwell-opt %s -p hoist-addresses,hoist-addresses | filecheck %s

// The inner loop adds its own index only; the product and the constant leave both loops or one of them.
// CHECK-LABEL: llvm.func @nest
llvm.func @nest(%x: !llvm.ptr, %v: vector<8xf32>) {
  // CHECK-DAG: %[[ZERO:.*]] = llvm.mlir.constant(0)
  // CHECK-DAG: %[[EIGHT:.*]] = llvm.mlir.constant(8)
  // CHECK: llvm.br ^[[OUTER:.*]](%[[ZERO]] : i64)
  %c0 = llvm.mlir.constant(0 : i64) : i64
  llvm.br ^b1(%c0 : i64)
// CHECK: ^[[OUTER]](%[[I:.*]]: i64):
^b1(%i: i64):
  // CHECK-NEXT: %[[ROW:.*]] = llvm.mul %[[I]], %[[EIGHT]] : i64
  // CHECK-NEXT: %[[AT:.*]] = llvm.getelementptr %x[%[[ROW]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK-NEXT: llvm.br ^[[INNER:.*]](%[[ZERO]] : i64)
  llvm.br ^b2(%c0 : i64)
// CHECK: ^[[INNER]](%[[J:.*]]: i64):
^b2(%j: i64):
  // CHECK-NEXT: %[[P:.*]] = llvm.getelementptr %[[AT]][%[[J]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK-NEXT: llvm.store %v, %[[P]]
  %c8 = llvm.mlir.constant(8 : i64) : i64
  %row = llvm.mul %i, %c8 : i64
  %at = llvm.add %j, %row : i64
  %p = llvm.getelementptr inbounds %x[%at] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %v, %p {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  %j1 = llvm.add %j, %c8 : i64
  %more = llvm.icmp "slt" %j1, %c8 : i64
  llvm.cond_br %more, ^b2(%j1 : i64), ^b3
^b3:
  %i1 = llvm.add %i, %c8 : i64
  %again = llvm.icmp "slt" %i1, %c8 : i64
  llvm.cond_br %again, ^b1(%i1 : i64), ^b4
^b4:
  llvm.return
}

// Two blocks enter the loop: nothing can stand in front of it. What is read from memory stays as well.
// CHECK-LABEL: llvm.func @two_entries
llvm.func @two_entries(%x: !llvm.ptr, %n: i64, %c: i1) {
  llvm.cond_br %c, ^b1, ^b2
^b1:
  llvm.br ^b2
^b2:
  // CHECK: llvm.br ^[[LOOP:.*]]
  // CHECK-NEXT: ^[[LOOP]]:
  // CHECK-NEXT: llvm.mul %n, %n
  %m = llvm.mul %n, %n : i64
  %p = llvm.getelementptr %x[%m] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %y = llvm.load %p {alignment = 8 : i64} : !llvm.ptr -> i64
  %more = llvm.icmp "slt" %y, %m : i64
  llvm.cond_br %more, ^b2, ^b3
^b3:
  llvm.return
}
