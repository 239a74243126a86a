// The page: reads the data and connects the views.

import { Data, Kind, shortType } from "./data.js";
import { DetailsView } from "./details_view.js";
import { byId, html } from "./dom.js";
import { findEdges } from "./edges.js";
import { drawLegend, GraphView } from "./graph_view.js";
import { showHelp } from "./help.js";
import { kindOf, kinds } from "./kinds.js";
import { Layout, startLayout } from "./layout.js";
import { Links } from "./links.js";
import { shortNumber } from "./numbers.js";
import { OpenBoxes } from "./open_boxes.js";
import { savePng, saveSvg } from "./save.js";
import { Search } from "./search.js";
import { SearchView } from "./search_view.js";
import { listenToDividers, listenToTheme } from "./settings.js";
import { TreeView } from "./tree_view.js";

class Page {
  constructor(data, started) {
    this.data = data;
    this.selected = -1;
    this.open = new OpenBoxes(data);
    this.links = new Links(data);
    this.layout = new Layout(data, started);
    this.graph = new GraphView(data, {
      select: (item) => this.select(item, { inPicture: true }),
      toggle: (item) => this.toggle(item),
      hover: (item) => this.prepare(item),
    });
    this.tree = new TreeView(data, {
      select: (item, byKey) => {
        if (!byKey) document.body.classList.remove("with-tree"); // the tree covers the graph on small screens
        this.select(item, { byKey });
      },
      open: (item) => (data.isBox(item) ? this.toggle(item) : this.select(item)),
    });
    this.details = new DetailsView(data, this.links, {
      select: (item) => this.select(item),
      show: (item) => this.show(item, true),
      toggle: (item) => this.toggle(item),
      alone: (item) => this.alone(item),
    });
    this.search = new SearchView(data, new Search(data), (item) => this.select(item), () => this.graph.element.focus());
    this.#header();
    this.#listen();
  }

  async start() {
    const item = this.links.read(location.hash);
    if (item === undefined) this.notice("The address names nothing that this page has.");
    if (item >= 0) {
      this.open.reveal(item);
      await this.draw();
      this.graph.fit(true);
      this.select(item, { fromAddress: true });
    } else {
      await this.draw();
      this.graph.fit(true);
      this.details.show(-1);
    }
    document.documentElement.dataset.ready = "true";
    this.prepare(this.drawn?.find((each) => this.data.isBox(each) && !this.open.isOpen(each)) ?? -1);
  }

  // --- actions ---

  // `byKey`: the address is replaced, so that "back" need not take every step; `inPicture`: the item was
  // clicked there, so nothing moves.
  async select(item, { byKey = false, inPicture = false, fromAddress = false } = {}) {
    this.selected = item;
    document.body.classList.toggle("with-details", item >= 0);
    this.tree.select(item);
    this.details.show(item);
    this.graph.select(item);
    if (!fromAddress) this.#setAddress(item, byKey);
    this.prepare(item);
    if (item >= 0 && !inPicture) await this.show(item);
    // If the details are below the graph, they reduce its height.
    else if (item >= 0 && isNarrow() && !this.data.isBox(item) && !this.graph.isAtSight(item)) this.graph.show(item);
  }

  // Moves the item into view.
  async show(item, centred = false) {
    const done = this.open.reveal(item);
    if (item !== this.open.root && !this.graph.boxes.has(item)) {
      if (!(await this.draw())) return;
      this.#tell(done);
      this.graph.show(item, true);
    } else if (item === this.open.root && this.drawnRoot !== item) {
      if (!(await this.draw())) return;
      this.graph.fit(true);
    } else {
      this.graph.show(item, centred);
    }
    this.graph.select(this.selected);
  }

  async toggle(box) {
    const { data, open } = this;
    if (!data.isBox(box)) return;
    const place = this.graph.screenPlace(box);
    let done = { closed: 0, alone: false };
    if (open.isOpen(box) && data.isIn(box, open.root) && this.graph.boxes.has(box)) {
      open.close(box);
      this.tree.setOpen(box, false);
    } else {
      done = open.open(box);
      this.tree.setOpen(box, true);
    }
    if (!(await this.draw())) return;
    this.#tell(done);
    if (place && !done.alone) this.graph.keepAt(box, place);
    else this.graph.fit(true);
    if (!this.graph.isAtSight(box)) this.graph.show(box);
    if (this.selected !== box) this.select(box, { inPicture: true });
    else this.graph.select(box);
  }

  async alone(box) {
    const done = this.open.setRoot(box);
    if (!(await this.draw())) return;
    this.#tell(done);
    this.graph.fit(true);
  }

