// The tables of the page: nodes, kernels, passes, remarks, memory, roofline, timeline, values.

import { bytes, departure, microseconds, shown } from "./data.js";
import { colours, element, sized, table } from "./dom.js";

const time = (call) => (call.us ? call.us.median : 0);

export const TABLES = {
  nodes(data, select) {
    const row = (node) => element("li", {}, element("button", { type: "button", onclick: () => select(node.id) }, `${node.op} ${shown(node.name)}`));
    return element("ol", { "data-testid": "node-list" }, ...data.nodes.map(row));
  },
  kernels(data, select) {
    const calls = [...data.calls].sort((a, b) => time(b) - time(a));
    const kernels = new Map(data.kernels.map((kernel) => [kernel.id, kernel]));
    const names = new Map(data.nodes.map((node) => [node.id, node.name]));
    const rows = calls.map((call) => {
      const kernel = kernels.get(call.kernel);
      const nodes = call.nodes.map((id) => names.get(id)).join(", ");
      return [call.kernel || call.host, microseconds(call.us && call.us.median), call.percent_of_peak, kernel ? kernel.rule : "host",
        kernel ? kernel.code_bytes : null, kernel ? kernel.spills : null, ...(data.against ? [departure(call.local), departure(call.total)] : []), shown(nodes, 120)];
    });
    const heads = ["kernel", "time", "% of peak", "rule", "code bytes", "spills", ...(data.against ? ["local difference", "total difference"] : []), "nodes"];
    return table(heads, rows, (i) => calls[i].nodes.length && select(calls[i].nodes[0]));
  },
  passes(data) {
    const rows = data.passes.map((pass) => {
      const changed = pass.diff ? element("details", {}, element("summary", {}, `${pass.diff.split("\n").length} lines`), diffText(pass.diff)) : "no change";
      return [pass.level, pass.pass, pass.ms, pass.ops.join(" → "), changed];
    });
    return table(["level", "pass", "ms", "ops", "changes"], rows);
  },
  remarks(data) {
    return table(["pass", "where", "remark"], data.remarks.map((remark) => [remark.pass, shown(remark.where, 100), remark.message]));
  },
  memory(data) {
    const canvas = element("canvas", { role: "img", "aria-label": "The arena: time to the right, offsets upwards; the table has the same" });
    const placed = data.buffers.filter((buffer) => buffer.offset !== null && buffer.bytes !== null);
    const last = Math.max(...placed.map((buffer) => buffer.to + 1), 1);
    const top = Math.max(...placed.map((buffer) => buffer.offset + buffer.bytes), 1);
    const c = sized(canvas, 800, 220);
    placed.forEach((buffer, i) => {
      c.fillStyle = `hsl(${(i * 137.5) % 360} 45% 60%)`;
      const height = Math.max((buffer.bytes / top) * 215, 1);
      c.fillRect((buffer.from / last) * 800, 218 - (buffer.offset / top) * 215 - height, ((buffer.to + 1 - buffer.from) / last) * 800, height);
    });
    const rows = data.buffers.map((buffer) => [buffer.id, shown(buffer.value, 90), buffer.offset, buffer.bytes, buffer.from, buffer.to]);
    return element("div", {}, canvas, table(["buffer", "value", "offset", "bytes", "from", "to"], rows));
  },
  roofline(data) {
    const canvas = element("canvas", { role: "img", "aria-label": "Operations a byte against operations a second; the table of kernels has the same" });
    const points = data.calls.filter((call) => call.us && call.flops && call.bytes && time(call));
    const xs = points.map((call) => Math.log10(call.flops / call.bytes));
    const ys = points.map((call) => Math.log10(call.flops / time(call) / 1e3));
    const c = sized(canvas, 800, 320);
    const colour = colours();
    const [x0, x1, y0, y1] = [Math.min(...xs, -1) - 0.2, Math.max(...xs, 2) + 0.2, Math.min(...ys, -1) - 0.2, Math.max(...ys, 2) + 0.4];
    const at = (x, y) => [((x - x0) / (x1 - x0)) * 800, 320 - ((y - y0) / (y1 - y0)) * 320];
    c.fillStyle = c.strokeStyle = colour("text");
    if (data.peak) {
      const flops = Math.log10(data.peak.gflops);
      const memory = Math.log10(data.peak.memory_gbps);
      c.beginPath();
      for (let x = x0; x <= x1; x += 0.05) c.lineTo(...at(x, Math.min(flops, x + memory)));
      c.stroke();
    }
    points.forEach((call, i) => {
      const [px, py] = at(xs[i], ys[i]);
      c.fillStyle = colour("chosen");
      c.beginPath();
      c.arc(px, py, 4, 0, 7);
      c.fill();
      c.fillStyle = colour("text");
      c.fillText(call.kernel, px + 6, py);
    });
    return element("div", {}, element("p", { className: "note" }, points.length ? "GFLOP/s over operations a byte, both logarithmic" : "no times: run without --no-run"), canvas);
  },
  compare(data, select) {
    const { compare } = data;
    if (!compare) return element("p", { className: "note" }, "nothing to compare with: --compare MODEL or F.json");
    const calls = new Map(data.calls.map((call) => [call.id, call]));
    const both = (pair) => pair.map((value) => (value === null ? "–" : value)).join(" → ");
    const rows = compare.pairs.map((pair) => [both(pair.kernels), pair.us.map(microseconds).join(" → "), both(pair.instructions), both(pair.code_bytes),
      both(pair.spills), pair.same ? "same code" : "", shown(pair.nodes.join(", "), 100)]);
    const heads = ["kernel", "time", "instructions", "code bytes", "spills", "", "nodes"];
    const choose = (i) => select(calls.get(compare.pairs[i].call).nodes[0]);
    return element("div", {}, element("p", { className: "note" }, `compared with ${compare.command || compare.title}`), table(heads, rows, choose));
  },
  timeline(data) {
    const most = Math.max(...data.timeline.map((part) => part.ms), 1e-9);
    const bar = (ms) => element("meter", { min: 0, max: most, value: ms, title: `${ms} ms` });
    return table(["step of the compilation", "ms", ""], data.timeline.map((part) => [part.name, part.ms, bar(part.ms)]));
  },
  values(data) {
    const rows = data.values.map((value) => [shown(value.name), value.shape ? value.shape.join(" × ") : "", value.dtype, bytes(value.bytes)]);
    return table(["value", "shape", "dtype", "bytes"], rows);
  },
};

function diffText(text) {
  const kinds = { "+": "ins", "-": "del" };
  return element("pre", {}, ...text.split("\n").map((line) => element("span", { className: kinds[line[0]] || "" }, `${line}\n`)));
}
