// RUN: stepwell-opt %s -p 'match-patterns' --split-input-file --verify-diagnostics
pattern.def @p {
  %x = pattern.any
  // expected-error: a dominator is a parent, a path and a child: three objects, found 2
  %y = pattern.dominates %x, %x
  pattern.yield %y
}
// -----
pattern.def @p {
  // expected-error: a pattern yields one object, its root; found 0
  pattern.yield
}
// -----
pattern.def @p {
  // expected-error: no pattern is named @q
  %x = pattern.ref @q
  pattern.yield %x
}
// -----
// expected-error: a recursion must go through an op, or it never ends
pattern.def @p {
  %x = pattern.ref @p
  pattern.yield %x
}
// -----
pattern.def @p {
  // expected-error: no class of ops is named 'elementwize'
  %x = pattern.op "trait:elementwize"(...)
  pattern.yield %x
}
// -----
pattern.def @p {
  // expected-remark: no dialect has an op graph.rellu: did you mean graph.relu?
  %x = pattern.op "graph.rellu"(...)
  pattern.yield %x
}
// -----
pattern.def @p {
  %x = pattern.any
  pattern.yield %x
}
// expected-error: no pattern is named @pp
pattern.table @t [@pp]
