// The graph: boxes and edges as SVG, which the user moves and zooms.

import { Kind } from "./data.js";
import { byId, html, svg } from "./dom.js";
import { header, headerLabel, isRound, itemLabel, lineHeights, padding } from "./labels.js";
import { kindOf } from "./kinds.js";

const smallestZoom = 0.04;
const largestZoom = 3;
const margin = 28;

export class GraphView {
  // `on`: select(item), toggle(item), hover(item); -1 is the background.
  constructor(data, on) {
    this.data = data;
    this.on = on;
    this.element = byId("graph");
    this.selected = -1;
    this.view = { x: 0, y: 0, zoom: 1 };
    this.size = { width: 1, height: 1 };
    this.boxes = new Map(); // by item: its place
    this.headers = []; // the headers of open boxes
    this.shapes = new Map(); // by item: its SVG group
    this.style = -1; // see filter()
    this.element.append(
      svg(
        "defs",
        {},
        ...["edge", "edge-near"].map((id) =>
          svg(
            "marker",
            { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
            svg("path", { d: "M0,0.8 L7.5,4 L0,7.2 z" }),
          ),
        ),
      ),
      (this.paper = svg("g", { id: "paper" })),
    );
    this.#listen();
  }

  draw({ drawn, far, neighbours, isOpen, placed }) {
    const { data } = this;
    this.placed = placed;
    this.size = { width: placed.width, height: placed.height };
    this.boxes.clear();
    this.shapes.clear();
    this.headers = [];
    this.isOpen = isOpen;
    this.most = Math.max(0, ...drawn.filter((item) => !isOpen(item)).map((item) => data.cost(item)?.weight ?? 0));
    const open = svg("g");
    const headers = svg("g"); // above the edges, so that no edge crosses a name
    const edges = svg("g", { class: "edges" });
    const closed = svg("g");
    for (const item of drawn) {
      const place = placed.boxes.get(String(item));
      if (!place) continue; // the graph itself
      const shape = isOpen(item) ? this.#openBox(item, place) : this.#item(item, place);
      (isOpen(item) ? open : closed).append(shape);
      if (isOpen(item)) headers.append(this.#header(item, place));
      this.boxes.set(item, place);
      this.shapes.set(item, shape);
    }
    neighbours.forEach(({ item }, at) => {
      const shape = this.#item(item, placed.boxes.get("n" + at));
      shape.classList.add("outside");
      closed.append(shape);
    });
    this.paths = placed.edges.map(({ from, to, points }) => {
      const path = svg("path", { d: roundedPath(points), "marker-end": "url(#edge)" });
      edges.append(path);
      return { from: this.#itemOfId(from, neighbours), to: this.#itemOfId(to, neighbours), path };
    });
    for (const [from, to] of far) {
      const path = svg("path", { d: curve(this.boxes.get(from), this.boxes.get(to)), class: "reach", "marker-end": "url(#edge)" });
      edges.append(path);
      this.paths.push({ from, to, path });
    }
    this.paper.replaceChildren(open, edges, headers, closed);
    this.#moveHeaders();
    this.select(this.selected);
    this.filter(this.style);
  }

  // Fades what neither has the mark of that style nor contains something that has it; -1 fades nothing.
  filter(style) {
    this.style = style;
    for (const shape of this.paper.querySelectorAll("[data-item]"))
      shape.classList.toggle("faded", style >= 0 && !this.data.hasMark(Number(shape.dataset.item), style));
  }

  #itemOfId(id, neighbours) {
    return id.startsWith("n") ? neighbours[Number(id.slice(1))].item : Number(id);
  }

  #classes(item) {
    const { data } = this;
    const classes = ["item", "kind-" + kindOf(data, item)];
    if (data.hasFailed(item)) classes.push("failed");
    if (data.isBox(item)) classes.push("box");
    const mark = data.markOf(item);
    if (mark && !(mark.isWithin && this.isOpen(item))) classes.push(mark.name);
    if (data.kinds[item] === Kind.body || data.kinds[item] === Kind.operator) classes.push("dashed");
    return classes.join(" ");
  }

  #group(item, place, className) {
    const { data } = this;
    const shape = svg("g", {
      class: className,
      transform: `translate(${place.x},${place.y})`,
      "data-item": item,
    });
    const cost = data.cost(item);
    const share = cost && this.most ? cost.weight / this.most : 0;
    shape.style.setProperty("--share", Math.min(1, Math.sqrt(share)).toFixed(3));
    const colour = data.markOf(item)?.colour;
    if (colour) shape.style.setProperty("--change", colour);
    return shape;
  }

