// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// expected-error: a graph binds one pattern at least, found none
pattern.graph @empty {
  %a = pattern.any
  pattern.bind
}

// -----

// expected-error: pattern.edge must connect patterns that pattern.bind names
pattern.graph @unbound {
  %a = pattern.any
  %b = pattern.any
  pattern.edge %a -> %b
  pattern.bind %a
}

// -----

pattern.graph @negative {
  %a = pattern.any
  %b = pattern.any
  // expected-error: an operand has no negative number, found -1
  pattern.edge %a -> %b operand -1
  pattern.bind %a, %b
}

// -----

// expected-error: the last op must be pattern.bind, found pattern.yield
pattern.graph @yields {
  %a = pattern.any
  pattern.yield %a
}
