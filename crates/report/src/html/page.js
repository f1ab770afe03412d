"use strict";
// Heat maps of many cells, and what printing needs. The page is whole without this script.
(() => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const heatMap = (figure) => {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const n = data.names.length;
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = n;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${figure.getAttribute("aria-label")}. The arrow keys read single cells.`);
    const out = document.createElement("output");
    const scale = document.createElement("div");
    scale.className = "scale";
    scale.append(`${data.low} ${data.unit}`, document.createElement("i"), `${data.high} ${data.unit}`);
    const value = (a, b) => data.rows[Math.max(a, b)][Math.min(a, b)];
    const paint = () => {
      const context = canvas.getContext("2d");
      const pixels = context.createImageData(n, n);
      const [red, green, blue] = css("--heat").split(",").map(Number);
      const span = Math.log(data.high / data.low) || 1;
      for (let y = 0; y < n; y++) {
        for (let x = 0; x < n; x++) {
          const v = value(x, y);
          if (!v) continue;
          const at = 4 * (y * n + x);
          pixels.data.set([red, green, blue, 56 + 199 * Math.min(1, Math.max(0, Math.log(v / data.low) / span))], at);
        }
      }
      context.putImageData(pixels, 0, 0);
    };
    let at = [1, 0];
    const say = () => {
      const v = value(at[0], at[1]);
      const names = `${data.of} ${data.names[at[1]]} and ${data.names[at[0]]}`;
      out.textContent = v ? `${names}: ${v} ${data.unit}` : `${names}: not measured`;
    };
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const cell = (offset, length) => Math.min(n - 1, Math.max(0, Math.floor((offset / length) * n)));
      at = [cell(event.clientX - box.left, box.width), cell(event.clientY - box.top, box.height)];
      say();
    });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      at = at.map((v, axis) => Math.min(n - 1, Math.max(0, v + step[axis])));
      say();
    });
    out.textContent = "Point at a cell for its value.";
    // The cpus at the ends of both axes.
    const ends = [data.names[0], data.names[n - 1]].map((name) => `cpu ${name}`);
    const axis = document.createElement("div");
    axis.className = "ends";
    axis.append(...ends.map((end) => Object.assign(document.createElement("span"), { textContent: end })));
    const side = axis.cloneNode(true);
    side.classList.add("side");
    const grid = document.createElement("div");
    grid.className = "grid";
    grid.append(side, canvas, axis);
    out.setAttribute("aria-live", "polite");
    figure.querySelector("pre").replaceWith(grid, scale, out);
    paint();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    addEventListener("beforeprint", paint);
    addEventListener("afterprint", paint);
    figure.dataset.drawn = "yes";
  };

  document.querySelectorAll("figure.map").forEach(heatMap);
  // What is folded away is printed too.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open]):not(.notice)")];
    folded.forEach((part) => (part.open = true));
  });
  addEventListener("afterprint", () => folded.forEach((part) => (part.open = false)));
})();
