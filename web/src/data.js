// The data of the page: the collection as lib/writers/pictures/html_writer.h writes it, and values derived
// from it.

// The values of Outline::Kind in lib/pictures/outline.h; a unit test compares them.
export const Kind = { graph: 0, module: 1, operator: 2, body: 3, repeats: 4, period: 5, part: 6, node: 7 };
export const Op = { none: 0, placeholder: 1, getAttr: 2, callFunction: 3, callMethod: 4, callModule: 5, output: 6 };
export const opNames = ["", "placeholder", "get_attr", "call_function", "call_method", "call_module", "output"];
const statusNames = ["traced", "leaf", "failed", "unvisited"];
const parameterKinds = ["parameter", "buffer", "object"];
const textColumns = ["title", "type", "details", "value", "note", "order", "path", "name", "target", "mark_text"];
const none = [];

export class Data {
  constructor(raw) {
    this.raw = raw;
    this.model = raw.model;
    this.texts = raw.texts;
    this.count = raw.kind.length;
    this.kinds = Uint8Array.from(raw.kind);
    this.depths = Uint16Array.from(raw.depth);
    this.ops = Uint8Array.from(raw.op);
    this.columns = Object.fromEntries(textColumns.map((name) => [name, Uint32Array.from(raw[name] ?? { length: this.count })]));
    this.failures = new Map(raw.failures);
    this.marks = raw.mark && Uint8Array.from(raw.mark); // only where items are marked
    this.markStyles = (raw.marks || none).map(([name, sign, meaning, colour]) => ({ name, sign, meaning, colour }));
    this.#findTree();
    this.#readInputs();
    this.nodeCount = this.kinds.reduce((sum, kind) => sum + (kind === Kind.node), 0);
    this.rows = raw.modules.map(([path, type, status, rule, calls, failure, attributes]) => ({
      path: this.texts[path],
      type: this.texts[type],
      status: statusNames[status],
      rule: this.texts[rule],
      calls,
      failure: failure && {
        message: this.texts[failure[0]],
        module: this.texts[failure[1]],
        op: this.texts[failure[2]],
        source: this.texts[failure[3]],
      },
      attributes: (attributes || none).map(([name, value]) => [this.texts[name], this.texts[value]]),
    }));
  }

