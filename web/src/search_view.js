// The search field and its results.

import { shortType } from "./data.js";
import { byId, html } from "./dom.js";
import { kindOf } from "./kinds.js";
import { exactNumber } from "./numbers.js";

const mostResults = 100;

export class SearchView {
  // `choose(item)` is called when a result is chosen, `leave()` when the field is left by Escape.
  constructor(data, search, choose, leave) {
    this.data = data;
    this.search = search;
    this.choose = choose;
    this.field = byId("search");
    this.list = byId("results");
    this.found = [];
    this.at = -1;
    this.field.addEventListener("input", () => this.#find());
    this.field.addEventListener("focus", () => this.#find());
    this.field.addEventListener("blur", () => setTimeout(() => this.#hide(), 150));
    this.field.addEventListener("keydown", (event) => {
      const moves = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key in moves && this.found.length) {
        this.#mark((this.at + moves[event.key] + this.found.length) % this.found.length);
      } else if (event.key === "Enter" && this.found.length) {
        this.#take(this.found[Math.max(0, this.at)]);
      } else if (event.key === "Escape") {
        if (this.field.value) {
          this.field.value = "";
          this.#find();
        } else {
          leave();
        }
      } else {
        return;
      }
      event.preventDefault();
      event.stopPropagation();
    });
    this.list.addEventListener("pointerdown", (event) => {
      const row = event.target.closest("[data-item]");
      event.preventDefault();
      if (row) this.#take(Number(row.dataset.item));
    });
  }

  focus() {
    this.field.focus();
    this.field.select();
  }

  #take(item) {
    this.#hide();
    this.field.blur();
    this.choose(item);
  }

  #hide() {
    this.list.hidden = true;
    this.field.setAttribute("aria-expanded", "false");
    this.field.removeAttribute("aria-activedescendant");
  }

  #find() {
    const { data } = this;
    const { found, total } = this.search.find(this.field.value, mostResults);
    this.found = found;
    this.list.hidden = !this.field.value.trim();
    this.field.setAttribute("aria-expanded", String(!this.list.hidden));
    this.list.replaceChildren(
      ...found.map((item, at) =>
        html(
          "div",
          { id: "result-" + at, role: "option", class: "result kind-" + kindOf(data, item), "data-item": item },
          html("i", {}),
          html("span", { class: "name" }, (data.isBox(item) ? "" : data.text("name", item)) || data.title(item) || "(root)"),
          html("span", { class: "type" }, shortType(data.text("type", item)) || (data.isBox(item) ? "" : data.title(item))),
          html("span", { class: "where" }, this.#where(item)),
        ),
      ),
      html(
        "div",
        { class: "total" },
        total === 0 ? "Nothing found" : total > found.length ? `${exactNumber(total)} found, the best ${found.length} shown` : `${total} found`,
      ),
    );
    this.#mark(found.length ? 0 : -1);
  }

  // Path, shape and source, as far as known.
  #where(item) {
    const { data } = this;
    const source = data.source(item);
    const place = source && source.file ? source.file.slice(source.file.lastIndexOf("/") + 1) + ":" + source.line : "";
    return [this.#path(item), data.text("value", item), place].filter(Boolean).join("  \u00b7  ");
  }
  #path(item) {
    const { data } = this;
    if (data.text("path", item)) return data.text("path", item);
    for (let box = data.parents[item]; box >= 0; box = data.parents[box]) {
      if (data.text("path", box)) return "in " + data.text("path", box);
    }
    return "in (root)";
  }

  #mark(at) {
    this.list.querySelector(".marked")?.classList.remove("marked");
    this.at = at;
    if (at < 0) return;
    const row = this.list.querySelector("#result-" + at);
    row.classList.add("marked");
    row.scrollIntoView({ block: "nearest" });
    this.field.setAttribute("aria-activedescendant", row.id);
  }
}
