// Layout: places boxes with the Eclipse Layout Kernel in a worker, so that the page never waits for it.

import ELK from "elkjs/lib/elk-api.js";

import { header, headerLabel, itemLabel } from "./labels.js";

const options = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.hierarchyHandling": "INCLUDE_CHILDREN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.json.shapeCoords": "ROOT",
  "elk.json.edgeCoords": "ROOT",
  "elk.spacing.nodeNode": "26",
  "elk.spacing.edgeNode": "14",
  "elk.spacing.edgeEdge": "9",
  "elk.spacing.componentComponent": "30",
  "elk.layered.spacing.nodeNodeBetweenLayers": "30",
  "elk.layered.spacing.edgeNodeBetweenLayers": "14",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "9",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
  "elk.layered.nodePlacement.strategy": "BRANDES_KOEPF",
  "elk.layered.nodePlacement.bk.fixedAlignment": "BALANCED",
  "elk.layered.thoroughness": "5",
  "elk.padding": "[top=16,left=16,bottom=16,right=16]",
};
const sides = 16; // distance between a box and its content
const mostKept = 40; // layouts in the cache

// The worker takes a while to start, so it is started before the page has read its data.
export function startLayout() {
  const blob = new Blob([document.getElementById("layout").textContent], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(blob));
  const broken = new Promise((_, reject) => {
    worker.addEventListener("error", (event) => reject(new Error(event.message || "the worker does not start")));
  });
  broken.catch(() => {}); // callers that wait for a layout get the error
  return { elk: new ELK({ workerFactory: () => worker, algorithms: ["layered"] }), broken };
}

export class Layout {
  // `started`: the result of startLayout().
  constructor(data, started) {
    this.data = data;
    this.elk = started.elk;
    this.broken = started.broken;
    this.kept = new Map();
    this.latest = 0;
    this.waiting = 0;
  }

  // Returns the places of `drawn` and `neighbours`, and paths of `edges`; null when another call came after
  // this one.
  async place(what) {
    const call = ++this.latest;
    ++this.waiting;
    const key = this.#key(what);
    let placed = this.kept.get(key);
    try {
      placed ??= this.#keep(key, await this.#compute(what));
    } finally {
      --this.waiting;
    }
    return call === this.latest ? placed : null;
  }

  // Computes a layout that place() may soon need, unless one is being computed.  It also warms up the
  // worker, whose code takes half the time once it has run a little.
  async prepare(what) {
    const key = this.#key(what);
    if (this.waiting > 0 || this.kept.has(key)) return;
    ++this.waiting;
    try {
      this.#keep(key, await this.#compute(what));
    } catch {
      // place() will report the error.
    } finally {
      --this.waiting;
    }
  }

  #key({ root, drawn }) {
    return root + ":" + drawn.join(",");
  }

  get isWaiting() {
    return this.waiting > 0;
  }

  async #compute(what) {
    return this.#read(await Promise.race([this.elk.layout(this.#graph(what)), this.broken]));
  }

  #keep(key, placed) {
    this.kept.set(key, placed);
    if (this.kept.size > mostKept) this.kept.delete(this.kept.keys().next().value);
    return placed;
  }

  #graph({ root, drawn, edges, neighbours, isOpen }) {
    const { data } = this;
    const isGraph = data.parents[root] < 0;
    const top = { id: "top", layoutOptions: options, children: [], edges: [] };
    const boxes = new Map();
    for (const item of drawn) {
      if (item === root && isGraph) {
        boxes.set(item, top);
        continue;
      }
      const box = { id: String(item) };
      if (isOpen(item)) {
        box.children = [];
      } else {
        const label = itemLabel(data, item);
        box.width = label.width;
        box.height = label.height;
      }
      (item === root ? top : boxes.get(data.parents[item])).children.push(box);
      boxes.set(item, box);
    }
    edges.forEach(([from, to], at) =>
      top.edges.push({ id: "e" + at, sources: [String(from)], targets: [String(to)] }),
    );
    const inputs = [];
    const outputs = [];
    neighbours.forEach(({ item, isInput, inside }, at) => {
      const label = itemLabel(data, item);
      const id = "n" + at;
      const box = { id, width: label.width, height: label.height };
      (isInput ? inputs : outputs).push(box);
      for (const end of inside) {
        const [from, to] = isInput ? [id, String(end)] : [String(end), id];
        top.edges.push({ id: `${id}-${end}`, sources: [from], targets: [to] });
      }
    });
    top.children = [...inputs, ...top.children, ...outputs];
    // Innermost boxes come first.
    for (const item of [...drawn].reverse()) if (boxes.get(item) !== top && isOpen(item)) this.#pad(item, boxes.get(item));
    return top;
  }

  // Makes room for the header, since the library has no minimum width of a box with content.
  #pad(item, box) {
    const inside = Math.max(...box.children.map((child) => child.width ?? child.least));
    const more = Math.max(0, headerLabel(this.data, item).width - inside - 2 * sides) / 2;
    box.least = inside + 2 * (sides + more);
    box.layoutOptions = {
      "elk.padding": `[top=${header + 14},left=${sides + more},bottom=${sides},right=${sides + more}]`,
    };
  }

  #read(top) {
    const boxes = new Map();
    const visit = (box) => {
      for (const child of box.children ?? []) {
        boxes.set(child.id, { x: child.x, y: child.y, width: child.width, height: child.height });
        visit(child);
      }
    };
    visit(top);
    const edges = top.edges.map((edge) => ({
      from: edge.sources[0],
      to: edge.targets[0],
      points: edge.sections?.length
        ? [edge.sections[0].startPoint, ...(edge.sections[0].bendPoints ?? []), edge.sections[0].endPoint]
        : [],
    }));
    return { boxes, edges, width: top.width, height: top.height };
  }
}
