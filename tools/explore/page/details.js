// The details of a node: what it is, what it became, its times, and why its neighbours are other kernels.

import { departure, microseconds, shown } from "./data.js";
import { element } from "./dom.js";

export function details(node, data, index, kernel, select) {
  const facts = [["op", node.op], ["shape", node.shape], ["dtype", node.dtype], ["layout", node.layout], ["backend", node.backend], ...Object.entries(node.attrs)];
  const call = node.kernels.length ? index.calls.get(node.kernels[0]) : null;
  if (node.note) facts.push(["note", node.note]);
  if (call) facts.push(["kernel", call.kernel || call.host], ["nodes in it", call.nodes.length]);
  if (call && call.us) facts.push(["time", `${microseconds(call.us.median)} (${microseconds(call.us.low)} to ${microseconds(call.us.high)})`]);
  if (call && call.percent_of_peak !== null) facts.push(["of peak", `${call.percent_of_peak} %`]);
  if (call && call.allowed) facts.push(["difference, local", departure(call.local)], ["difference, total", departure(call.total)], ["allowed", departure(call.allowed)]);
  for (const overlay of data.overlays) facts.push([overlay.name, `${overlay.values[node.name] ?? "none"} ${overlay.unit}`]);
  if (kernel) {
    facts.push(["formed by", [kernel.rule, kernel.pattern].filter(Boolean).join(" ")]);
    for (const schedule of kernel.schedule) facts.push(["schedule", schedule]);
    facts.push(["changed by", kernel.steps.filter((step) => !step.same).map((step) => step.pass).join(", ")]);
    for (const remark of [...node.remarks, ...kernel.remarks]) facts.push(["remark", `${remark.message} (${remark.pass})`]);
  }
  const list = facts.filter(([, value]) => value !== "").flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, shown(String(value), 400))]);
  return [element("h2", {}, shown(node.name, 120)), element("dl", {}, ...list), ...neighbours(node, data, index, select)];
}

function neighbours(node, data, index, select) {
  const made = [];
  for (const [from, to, title] of [["to", "from", "reads"], ["from", "to", "read by"]]) {
    const edges = data.edges.filter((edge) => edge[from] === node.id);
    if (!edges.length) continue;
    const rows = edges.map((edge) => {
      const other = index.nodes.get(edge[to]);
      const button = element("button", { type: "button", onclick: () => select(other.id) }, `${other.op} ${shown(other.name)}`);
      return element("li", {}, button, edge.fused ? " in the same kernel" : ` another kernel: ${edge.why}`);
    });
    made.push(element("h3", {}, title), element("ul", {}, ...rows));
  }
  return made;
}
