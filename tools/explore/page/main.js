// The page: its state is the address, `#node=Conv_3&level=loop&pass=12&color=time`, and all views follow it.

import { choices, colouring } from "./colour.js";
import { chunk, indexed, shown } from "./data.js";
import { details } from "./details.js";
import { element, pane } from "./dom.js";
import { Graph } from "./graph.js";
import { LEVELS, Levels } from "./levels.js";
import { matches } from "./search.js";
import { TABLES } from "./tables.js";
import { Playground, served } from "./try.js";

const begin = performance.now();
const errors = [];
window.addEventListener("error", (event) => errors.push(String(event.message)));
window.addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));

class Page {
  constructor(data) {
    this.data = data;
    this.index = indexed(data);
    this.names = new Map(data.nodes.map((node) => [node.name, node.id]));
    this.opensFolded = data.drawing.full.open === "folded";
    this.state = { node: null, levels: ["graph", "tensor", "llvm", "asm"], pass: null, color: "kernel", table: "nodes", search: "", folded: this.opensFolded, open: [] };
    this.build();
    this.graph = new Graph(this.panes.graph, data, this.index, (id) => this.select(id), (key) => this.toggleGroup(key));
    this.levels = new Levels(this.panes.levels, data.compare, (id) => this.select(id));
    const token = served();
    this.playground = token ? new Playground(token, this.names, () => this.show()) : null;
    if (this.playground) this.panes.levels.after(this.playground.pane);
    window.addEventListener("hashchange", () => this.readAddress());
    document.addEventListener("keydown", (event) => this.key(event));
  }

  build() {
    this.search = element("input", { type: "search", placeholder: "search: op:Conv time>1ms", "aria-label": "Search", oninput: () => this.update({ search: this.search.value }) });
    this.color = element("select", { "aria-label": "Colour by", onchange: () => this.update({ color: this.color.value }) }, ...choices(this.data).map((name) => element("option", { value: name }, name)));
    this.pass = element("input", { type: "range", min: 0, value: 0, "aria-label": "Pass", oninput: () => this.update({ pass: Number(this.pass.value) }) });
    this.passName = element("output", {});
    this.tabs = Object.keys(TABLES).map((name) => element("button", { type: "button", onclick: () => this.update({ table: name }) }, name));
    this.shownLevels = LEVELS.map((name, i) => element("button", { type: "button", title: `key ${i + 1}`, onclick: () => this.toggleLevel(name) }, name));
    this.count = element("output", { "data-testid": "hits" });
    this.help = element("dialog", { "aria-label": "Keys" }, element("p", {}, "/ search, ↑ ↓ its hits, f fit, z fold or unfold all (a click opens a group, or closes it at its name), [ ] pass, 1–7 levels, ? this help, Esc close"));
    const button = (text, act) => element("button", { type: "button", onclick: act }, text);
    const names = [["graph", "Graph"], ["details", "Details"], ["levels", "Levels of the kernel"], ["tables", "Tables"]];
    this.panes = Object.fromEntries(names.map(([id, label]) => [id, pane(id, label)]));
    const left = [element("label", {}, "colour ", this.color), button("fit", () => this.graph.fit()), button("fold", () => this.fold()), button("SVG", () => this.save())];
    const bar = element("header", {}, element("h1", {}, shown(this.data.title, 90)), this.search, this.count, ...left, button("?", () => this.help.showModal()));
    const steps = element("nav", { "aria-label": "Levels and passes" }, ...this.shownLevels, this.pass, this.passName);
    const tabs = element("nav", { "aria-label": "Tables" }, ...this.tabs);
    const left_out = this.data.left_out ? [element("p", { className: "note" }, this.data.left_out)] : [];
    const main = element("main", {}, this.panes.graph, this.panes.details, steps, this.panes.levels, ...left_out, tabs, this.panes.tables);
    document.body.append(bar, main, element("footer", {}, element("code", { "data-testid": "command" })), this.help);
  }

  // Change the state; the address follows, and the views follow it.
  async update(change) {
    this.state = { ...this.state, ...change };
    history.replaceState(null, "", this.address());
    await this.show();
  }

