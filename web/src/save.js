// Saves the drawn picture as a file of its own, with its current colours.

const properties = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "paint-order",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
];
const colours = new Set(["fill", "stroke"]);
const margin = 16;
const mostPixels = 12000; // per side: the most that browsers draw

// Returns the colour of one pixel: colour spaces that only browsers know become numbers that all programs
// know.
const canvas = document.createElement("canvas");
canvas.width = canvas.height = 1;
const pixel = canvas.getContext("2d", { willReadFrequently: true });
function plainColour(colour) {
  if (colour === "none" || colour.startsWith("url")) return colour;
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = colour;
  pixel.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
  return alpha === 255 ? `rgb(${red},${green},${blue})` : `rgba(${red},${green},${blue},${(alpha / 255).toFixed(3)})`;
}

function copyLooks(from, to) {
  const style = getComputedStyle(from);
  for (const name of properties) {
    const value = style.getPropertyValue(name);
    if (value) to.setAttribute(name, colours.has(name) ? plainColour(value) : value);
  }
  to.removeAttribute("class");
  to.removeAttribute("style");
  [...from.children].forEach((child, at) => copyLooks(child, to.children[at]));
}

// Returns { text, width, height } of an SVG file.
function pictureOf(graph) {
  const { element, size } = graph;
  graph.showWhole();
  const copy = element.cloneNode(true);
  copyLooks(element, copy);
  graph.showView();
  for (const button of [...copy.querySelectorAll("g")].filter((each) => each.dataset.sign)) button.remove();
  const width = Math.ceil(size.width + 2 * margin);
  const height = Math.ceil(size.height + 2 * margin);
  for (const name of [...copy.getAttributeNames()]) copy.removeAttribute(name);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("viewBox", `${-margin} ${-margin} ${width} ${height}`);
  const ground = document.createElementNS(copy.namespaceURI, "rect");
  const fill = plainColour(getComputedStyle(document.body).backgroundColor);
  for (const [name, value] of Object.entries({ x: -margin, y: -margin, width, height, fill })) ground.setAttribute(name, value);
  copy.prepend(ground);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function give(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

export async function saveSvg(graph, name) {
  give(new Blob([pictureOf(graph).text], { type: "image/svg+xml" }), name + ".svg");
}

export async function savePng(graph, name) {
  const { text, width, height } = pictureOf(graph);
  const scale = Math.min(2, mostPixels / Math.max(width, height));
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const paper = document.createElement("canvas");
    paper.width = Math.round(width * scale);
    paper.height = Math.round(height * scale);
    paper.getContext("2d").drawImage(image, 0, 0, paper.width, paper.height);
    const blob = await new Promise((done) => paper.toBlob(done, "image/png"));
    if (!blob) throw new Error("it is too large");
    give(blob, name + ".png");
  } finally {
    URL.revokeObjectURL(address);
  }
}