  async closeAll() {
    this.open.closeAll();
    this.tree.closeAll();
    if (await this.draw()) this.graph.fit(true);
  }

  async openAll() {
    const closed = this.open.openAll();
    this.tree.openAll();
    if (!(await this.draw())) return;
    this.graph.fit(true);
    if (closed) this.notice(`${closed === 1 ? "1 box stays" : closed + " boxes stay"} closed to keep the picture small.`);
  }

  async save(as) {
    const name = (this.data.model.file || this.data.model.type || "model").split("/").pop();
    try {
      await as(this.graph, name);
    } catch (error) {
      this.notice("The picture could not be saved: " + (error?.message ?? error));
    }
  }

  async draw() {
    if (this.open.root < 0) return false;
    const { root, drawn, far, neighbours, hidden, isOpen, ...rest } = this.#plan(this.open);
    document.body.classList.add("busy");
    let placed = null;
    try {
      placed = await this.layout.place({ root, drawn, neighbours, isOpen, ...rest });
      if (!placed) return false; // a later call draws
    } catch (error) {
      this.notice("The boxes could not be placed: " + (error?.message ?? error));
      return false;
    } finally {
      if (placed || !this.layout.isWaiting) document.body.classList.remove("busy");
    }
    this.graph.draw({ drawn, far, neighbours, isOpen, placed });
    this.drawnRoot = root;
    this.#crumbs(root);
    this.#legend(drawn);
    if (hidden) this.notice(`${hidden} more edges lead outside.`);
    return true;
  }