  #item(item, place) {
    const { data } = this;
    const label = itemLabel(data, item);
    const shape = this.#group(item, place, this.#classes(item));
    shape.append(svg("title", {}, tooltip(data, item)));
    const round = isRound(data, item) ? place.height / 2 : 7;
    if (data.kinds[item] === Kind.repeats) {
      shape.append(
        svg("rect", { class: "behind", x: 5, y: 5, width: place.width, height: place.height, rx: round }),
      );
    }
    shape.append(svg("rect", { class: "paper", width: place.width, height: place.height, rx: round }));
    let y = padding.y;
    label.lines.forEach((line, at) => {
      y += lineHeights[line.font];
      const text = svg("text", { class: line.className, x: padding.x, y: y - 4.5 }, line.text);
      if (at === 0 && label.typeText) text.append(svg("tspan", { class: "type", dx: 7 }, label.typeText));
      shape.append(text);
    });
    if (data.isBox(item)) shape.append(switchButton(place.width - 21, 8, "+"));
    return shape;
  }

  #openBox(item, place) {
    const { data } = this;
    const shape = this.#group(item, place, this.#classes(item) + " open " + (data.depths[item] % 2 ? "odd" : "even"));
    shape.append(
      svg("title", {}, tooltip(data, item)),
      svg("rect", { class: "paper", width: place.width, height: place.height, rx: 9 }),
      svg("path", {
        class: "header",
        d: `M0,${header} V9 Q0,0 9,0 H${place.width - 9} Q${place.width},0 ${place.width},9 V${header} z`,
      }),
    );
    return shape;
  }

  #header(item, place) {
    const label = headerLabel(this.data, item, place.width);
    const shape = this.#group(item, place, this.#classes(item) + " headline");
    const text = svg("text", { class: "title", x: padding.x, y: 20 }, label.title);
    if (label.typeText) text.append(svg("tspan", { class: "type", dx: 8 }, label.typeText));
    const button = switchButton(place.width - 22, 8, "\u2212");
    this.headers.push({ place, label, text, button });
    shape.append(svg("title", {}, tooltip(this.data, item)), text, button);
    return shape;
  }

  select(item) {
    this.selected = item;
    const name = item < 0 ? "" : `: ${this.data.title(item) || "(root)"} is selected`;
    this.element.setAttribute("aria-label", `Graph${name}. Arrow keys move, Enter opens or closes`);
    for (const [each, shape] of this.shapes) shape.classList.toggle("selected", each === item);
    this.#mark(item);
  }

  // Highlights the edges of the item and of its content.
  #mark(item) {
    const { data } = this;
    const isNear = (end) => item >= 0 && (end === item || (data.isBox(item) && data.isIn(end, item)));
    for (const { from, to, path } of this.paths ?? []) {
      const near = isNear(from) !== isNear(to);
      if (path.classList.contains("near") === near) continue;
      path.classList.toggle("near", near);
      path.setAttribute("marker-end", near ? "url(#edge-near)" : "url(#edge)");
      if (near) path.parentNode.append(path);
    }
  }

  // --- the visible section ---

  #apply() {
    const { x, y, zoom } = this.view;
    this.paper.setAttribute("transform", `translate(${x},${y}) scale(${zoom})`);
    this.element.classList.toggle("far", zoom < 0.45);
    this.#moveHeaders();
  }

  // Keeps names and signs of boxes in sight that are wider than the visible section.
  #moveHeaders(isPrinted = false) {
    const { x, zoom } = this.view;
    const left = isPrinted ? 0 : (8 - x) / zoom;
    const right = isPrinted ? this.size.width : (this.#frame().width - 8 - x) / zoom;
    for (const { place, label, text, button } of this.headers) {
      const space = place.width - label.width;
      const start = Math.max(0, Math.min(space, left - place.x));
      const end = Math.max(0, Math.min(space, place.x + place.width - right));
      text.setAttribute("x", padding.x + start);
      button.setAttribute("transform", `translate(${place.width - 22 - Math.min(end, space - start)},8)`);
    }
  }

  #frame() {
    return this.element.getBoundingClientRect();
  }

  // Shows the whole picture, but not so small that it is unreadable: then its top.
  fit(readable = false) {
    const frame = this.#frame();
    const all = Math.min(
      (frame.width - 2 * margin) / this.size.width,
      (frame.height - 2 * margin) / this.size.height,
      1.15,
    );
    const wide = Math.min((frame.width - 2 * margin) / this.size.width, 1);
    const zoom = Math.max(smallestZoom, readable ? Math.max(all, Math.min(wide, 0.8)) : all);
    this.view = {
      zoom,
      x: Math.max(margin, (frame.width - this.size.width * zoom) / 2),
      y: Math.max(margin, (frame.height - this.size.height * zoom) / 2),
    };
    if (this.size.width * zoom > frame.width) this.view.x = (frame.width - this.size.width * zoom) / 2;
    this.#apply();
  }

  zoomBy(factor, at = null) {
    const frame = this.#frame();
    const centre = at ?? { x: frame.width / 2, y: frame.height / 2 };
    const zoom = Math.min(largestZoom, Math.max(smallestZoom, this.view.zoom * factor));
    const change = zoom / this.view.zoom;
    this.view = {
      zoom,
      x: centre.x - (centre.x - this.view.x) * change,
      y: centre.y - (centre.y - this.view.y) * change,
    };
    this.#apply();
  }

  panBy(x, y) {
    this.view.x += x;
    this.view.y += y;
    this.#apply();
  }

  // Returns where the middle of the item's upper edge is on the screen; null when the item is not drawn.
  screenPlace(item) {
    const place = this.boxes.get(item);
    const { x, y, zoom } = this.view;
    return place ? { x: (place.x + place.width / 2) * zoom + x, y: place.y * zoom + y } : null;
  }

  // Moves the picture so that the item is at that place, or as near as possible with its whole width
  // visible.
  keepAt(item, place) {
    const now = this.screenPlace(item);
    if (!now) return;
    const half = (this.boxes.get(item).width * this.view.zoom) / 2;
    const { width } = this.#frame();
    const least = margin + half;
    const most = width - margin - half;
    const x = least > most ? width / 2 : Math.min(most, Math.max(least, place.x));
    this.panBy(x - now.x, place.y - now.y);
  }

  // Moves the picture no further than needed to see the item.
  show(item, centred = false) {
    const place = this.boxes.get(item);
    if (!place) return;
    if (this.view.zoom < 0.5) this.view.zoom = 0.8;
    const frame = this.#frame();
    const { zoom } = this.view;
    const move = (start, size, space, now) => {
      const shown = Math.min(size * zoom, space - 2 * margin);
      const at = start * zoom + now;
      if (!centred && at >= margin && at + shown <= space - margin) return now;
      return (space - shown) / 2 - start * zoom;
    };
    this.view.x = move(place.x, place.width, frame.width, this.view.x);
    this.view.y = move(place.y, place.height, frame.height, this.view.y);
    this.#apply();
  }

  isAtSight(item) {
    const at = this.screenPlace(item);
    const frame = this.#frame();
    return !!at && at.x >= 0 && at.y >= 0 && at.x < frame.width && at.y < frame.height - 20;
  }

  // Returns the nearest item in a direction: dx, dy of -1, 0 or 1.
  next(item, dx, dy) {
    const from = this.boxes.get(item);
    if (!from) return this.boxes.keys().next().value ?? -1;
    const middle = (place, each) => ({
      x: place.x + place.width / 2,
      y: place.y + (this.isOpen(each) ? header / 2 : place.height / 2),
    });
    const start = middle(from, item);
    let best = -1;
    let least = Infinity;
    for (const [each, place] of this.boxes) {
      if (each === item) continue;
      const end = middle(place, each);
      const along = (end.x - start.x) * dx + (end.y - start.y) * dy;
      const aside = Math.abs((end.x - start.x) * dy) + Math.abs((end.y - start.y) * dx);
      if (along < 4) continue;
      const distance = along + 2 * aside;
      if (distance < least) {
        least = distance;
        best = each;
      }
    }
    return best;
  }

  #listen() {
    const { element } = this;
    let drag = null;
    const fingers = new Map();
    const itemOf = (event) => {
      const shape = event.target.closest?.("[data-item]");
      return shape ? Number(shape.dataset.item) : -1;
    };
    const local = (event) => {
      const frame = this.#frame();
      return { x: event.clientX - frame.left, y: event.clientY - frame.top };
    };
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      fingers.set(event.pointerId, local(event));
      drag = { x: event.clientX, y: event.clientY, moved: false };
    });
    element.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before || !drag) return;
      const now = local(event);
      if (fingers.size === 2) {
        const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
        const length = (place) => Math.hypot(place.x - other.x, place.y - other.y) || 1;
        this.zoomBy(length(now) / length(before), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
        drag.moved = true;
      } else if (drag.moved || Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 4) {
        if (!drag.moved) {
          drag.moved = true;
          element.setPointerCapture(event.pointerId);
          element.classList.add("dragging");
        }
        this.panBy(now.x - before.x, now.y - before.y);
      }
      fingers.set(event.pointerId, now);
    });
    const end = (event) => {
      fingers.delete(event.pointerId);
      element.classList.remove("dragging");
    };
    element.addEventListener("pointerup", end);
    element.addEventListener("pointercancel", end);
    // A click anywhere on a closed box opens it; an open one closes by its sign or a double click.  The
    // second click of a double click does not close what the first one has opened.
    let opened = -1;
    element.addEventListener("click", (event) => {
      if (drag?.moved || event.detail > 1) return;
      const item = itemOf(event);
      opened = -1;
      if (item < 0) this.on.select(-1);
      else if (event.target.closest(".switch")) this.on.toggle((opened = item));
      else if (this.data.isBox(item) && this.boxes.has(item) && !this.isOpen(item)) this.on.toggle((opened = item));
      else this.on.select(item);
    });
    element.addEventListener("dblclick", (event) => {
      const item = itemOf(event);
      if (opened < 0 && item >= 0 && this.data.isBox(item) && !event.target.closest(".switch")) this.on.toggle(item);
    });
    element.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const lines = event.deltaMode === 1 ? 16 : 1;
        if (event.shiftKey) this.panBy(-(event.deltaY || event.deltaX) * lines, 0);
        else this.zoomBy(Math.exp((-event.deltaY * lines * (event.ctrlKey ? 4 : 1)) / 600), local(event));
      },
      { passive: false },
    );
    element.addEventListener("pointerover", (event) => {
      const item = itemOf(event);
      this.#mark(item >= 0 ? item : this.selected);
      this.on.hover(item);
    });
    addEventListener("beforeprint", () => {
      element.setAttribute("viewBox", `0 0 ${this.size.width} ${this.size.height}`);
      this.showWhole();
    });
    addEventListener("afterprint", () => {
      element.removeAttribute("viewBox");
      this.#apply();
    });
  }

  // Shows the whole picture at its own size, until showView().
  showWhole() {
    this.element.classList.remove("far");
    this.paper.removeAttribute("transform");
    this.#moveHeaders(true);
  }
  showView() {
    this.#apply();
  }
}

