// RUN: stepwell-opt %s -p convert-loops-to-llvm | filecheck %s

// A loop whose bounds show that it runs needs no guard; what it carries is arguments of its block. Its results
// are the values of the last iteration, by themselves: the block after it has no other way in.
// CHECK-LABEL: @loop
// CHECK: llvm.br ^[[BODY:.*]](%c0, %x : i64, f32)
// CHECK: ^[[BODY]](%i: i64, %acc: f32):
// CHECK: %[[SUM:.*]] = llvm.fadd %acc, %acc : f32
// CHECK: %[[NEXT:.*]] = llvm.add %i, %c2 overflow<nsw> : i64
// CHECK: %[[MORE:.*]] = llvm.icmp "slt" %[[NEXT]], %c8 : i64
// CHECK: llvm.cond_br %[[MORE]], ^[[BODY]](%[[NEXT]], %[[SUM]] : i64, f32), ^[[AFTER:.*]]
// CHECK: ^[[AFTER]]:
// CHECK: llvm.return %[[SUM]] : f32
func.func @loop(%x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %c8 step %c2 iter_args(%acc = %x) -> (f32) {
    %s = arith.addf %acc, %acc : f32
    scf.yield %s : f32
  }
  func.return %r : f32
}

// CHECK-LABEL: @guarded
// CHECK: %[[RUNS:.*]] = llvm.icmp "slt" %c0_b, %n_b : i64
// CHECK: llvm.cond_br %[[RUNS]], ^{{.*}}(%c0_b, %x_b : i64, f32), ^{{.*}}(%x_b : f32)
func.func @guarded(%n_b: index, %x_b: f32) -> f32 {
  %c0_b = arith.constant 0 : index
  %c1_b = arith.constant 1 : index
  %r_b = scf.for %i_b = %c0_b to %n_b step %c1_b iter_args(%acc_b = %x_b) -> (f32) {
    %s_b = arith.addf %acc_b, %acc_b : f32
    scf.yield %s_b : f32
  }
  func.return %r_b : f32
}

// CHECK-LABEL: @if
// CHECK: llvm.cond_br %c_c, ^[[THEN:.*]], ^[[ELSE:.*]]
// CHECK: ^[[THEN]]:
// CHECK-NEXT: llvm.br ^[[AFTER:.*]](%i_c : i64)
// CHECK: ^[[ELSE]]:
// CHECK-NEXT: llvm.br ^[[AFTER]](%j_c : i64)
// CHECK: ^[[AFTER]](%r_c: i64):
// CHECK: llvm.cond_br %c_c, ^{{.*}}, ^[[END:.*]]
// CHECK: ^[[END]]:
// CHECK: llvm.return %r_c : i64
func.func @if(%c_c: i1, %i_c: index, %j_c: index, %m_c: memref<4xindex>) -> index {
  %r_c = scf.if %c_c -> (index) {
    scf.yield %i_c : index
  } else {
    scf.yield %j_c : index
  }
  scf.if %c_c {
    memref.store %i_c, %m_c[%j_c] : memref<4xindex>
  }
  func.return %r_c : index
}

// CHECK-LABEL: @while
// CHECK: llvm.br ^[[TEST:.*]](%x_d : i32)
// CHECK: ^[[TEST]](%y_d: i32):
// CHECK: llvm.cond_br %{{.*}}, ^[[BODY:.*]](%y_d : i32), ^[[AFTER:.*]](%y_d : i32)
// CHECK: ^[[BODY]](%z_d: i32):
// CHECK: llvm.br ^[[TEST]](%{{.*}} : i32)
// CHECK: ^[[AFTER]](%{{.*}}: i32):
func.func @while(%x_d: i32, %limit_d: i32) -> i32 {
  %r_d = "scf.while"(%x_d) ({
  ^bb0(%y_d: i32):
    %c_d = arith.cmpi slt, %y_d, %limit_d : i32
    "scf.condition"(%c_d, %y_d) : (i1, i32) -> ()
  }, {
  ^bb0(%z_d: i32):
    %d_d = arith.addi %z_d, %z_d : i32
    scf.yield %d_d : i32
  }) : (i32) -> i32
  func.return %r_d : i32
}

// CHECK-LABEL: @switch
// CHECK: "llvm.switch"(%i_e) [^{{.*}}, ^{{.*}}, ^{{.*}}] <{{.*}}case_values = dense<[2, 5]> : vector<2xi64>
func.func @switch(%i_e: index, %a_e: i32, %b_e: i32) -> i32 {
  %r_e = scf.index_switch %i_e -> i32
  case 2 {
    scf.yield %a_e : i32
  }
  case 5 {
    scf.yield %b_e : i32
  }
  default {
    %s_e = arith.addi %a_e, %b_e : i32
    scf.yield %s_e : i32
  }
  func.return %r_e : i32
}
