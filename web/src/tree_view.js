// The tree of boxes and operations.  Only the visible rows are elements.

import { Kind, opNames, shortType } from "./data.js";
import { byId, html } from "./dom.js";
import { kindOf } from "./kinds.js";

const rowHeight = 24;
const spare = 8; // rows above and below the visible ones

export class TreeView {
  // `on`: select(item), open(item).
  constructor(data, on) {
    this.data = data;
    this.on = on;
    this.element = byId("tree");
    this.space = byId("tree-space");
    this.opened = new Set(data.graphs.length === 1 ? data.graphs : data.graphs.slice(0, 1));
    this.selected = -1;
    this.rows = [];
    this.drawn = new Map();
    this.element.addEventListener("scroll", () => this.#draw(), { passive: true });
    new ResizeObserver(() => this.#draw()).observe(this.element);
    this.element.addEventListener("click", (event) => this.#click(event));
    this.element.addEventListener("dblclick", (event) => {
      const item = this.#itemOf(event);
      if (item >= 0 && data.isBox(item) && !event.target.closest(".twist")) this.on.open(item);
    });
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.update();
  }

  // Rebuilds the rows after boxes were opened or closed.
  update() {
    const { data } = this;
    const rows = [];
    for (let i = 0; i < data.count; ) {
      rows.push(i);
      i = this.opened.has(i) ? i + 1 : data.ends[i];
    }
    this.rows = rows;
    this.space.style.height = rows.length * rowHeight + "px";
    this.#draw(true);
  }

  select(item, inSight = true) {
    this.selected = item;
    if (item >= 0) {
      const closed = this.data.around(item).filter((box) => !this.opened.has(box));
      for (const box of closed) this.opened.add(box);
      if (closed.length) this.update();
      if (inSight) this.#scrollTo(this.#rowOf(item));
    }
    this.#draw(true);
  }

  #rowOf(item) {
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle] < item) low = middle + 1;
      else high = middle;
    }
    return this.rows[low] === item ? low : -1;
  }

  #scrollTo(row) {
    if (row < 0) return;
    const { scrollTop, clientHeight } = this.element;
    const top = row * rowHeight;
    if (top < scrollTop) this.element.scrollTop = top - 2 * rowHeight;
    else if (top + rowHeight > scrollTop + clientHeight) this.element.scrollTop = top - clientHeight + 3 * rowHeight;
  }

  openAll() {
    for (let i = 0; i < this.data.count; ++i) if (this.data.isBox(i)) this.opened.add(i);
    this.update();
  }
  closeAll() {
    this.opened.clear();
    this.update();
    this.element.scrollTop = 0;
  }

  setOpen(item, open) {
    if (open) this.opened.add(item);
    else this.opened.delete(item);
    this.update();
  }

  #draw(anew = false) {
    const first = Math.max(0, Math.floor(this.element.scrollTop / rowHeight) - spare);
    const last = Math.min(
      this.rows.length,
      Math.ceil((this.element.scrollTop + this.element.clientHeight) / rowHeight) + spare,
    );
    if (!anew && first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    const rows = [];
    for (let at = first; at < last; ++at) rows.push(this.#row(at));
    this.space.replaceChildren(...rows);
    if (this.#rowOf(this.selected) >= 0) this.element.setAttribute("aria-activedescendant", "row-" + this.selected);
    else this.element.removeAttribute("aria-activedescendant");
  }

  #row(at) {
    const { data } = this;
    const item = this.rows[at];
    const isBox = data.isBox(item);
    const isOpen = this.opened.has(item);
    const type = shortType(data.text("type", item));
    const title = data.title(item) || "(root)";
    const note = data.kinds[item] === Kind.repeats ? data.text("note", item) : type !== title ? type : "";
    const row = html(
      "div",
      {
        id: "row-" + item,
        role: "treeitem",
        class: `row kind-${kindOf(data, item)}${data.hasFailed(item) ? " failed" : ""}${isBox ? " box" : ""}`,
        "aria-level": data.depths[item] + 1,
        "aria-expanded": isBox ? String(isOpen) : null,
        "aria-selected": String(item === this.selected),
        "data-item": item,
        title: [title, note, data.text("value", item), isBox ? "" : opNames[data.ops[item]]].filter(Boolean).join("  "),
      },
      html("span", { class: "twist" }, isBox ? (isOpen ? "\u25be" : "\u25b8") : ""),
      html("i", {}),
      html("span", { class: "name" }, title),
      note ? html("span", { class: "type" }, note) : "",
    );
    row.style.top = at * rowHeight + "px";
    row.style.paddingLeft = Math.min(data.depths[item], 24) * 14 + 4 + "px";
    return row;
  }

  #itemOf(event) {
    const row = event.target.closest(".row");
    return row ? Number(row.dataset.item) : -1;
  }

  #click(event) {
    const item = this.#itemOf(event);
    if (item < 0) return;
    if (event.target.closest(".twist") && this.data.isBox(item)) this.setOpen(item, !this.opened.has(item));
    else this.on.select(item);
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { data } = this;
    const at = this.#rowOf(this.selected);
    const item = this.rows[at] ?? -1;
    const page = Math.max(1, Math.floor(this.element.clientHeight / rowHeight) - 1);
    const go = (row) => this.on.select(this.rows[Math.max(0, Math.min(this.rows.length - 1, row))], true);
    switch (event.key) {
      case "ArrowDown":
        go(at + 1);
        break;
      case "ArrowUp":
        go(at < 0 ? 0 : at - 1);
        break;
      case "PageDown":
        go(at + page);
        break;
      case "PageUp":
        go(at - page);
        break;
      case "Home":
        go(0);
        break;
      case "End":
        go(this.rows.length - 1);
        break;
      case "ArrowRight":
        if (item < 0 || !data.isBox(item)) break;
        if (this.opened.has(item)) go(at + 1);
        else this.setOpen(item, true);
        break;
      case "ArrowLeft":
        if (item < 0) break;
        if (data.isBox(item) && this.opened.has(item)) this.setOpen(item, false);
        else if (data.parents[item] >= 0) this.on.select(data.parents[item], true);
        break;
      case "Enter":
        if (item >= 0) this.on.open(item);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