function switchButton(x, y, sign) {
  return svg(
    "g",
    { class: "switch", "data-sign": sign, transform: `translate(${x},${y})` },
    svg("rect", { class: "target", x: -7, y: -8, width: 28, height: 30 }),
    svg("rect", { class: "sign", width: 14, height: 14, rx: 3 }),
    svg("path", { d: sign === "+" ? "M3.5,7 H10.5 M7,3.5 V10.5" : "M3.5,7 H10.5" }),
  );
}

function tooltip(data, i) {
  const failure = data.failures.get(i);
  return [
    data.title(i),
    data.text("type", i),
    data.text("path", i),
    data.text("details", i),
    data.text("note", i),
    data.text("value", i),
    data.text("mark_text", i),
    failure === undefined ? "" : data.texts[failure],
  ]
    .filter((text, at, all) => text && all.indexOf(text) === at)
    .join("\n");
}

// A path from the lower edge of one box to the upper edge of another, across everything in between.
function curve(from, to) {
  const start = { x: from.x + from.width / 2, y: from.y + from.height };
  const end = { x: to.x + to.width / 2, y: to.y };
  const bend = Math.max(40, Math.abs(end.y - start.y) / 3);
  return `M${start.x},${start.y} C${start.x},${start.y + bend} ${end.x},${end.y - bend} ${end.x},${end.y}`;
}

