// Finds items by the texts that the page shows of them: names, types, operators, paths, shapes and dtypes,
// parameters, sources.

// Fields further left weigh more.
const columns = ["title", "name", "path", "type", "target"];
export const searched = [...columns, "around", "value", "parameters", "source", "details", "mark_text"];

export class Search {
  constructor(data) {
    this.data = data;
    this.fields = null;
  }

  // Returns { found, total }: the best `limit` items.  Every word must be in one of the item's texts.
  find(query, limit) {
    const words = wordsOf(query);
    if (!words.length) return { found: [], total: 0 };
    const { data } = this;
    this.fields ??= this.#makeFields();
    const { fields } = this;
    const points = words.map((word) => this.#points(word));
    const most = fields.length + 1;
    const byPoints = [];
    let total = 0;
    for (let i = 0; i < data.count; ++i) {
      let sum = 0;
      for (const of of points) {
        let best = 0;
        for (let at = 0; at < fields.length; ++at) {
          const point = of[at][fields[at].rows[i]];
          if (point && point * most - at > best) best = point * most - at;
        }
        if (!best) {
          sum = 0;
          break;
        }
        sum += best;
      }
      if (!sum) continue;
      ++total;
      (byPoints[sum] ??= []).push(i);
    }
    const found = [];
    for (let sum = byPoints.length; sum-- > 0 && found.length < limit; ) {
      for (const item of byPoints[sum] ?? []) if (found.push(item) >= limit) break;
    }
    return { found, total };
  }

  // The fields in the order of `searched`, each { texts, rows: by item its text }.  Each distinct text is
  // searched once, so the time of a search depends on the number of texts.
  #makeFields() {
    const { data } = this;
    const lower = data.texts.map((text) => text.toLowerCase());
    const usual = data.model.dtype.toLowerCase();
    // Texts leave out properties that most tensors have.
    const values = lower.map((text) => withoutSpaces(text.startsWith("[") ? usual + text : text));
    const sources = ["", ...data.raw.sources.map(([file, line, name]) => `${lower[file]}:${line} ${lower[name]}`)];
    return [
      ...columns.map((name) => ({ texts: lower, rows: data.columns[name] })),
      { texts: lower, rows: this.#pathsAround() },
      { texts: values, rows: data.columns.value },
      this.#parameters(lower, usual),
      { texts: sources, rows: data.raw.source },
      { texts: lower, rows: data.columns.details },
      { texts: lower, rows: data.columns.mark_text },
    ];
  }

  // By item: the path of the module in which it is.
  #pathsAround() {
    const { data } = this;
    const rows = new Uint32Array(data.count);
    for (let i = 0; i < data.count; ++i) {
      const box = data.parents[i]; // a box comes before its content
      if (box >= 0) rows[i] = data.columns.path[box] || rows[box];
    }
    return rows;
  }

  // The parameters that a node uses, or that a module owns.
  #parameters(lower, usual) {
    const { data } = this;
    const own = new Map();
    const text = (name, value) => withoutSpaces(`${name} ${value.startsWith("[") ? usual + value : value}`);
    for (const [name, value] of data.raw.parameters) {
      const path = data.texts[name].slice(0, Math.max(0, data.texts[name].lastIndexOf(".")));
      own.set(path, `${own.get(path) ?? ""}${text(lower[name], lower[value])}\n`);
    }
    const texts = [""];
    const known = new Map([["", 0]]);
    const rows = new Uint32Array(data.count);
    for (let i = 0; i < data.count; ++i) {
      const taken = (data.raw.weights[i] || []).map((each) => withoutSpaces(lower[each]));
      const all = [...taken, own.get(data.text("path", i)) ?? ""].join("\n");
      if (!known.has(all)) known.set(all, texts.push(all) - 1);
      rows[i] = known.get(all);
    }
    return { texts, rows };
  }

  // By field and text: 0 without the word, 4 if the text is the word, 3 if a part of it is, 2 if a part
  // starts with it, 1 otherwise.
  #points(word) {
    const isPlace = /:\d+$/.test(word); // line 164 must not find line 1640
    const known = new Map();
    return this.fields.map(({ texts }) => {
      if (known.has(texts)) return known.get(texts);
      const points = new Uint8Array(texts.length);
      texts.forEach((text, i) => {
        const at = text.indexOf(word);
        if (at < 0) return;
        const starts = at === 0 || /[^a-z0-9]/.test(text[at - 1]);
        const after = text[at + word.length] ?? "";
        if (isPlace && /\d/.test(after)) return;
        points[i] = text.length === word.length ? 4 : starts ? (/[a-z0-9_]/.test(after) ? 2 : 3) : 1;
      });
      known.set(texts, points);
      return points;
    });
  }
}

function withoutSpaces(text) {
  return text.replaceAll(", ", ",");
}

// Sizes are one word: "[2, 64]", "2x64".
function wordsOf(query) {
  return query
    .toLowerCase()
    .replaceAll(/,\s+/g, ",")
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => (/^\[?\d+([x\u00d7]\d+)+\]?$/.test(word) ? word.replaceAll(/[x\u00d7]/g, ",") : word));
}
