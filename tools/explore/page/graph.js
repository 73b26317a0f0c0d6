// The graph on a canvas: pan, zoom, fit, a minimap; only what is in view is drawn.

import { shown } from "./data.js";
import { colours, element, sized } from "./dom.js";
import { keyed, TITLE, unfolded } from "./folding.js";

const TEXT_FROM = 0.3;
const LARGEST_ZOOM = 3;
// The width of the label of a stub.
const STUB = 140;

export class Graph {
  constructor(host, data, index, onselect, ontoggle) {
    Object.assign(this, { host, data, index, onselect, ontoggle });
    if (data.drawing.folded) keyed(data.drawing.folded);
    this.canvas = element("canvas", { role: "img", "aria-label": "The graph of the model; the list of nodes has the same" });
    this.mini = element("canvas", { className: "mini", "aria-hidden": "true" });
    host.append(this.canvas, this.mini);
    this.fill = () => null;
    this.hits = null;
    this.listen();
  }

  // Show all nodes, or groups of them, of which those with the keys `open` are open; one box stays in its place.
  show(folded, open, fixed) {
    const { full, folded: groups } = this.data.drawing;
    const before = fixed === undefined ? null : this.boxOf(fixed);
    this.folded = Boolean(folded && groups);
    this.open = open;
    const { nodes, edges } = this.data;
    const place = new Map(nodes.map((node, i) => [node.id, i]));
    const flat = () => ({ ...full, items: nodes.map((node) => ({ name: node.name, nodes: [node.id] })), edges: edges.map((e) => [place.get(e.from), place.get(e.to)]) });
    this.drawing = unfolded(this.folded ? groups : flat(), new Set(open));
    this.places = new Map(this.drawing.boxes.flatMap((box) => box.item.nodes.map((id) => [id, box])));
    this.link();
    const after = before && this.boxOf(fixed);
    if (!after) return this.fit();
    this.x += after.x - before.x;
    this.y += after.y - after.h / 2 - before.y + before.h / 2;
    return this.draw();
  }

  boxOf(key) {
    const { boxes, frames } = this.drawing;
    return [...boxes, ...frames].find((box) => box.item.key === key);
  }

  // The kinds of lines; stubs at both ends of edges that are too long for one; ports, into and out of open groups.
  link() {
    const { lines, frames } = this.drawing;
    const apart = new Set(this.data.edges.filter((edge) => !edge.fused).map((edge) => `${edge.from} ${edge.to}`));
    const pair = ({ from, to }) => `${from.item.nodes} ${to.item.nodes}`;
    for (const line of lines) line.kind = line.back ? "back" : apart.has(pair(line)) ? "border" : "edge";
    const drawn = new Set(lines.filter((line) => line.points.length).map(pair));
    this.stubs = [];
    for (const line of lines.filter((each) => !each.points.length && each.from !== each.to)) {
      if (drawn.has(pair(line))) continue;
      drawn.add(pair(line));
      this.addStub(line.from, line.to, 1);
      this.addStub(line.to, line.from, -1);
    }
    this.ports = frames.flatMap((frame) => {
      const inside = new Set(frame.item.nodes);
      const crossing = this.data.edges.filter((edge) => inside.has(edge.from) !== inside.has(edge.to));
      return [...new Set(crossing.map((edge) => `${inside.has(edge.to) ? edge.to : edge.from} ${inside.has(edge.to) ? -1 : 1}`))].map((port) => {
        const [id, side] = port.split(" ");
        return { frame, box: this.places.get(id), side: Number(side) };
      });
    });
  }

  addStub(box, other, side) {
    const rank = this.stubs.filter((stub) => stub.box === box && stub.side === side).length;
    this.stubs.push({ box, other, side, x: box.x + 8, y: box.y + side * (box.h / 2 + 6 + 11 * rank) });
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
    if (this.places.has(id)) this.centre(this.places.get(id));
  }

