// The details panel: everything that is known about the selected item.

import { Kind, Op, opNames, shortType } from "./data.js";
import { byId, html } from "./dom.js";
import { kindOf } from "./kinds.js";
import { bytes, exactNumber, numberText, percent } from "./numbers.js";

const mostRows = 60; // per list
const mostPieces = 200; // per argument

export class DetailsView {
  // `on`: select(item), show(item), toggle(item), alone(item).
  constructor(data, links, on) {
    this.data = data;
    this.links = links;
    this.on = on;
    this.element = byId("details");
  }

  show(item) {
    this.element.replaceChildren(...(item < 0 ? this.#model() : this.#item(item)));
    this.element.scrollTop = 0;
  }

  // --- the model, when nothing is selected ---

  #model() {
    const { data } = this;
    const { model } = data;
    const root = data.graphs[0] ?? -1;
    const parameters = data.parameters("");
    const failed = data.rows.filter((row) => row.failure);
    return [
      html("h2", {}, shortType(model.type) || model.file || "model"),
      facts([
        ["Type", model.type ? code(model.type) : ""],
        ["File", model.file],
        ["Kind", model.kind.replaceAll("_", " ")],
        ["Nodes drawn", exactNumber(data.nodeCount)],
        ["Graphs", data.graphs.length > 1 ? exactNumber(data.graphs.length) : ""],
        ["Tensors", parameters.length ? exactNumber(parameters.length) : ""],
        ["Dtype", model.dtype ? `${model.dtype} where none is named` : ""],
        ...(root >= 0 ? this.#costFacts(root) : []),
      ]),
      ...(failed.length
        ? [
            html("h3", { class: "failed" }, failed.length === 1 ? "1 module failed" : `${failed.length} modules failed`),
            list(failed, (row) =>
              html("div", { class: "failure" }, this.#place(row.path), html("p", {}, row.failure.message)),
            ),
          ]
        : []),
      ...(data.graphs.length > 1
        ? [html("h3", {}, "Graphs"), list(data.graphs, (graph) => this.#link(graph))]
        : []),
      html("p", { class: "hint" }, "Click an item to see its arguments, shape, cost and source; a click opens a closed box. Press ? for the keys."),
    ];
  }

  // A module by its path, as a link where the page has a box or a node of it.
  #place(path) {
    const { data } = this;
    for (let i = 0; i < data.count; ++i) {
      if (data.text("path", i) === path && data.kinds[i] !== Kind.graph) return this.#link(i, path || "(root)");
    }
    const graph = data.graphOfModule(path);
    return graph >= 0 ? this.#link(graph, path || "(root)") : html("code", {}, path || "(root)");
  }

  // --- one item ---

  #item(item) {
    const { data } = this;
    const type = data.text("type", item);
    const isNode = !data.isBox(item);
    const module = data.module(item);
    const failure = module?.failure;
    const what = {
      [Kind.graph]: "graph",
      [Kind.module]: "module",
      [Kind.operator]: "control flow",
      [Kind.body]: "body of control flow",
      [Kind.repeats]: "repeats",
      [Kind.period]: "one repetition",
      [Kind.part]: "part",
      [Kind.node]: opNames[data.ops[item]],
    }[data.kinds[item]];
    return [
      html("div", { class: "path" }, ...this.#path(item)),
      html("h2", { class: "kind-" + kindOf(data, item) }, html("i", {}), data.title(item) || "(root)"),
      html("div", { class: "what" }, [shortType(type), what].filter(Boolean).join(" \u00b7 ")),
      failure || data.failures.has(item)
        ? html(
            "div",
            { class: "failure" },
            html("strong", {}, "Could not be traced"),
            html("p", {}, failure?.message ?? data.texts[data.failures.get(item)]),
            failure?.op ? html("p", {}, html("code", {}, failure.op)) : "",
            failure?.source ? html("pre", {}, failure.source) : "",
          )
        : "",
      ...(failure ? this.#graphsInside(data.text("path", item)) : []),
      facts([
        ["Name", isNode || data.kinds[item] === Kind.operator ? code(data.text("name", item)) : ""],
        ["Target", isNode && data.text("target", item) ? code(data.text("target", item)) : ""],
        ["Type", type ? code(type) : ""],
        ["Path", data.text("path", item) ? code(data.text("path", item)) : ""],
        ["Scope", isNode ? this.#scope(item) : ""],
        ["Gives", data.text("value", item) ? code(data.text("value", item)) : ""],
        ["With", data.text("details", item)],
        ["Mark", data.text("mark_text", item)],
        ["Holds", data.isBox(item) ? data.text("note", item) : ""],
        ["Call", data.call(item) > 1 || module?.calls > 1 ? `${data.call(item) || 1} of ${module?.calls ?? "?"}` : ""],
        ["Order", data.text("order", item)],
        ["Status", module && module.status !== "traced" ? module.status + (module.rule ? ` (${module.rule})` : "") : ""],
        ...this.#costFacts(item),
      ]),
      this.#buttons(item),
      ...this.#source(item),
      ...this.#arguments(item),
      ...this.#ends(item),
      ...this.#parameters(item),
      ...this.#attributes(module),
    ].filter((part) => part !== "");
  }

  // The submodules of a failed module that were traced all the same.
  #graphsInside(path) {
    const start = path ? path + "." : "";
    const graphs = this.data.graphs.filter((graph) => {
      const inside = this.data.text("path", graph);
      return inside !== path && inside.startsWith(start);
    });
    if (!graphs.length) return [];
    return [html("h3", {}, "Graphs of what is in it"), list(graphs, (graph) => this.#link(graph))];
  }

  #path(item) {
    const parts = [];
    for (const box of this.data.around(item)) parts.push(...(parts.length ? [" \u203a "] : []), this.#link(box));
    return parts;
  }

  #scope(item) {
    for (let box = this.data.parents[item]; box >= 0; box = this.data.parents[box]) {
      if (this.data.kinds[box] === Kind.module || this.data.kinds[box] === Kind.graph) {
        return this.#link(box, this.data.text("path", box) || "(root)");
      }
    }
    return "";
  }

  #costFacts(item) {
    const cost = this.data.cost(item);
    if (!cost) return [];
    const whole = this.data.cost(this.data.graphOf(item))?.weight;
    const share = whole && this.data.parents[item] >= 0 && cost.weight ? `, ${percent(cost.weight / whole)}` : "";
    const partial = cost.isPartial ? " +" : "";
    return [
      ["MACs", cost.macs === null ? (partial ? "not known" : "") : numberText(cost.macs) + partial + share],
      ["Activations", cost.activationBytes === null ? "" : numberText(cost.activationBytes, bytes)],
      ["Weights read", cost.parameterBytes ? numberText(cost.parameterBytes, bytes) : ""],
    ];
  }

  #buttons(item) {
    const { data } = this;
    const graph = data.kinds[item] === Kind.graph ? -1 : data.graphOfModule(data.text("path", item));
    const own = data.text("path", item) && graph >= 0 ? graph : -1;
    return html(
      "div",
      { class: "buttons" },
      html("button", { type: "button", onclick: () => this.on.show(item) }, "Show"),
      data.isBox(item) ? html("button", { type: "button", onclick: () => this.on.toggle(item) }, "Open or close") : "",
      data.isBox(item) ? html("button", { type: "button", onclick: () => this.on.alone(item) }, "Only this") : "",
      own >= 0 ? html("button", { type: "button", onclick: () => this.on.select(own) }, "Graph of its own") : "",
    );
  }

  #source(item) {
    const source = this.data.source(item);
    if (!source) return [];
    const place = (source.file || "?") + (source.line ? ":" + source.line : "");
    return [
      html("h3", {}, "Source"),
      html("div", { class: "source" }, html("code", {}, place), source.function ? html("span", {}, " in ", html("code", {}, source.function)) : ""),
      source.text ? html("pre", {}, source.text) : "",
    ];
  }

  #arguments(item) {
    const given = this.data.arguments(item);
    if (!given.length) return [];
    return [
      html("h3", {}, "Arguments"),
      html(
        "table",
        { class: "arguments" },
        ...given.slice(0, mostRows).map(({ name, pieces }, at) =>
          html(
            "tr",
            {},
            html("th", { scope: "row" }, name || String(at)),
            html(
              "td",
              {},
              ...pieces.slice(0, mostPieces).map((piece) => (typeof piece === "number" ? this.#link(piece) : html("code", {}, piece))),
              pieces.length > mostPieces ? " \u2026" : "",
            ),
          ),
        ),
      ),
      more(given.length),
    ];
  }

  // For a node the users of its value; for a box its inputs and outputs.
  #ends(item) {
    const { data } = this;
    if (!data.isBox(item)) {
      const users = [...data.users(item)];
      const isEnd = data.ops[item] === Op.output;
      return isEnd
        ? []
        : [
            html("h3", {}, users.length ? `Used by ${users.length}` : "Used by nobody"),
            list(users, (user) => this.#link(user, null, true)),
          ];
    }
    const before = new Set();
    const after = new Set();
    for (let i = item; i < data.ends[item]; ++i) {
      for (const input of data.inputs(i)) if (!data.isIn(input, item)) before.add(input);
      for (const user of data.users(i)) if (!data.isIn(user, item)) after.add(user);
    }
    return [
      ...(before.size ? [html("h3", {}, `Takes ${before.size}`), list([...before], (i) => this.#link(i, null, true))] : []),
      ...(after.size ? [html("h3", {}, `Used by ${after.size}`), list([...after], (i) => this.#link(i, null, true))] : []),
    ];
  }

  #parameters(item) {
    const { data } = this;
    const path = data.text("path", item);
    const own = data.weights(item);
    if (own.length) return [html("h3", {}, "Takes weights"), list(own, (text) => code(text))];
    const isModule = data.kinds[item] === Kind.module || data.ops[item] === Op.callModule;
    if (!isModule || !path) return [];
    const found = data.parameters(path);
    if (!found.length) return [];
    return [
      html("h3", {}, `Parameters and buffers (${found.length})`),
      list(found, ({ name, value, kind, alias }) =>
        html(
          "div",
          {},
          code(name.slice(path.length + 1)),
          " ",
          html("span", { class: "quiet" }, [value, kind === "parameter" ? "" : kind, alias ? "is " + alias : ""].filter(Boolean).join(", ")),
        ),
      ),
    ];
  }

  #attributes(module) {
    if (!module?.attributes.length) return [];
    return [
      html("h3", {}, "Attributes"),
      html(
        "table",
        { class: "arguments" },
        ...module.attributes
          .slice(0, mostRows)
          .map(([name, value]) => html("tr", {}, html("th", { scope: "row" }, name), html("td", {}, code(value)))),
      ),
      more(module.attributes.length),
    ];
  }

  // `text`: null for the item's own text; `withValue` adds the shape and dtype of its value.
  #link(item, text = null, withValue = false) {
    const { data } = this;
    const name = data.isBox(item) ? data.title(item) || "(root)" : data.text("name", item);
    return html(
      "a",
      {
        href: this.links.hash(item),
        class: `item-link kind-${kindOf(data, item)}${data.hasFailed(item) ? " failed" : ""}`,
        "data-item": item,
        onclick: (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          this.on.select(item);
        },
      },
      text ?? name,
      withValue && data.text("value", item) ? html("span", { class: "quiet" }, " " + data.text("value", item)) : "",
    );
  }
}

function code(text) {
  return html("code", {}, text);
}

function facts(rows) {
  return html(
    "dl",
    {},
    ...rows.filter(([, value]) => value).flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]),
  );
}

function list(values, show) {
  return html("ul", {}, ...values.slice(0, mostRows).map((value) => html("li", {}, show(value))), more(values.length, "li"));
}

function more(count, name = "p") {
  return count > mostRows ? html(name, { class: "quiet" }, `and ${exactNumber(count - mostRows)} more`) : "";
}
