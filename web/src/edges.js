// Edges between the items that are drawn: an edge of a node in a closed box becomes an edge of the box.

// The most that edges may span in all, in boxes drawn between their ends: the time of a layout grows with
// it.  Longer edges are drawn across the picture, outside of the layout.
const mostReach = 1000;

// The most neighbours outside of the drawn box with an edge into it that are shown.
const mostNeighbours = 24;

// `drawn`: items of OpenBoxes.drawn().  Returns edges [from, to], each once, separately those that span too
// much, and the neighbours outside of `root` as { item, isInput, inside }, where `inside` are the ends
// within it.
export function findEdges(data, root, drawn, isOpen) {
  const seen = new Int32Array(data.ends[root] - root).fill(-1);
  for (const item of drawn) {
    if (!data.isBox(item) || (item !== root && !isOpen(item))) seen.fill(item, item - root, data.ends[item] - root);
  }
  const edges = new Map();
  const neighbours = new Map();
  let hidden = 0;
  const neighbour = (item, inside, isInput) => {
    // The outermost box around it that is not around the root.
    let shown = item;
    while (data.parents[shown] >= 0 && !data.isIn(root, data.parents[shown])) shown = data.parents[shown];
    const key = isInput ? shown : -shown - 1;
    if (!neighbours.has(key)) {
      if (neighbours.size >= mostNeighbours) {
        ++hidden;
        return;
      }
      neighbours.set(key, { item: shown, isInput, inside: new Set() });
    }
    neighbours.get(key).inside.add(inside);
  };
  const isGraph = data.parents[root] < 0;
  for (let to = root; to < data.ends[root]; ++to) {
    const seenTo = seen[to - root];
    for (const from of data.inputs(to)) {
      if (!data.isIn(from, root)) {
        neighbour(from, seenTo, true);
        continue;
      }
      const seenFrom = seen[from - root];
      if (seenFrom !== seenTo && seenFrom >= 0 && seenTo >= 0) {
        const key = seenFrom * data.count + seenTo;
        if (!edges.has(key)) edges.set(key, [seenFrom, seenTo]);
      }
    }
    if (isGraph) continue;
    for (const user of data.users(to)) {
      if (!data.isIn(user, root)) neighbour(user, seenTo, false);
    }
  }
  return { ...split([...edges.values()], drawn), neighbours: [...neighbours.values()], hidden };
}

function split(edges, drawn) {
  const place = new Map(drawn.map((item, at) => [item, at]));
  const reach = ([from, to]) => Math.abs(place.get(to) - place.get(from));
  let sum = 0;
  for (const edge of edges) sum += reach(edge);
  if (sum <= mostReach) return { edges, far: [] };
  const nearest = [...edges].sort((a, b) => reach(a) - reach(b));
  sum = 0;
  const near = new Set(nearest.filter((edge) => (sum += reach(edge)) <= mostReach));
  return { edges: edges.filter((edge) => near.has(edge)), far: edges.filter((edge) => !near.has(edge)) };
}