  select(id, change = {}) {
    return this.update({ node: id, pass: null, ...change });
  }

  async show() {
    const { state, data, index } = this;
    const node = index.nodes.get(state.node) || null;
    const call = node && node.kernels.map((id) => index.calls.get(id)).find((each) => each.kernel);
    const hits = state.search ? data.nodes.filter((each) => matches(each, state.search)) : [];
    this.hits = hits;
    this.count.textContent = state.search ? `${hits.length} found` : "";
    this.graph.fill = colouring(data, state.color);
    this.graph.hits = state.search ? new Set(hits.map((hit) => hit.id)) : null;
    const drawn = `${state.folded} ${state.open}`;
    if (this.drawn !== drawn) this.graph.show(state.folded, state.open, this.drawn && this.toggled);
    this.drawn = drawn;
    if (this.graph.chosen !== state.node) {
      this.graph.chosen = state.node;
      this.graph.focus(state.node);
    }
    this.graph.draw();
    this.showTable();
    this.shownLevels.forEach((each, i) => each.setAttribute("aria-pressed", state.levels.includes(LEVELS[i])));
    document.querySelector("[data-testid=command]").textContent = data.command;
    document.title = data.command || data.title;
    let kernel = null;
    if (call) {
      kernel = await this.kernelOf(call);
      this.pass.max = kernel.steps.length - 1;
      this.pass.value = state.pass === null ? this.pass.max : state.pass;
      this.passName.textContent = state.pass === null ? "last of each level" : `${kernel.steps[state.pass].level}: ${kernel.steps[state.pass].pass}`;
      this.levels.mark(state.node);
    } else {
      if (this.playground) this.playground.show(null);
      this.levels.clear(node ? node.note || "this node runs on the host" : "choose a node: its kernel's IR and assembly are shown here");
    }
    this.kernel = kernel;
    const about = node ? details(node, data, index, kernel, (id) => this.select(id)) : [element("h2", {}, shown(data.title, 120)), ...this.noNode(), summary(data)];
    this.panes.details.replaceChildren(...about);
  }

  // Show the kernel of a call on its levels, as compiled or as it was tried.
  async kernelOf(call) {
    const compiled = await chunk(call.kernel);
    if (!this.playground) return this.levels.show(call, compiled, this.state.levels, this.state.pass);
    this.playground.show(call, compiled);
    const applied = this.playground.applied(call, compiled);
    const last = applied.kernel.steps.length - 1;
    if (this.state.pass > last) this.state.pass = last;
    return this.levels.show(applied.call, applied.kernel, this.state.levels, this.state.pass);
  }

  showTable() {
    this.tabs.forEach((tab) => tab.setAttribute("aria-pressed", tab.textContent === this.state.table));
    if (this.tableShown === this.state.table) return;
    this.tableShown = this.state.table;
    this.panes.tables.replaceChildren((TABLES[this.state.table] || TABLES.nodes)(this.data, (id) => this.select(id)));
  }

  toggleLevel(name) {
    const has = this.state.levels.includes(name);
    const levels = LEVELS.filter((level) => (level === name ? !has : this.state.levels.includes(level)));
    return this.update({ levels });
  }

  fold() {
    this.toggled = undefined;
    return this.update({ folded: !this.state.folded, open: [] });
  }

  // Open a group of the folded graph in its place, or close it.
  toggleGroup(key) {
    this.toggled = key;
    const { open } = this.state;
    return this.update({ open: open.includes(key) ? open.filter((each) => each !== key) : [...open, key] });
  }

