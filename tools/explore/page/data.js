// The data of the page: chunks of deflated JSON in the document, the kernels read when first shown.

const cache = new Map();

// The JSON value of a chunk: base64 of deflate in a script element of type text/plain.
export async function chunk(id) {
  if (!cache.has(id)) cache.set(id, inflated(document.getElementById(`chunk-${id}`).textContent));
  return cache.get(id);
}

async function inflated(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const value = await new Response(stream).json();
  for (const step of value.steps || []) if (step.text !== undefined) step.text = numbered(step.text);
  return value;
}

// A text whose numbered values are relative to that at the beginning of the line, or of the last such line.
export function numbered(text) {
  let last = 0;
  return text.replace(/(\n *|)%(-?[1-9]\d{0,7}|0)(?!\d)/g, (_, begin, offset) => {
    const number = last + Number(offset);
    if (begin) last = number;
    return `${begin}%${number}`;
  });
}

// Indices by id, and what views ask of nodes: their calls, time, share of peak and differences.
export function indexed(data) {
  const by = (list) => new Map(list.map((item) => [item.id, item]));
  const index = { nodes: by(data.nodes), values: by(data.values), calls: by(data.calls), kernels: by(data.kernels) };
  for (const node of data.nodes) {
    const calls = node.kernels.map((id) => index.calls.get(id));
    const sum = (of) => calls.reduce((total, call) => total + (of(call) || 0), 0);
    node.us = calls.some((call) => call.us) ? sum((call) => call.us && call.us.median) : null;
    node.peak = calls.length ? calls[0].percent_of_peak : null;
    const most = (of) => calls.map(of).reduce((a, b) => (b === null || b === undefined ? a : Math.max(a ?? 0, b)), null);
    node.local = most((call) => call.local);
    node.total = most((call) => call.total);
    node.kernel = calls.length ? calls[0].kernel : null;
    node.backend = calls.length ? calls[0].backend : "";
    const value = index.values.get(node.outputs[0]);
    node.dtype = value ? value.dtype : "";
    node.shape = value && value.shape ? value.shape.join("x") : "";
    node.size = value ? value.bytes : null;
    node.remarks = data.remarks.filter((remark) => remark.where.includes(`"${node.name}"`));
  }
  return index;
}

export function microseconds(us) {
  if (us === null || us === undefined) return "";
  return us >= 1000 ? `${(us / 1000).toFixed(2)} ms` : `${us.toFixed(1)} µs`;
}

// A difference relative to the range of the values; NaN or infinities in other places are given as 1e30.
export function departure(value) {
  if (value === null || value === undefined) return "";
  return value >= 1e30 ? "not finite" : value.toExponential(1);
}

export function bytes(count) {
  if (count === null || count === undefined) return "";
  const units = ["B", "KB", "MB", "GB"];
  let unit = 0;
  for (; count >= 1000 && unit < 3; unit += 1) count /= 1000;
  return `${unit ? count.toFixed(1) : count} ${units[unit]}`;
}

const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

// A name as it is shown: control characters and direction marks visible, long ones cut.
export function shown(name, most = 60) {
  const text = name.replace(INVISIBLE, (c) => `‹${c.codePointAt(0).toString(16).padStart(4, "0")}›`);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