  // Returns what is drawn when these boxes are open.
  #plan(open) {
    const { data } = this;
    const { root } = open;
    const drawn = open.drawn();
    const opened = new Set(drawn.filter((item) => item === root || (data.isBox(item) && open.isOpen(item))));
    const isOpen = (item) => opened.has(item);
    return { root, drawn, isOpen, ...findEdges(data, root, drawn, isOpen) };
  }

  // A user who points at a closed box may open it next, so its layout is computed ahead.
  prepare(box) {
    clearTimeout(this.prepareTimer);
    if (box < 0 || !this.data.isBox(box) || this.open.isOpen(box) || !this.graph.boxes.has(box)) return;
    this.prepareTimer = setTimeout(() => {
      const open = this.open.copy();
      open.open(box);
      this.layout.prepare(this.#plan(open));
    }, 60);
  }

  notice(text) {
    const notice = byId("notice");
    notice.textContent = text;
    notice.classList.toggle("shown", !!text);
    clearTimeout(this.noticeTimer);
    this.noticeTimer = setTimeout(() => notice.classList.remove("shown"), 6000);
  }

  #tell({ closed, alone }) {
    const parts = [];
    if (closed) parts.push(`${closed === 1 ? "1 box was" : closed + " boxes were"} closed to keep the picture small.`);
    if (alone) parts.push("Too much stands around this box, so it is drawn alone.");
    if (parts.length) this.notice(parts.join(" "));
  }

  // --- parts of the page ---

  #header() {
    const { data } = this;
    const { model } = data;
    byId("model-file").textContent = model.file || model.type || "model";
    const cost = data.cost(data.graphs[0] ?? 0);
    byId("model-about").textContent = [
      model.file ? shortType(model.type) : "",
      `${shortNumber(data.nodeCount)} nodes`,
      data.graphs.length > 1 ? `${data.graphs.length} graphs` : "",
      typeof cost?.macs === "number" && cost.macs ? `${shortNumber(cost.macs)}${cost.isPartial ? "+" : ""} MACs` : "",
      data.failures.size ? `${data.failures.size} failed` : "",
    ]
      .filter(Boolean)
      .join("  \u00b7  ");
  }

  #crumbs(root) {
    const { data } = this;
    const boxes = [...data.around(root), root];
    const crumbs = byId("crumbs");
    crumbs.hidden = boxes.length < 2 && data.graphs.length < 2;
    crumbs.replaceChildren(
      ...boxes.flatMap((box, at) => [
        at ? html("span", { class: "sep" }, "\u203a") : "",
        box === root
          ? html("strong", {}, this.#crumb(box))
          : html("button", { type: "button", onclick: () => this.alone(box) }, this.#crumb(box)),
      ]),
    );
  }
  #crumb(box) {
    const { data } = this;
    const title = data.title(box) || "(root)";
    return data.kinds[box] === Kind.graph && data.graphs.length > 1 ? `graph of ${title}` : title;
  }

  #legend(drawn) {
    const used = new Set(drawn.filter((item) => item !== this.open.root).map((item) => kindOf(this.data, item)));
    drawLegend(
      this.data,
      byId("colour").value,
      kinds.filter((kind) => used.has(kind)),
      this.graph.style,
      (style) => {
        this.graph.filter(style);
        this.#legend(this.drawn);
      },
    );
    this.drawn = drawn;
  }

  #setAddress(item, replace) {
    const hash = this.links.hash(item);
    if (hash === location.hash) return;
    this.ownHash = hash;
    // Without a hash the page would jump to its top; "#" selects nothing.
    if (replace) location.replace(hash || "#");
    else location.hash = hash || "#";
  }

  #listen() {
    addEventListener("hashchange", () => {
      if (location.hash === (this.ownHash || "")) return;
      this.ownHash = location.hash;
      const item = this.links.read(location.hash);
      if (item === undefined) this.notice("The address names nothing that this page has.");
      else if (item !== this.selected) this.select(item, { fromAddress: true });
    });
    byId("zoom-in").addEventListener("click", () => this.graph.zoomBy(1.25));
    byId("zoom-out").addEventListener("click", () => this.graph.zoomBy(0.8));
    byId("zoom-fit").addEventListener("click", () => this.graph.fit());
    byId("open-all").addEventListener("click", () => this.openAll());
    byId("close-all").addEventListener("click", () => this.closeAll());
    byId("save").addEventListener("change", (event) => {
      const as = { svg: saveSvg, png: savePng }[event.target.value];
      event.target.value = "";
      if (as) this.save(as);
    });
    byId("tree-button").addEventListener("click", () => {
      const shown = document.body.classList.toggle("with-tree");
      byId("tree-button").setAttribute("aria-expanded", String(shown));
    });
    byId("help-button").addEventListener("click", () => showHelp());
    byId("colour").addEventListener("change", () => this.#colour());
    this.#colour();
    listenToTheme(byId("theme"));
    listenToDividers();
    addEventListener("keydown", (event) => this.#key(event));
  }

  #colour() {
    this.graph.element.dataset.colour = byId("colour").value;
    if (this.drawn) this.#legend(this.drawn);
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || byId("help").open) return;
    const inField = event.target.closest?.("input, select, textarea");
    if (inField) return;
    const onButton = event.target.closest?.("button, a");
    const arrows = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    if (event.key in arrows) {
      if (event.shiftKey) {
        const [x, y] = arrows[event.key];
        this.graph.panBy(-80 * x, -80 * y);
      } else {
        this.#step(...arrows[event.key]);
      }
    } else if (event.key === "Enter" || event.key === " ") {
      if (onButton || this.selected < 0) return;
      this.toggle(this.selected);
    } else {
      const action = {
        "/": () => this.search.focus(),
        "?": () => showHelp(),
        "+": () => this.graph.zoomBy(1.25),
        "=": () => this.graph.zoomBy(1.25),
        "-": () => this.graph.zoomBy(0.8),
        0: () => this.graph.fit(),
        f: () => this.selected >= 0 && this.show(this.selected, true),
        o: () => this.selected >= 0 && this.data.isBox(this.selected) && this.alone(this.selected),
        u: () => this.#up(),
        e: () => this.openAll(),
        c: () => this.closeAll(),
        s: () => this.save(saveSvg),
        p: () => this.save(savePng),
        d: () => byId("theme").click(),
        t: () => this.tree.element.focus(),
        g: () => this.graph.element.focus(),
        Escape: () => this.select(-1),
      }[event.key];
      if (!action) return;
      action();
    }
    event.preventDefault();
  }

  #step(dx, dy) {
    const next = this.selected < 0 || !this.graph.boxes.has(this.selected)
      ? (this.graph.boxes.keys().next().value ?? -1)
      : this.graph.next(this.selected, dx, dy);
    if (next >= 0) this.select(next, { byKey: true });
  }

  // Selects the box around the selection, or leaves a box that is drawn alone.
  #up() {
    const parent = this.data.parents[this.selected < 0 ? this.open.root : this.selected];
    if (parent < 0) return;
    if (!this.data.isIn(parent, this.open.root)) this.alone(parent);
    this.select(parent, { inPicture: !this.data.isIn(parent, this.open.root) });
  }
}

function isNarrow() {
  return matchMedia("(max-width: 700px)").matches;
}

// The data follows this script in the page.
const started = startLayout();
addEventListener("DOMContentLoaded", () => {
  const data = new Data(JSON.parse(byId("data").textContent));
  byId("data").remove(); // frees its text, which is large
  new Page(data, started).start();
});