  save() {
    const link = element("a", { download: "graph.svg", href: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(this.graph.svg())}` });
    link.click();
  }

  key(event) {
    if (event.target.matches("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      if (event.target === this.search && ["ArrowDown", "ArrowUp", "Enter"].includes(event.key)) this.walk(event.key === "ArrowUp" ? -1 : 1);
      return;
    }
    const step = (by) => this.kernel && this.update({ pass: Math.min(Math.max(Number(this.pass.value) + by, 0), this.kernel.steps.length - 1) });
    const acts = { "/": () => this.search.focus(), f: () => this.graph.fit(), z: () => this.fold(), "[": () => step(-1), "]": () => step(1), "?": () => this.help.showModal() };
    LEVELS.forEach((level, i) => { acts[i + 1] = () => this.toggleLevel(level); });
    if (!event.ctrlKey && !event.metaKey && acts[event.key]) {
      event.preventDefault();
      acts[event.key]();
    }
  }

  // The next hit of the search.
  walk(by) {
    const at = this.hits.findIndex((hit) => hit.id === this.state.node);
    if (this.hits.length) this.select(this.hits[(at + by + this.hits.length) % this.hits.length].id);
  }

  address() {
    const { node, levels, pass, color, table, search, folded, open } = this.state;
    const parts = new URLSearchParams();
    if (node) parts.set("node", this.index.nodes.get(node).name);
    parts.set("level", levels.join(","));
    if (pass !== null) parts.set("pass", pass);
    parts.set("color", color);
    parts.set("table", table);
    if (search) parts.set("search", search);
    if (folded !== this.opensFolded) parts.set("folded", folded ? "1" : "0");
    if (folded && open.length) parts.set("open", open.join(","));
    return `#${parts}`;
  }

  noNode() {
    return this.unknown ? [element("p", {}, `no node is called ${shown(this.unknown, 120)}; a node without a name has its op and number, as MatMul#0`)] : [];
  }

  readAddress() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const change = { node: this.names.get(parts.get("node")) || null };
    this.unknown = parts.has("node") && !change.node ? parts.get("node") : "";
    const kernel = this.index.kernels.get(parts.get("kernel"));
    if (!change.node && kernel) change.node = this.index.calls.get(kernel.calls[0]).nodes[0] || null;
    if (parts.get("level")) change.levels = LEVELS.filter((level) => parts.get("level").split(",").includes(level));
    change.pass = parts.get("pass") ? Number(parts.get("pass")) : null;
    for (const key of ["color", "table", "search"]) if (parts.get(key)) change[key] = parts.get(key);
    if (parts.has("folded")) change.folded = parts.get("folded") !== "0";
    if (parts.get("open")) change.open = parts.get("open").split(",").map(Number);
    this.search.value = change.search || "";
    this.color.value = change.color || this.state.color;
    this.state = { ...this.state, ...change };
    return this.show();
  }

  view() {
    const { node, ...rest } = this.state;
    return { node: node ? this.index.nodes.get(node).name : null, ...rest, hits: this.hits.length };
  }
}

function summary(data) {
  const facts = Object.entries(data.summary).filter(([, value]) => typeof value !== "object");
  if (data.against) facts.push([`against ${data.against.what}`, data.against.first || "nothing departs"]);
  return element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]));
}

// The facts that tests read.
async function selftest(page, ms) {
  for (const kernel of page.data.kernels) await chunk(kernel.id);
  const { nodes, kernels, calls } = page.data;
  const facts = { nodes: nodes.length, kernels: kernels.length, calls: calls.length, ms, frame: page.graph.slowestFrame(), errors, view: page.view(), marked: page.levels.marked };
  document.body.append(element("pre", { "data-testid": "selftest" }, JSON.stringify(facts)));
}

// Delay the document's load event, at which `chromium --dump-dom` reads it, until the page is ready:
// an image that is being loaded does, even one that is none.
function delayLoad() {
  const image = new Image();
  let count = 0;
  const next = () => { image.src = `data:,${count += 1}`; };
  image.addEventListener("error", next);
  next();
  return () => image.removeEventListener("error", next);
}

async function start() {
  const wanted = new URLSearchParams(location.hash.slice(1)).has("selftest");
  const release = wanted ? delayLoad() : null;
  try {
    const page = new Page(await chunk("index"));
    await page.readAddress();
    const ms = performance.now() - begin;
    if (wanted) await selftest(page, ms);
    return page;
  } finally {
    if (release) release();
  }
}

const ready = start();
window.stepwell = {
  ready: ready.then(() => true),
  data: null,
  select: (id) => ready.then((page) => page.select(id)),
  state: () => ready.then((page) => page.view()),
  whereIs: (id) => ready.then((page) => page.graph.whereIs(id)),
};
ready.then((page) => { window.stepwell.data = page.data; });
