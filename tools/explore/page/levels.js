// A kernel's text on each level side by side; lines that share a node of the model are marked together.

import { difference } from "./difference.js";
import { element } from "./dom.js";

export const LEVELS = ["graph", "tensor", "loop", "llvm", "asm", "diff", "other"];

export class Levels {
  constructor(host, compare, onselect) {
    Object.assign(this, { host, compare, onselect });
    this.columns = {};
    this.marked = {};
  }

  // Show a call's kernel with the levels chosen; `pass` is the index of a step, or null for the last of each level.
  show(call, kernel, levels, pass) {
    const key = [call.id, kernel.tried, levels, pass].join();
    if (this.key !== key) {
      this.key = key;
      this.columns = {};
      this.host.replaceChildren(...levels.map((level) => this.column(kernel, call, level, pass)));
    }
    return kernel;
  }

  clear(note) {
    this.key = "";
    this.columns = {};
    this.marked = {};
    this.host.replaceChildren(element("p", { className: "note" }, note));
  }

  column(kernel, call, level, pass) {
    const { title, lines, sets, loops } = level === "other" ? other(this.compare, call) : content(kernel, call, level, pass);
    const body = element("pre", { tabIndex: 0 });
    const rows = lines.map((line, i) => {
      const row = element("span", { className: line.kind || "" }, `${line.text}\n`);
      row.dataset.line = i + 1;
      return row;
    });
    body.append(...rows);
    body.addEventListener("click", (event) => {
      const row = event.target.closest("span");
      const nodes = row ? sets[row.dataset.line - 1] : [];
      if (nodes.length) this.onselect(nodes[0]);
    });
    this.columns[level] = { rows, sets, body };
    const jump = (line) => { body.scrollTop = rows[line - 1].offsetTop - body.offsetTop; };
    const listed = (loops || []).map((loop) => element("li", {}, element("button", { type: "button", onclick: () => jump(loop.first) }, `${"– ".repeat(loop.depth)}loop ${loop.first}–${loop.last}: ${counted(loop)}`)));
    const list = listed.length ? [element("ul", { className: "loops", "data-testid": "loops" }, ...listed)] : [];
    return element("div", { className: "column", "data-testid": `level-${level}` }, element("h3", {}, title), ...list, body);
  }

  // Mark the lines of a node on each level; returns how many there are.
  mark(id) {
    this.marked = {};
    for (const [level, { rows, sets, body }] of Object.entries(this.columns)) {
      let first = null;
      let count = 0;
      rows.forEach((row, i) => {
        const has = sets[i].includes(id);
        row.classList.toggle("marked", has);
        if (!has) return;
        count += 1;
        first = first || row;
      });
      if (first) body.scrollTop = Math.max(first.offsetTop - body.offsetTop - 60, 0);
      this.marked[level] = count;
    }
    return this.marked;
  }
}

function content(kernel, call, level, pass) {
  const named = (number) => (number >= 0 ? call.sets[number] : []);
  if (level === "asm") {
    const last = lastText(kernel.steps, kernel.steps.length - 1);
    const lines = kernel.asm.text.split("\n").slice(0, -1);
    const sets = kernel.asm.lines.map((line) => (line ? named(last.lines[line - 1]) : []));
    return { title: `assembly · ${kernel.code_bytes} bytes, ${counted(kernel.asm.counts)}`, lines: lines.map((text) => ({ text })), sets, loops: kernel.asm.loops };
  }
  if (level === "diff") {
    const at = pass === null ? kernel.steps.length - 1 : pass;
    const [before, after] = [lastText(kernel.steps, at - 1), lastText(kernel.steps, at)];
    const lines = difference(before ? before.text : "", after.text);
    return { title: `changes of ${kernel.steps[at].pass}`, lines, sets: lines.map((line) => (line.at < 0 ? [] : named(after.lines[line.at]))) };
  }
  const own = kernel.steps.map((step, i) => i).filter((i) => kernel.steps[i].level === level);
  const at = own.includes(pass) ? pass : own[own.length - 1];
  const step = at === undefined ? null : lastText(kernel.steps, at);
  if (!step) return { title: `${level}: not here`, lines: [], sets: [] };
  const lines = step.text.split("\n").slice(0, -1).map((text) => ({ text }));
  return { title: `${level} · after ${kernel.steps[at].pass}`, lines, sets: step.lines.map(named) };
}

// The assembly of the kernel that another compilation has for a call's nodes.
function other(compare, call) {
  const pair = compare && compare.pairs.find((each) => each.call === call.id);
  if (!pair || !pair.kernels[1]) return { title: "other: no such kernel", lines: [], sets: [] };
  const lines = compare.asm[pair.kernels[1]].split("\n").slice(0, -1).map((text) => ({ text }));
  return { title: `other assembly · ${pair.kernels[1]}`, lines, sets: lines.map(() => []) };
}

function lastText(steps, at) {
  for (let i = at; i >= 0; i -= 1) if (steps[i].text !== undefined) return steps[i];
  return null;
}

// The counts of a loop, without those of the loops in it, or of all code.
function counted({ instructions, fma, loads, stores, spills }) {
  const counts = [[instructions, "instructions"], [fma, "FMA"], [loads, "loads"], [stores, "stores"], [spills, "spills"]];
  return counts.filter(([count]) => count).map((each) => each.join(" ")).join(", ");
}
