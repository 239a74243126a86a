// The help: keys, and the libraries that the page uses.

import { byId, html } from "./dom.js";

const keys = [
  ["Click", "select: its arguments, shape, cost, source and users; a closed box opens"],
  ["Double click, or the sign in a box", "close an open box"],
  ["Click on a mark of the legend", "fade everything else"],
  ["Drag, wheel, pinch", "move and zoom"],
  ["/", "find by name, type, operator, path, shape, dtype, parameter or source, with one word or several; Enter goes there"],
  ["Arrow keys", "to the neighbour in that direction; with Shift the picture moves"],
  ["Enter", "open or close the selected box"],
  ["o", "draw only the selected box"],
  ["u", "to the box around"],
  ["f", "centre what is selected"],
  ["+ \u2212 0", "larger, smaller, all of it"],
  ["e, c", "open all boxes that fit, close all boxes"],
  ["s, p", "save the picture as SVG, as PNG"],
  ["t, g", "to the tree, to the graph"],
  ["d", "dark or light"],
  ["Esc", "select nothing"],
];

export function showHelp() {
  const dialog = byId("help");
  if (!dialog.firstChild) {
    dialog.append(
      html("h2", {}, "Keys"),
      html("dl", {}, ...keys.flatMap(([key, what]) => [html("dt", {}, key), html("dd", {}, what)])),
      html("h2", {}, "About"),
      html("p", {}, "Written by fxtrace. The page is one file: it loads nothing and sends nothing."),
      html("details", {}, html("summary", {}, "Layout by elkjs: its licence"), html("pre", {}, byId("layout-licence").textContent)),
      html("form", { method: "dialog" }, html("button", { autofocus: true }, "Close")),
    );
    // The page's policy forbids forms to be sent, in some browsers this one too.
    dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      dialog.close();
    });
  }
  dialog.showModal();
}