  // Items are sorted so that a box comes before its content; `depths` give the tree.
  #findTree() {
    this.parents = new Int32Array(this.count);
    this.ends = new Uint32Array(this.count); // the index after the last item inside of each item
    this.graphs = [];
    const around = [];
    for (let i = 0; i < this.count; ++i) {
      const depth = this.depths[i];
      while (around.length > depth) this.ends[around.pop()] = i;
      this.parents[i] = depth ? around[depth - 1] : -1;
      if (!depth) this.graphs.push(i);
      around.push(i);
    }
    while (around.length) this.ends[around.pop()] = this.count;
  }

  #readInputs() {
    const inputs = this.raw.inputs;
    this.inputStarts = new Uint32Array(this.count + 1);
    let total = 0;
    for (let i = 0; i < this.count; ++i) {
      this.inputStarts[i] = total;
      total += inputs[i] ? inputs[i].length : 0;
    }
    this.inputStarts[this.count] = total;
    this.allInputs = new Uint32Array(total);
    for (let i = 0, at = 0; i < this.count; ++i) {
      for (const distance of inputs[i] || none) this.allInputs[at++] = i - distance;
    }
    this.raw.inputs = null;
  }

  inputs(i) {
    return this.allInputs.subarray(this.inputStarts[i], this.inputStarts[i + 1]);
  }

  // The users of a node's value.
  users(i) {
    if (!this.userStarts) {
      this.userStarts = new Uint32Array(this.count + 2);
      for (const input of this.allInputs) ++this.userStarts[input + 2];
      for (let j = 1; j < this.userStarts.length; ++j) this.userStarts[j] += this.userStarts[j - 1];
      this.allUsers = new Uint32Array(this.allInputs.length);
      for (let j = 0; j < this.count; ++j) {
        for (const input of this.inputs(j)) this.allUsers[this.userStarts[input + 1]++] = j;
      }
    }
    return this.allUsers.subarray(this.userStarts[i], this.userStarts[i + 1]);
  }

  text(column, i) {
    return this.texts[this.columns[column][i]];
  }
  title(i) {
    const title = this.text("title", i);
    const mark = this.markOf(i);
    return mark?.sign ? `${mark.sign} ${title || "(root)"}` : title;
  }
  // How the item is marked: { name, sign, meaning, isWithin }; null where it is not.
  markOf(i) {
    const mark = this.marks ? this.marks[i] : 0;
    const count = this.markStyles.length;
    return mark ? { ...this.markStyles[(mark - 1) % count], isWithin: mark > count } : null;
  }
  // Whether the item, or something in it, has the mark of that style.
  hasMark(i, style) {
    return this.marks.subarray(i, this.ends[i]).includes(style + 1);
  }
  isBox(i) {
    return this.kinds[i] !== Kind.node;
  }
  isIn(i, box) {
    return i >= box && i < this.ends[box];
  }
  children(box) {
    const children = [];
    for (let i = box + 1; i < this.ends[box]; i = this.ends[i]) children.push(i);
    return children;
  }
  // The boxes around the item, outermost first, without the item itself.
  around(i) {
    const boxes = [];
    for (let box = this.parents[i]; box >= 0; box = this.parents[box]) boxes.push(box);
    return boxes.reverse();
  }
  graphOf(i) {
    while (this.parents[i] >= 0) i = this.parents[i];
    return i;
  }

  module(i) {
    return this.raw.module[i] ? this.rows[this.raw.module[i] - 1] : null;
  }
  hasFailed(i) {
    return this.failures.has(i) || this.module(i)?.status === "failed";
  }
  source(i) {
    const row = this.raw.source[i] && this.raw.sources[this.raw.source[i] - 1];
    return row ? { file: this.texts[row[0]], line: row[1], function: this.texts[row[2]], text: this.texts[row[3]] } : null;
  }
  cost(i) {
    const row = this.raw.cost[i] && this.raw.costs[this.raw.cost[i] - 1];
    return row
      ? { macs: row[0], parameterBytes: row[1], activationBytes: row[2], isPartial: !!row[3], weight: row[4] }
      : null;
  }
  // The first of the siblings that a box of repeats represents; parts only group them.
  firstMember(box) {
    do ++box;
    while (this.kinds[box] === Kind.part);
    return box;
  }
  // The item whose structure the items of a kRepeats have; -1 where the box contains them all.
  like(i) {
    return this.raw.like[i] ? i - this.raw.like[i] : -1;
  }
  weights(i) {
    return (this.raw.weights[i] || none).map((text) => this.texts[text]);
  }
  // The arguments, each { name, pieces }: pieces are texts, and items by number.
  arguments(i) {
    return (this.raw.arguments[i] || none).map(([name, ...pieces]) => ({ name: this.texts[name], pieces }));
  }
  call(i) {
    return this.raw.call[i];
  }
  // The parameters and buffers of a module and its submodules.
  parameters(path) {
    const start = path ? path + "." : "";
    const found = [];
    for (const [name, value, kind, alias] of this.raw.parameters) {
      const text = this.texts[name];
      if (text.startsWith(start)) {
        found.push({ name: text, value: this.texts[value], kind: parameterKinds[kind], alias: this.texts[alias] });
      }
    }
    return found;
  }
  // A module's own graph, when that is not the graph in which it is called.
  graphOfModule(path) {
    return this.graphs.find((graph) => this.text("path", graph) === path) ?? -1;
  }
}

export function shortType(type) {
  return type.slice(type.lastIndexOf(".") + 1);
}
