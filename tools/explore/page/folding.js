// Folded drawings: what is drawn when some of their items are open, each in its place.

const PAD = 12;
export const TITLE = 20;

// Give each item that can be opened a key, its number in their order: what an address has.
export function keyed(drawing, next = { key: 0 }) {
  for (const item of drawing.items) {
    if (!item.items) continue;
    item.key = next.key;
    next.key += 1;
    keyed(item, next);
  }
}

// The boxes, frames around open items, and lines of a drawing; boxes have their centres, and an item each.
export function unfolded(drawing, open) {
  const { x, y, w, h, routes, edges, items } = drawing;
  const inner = items.map((item) => (item.items && open.has(item.key) ? unfolded(item, open) : null));
  const made = items.map((item, i) => ({ item, w: inner[i] ? Math.max(w[i], inner[i].width + 2 * PAD) : w[i], h: inner[i] ? inner[i].height + TITLE + PAD : h }));
  const { move, down } = room(drawing, made);
  made.forEach((box, i) => { [box.x, box.y] = move(x[i], y[i]); });
  const back = new Set(drawing.back);
  const lines = edges.map(([from, to], i) => ({ from: made[from], to: made[to], back: back.has(i), points: routes[i].map(([px, py]) => move(px, py)) }));
  const left = Math.min(...made.map((box) => box.x - box.w / 2), 0);
  const right = Math.max(...made.map((box) => box.x + box.w / 2), drawing.width);
  const found = { boxes: [], frames: [], lines, width: right - left, height: drawing.height + down };
  made.forEach((box, i) => {
    if (!inner[i]) return found.boxes.push(box);
    shift(inner[i], box.x - inner[i].width / 2, box.y - box.h / 2 + TITLE);
    found.frames.push(box, ...inner[i].frames);
    found.boxes.push(...inner[i].boxes);
    return found.lines.push(...inner[i].lines);
  });
  shift(found, -left, 0);
  return found;
}

// Where points are moved to, to make room for open items: layers down, and within a layer to both sides.
function room({ x, y, w, h }, made) {
  const layers = new Map();
  made.forEach((box, i) => {
    if (!layers.has(y[i])) layers.set(y[i], { tall: 0, wide: [] });
    const layer = layers.get(y[i]);
    layer.tall = Math.max(layer.tall, box.h - h);
    if (box.w > w[i]) layer.wide.push([x[i], (box.w - w[i]) / 2]);
  });
  let down = 0;
  for (const at of [...layers.keys()].sort((a, b) => a - b)) {
    const layer = layers.get(at);
    layer.y = at + down + layer.tall / 2;
    down += layer.tall;
  }
  const move = (px, py) => {
    const { y: to, wide } = layers.get(py);
    return [wide.reduce((sum, [centre, by]) => sum + Math.sign(px - centre) * by, px), to];
  };
  return { move, down };
}

function shift({ boxes, frames, lines }, dx, dy) {
  for (const box of [...boxes, ...frames]) {
    box.x += dx;
    box.y += dy;
  }
  for (const line of lines) line.points = line.points.map(([px, py]) => [px + dx, py + dy]);
}