  centre(box) {
    this.x = box.x;
    this.y = box.y;
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
    const seen = ({ x, y, w, h }) => x - w / 2 < view.right && x + w / 2 > view.left && y - h / 2 < view.bottom && y + h / 2 > view.top;
    for (const frame of this.drawing.frames) if (seen(frame)) this.drawFrame(c, colour, frame);
    this.drawEdges(c, view, colour);
    if (this.zoom >= TEXT_FROM) this.drawStubs(c, view, colour);
    for (const box of this.drawing.boxes) if (seen(box)) this.drawBox(c, colour, box);
    this.drawMini(colour, view);
  }

  // The milliseconds of the slowest of some drawings, from the whole graph to a few nodes, each read back.
  slowestFrame() {
    const { zoom } = this;
    const times = [1, 2, 4, 16, 64, 256].map((factor) => {
      this.zoom = Math.min(zoom * factor, LARGEST_ZOOM);
      this.draw();
      const begin = performance.now();
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
    const paths = { edge: new Path2D(), border: new Path2D(), back: new Path2D() };
    for (const { from, to, points, kind } of this.drawing.lines) {
      const last = points.length - 1;
      if (last < 0 || Math.max(from.y, to.y) < view.top || Math.min(from.y, to.y) > view.bottom) continue;
      const sign = from.y < to.y ? 1 : -1;
      paths[kind].moveTo(points[0][0], from.y + (sign * from.h) / 2);
      for (let at = 1; at < last; at += 1) paths[kind].lineTo(points[at][0], points[at][1]);
      paths[kind].lineTo(points[last][0], to.y - (sign * to.h) / 2);
    }
    for (const { frame, box, side } of this.ports) {
      paths.edge.moveTo(frame.x, frame.y + (side * frame.h) / 2);
      paths.edge.lineTo(box.x, box.y + (side * box.h) / 2);
    }
    c.lineWidth = 1.2;
    for (const [kind, path] of Object.entries(paths)) {
      c.strokeStyle = colour(kind);
      c.setLineDash(kind === "back" ? [6, 4] : []);
      c.stroke(path);
    }
    c.setLineDash([]);
  }

  // The ends of edges that are too long to be drawn: dots with the name of the other end.
  drawStubs(c, view, colour) {
    c.fillStyle = colour("chosen");
    c.textAlign = "left";
    c.font = "10px system-ui, sans-serif";
    for (const { x, y, other, side } of this.stubs) {
      if (y < view.top || y > view.bottom) continue;
      c.beginPath();
      c.arc(x, y, 3, 0, 7);
      c.fill();
      c.fillText(`${side > 0 ? "to" : "from"} ${shown(other.item.name, 24)}`, x + 7, y + 3, STUB - 10);
    }
  }

  // The border of an open group, with its name at the top.
  drawFrame(c, colour, { item, x, y, w, h }) {
    c.fillStyle = colour("page");
    c.strokeStyle = colour("chosen");
    c.lineWidth = 1;
    c.beginPath();
    c.roundRect(x - w / 2, y - h / 2, w, h, 5);
    c.fill();
    c.stroke();
    if (this.zoom < TEXT_FROM) return;
    c.fillStyle = colour("text");
    c.textAlign = "left";
    c.font = "600 12px system-ui, sans-serif";
    c.fillText(`− ${titled(item)}`, x - w / 2 + 6, y - h / 2 + 14, w - 12);
  }

  drawBox(c, colour, { item, x, y, w, h }) {
    const chosen = item.nodes.includes(this.chosen);
    c.globalAlpha = this.hits && !item.nodes.some((id) => this.hits.has(id)) ? 0.25 : 1;
    const node = this.index.nodes.get(item.nodes[0]);
    const fill = this.fill(node);
    const isSmall = this.zoom < TEXT_FROM && !chosen;
    c.fillStyle = fill ? fill.replace("var(--light)", colour("light")) : colour(isSmall ? "edge" : "pane");
    c.strokeStyle = colour(chosen ? "chosen" : "edge");
    c.lineWidth = chosen ? 3 : 1;
    if (isSmall) c.fillRect(x - w / 2, y - h / 2, w, h);
    else {
      c.beginPath();
      c.roundRect(x - w / 2, y - h / 2, w, h, 5);
      c.fill();
      c.stroke();
    }
    if (this.zoom >= TEXT_FROM) {
      const [above, below] = item.items ? [`+ ${titled(item)}`, `${item.nodes.length} nodes`] : [shown(node.op, 30), shown(node.name, 36)];
      c.fillStyle = colour("text");
      c.textAlign = "center";
      c.font = "600 12px system-ui, sans-serif";
      c.fillText(above, x, y - 2, w - 8);
      c.font = "10px system-ui, sans-serif";
      c.fillText(below, x, y + 11, w - 8);
    }
    c.globalAlpha = 1;
  }

  drawMini(colour, view) {
    const { width, height, boxes } = this.drawing;
    const scale = Math.min(150 / (width || 1), 110 / (height || 1));
    const c = sized(this.mini, Math.max(width * scale, 8), Math.max(height * scale, 8));
    this.miniScale = scale;
    c.fillStyle = colour("edge");
    if (this.miniOf !== this.drawing) {
      this.miniOf = this.drawing;
      this.miniPath = new Path2D();
      for (const { x, y, w } of boxes) this.miniPath.rect((x - w / 2) * scale, y * scale - 1, Math.max(w * scale, 1), 2);
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

  // What is at a point of the canvas: a stub, a node, a group, or the title of an open group.
  at(px, py) {
    const { width, height } = this.size();
    const gx = this.x + (px - width / 2) / this.zoom;
    const gy = this.y + (py - height / 2) / this.zoom;
    const { boxes, frames } = this.drawing;
    const within = ({ x, y, w, h }) => Math.abs(gx - x) <= w / 2 && Math.abs(gy - y) <= h / 2;
    const stub = this.zoom >= TEXT_FROM && this.stubs.find(({ x, y }) => gx >= x - 5 && gx <= x + STUB && Math.abs(gy - y) <= 5);
    const titles = frames.filter(within).filter(({ y, h }) => gy < y - h / 2 + TITLE);
    return { stub, box: boxes.find(within), frame: titles[titles.length - 1] };
  }

  click(px, py) {
    const { stub, box, frame } = this.at(px, py);
    const found = box || (stub && stub.other) || frame;
    if (!found) return;
    if (stub && !box) this.centre(found);
    if (!found.item.items) this.onselect(found.item.nodes[0]);
    else if (!stub || box) this.ontoggle(found.item.key);
  }

  // Where in the window a node's box is, its first stub, and the title of the open group around it: for clicks of tests.
  whereIs(id) {
    const box = this.places.get(id);
    const { left, top } = this.canvas.getBoundingClientRect();
    const { width, height } = this.size();
    const place = (x, y) => ({ x: left + width / 2 + (x - this.x) * this.zoom, y: top + height / 2 + (y - this.y) * this.zoom });
    const stub = this.stubs.find((each) => each.box === box);
    const frame = this.drawing.frames.findLast(({ item }) => item.nodes.includes(id));
    return { box: place(box.x, box.y), stub: stub && place(stub.x, stub.y), title: frame && place(frame.x, frame.y - frame.h / 2 + TITLE / 2) };
  }

  // The drawing as an SVG document.
  svg() {
    const { boxes, frames, lines, width, height } = this.drawing;
    const space = "http://www.w3.org/2000/svg";
    const make = (name, attributes, text) => {
      const made = document.createElementNS(space, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      if (text) made.textContent = text;
      return made;
    };
    const root = make("svg", { viewBox: `-20 -20 ${width + 40} ${height + 40}` });
    const add = (fill, name, { x, y, w, h }, top) => {
      root.append(make("rect", { x: x - w / 2, y: y - h / 2, width: w, height: h, rx: 5, fill, stroke: "#444" }));
      root.append(make("text", { x, y: top ? y - h / 2 + 14 : y + 4, "text-anchor": "middle", "font-size": 12 }, shown(name, 30)));
    };
    for (const frame of frames) add("#eee", titled(frame.item), frame, true);
    for (const { points } of lines) root.append(make("polyline", { points: points.join(" "), fill: "none", stroke: "#888" }));
    for (const box of boxes) add("#fff", box.item.items ? titled(box.item) : this.index.nodes.get(box.item.nodes[0]).op, box, false);
    return new XMLSerializer().serializeToString(root);
  }
}

function titled(item) {
  return `${shown(item.name, 30)}${item.times > 1 ? ` × ${item.times}` : ""}`;
}
