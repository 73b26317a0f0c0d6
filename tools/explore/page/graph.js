// The graph on a canvas: pan, zoom, fit, a minimap; only what is in view is drawn.

import { shown } from "./data.js";
import { colours, element, sized } from "./dom.js";

const TEXT_FROM = 0.3;
const LARGEST_ZOOM = 3;

export class Graph {
  constructor(host, data, index, onselect) {
    Object.assign(this, { host, data, index, onselect });
    this.canvas = element("canvas", { role: "img", "aria-label": "The graph of the model; the list of nodes has the same" });
    this.mini = element("canvas", { className: "mini", "aria-hidden": "true" });
    host.append(this.canvas, this.mini);
    this.fill = () => null;
    this.hits = null;
    this.listen();
  }

  // Show all nodes, or the groups that they are folded into.
  show(folded) {
    const { full, folded: groups } = this.data.drawing;
    this.folded = Boolean(folded && groups);
    this.drawing = this.folded ? groups : full;
    this.items = this.folded ? groups.groups : this.data.nodes;
    this.places = new Map();
    this.items.forEach((item, i) => {
      for (const id of this.folded ? item.nodes : [item.id]) this.places.set(id, i);
    });
    this.edges = this.folded ? groups.edges : this.data.edges.map((e) => [this.places.get(e.from), this.places.get(e.to)]);
    this.back = new Set(this.drawing.back);
    this.fit();
  }

  fit() {
    const { width, height } = this.size();
    const zoom = Math.min(width / (this.drawing.width + 60), height / (this.drawing.height + 60), 1.2);
    this.zoom = zoom || 1;
    this.x = this.drawing.width / 2;
    this.y = this.drawing.height / 2;
    this.draw();
  }

  // Move a node into the middle.
  focus(id) {
    const place = this.places.get(id);
    if (place === undefined) return;
    this.x = this.drawing.x[place];
    this.y = this.drawing.y[place];
    this.zoom = Math.max(this.zoom, 0.7);
    this.draw();
  }

  size() {
    return { width: Math.max(this.host.clientWidth, 50), height: Math.max(this.host.clientHeight, 50) };
  }

  draw() {
    const { width, height } = this.size();
    const colour = colours();
    const c = sized(this.canvas, width, height);
    c.translate(width / 2, height / 2);
    c.scale(this.zoom, this.zoom);
    c.translate(-this.x, -this.y);
    const view = { left: this.x - width / 2 / this.zoom, right: this.x + width / 2 / this.zoom };
    view.top = this.y - height / 2 / this.zoom;
    view.bottom = this.y + height / 2 / this.zoom;
    this.drawEdges(c, view, colour);
    this.items.forEach((item, i) => this.drawNode(c, view, colour, item, i));
    this.drawMini(colour, view);
  }

  // The milliseconds of the slowest of some drawings, from the whole graph to a few nodes, each read back.
  slowestFrame() {
    const { zoom } = this;
    const times = [1, 2, 4, 16, 64, 256].map((factor) => {
      const begin = performance.now();
      this.zoom = Math.min(zoom * factor, LARGEST_ZOOM);
      this.draw();
      this.canvas.getContext("2d").getImageData(0, 0, 1, 1);
      return performance.now() - begin;
    });
    this.zoom = zoom;
    this.draw();
    return Math.max(...times);
  }

  // The edges in view, in one path for each of their kinds.
  drawEdges(c, view, colour) {
    const { routes, x, y, h } = this.drawing;
    const paths = { edge: new Path2D(), border: new Path2D(), back: new Path2D() };
    this.edges.forEach(([from, to], i) => {
      const route = routes[i];
      if (!route.length) return this.drawStub(c, view, colour, from, to);
      if (Math.max(y[from], y[to]) < view.top || Math.min(y[from], y[to]) > view.bottom) return;
      const edge = this.folded ? null : this.data.edges[i];
      const path = paths[this.back.has(i) ? "back" : edge && !edge.fused ? "border" : "edge"];
      const last = route.length - 1;
      path.moveTo(route[0][0], route[0][1] + h / 2);
      for (let at = 1; at < last; at += 1) path.lineTo(route[at][0], route[at][1]);
      path.lineTo(route[last][0], route[last][1] - h / 2);
    });
    c.lineWidth = 1.2;
    for (const [kind, path] of Object.entries(paths)) {
      c.strokeStyle = colour(kind);
      c.setLineDash(kind === "back" ? [6, 4] : []);
      c.stroke(path);
    }
    c.setLineDash([]);
  }

  // Both ends of an edge that is too long to be drawn.
  drawStub(c, view, colour, from, to) {
    if (from === to) return;
    const { x, y, h } = this.drawing;
    c.fillStyle = colour("edge");
    for (const [place, sign] of [[from, 1], [to, -1]]) {
      if (y[place] < view.top || y[place] > view.bottom) continue;
      c.beginPath();
      c.arc(x[place] + 12, y[place] + sign * (h / 2 + 5), 3, 0, 7);
      c.fill();
    }
  }

