// The open boxes of the graph, and the items that are drawn because of them.
//
// One graph is drawn at a time, or one box of it.  If a box is opened and the picture would hold too much,
// other boxes are closed, those that were opened longest ago first; where that does not suffice, the box is
// drawn alone.

import { Kind } from "./data.js";

export const firstPicture = 60; // most items in the first picture
export const mostItems = 130;

export class OpenBoxes {
  // Opens as much as fits, or the same boxes as `other`.
  constructor(data, other = null) {
    this.data = data;
    this.opened = new Map(other?.opened); // from a box to the time when it was opened
    this.clock = other?.clock ?? 0;
    this.root = other?.root ?? data.graphs[0] ?? -1;
    if (!other && this.root >= 0) this.openLevels(this.root, firstPicture);
  }

  copy() {
    return new OpenBoxes(this.data, this);
  }

  isOpen(box) {
    return this.opened.has(box);
  }

  // The visible items in the root, boxes before their content; includes open boxes.
  drawn(root = this.root) {
    const { data, opened } = this;
    const items = [];
    let i = root;
    while (i < data.ends[root]) {
      items.push(i);
      i = i === root || opened.has(i) ? i + 1 : data.ends[i];
    }
    return items;
  }
  #count(root = this.root) {
    return this.drawn(root).length;
  }

  // Opens whole levels from the outside inwards while they fit.  Repeats stay closed; where marks have signs, so
  // do boxes without a mark and those that are all of one set.
  openLevels(root, limit, opens = (child) => this.#opensAtFirst(child)) {
    const { data } = this;
    let level = [root];
    let count = 1;
    while (level.length) {
      const inside = level.map((box) => data.children(box));
      count += inside.reduce((sum, children) => sum + children.length, 0);
      if (count > limit && level[0] !== root) return;
      for (const box of level) this.opened.set(box, ++this.clock);
      level = inside.flat().filter((child) => data.isBox(child) && opens(child));
    }
  }
  #opensAtFirst(box) {
    const { data } = this;
    return data.markStyles.some(({ sign }) => sign) ? !!data.markOf(box)?.sign : data.kinds[box] !== Kind.repeats;
  }

  // Opens the box and all boxes around it; returns what was done for it: { closed: number, alone: bool }.
  open(box) {
    const { data } = this;
    if (!data.isIn(box, this.root)) this.root = data.graphOf(box);
    for (const around of [...data.around(box), box]) this.opened.set(around, ++this.clock);
    // A box that contains only one box says little, so that one is opened too.
    for (let only = data.children(box); only.length === 1 && data.isBox(only[0]); only = data.children(only[0])) {
      this.opened.set(only[0], ++this.clock);
    }
    return this.#fit(box);
  }

  // Makes the item visible.
  reveal(item) {
    const { data } = this;
    const alone = !data.isIn(item, this.root);
    if (alone) this.root = data.graphOf(item);
    const closed = data.around(item).filter((box) => !this.opened.has(box));
    for (const box of closed) this.opened.set(box, ++this.clock);
    return closed.length || alone ? this.#fit(item) : { closed: 0, alone: false };
  }

  close(box) {
    if (box === this.root) return false;
    return this.opened.delete(box);
  }

  // Opens as much as fits; returns how many boxes stay closed.
  openAll() {
    this.openLevels(this.root, mostItems, () => true);
    return this.drawn().filter((item) => this.data.isBox(item) && !this.opened.has(item)).length;
  }

  closeAll() {
    this.opened.clear();
    this.opened.set(this.root, ++this.clock);
  }

  // Draws only that box; a graph is drawn as a whole.
  setRoot(box) {
    this.root = box;
    this.opened.set(box, ++this.clock);
    return this.#fit(box);
  }

  #fit(item) {
    const { data } = this;
    let closed = 0;
    let count = this.#count();
    if (count > mostItems) {
      const inOrder = [...this.opened].sort((a, b) => a[1] - b[1]);
      for (const [box] of inOrder) {
        if (count <= mostItems) break;
        if (box === this.root || data.isIn(item, box) || data.isIn(box, item)) continue;
        if (!data.isIn(box, this.root)) continue;
        this.opened.delete(box);
        const now = this.#count();
        closed += now < count;
        count = now;
      }
    }
    // Boxes inside of it that were open before are reopened, innermost first.
    if (count > mostItems) {
      for (const [box] of [...this.opened].sort((a, b) => b[0] - a[0])) {
        if (count <= mostItems) break;
        if (box === item || !data.isIn(box, item)) continue;
        this.opened.delete(box);
        const now = this.#count();
        closed += now < count;
        count = now;
      }
    }
    const around = [...data.around(item), ...(data.isBox(item) ? [item] : [])];
    let alone = false;
    for (const box of around) {
      if (count <= mostItems) break;
      if (!data.isIn(box, this.root) || box === this.root || !this.opened.has(box)) continue;
      this.root = box;
      alone = true;
      count = this.#count();
    }
    return { closed, alone };
  }
}
