// RUN: stepwell-opt %s -p 'builtin.module(cse)' | filecheck %s
// RUN: stepwell-opt %s --pass-pipeline='builtin.module(cse,canonicalize)' | filecheck %s
// RUN: stepwell-opt %s --pass-pipeline='builtin.module( func.func( cse, fold-constant{max-bytes=9} ), dce )' | filecheck %s
// RUN: stepwell-opt %s -p 'func.func(fold-constant),cse' | filecheck %s
// RUN: stepwell-opt %s -p 'builtin.module()' | filecheck %s --check-prefix=SAME
// RUN: not stepwell-opt %s -p 'builtin.module(func.func(cse,inline))' 2>&1 | filecheck %s --check-prefix=WHOLE
// RUN: not stepwell-opt %s -p 'builtin.module(llvm.func(cse))' 2>&1 | filecheck %s --check-prefix=ANCHOR
// RUN: not stepwell-opt %s -p 'func.func(builtin.module(cse))' 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: not stepwell-opt %s -p 'builtin.module(cse' 2>&1 | filecheck %s --check-prefix=OPEN
// RUN: not stepwell-opt %s -p 'cse),dce' 2>&1 | filecheck %s --check-prefix=CLOSED
// RUN: not stepwell-opt %s -p 'builtin.module(cse)dce' 2>&1 | filecheck %s --check-prefix=COMMA

// CHECK: arith.addi
// CHECK-NOT: arith.addi
// SAME-COUNT-2: arith.addi
// WHOLE: error[bad-pipeline]: inline works on a whole module, not inside of func.func(…)
// WHOLE-NEXT: help: pipelines need no nesting: -p cse,inline
// ANCHOR: error[bad-pipeline]: passes run inside of builtin.module(…) and func.func(…), found llvm.func(…)
// ANCHOR-NEXT: --> pass-pipeline:1:16
// ANCHOR-NEXT: | builtin.module(llvm.func(cse))
// ANCHOR-NEXT: |                ^^^^^^^^^
// ANCHOR-NEXT: help: pipelines need no nesting: -p pass,pass{option=value}
// ORDER: error[bad-pipeline]: builtin.module(…) is the outermost, found it inside of func.func(…)
// OPEN: error[bad-pipeline]: this parenthesis is not closed
// OPEN-NEXT: --> pass-pipeline:1:15
// CLOSED: error[bad-pipeline]: this parenthesis closes nothing
// COMMA: error[bad-pipeline]: expected a comma before this
func.func @f(%x: i32) -> (i32, i32) {
  %y = arith.addi %x, %x : i32
  %z = arith.addi %x, %x : i32
  func.return %y, %z : i32, i32
}
