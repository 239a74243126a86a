// Finds items by name, type, operator and path.

// Texts that several items have are looked at once, so a search takes as long as there are texts.
export const searched = ["title", "name", "path", "type", "target"];

export class Search {
  constructor(data) {
    this.data = data;
    this.lower = null;
  }

  // { found, total }: the best `limit` items.  Every word must be in one of the item's texts.
  find(query, limit) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return { found: [], total: 0 };
    const { data } = this;
    this.lower ??= data.texts.map((text) => text.toLowerCase());
    const points = words.map((word) => this.#points(word));
    const columns = searched.map((name) => data.columns[name]);
    const byPoints = [];
    let total = 0;
    for (let i = 0; i < data.count; ++i) {
      let sum = 0;
      for (const of of points) {
        let best = 0;
        // What stands further left in `searched` says more.
        for (let at = 0; at < columns.length; ++at) {
          const point = of[columns[at][i]];
          if (point && point * 8 - at > best) best = point * 8 - at;
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

  // By text: 0 without the word, 3 when it is the word, 2 when a part of it starts so, 1 else.
  #points(word) {
    const points = new Uint8Array(this.lower.length);
    this.lower.forEach((text, i) => {
      const at = text.indexOf(word);
      if (at < 0) return;
      const starts = at === 0 || /[^a-z0-9]/.test(text[at - 1]);
      points[i] = text.length === word.length ? 3 : starts ? 2 : 1;
    });
    return points;
  }
}
