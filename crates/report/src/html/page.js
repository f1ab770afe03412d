"use strict";
// Heat maps of many cells, and what printing needs. The page is whole without this script.
(() => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // The side of a saved heat map about, and the room around it, in pixels.
  const PICTURE = 900;
  const MARGIN = 48;

  const heatMap = (figure) => {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const n = data.names.length;
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = n;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${figure.getAttribute("aria-label")}. The arrow keys read single cells.`);
    const out = document.createElement("output");
    const title = figure.getAttribute("aria-label");
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
    const scaleText = `${data.low} ${data.unit} (pale) to ${data.high} ${data.unit} (full colour); empty: not measured`;
    const save = (kind, href) => Object.assign(document.createElement("a"), { download: `${figure.id}.${kind}`, href }).click();
    // Some pixels a cell, so that the picture of few cpus is no stamp.
    const edge = n * Math.max(1, Math.round(PICTURE / n));
    const whole = edge + 2 * MARGIN;
    const draw = (pen) => {
      pen.fillStyle = css("--sheet");
      pen.fillRect(0, 0, whole, whole);
      pen.drawImage(canvas, MARGIN, MARGIN, edge, edge);
      pen.fillStyle = css("--text");
      const put = (words, x, y, align, weight = "") => {
        pen.font = `${weight}14px system-ui, sans-serif`;
        pen.textAlign = align;
        pen.fillText(words, x, y);
      };
      put(title, MARGIN, 20, "left", "bold ");
      put(scaleText, MARGIN, 38, "left");
      put(ends[0], MARGIN, whole - MARGIN + 18, "left");
      put(ends[1], whole - MARGIN, whole - MARGIN + 18, "right");
    };
    const savePng = () => {
      const to = Object.assign(document.createElement("canvas"), { width: whole, height: whole });
      const context = to.getContext("2d");
      context.imageSmoothingEnabled = false;
      draw(context);
      save("png", to.toDataURL("image/png"));
    };
    const saveSvg = () => {
      const pen = new SvgPen(whole, whole);
      draw(pen);
      save("svg", `data:image/svg+xml,${encodeURIComponent(pen.picture())}`);
    };
    const tools = Object.assign(document.createElement("div"), { className: "tools" });
    for (const [label, act] of [["Save PNG", savePng], ["Save SVG", saveSvg]]) {
      const one = Object.assign(document.createElement("button"), { type: "button", textContent: label });
      one.addEventListener("click", act);
      tools.append(one);
    }
    const axis = document.createElement("div");
    axis.className = "ends";
    axis.append(...ends.map((end) => Object.assign(document.createElement("span"), { textContent: end })));
    const side = axis.cloneNode(true);
    side.classList.add("side");
    const grid = document.createElement("div");
    grid.className = "grid";
    grid.append(side, canvas, axis);
    out.setAttribute("aria-live", "polite");
    figure.querySelector("pre").replaceWith(tools, grid, scale, out);
    paint();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    addEventListener("beforeprint", paint);
    addEventListener("afterprint", paint);
    figure.dataset.drawn = "yes";
  };

  document.querySelectorAll("figure.map").forEach(heatMap);
  // What is folded away is printed too, but for what is wider or longer than paper.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open]):not(.notice, .unprinted)")];
    folded.forEach((part) => (part.open = true));
  });
  addEventListener("afterprint", () => folded.forEach((part) => (part.open = false)));
})();
