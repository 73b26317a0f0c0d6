// RUN: stepwell-opt %s -p convert-graph-to-vm --split-input-file --verify-diagnostics

func.func @nested(%l: !adt.data<@List, i64>, %x: i64) -> i64 {
  // expected-error: a match on nested patterns cannot be an instruction
  %r = adt.match %l : !adt.data<@List, i64> -> (i64) case Cons(%a: i64, Nil) {
    graph.yield %a : i64
  } case _ {
    graph.yield %x : i64
  }
  func.return %r : i64
}
// -----
func.func @pair(%p: tuple<i64, i64>) -> i64 {
  // expected-error: a match on nested patterns cannot be an instruction
  %r = adt.match %p : tuple<i64, i64> -> (i64) case (%a: i64, _) {
    graph.yield %a : i64
  }
  func.return %r : i64
}