// A path with corners of at most 6 pixels.
function roundedPath(points) {
  if (!points.length) return "";
  let path = `M${points[0].x},${points[0].y}`;
  for (let i = 1; i + 1 < points.length; ++i) {
    const [a, b, c] = [points[i - 1], points[i], points[i + 1]];
    const before = Math.hypot(b.x - a.x, b.y - a.y);
    const after = Math.hypot(c.x - b.x, c.y - b.y);
    const round = Math.min(6, before / 2, after / 2);
    if (!round) continue;
    const start = { x: b.x + ((a.x - b.x) * round) / before, y: b.y + ((a.y - b.y) * round) / before };
    const end = { x: b.x + ((c.x - b.x) * round) / after, y: b.y + ((c.y - b.y) * round) / after };
    path += ` L${start.x},${start.y} Q${b.x},${b.y} ${end.x},${end.y}`;
  }
  const last = points[points.length - 1];
  return `${path} L${last.x},${last.y}`;
}

// The legend: the meaning of the colours for each way of colouring.  A click on a mark calls `filter(style)`, or
// filter(-1) if that is `chosen`.
export function drawLegend(data, way, used, chosen, filter) {
  const legend = byId("legend");
  const entry = (className, text) => html("span", { class: "entry " + className }, html("i"), text);
  if (way === "cost") {
    const whole = data.cost(data.graphs[0] ?? 0)?.weight;
    legend.replaceChildren(
      whole ? html("span", { class: "scale" }, "no MACs", html("i"), "most of all boxes here") : "No MACs are known of this model.",
    );
  } else if (way === "failures") {
    legend.replaceChildren(entry("failed", data.failures.size ? "could not be traced" : "nothing failed"));
  } else {
    legend.replaceChildren(
      ...data.markStyles.map(({ name, sign, meaning, colour }, style) => {
        const shape = entry("change " + name, `${sign} ${meaning}`.trim());
        if (colour) shape.style.setProperty("--change", colour);
        if (!data.marks.includes(style + 1)) return shape;
        return html(
          "button",
          {
            type: "button",
            title: "Show only these",
            "aria-pressed": String(style === chosen),
            onclick: () => filter(style === chosen ? -1 : style),
          },
          shape,
        );
      }),
      ...used.map((kind) => entry("kind-" + kind, kind)),
      data.failures.size ? entry("failed", "failed") : "",
    );
  }
}
