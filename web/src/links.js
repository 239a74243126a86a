// The names of items in the page's address: names of the model, so that a link stays valid after a new
// trace.

import { Kind } from "./data.js";

export class Links {
  constructor(data) {
    this.data = data;
    this.known = null;
  }

  // A name is the graph, bodies of control flow, and in there a node ("net/true_graph_0:relu_1") or a call
  // of a module ("net@layer1.0~1"); other boxes are named by their first item ("repeats(net@h.1~1)").
  name(i) {
    const { data } = this;
    const kind = data.kinds[i];
    if (kind === Kind.graph) return data.text("path", i) || "root";
    const unnamed = { [Kind.repeats]: "repeats", [Kind.period]: "period", [Kind.part]: "part" }[kind];
    if (unnamed) return `${unnamed}(${this.name(i + 1)})`;
    let around = data.parents[i];
    while (data.kinds[around] !== Kind.graph && data.kinds[around] !== Kind.body) around = data.parents[around];
    const place = this.name(around);
    if (kind === Kind.body) return `${place}/${data.text("name", i)}`;
    if (kind === Kind.module) return `${place}@${data.text("path", i)}~${data.call(i)}`;
    return `${place}${kind === Kind.operator ? "::" : ":"}${data.text("name", i)}`;
  }

  // Returns -1 for a name that nothing has.
  find(name) {
    this.#learn();
    return this.known.get(name) ?? -1;
  }

  hash(i) {
    if (i < 0) return "";
    this.#learn();
    return "#node=" + encodeURIComponent(this.others.get(i) ?? this.name(i));
  }

  // Nodes of a region that is drawn inline may have the same names as others around it.
  #learn() {
    if (this.known) return;
    this.known = new Map();
    this.others = new Map();
    for (let i = 0; i < this.data.count; ++i) {
      const name = this.name(i);
      let own = name;
      for (let n = 2; this.known.has(own); ++n) own = `${name}~${n}`;
      this.known.set(own, i);
      if (own !== name) this.others.set(i, own);
    }
  }
  // Returns -1 when the address has no name, undefined when the page does not have that item.
  read(hash) {
    const match = /^#node=(.+)$/.exec(hash);
    if (!match) return -1;
    let name = "";
    try {
      name = decodeURIComponent(match[1]);
    } catch {
      return undefined;
    }
    const found = this.find(name);
    return found < 0 ? undefined : found;
  }
}
