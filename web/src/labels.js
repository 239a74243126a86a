// The labels of boxes: texts, cut to the width that fits, and the size of the box for them.

import { Kind, Op, shortType } from "./data.js";

export const fonts = {
  title: '600 13px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif',
  text: '400 11.5px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif',
  code: '400 11px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
};
export const lineHeights = { title: 18, text: 15, code: 15 };
export const padding = { x: 12, y: 7 };
export const header = 30; // the height of an open box's header
const mostWidth = 260;
const button = 22;

const context = document.createElement("canvas").getContext("2d");
const widths = { title: new Map(), text: new Map(), code: new Map() };

export function textWidth(text, font) {
  const known = widths[font];
  let width = known.get(text);
  if (width === undefined) {
    context.font = fonts[font];
    width = context.measureText(text).width;
    if (known.size > 20000) known.clear();
    known.set(text, width);
  }
  return width;
}

// `fromEnd` keeps the end of the text, as the last parts of a path matter most.
export function cutText(text, font, width, fromEnd = false) {
  if (text.length > 400) text = fromEnd ? text.slice(-400) : text.slice(0, 400);
  if (textWidth(text, font) <= width) return text;
  const letters = Array.from(text);
  let low = 0;
  let high = letters.length;
  const piece = (count) =>
    fromEnd ? "\u2026" + letters.slice(letters.length - count).join("") : letters.slice(0, count).join("") + "\u2026";
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(piece(middle), font) <= width) low = middle;
    else high = middle - 1;
  }
  return piece(low);
}

function line(font, text, className, fromEnd = false) {
  const cut = cutText(text, font, mostWidth - 2 * padding.x, fromEnd);
  return { font, text: cut, className, width: textWidth(cut, font) };
}

// Returns { lines, type, width, height } of a node or a closed box.
export function itemLabel(data, i) {
  const isBox = data.isBox(i);
  const space = mostWidth - 2 * padding.x - (isBox ? button : 0);
  const type = shortType(data.text("type", i));
  const full = data.title(i) || "(root)";
  const title = cutText(full, "title", space, full.includes("."));
  const lines = [{ font: "title", text: title, className: "title", width: textWidth(title, "title") }];
  let typeText = "";
  if (type && type !== full) {
    const left = space - lines[0].width - 7;
    if (textWidth(type, "text") <= left) {
      typeText = type;
      lines[0].width += 7 + textWidth(type, "text");
    } else {
      lines.push(line("text", type, "quiet", true));
    }
  }
  const failure = data.failures.get(i);
  if (data.text("details", i)) lines.push(line("text", data.text("details", i), "quiet"));
  if (isBox && data.text("note", i)) lines.push(line("text", data.text("note", i), "quiet"));
  if (data.markOf(i)?.colour) lines.push(line("text", data.text("mark_text", i), "quiet")); // a value
  if (failure !== undefined) lines.push(line("text", data.texts[failure], "failure"));
  if (data.text("value", i)) lines.push(line("code", data.text("value", i), "value"));
  const width = Math.max(...lines.map((each, at) => each.width + (at === 0 && isBox ? button : 0)));
  const height = lines.reduce((sum, each) => sum + lineHeights[each.font], 0);
  return {
    lines,
    typeText,
    width: Math.ceil(Math.max(56, width + 2 * padding.x)),
    height: Math.ceil(height + 2 * padding.y),
  };
}

// The header of an open box: the box gets as wide as a part of the header needs, and shows as much as fits.
export function headerLabel(data, i, room = 0) {
  const full = data.title(i) || "(root)";
  const space = Math.max(460, room - button - 3 * padding.x - 8);
  const title = cutText(full, "title", Math.max(260, space - 200), full.includes("."));
  const mark = data.markOf(i);
  const value = mark?.colour && !mark.isWithin ? data.text("mark_text", i) : "";
  const own = data.kinds[i] === Kind.repeats ? data.text("note", i) : shortType(data.text("type", i));
  const type = own && value ? `${own}  ${value}` : own || value;
  const typeText = type && type !== full ? cutText(type, "text", Math.max(200, space - textWidth(title, "title"))) : "";
  const width = textWidth(title, "title") + (typeText ? 8 + textWidth(typeText, "text") : 0);
  return { title, typeText, titleWidth: textWidth(title, "title"), width: Math.ceil(width + button + 3 * padding.x) };
}

export function isRound(data, i) {
  return data.ops[i] === Op.placeholder || data.ops[i] === Op.output;
}