  drawNode(c, view, colour, item, i) {
    const { x, y, w, h } = this.drawing;
    const left = x[i] - w[i] / 2;
    if (left > view.right || left + w[i] < view.left || y[i] - h > view.bottom || y[i] + h < view.top) return;
    const ids = this.folded ? item.nodes : [item.id];
    const chosen = ids.includes(this.chosen);
    c.globalAlpha = this.hits && !ids.some((id) => this.hits.has(id)) ? 0.25 : 1;
    const fill = this.fill(this.index.nodes.get(ids[0]));
    c.fillStyle = fill ? fill.replace("var(--light)", colour("light")) : colour("pane");
    c.strokeStyle = colour(chosen ? "chosen" : "edge");
    c.lineWidth = chosen ? 3 : 1;
    if (this.zoom < TEXT_FROM && !chosen) c.fillRect(left, y[i] - h / 2, w[i], h);
    else {
      c.beginPath();
      c.roundRect(left, y[i] - h / 2, w[i], h, 5);
      c.fill();
      c.stroke();
    }
    if (this.zoom >= TEXT_FROM) {
      c.fillStyle = colour("text");
      c.textAlign = "center";
      c.font = "600 12px system-ui, sans-serif";
      c.fillText(shown(this.folded ? item.name : item.op, 30), x[i], y[i] - 2, w[i] - 8);
      c.font = "10px system-ui, sans-serif";
      c.fillText(this.below(item, i), x[i], y[i] + 11, w[i] - 8);
    }
    c.globalAlpha = 1;
  }

  below(item, i) {
    if (!this.folded) return shown(item.name, 36);
    const like = item.like === i ? "" : `, like ${shown(this.items[item.like].name, 20)}`;
    return `${item.nodes.length} nodes${like}`;
  }

  drawMini(colour, view) {
    const { width, height, x, y, w } = this.drawing;
    const scale = Math.min(150 / (width || 1), 110 / (height || 1));
    const c = sized(this.mini, Math.max(width * scale, 8), Math.max(height * scale, 8));
    this.miniScale = scale;
    c.fillStyle = colour("edge");
    if (this.miniOf !== this.drawing) {
      this.miniOf = this.drawing;
      this.miniPath = new Path2D();
      x.forEach((px, i) => this.miniPath.rect((px - w[i] / 2) * scale, y[i] * scale - 1, Math.max(w[i] * scale, 1), 2));
    }
    c.fill(this.miniPath);
    c.strokeStyle = colour("chosen");
    c.strokeRect(view.left * scale, view.top * scale, (view.right - view.left) * scale, (view.bottom - view.top) * scale);
  }

  listen() {
    let from = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      from = { x: event.clientX, y: event.clientY, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!from) return;
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
      if (!from.moved && Math.hypot(dx, dy) < 4) return;
      this.x -= dx / this.zoom;
      this.y -= dy / this.zoom;
      from = { x: event.clientX, y: event.clientY, moved: true };
      this.draw();
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (from && !from.moved) this.click(event.offsetX, event.offsetY);
      from = null;
    });
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { width, height } = this.size();
      const [dx, dy] = [event.offsetX - width / 2, event.offsetY - height / 2];
      const zoom = Math.min(Math.max(this.zoom * Math.exp(-event.deltaY / 400), 0.01), LARGEST_ZOOM);
      this.x += dx / this.zoom - dx / zoom;
      this.y += dy / this.zoom - dy / zoom;
      this.zoom = zoom;
      this.draw();
    }, { passive: false });
    this.mini.addEventListener("click", (event) => {
      this.x = event.offsetX / this.miniScale;
      this.y = event.offsetY / this.miniScale;
      this.draw();
    });
    new ResizeObserver(() => this.drawing && this.draw()).observe(this.host);
  }

  click(px, py) {
    const { width, height } = this.size();
    const gx = this.x + (px - width / 2) / this.zoom;
    const gy = this.y + (py - height / 2) / this.zoom;
    const { x, y, w, h } = this.drawing;
    const hit = this.items.findIndex((_, i) => Math.abs(gx - x[i]) <= w[i] / 2 && Math.abs(gy - y[i]) <= h / 2);
    if (hit >= 0) this.onselect(this.folded ? this.items[hit].nodes[0] : this.items[hit].id, this.folded);
  }

  // The drawing as an SVG document.
  svg() {
    const { x, y, w, h, routes, width, height } = this.drawing;
    const space = "http://www.w3.org/2000/svg";
    const make = (name, attributes, text) => {
      const made = document.createElementNS(space, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      if (text) made.textContent = text;
      return made;
    };
    const root = make("svg", { viewBox: `-20 -20 ${width + 40} ${height + 40}` });
    for (const route of routes) root.append(make("polyline", { points: route.join(" "), fill: "none", stroke: "#888" }));
    this.items.forEach((item, i) => {
      root.append(make("rect", { x: x[i] - w[i] / 2, y: y[i] - h / 2, width: w[i], height: h, rx: 5, fill: "#fff", stroke: "#444" }));
      const label = this.folded ? item.name : item.op;
      root.append(make("text", { x: x[i], y: y[i] + 4, "text-anchor": "middle", "font-size": 12 }, shown(label, 30)));
    });
    return new XMLSerializer().serializeToString(root);
  }
}
