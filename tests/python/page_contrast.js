// WCAG contrast of all text that is seen on a page of fxtrace: what has less than 4.5:1, each as
// "3.91 where: the text".  https://www.w3.org/TR/WCAG22/#contrast-minimum
() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const pixel = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    return [...pixel.getImageData(0, 0, 1, 1).data];
  };
  const over = (top, bottom) => [0, 1, 2].map((i) => (top[i] * top[3] + bottom[i] * (255 - top[3])) / 255).concat(255);
  const luminance = (colour) => {
    const [red, green, blue] = colour.slice(0, 3).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ratio = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  const opacityOf = (element) => {
    let opacity = 1;
    for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    return opacity;
  };
  const groundOf = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((ground, layer) => over(layer, ground), [255, 255, 255, 255]);
  };
  const wordsOf = (element) => [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join("").trim();
  const found = new Set();
  let seen = 0;
  const look = (words, ink, ground, where) => {
    ++seen;
    const contrast = ratio(over(ink, ground), ground);
    if (contrast < 4.5) found.add(`${contrast.toFixed(2)} ${where}: ${words.slice(0, 30)}`);
  };
  const stage = groundOf(document.getElementById("stage"));
  for (const text of document.querySelectorAll("#graph text, #graph tspan")) {
    const words = wordsOf(text);
    if (!words) continue;
    const item = text.closest(".item");
    // A headline stands on the box behind it.
    const isHeadline = item.classList.contains("headline");
    const shape = isHeadline ? document.querySelector(`#graph .open[data-item="${item.dataset.item}"]`) : item;
    let ground = stage;
    for (const part of shape.querySelectorAll(":scope > .paper, :scope > .header"))
      ground = over(rgba(getComputedStyle(part).fill), ground);
    const ink = rgba(getComputedStyle(text).fill);
    ink[3] *= opacityOf(text);
    look(words, ink, ground, `${item.getAttribute("class")} ${text.getAttribute("class")}`);
  }
  for (const element of document.querySelectorAll("body *")) {
    if (element.closest("svg, script, style, noscript, #notice") || !element.checkVisibility({ visibilityProperty: true })) continue;
    const isEmptyField = element.placeholder && !element.value;
    const words = isEmptyField ? element.placeholder : wordsOf(element);
    if (!words) continue;
    const ink = rgba(getComputedStyle(element, isEmptyField ? "::placeholder" : null).color);
    ink[3] *= opacityOf(element);
    look(words, ink, groundOf(element), element.id || element.className || element.tagName);
  }
  return { seen, found: [...found].sort() };
}
