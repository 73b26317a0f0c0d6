// Elements of the page. Text of a model is only ever set as text, never as HTML.

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export function pane(id, label) {
  return element("section", { id, "aria-label": label, "data-testid": id, tabIndex: -1 });
}

// A table: heads, rows of cells (text, number or element); a click or Enter on a row calls `onrow` with its index.
export function table(heads, rows, onrow) {
  const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
  const body = rows.map((cells, index) => {
    const row = element("tr", {}, ...cells.map(cell));
    if (onrow) {
      row.tabIndex = 0;
      row.addEventListener("click", () => onrow(index));
      row.addEventListener("keydown", (event) => event.key === "Enter" && onrow(index));
    }
    return row;
  });
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}

function cell(content) {
  const text = content === null || content === undefined ? "" : content;
  return element("td", { className: typeof content === "number" ? "n" : "" }, text instanceof Node ? text : String(text));
}

// A canvas in the pixels of the screen, with its context scaled to CSS pixels.
export function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const context = canvas.getContext("2d");
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  if (canvas.width !== Math.floor(width * ratio) || canvas.height !== Math.floor(height * ratio)) {
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

export function colours() {
  const style = getComputedStyle(document.documentElement);
  const known = {};
  return (name) => (known[name] ??= style.getPropertyValue(`--${name}`).trim());
}
