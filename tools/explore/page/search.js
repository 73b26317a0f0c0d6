// The search: words match name, op and kernel; `key:text`, `key>number` and `key<number` match facts of a node.

const UNITS = { us: 1, µs: 1, ms: 1000, s: 1e6, kb: 1e3, mb: 1e6, gb: 1e9 };
const CONDITION = /^(\w+)([:<>])(.+)$/;

export function matches(node, query) {
  return query.trim().split(/\s+/).filter(Boolean).every((word) => holds(node, word));
}

function holds(node, word) {
  const found = CONDITION.exec(word);
  if (found && found[1] in FACTS) return FACTS[found[1]](node, found[2], found[3]);
  const text = word.toLowerCase();
  return [node.name, node.op, node.kernel || ""].some((part) => part.toLowerCase().includes(text));
}

const equal = (of) => (node, sign, text) => String(of(node)).toLowerCase() === text.toLowerCase();
const ordered = (of) => (node, sign, text) => {
  const value = of(node);
  if (value === null || value === undefined) return false;
  const wanted = quantity(text);
  return sign === ">" ? value > wanted : sign === "<" ? value < wanted : value === wanted;
};

const FACTS = {
  op: equal((node) => node.op),
  kernel: equal((node) => node.kernel),
  shape: equal((node) => node.shape),
  layout: equal((node) => node.layout),
  backend: equal((node) => node.backend),
  dtype: (node, sign, text) => [node.dtype, short(node.dtype)].includes(text.toLowerCase()),
  time: ordered((node) => node.us),
  peak: ordered((node) => node.peak),
  bytes: ordered((node) => node.size),
  local: ordered((node) => node.local),
  total: ordered((node) => node.total),
  remark: (node, sign, text) => node.remarks.some((remark) => `${remark.pass} ${remark.message}`.includes(text)),
};

const short = (dtype) => dtype.replace("float", "f").replace("uint", "u").replace("int", "i");

function quantity(text) {
  const [, number, unit] = /^([\d.]+(?:e-?\d+)?)\s*(\S*)$/.exec(text) || [];
  return Number(number) * (UNITS[(unit || "").toLowerCase()] || 1);
}
