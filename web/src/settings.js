// The user's choices for this visit: colours, widths.  Nothing is stored, as not every browser gives a page
// from a file a storage of its own.

import { byId } from "./dom.js";

export function listenToTheme(button) {
  const root = document.documentElement;
  button.addEventListener("click", () => {
    const isDark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  });
}

// The lines between the panels can be dragged.
export function listenToDividers() {
  for (const divider of document.querySelectorAll(".divider")) {
    const panel = byId(divider.dataset.for);
    const sign = divider.dataset.for === "side" ? 1 : -1;
    divider.addEventListener("pointerdown", (event) => {
      divider.setPointerCapture(event.pointerId);
      const start = event.clientX;
      const width = panel.getBoundingClientRect().width;
      const move = (now) => {
        const next = Math.min(innerWidth * 0.5, Math.max(120, width + sign * (now.clientX - start)));
        panel.style.width = next + "px";
      };
      divider.addEventListener("pointermove", move);
      divider.addEventListener("pointerup", () => divider.removeEventListener("pointermove", move), { once: true });
      event.preventDefault();
    });
  }
}
