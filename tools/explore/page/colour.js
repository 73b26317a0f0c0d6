// The colours of nodes: by kernel, op, dtype, layout, backend, time, share of peak, differences, bytes, or an overlay's values.

const NUMBERS = {
  time: (node) => node.us,
  peak: (node) => node.peak,
  "local difference": (node) => magnitude(node.local),
  "total difference": (node) => magnitude(node.total),
  bytes: (node) => node.size,
};
// Differences by their exponents, from 1e-8 on.
const magnitude = (value) => (value === null ? null : Math.min(Math.max(Math.log10(value || 1e-30) + 8, 0), 8));
const WORDS = { kernel: (node) => node.kernel, op: (node) => node.op, dtype: (node) => node.dtype, layout: (node) => node.layout, backend: (node) => node.backend };

export function choices(data) {
  return [...Object.keys(WORDS), ...Object.keys(NUMBERS), ...data.overlays.map((overlay) => overlay.name)];
}

// A function from nodes to fill colours, null where a node has no value.
export function colouring(data, name) {
  const overlay = data.overlays.find((each) => each.name === name);
  const of = overlay ? (node) => overlay.values[node.name] : NUMBERS[name] || WORDS[name] || WORDS.kernel;
  const values = data.nodes.map(of).filter((value) => value !== null && value !== undefined && value !== "");
  if (values.every((value) => typeof value === "number")) return scale(of, Math.max(...values, 1e-30));
  const words = [...new Set(values.map(String))];
  const hues = new Map(words.map((word, i) => [word, `hsl(${(i * 137.5) % 360} 45% var(--light))`]));
  return (node) => hues.get(String(of(node))) || null;
}

function scale(of, most) {
  return (node) => {
    const value = of(node);
    if (value === null || value === undefined) return null;
    return `hsl(${Math.round(210 - 200 * Math.sqrt(Math.max(value, 0) / most))} 65% var(--light))`;
  };
}
