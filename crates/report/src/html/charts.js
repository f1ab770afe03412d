"use strict";
// Curves, drawn over the axes of uPlot: its data are the logarithms, so that both kinds of axes zoom alike.
(() => {
  const HEIGHT = 320;
  const DASHES = [[], [9, 4], [3, 3], [12, 3, 3, 3], [6, 3, 1, 3], [1, 4]];
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (series) => css(`--s${series % 6}`);
  const letter = (series) => String.fromCharCode(97 + (series % 26));
  const charts = [];

  const size = (bytes) => {
    const units = ["", "K", "M", "G", "T"];
    let at = 0;
    while (bytes >= 1024 && at < 4) {
      bytes /= 1024;
      at++;
    }
    return `${+bytes.toPrecision(3)}${units[at]}`;
  };
  const number = (v) => (Math.abs(v) >= 1e5 ? v.toExponential(2) : String(+v.toPrecision(4)));

  // Round values between two ends: 1, 2, 5 in each decade, or steps.
  const steps = (low, high, wanted) => {
    const raw = (high - low) / Math.max(1, wanted);
    const decade = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * decade).find((s) => s >= raw);
    const found = [];
    for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-6 && found.length < 50; v += step) found.push(+v.toPrecision(10));
    return found;
  };
  const rounds = (low, high, wanted) => {
    const found = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++) {
      for (const m of [1, 2, 5]) if (m * 10 ** e >= low && m * 10 ** e <= high) found.push(m * 10 ** e);
    }
    if (found.length < 3) return steps(low, high, wanted);
    return found.length > 2 * wanted ? found.filter((v) => Math.abs(Math.log10(v) % 1) < 1e-9) : found;
  };

  const chart = (figure, index) => {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const bySize = data.x === "size";
    const toX = bySize ? Math.log2 : (v) => v;
    const toY = data.log_y ? Math.log10 : (v) => v;
    const fits = (v, log) => Number.isFinite(v) && (log ? v > 0 : v >= 0);
    const series = data.series.map((one, at) => {
      const all = one.points.map(([x, y], place) => ({ x, y, about: one.about[place] || {} }));
      const points = all.filter((p) => fits(p.x, bySize) && fits(p.y, data.log_y));
      if (bySize) points.sort((a, b) => a.x - b.x);
      return { name: one.name, points, at, shown: true };
    });
    const everything = series.flatMap((one) => one.points);
    if (!everything.length) return;
    let now = everything.some((p) => fits(p.about.now, data.log_y));
    const hasNow = now;
    const name = (one) => one.name || figure.getAttribute("aria-label");

    const xs = [...new Set(everything.map((p) => toX(p.x)))].sort((a, b) => a - b);
    const range = (values, log) => {
      const low = Math.min(...values);
      const high = Math.max(...values);
      if (log) return [low - 0.06, high + 0.06];
      // A rate begins at zero; of a loaded latency what counts is how much it rises.
      const from = bySize ? 0 : Math.max(0, low - Math.max(0.3 * (high - low), 0.04 * high));
      return [Math.min(from, low), high + 0.06 * (high - from) || 1];
    };
    const whole = bySize ? [xs[0] - 0.3, xs[xs.length - 1] + 0.3] : [0, xs[xs.length - 1] * 1.04 || 1];
    const yRange = (u) => {
      const { min, max } = u.scales.x;
      const seen = series.filter((s) => s.shown).flatMap((s) => s.points);
      const near = seen.filter((p) => toX(p.x) >= (min ?? whole[0]) && toX(p.x) <= (max ?? whole[1]));
      const values = (near.length ? near : everything).flatMap((p) => [p.y, now ? p.about.now : null]);
      return range(values.filter((v) => fits(v, data.log_y)).map(toY), data.log_y);
    };

    const holder = document.createElement("div");
    holder.className = "plot";
    holder.tabIndex = 0;
    holder.setAttribute("role", "img");
    const ends = (one) => (one.points.length ? `${number(one.points[0].y)} to ${number(one.points[one.points.length - 1].y)} ${data.unit}` : "no point");
    holder.setAttribute("aria-label", `${figure.getAttribute("aria-label")}: ${series.map((s) => `${name(s)} ${ends(s)}`).join("; ")}. The arrow keys read points.`);
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    tip.setAttribute("role", "status");
    const tools = document.createElement("div");
    tools.className = "tools";

    const place = (u, p, y) => [u.valToPos(toX(p.x), "x", true), u.valToPos(toY(y ?? p.y), "y", true)];
    const line = (context, dots) => {
      context.beginPath();
      dots.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.stroke();
    };
    const mark = (context, x, y, grade, ratio) => {
      const r = 3.2 * ratio;
      context.beginPath();
      if (grade === "bound") {
        context.moveTo(x, y - r * 1.2);
        context.lineTo(x + r * 1.1, y + r * 0.9);
        context.lineTo(x - r * 1.1, y + r * 0.9);
        context.closePath();
        context.fill();
      } else if (grade) {
        context.arc(x, y, r, 0, 7);
        context.save();
        context.fillStyle = css("--sheet");
        context.fill();
        context.restore();
        context.stroke();
      } else {
        context.arc(x, y, r, 0, 7);
        context.fill();
      }
    };
    const draw = (u) => {
      const context = u.ctx;
      const ratio = uPlot.pxRatio;
      const { left, top, width, height } = u.bbox;
      context.save();
      context.beginPath();
      context.rect(left, top, width, height);
      context.clip();
      context.font = `${12 * ratio}px system-ui, sans-serif`;
      context.fillStyle = context.strokeStyle = css("--dim");
      context.lineWidth = ratio;
      for (const [x, words] of bySize ? data.marks : []) {
        const at = u.valToPos(toX(x), "x", true);
        context.setLineDash([2 * ratio, 4 * ratio]);
        line(context, [[at, top], [at, top + height]]);
        context.save();
        context.translate(at - 4 * ratio, top + 4 * ratio);
        context.rotate(-Math.PI / 2);
        context.textAlign = "right";
        context.fillText(words, 0, 0);
        context.restore();
      }
      for (const one of series.filter((s) => s.shown && s.points.length)) {
        context.strokeStyle = context.fillStyle = colour(one.at);
        const band = one.points.filter((p) => fits(p.about.low, data.log_y) && fits(p.about.high, data.log_y));
        if (band.length > 1) {
          context.globalAlpha = 0.18;
          context.beginPath();
          band.forEach((p, at) => (at ? context.lineTo(...place(u, p, p.about.high)) : context.moveTo(...place(u, p, p.about.high))));
          [...band].reverse().forEach((p) => context.lineTo(...place(u, p, p.about.low)));
          context.fill();
          context.globalAlpha = 1;
        }
        if (now) {
          context.globalAlpha = 0.7;
          context.lineWidth = 1.2 * ratio;
          context.setLineDash([1.5 * ratio, 4 * ratio]);
          line(context, one.points.filter((p) => fits(p.about.now, data.log_y)).map((p) => place(u, p, p.about.now)));
          context.globalAlpha = 1;
        }
        context.lineWidth = 2 * ratio;
        context.setLineDash(DASHES[one.at % DASHES.length].map((d) => d * ratio));
        line(context, one.points.map((p) => place(u, p)));
        context.setLineDash([]);
        context.lineWidth = 1.6 * ratio;
        one.points.forEach((p) => mark(context, ...place(u, p), p.about.grade, ratio));
        if (series.length > 1) {
          const [x, y] = place(u, one.points[one.points.length - 1]);
          context.font = `bold ${13 * ratio}px system-ui, sans-serif`;
          context.textAlign = "left";
          context.fillText(letter(one.at), Math.min(x + 6 * ratio, left + width - 10 * ratio), Math.max(y - 5 * ratio, top + 12 * ratio));
        }
      }
      context.restore();
    };

    const axis = { stroke: () => css("--dim"), grid: { stroke: () => css("--line"), width: 1 }, ticks: { stroke: () => css("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
    const options = {
      width: 600,
      height: HEIGHT,
      padding: [12, 14, 0, 0],
      legend: { show: false },
      cursor: { points: { show: false }, drag: { x: true, y: false }, y: false },
      scales: { x: { time: false, range: (u, min, max) => (u.zoomed ? [min, max] : whole) }, y: { range: yRange } },
      series: [{}, { paths: () => null, points: { show: false } }],
      axes: [
        { ...axis, size: 34, splits: (u, at, min, max) => (bySize ? steps(min, max, u.width / 60).filter(Number.isInteger) : steps(min, max, u.width / 80)),
          values: (u, found) => found.map((v) => (bySize ? size(2 ** v) : number(v))) },
        { ...axis, size: 58, splits: (u, at, min, max) => (data.log_y ? rounds(10 ** min, 10 ** max, 6).map(Math.log10) : steps(min, max, 6)),
          values: (u, found) => found.map((v) => number(data.log_y ? 10 ** v : v)) },
      ],
      hooks: { draw: [draw], setSelect: [(u) => { if (u.select.width > 0) u.zoomed = true; }], setCursor: [(u) => hover(u)] },
    };
    const caption = document.createElement("div");
    caption.className = "axis";
    caption.textContent = [series.length === 1 && series[0].name && `${series[0].name}, `, data.unit, data.x_unit && `over ${data.x_unit}`].filter(Boolean).join(" ");

    const words = (one, p) => {
      const lines = [`${letter(one.at)} ${name(one)}`];
      lines.push(`${bySize ? size(p.x) : `${number(p.x)} ${data.x_unit}`}: ${number(p.y)} ${data.unit}`);
      if (fits(p.about.low) && fits(p.about.high)) lines.push(`interval ${number(p.about.low)} to ${number(p.about.high)}`);
      if (fits(p.about.now)) lines.push(`now ${number(p.about.now)} ${data.unit}`);
      if (p.about.of) lines.push(p.about.of);
      if (p.about.grade) lines.push(p.about.grade);
      return lines.join("\n");
    };
    const show = (u, one, p) => {
      const [x, y] = place(u, p).map((v) => v / uPlot.pxRatio);
      tip.textContent = words(one, p);
      tip.hidden = false;
      tip.style.left = `${Math.max(0, Math.min(x + 12, holder.clientWidth - tip.offsetWidth - 4))}px`;
      tip.style.top = `${Math.max(0, y - tip.offsetHeight - 8)}px`;
    };
    const hover = (u) => {
      const { left, top } = u.cursor;
      tip.hidden = true;
      if (left < 0) return;
      let best = [30, null, null];
      for (const one of series.filter((s) => s.shown)) {
        for (const p of one.points) {
          const away = Math.hypot(u.valToPos(toX(p.x), "x") - left, u.valToPos(toY(p.y), "y") - top);
          if (away < best[0]) best = [away, one, p];
        }
      }
      if (best[1]) show(u, best[1], best[2]);
    };
    const plot = new uPlot(options, [xs, xs.map(() => null)], holder);
    const again = () => plot.batch(() => plot.setScale("x", { min: plot.zoomed ? plot.scales.x.min : whole[0], max: plot.zoomed ? plot.scales.x.max : whole[1] }));
    const reset = () => {
      plot.zoomed = false;
      plot.setScale("x", { min: whole[0], max: whole[1] });
    };
    plot.over.addEventListener("dblclick", reset);

    let read = [0, -1];
    holder.addEventListener("keydown", (event) => {
      const shown = series.filter((s) => s.shown && s.points.length);
      const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
      if (event.key === "Escape") tip.hidden = true;
      if (!move || !shown.length) return;
      event.preventDefault();
      const clamp = (v, n) => Math.max(0, Math.min(n - 1, v));
      const at = clamp(read[0] + move[0], shown.length);
      read = [at, clamp(read[1] + move[1], shown[at].points.length)];
      show(plot, shown[at], shown[at].points[read[1]]);
    });
    holder.addEventListener("blur", () => (tip.hidden = true));

    const button = (label, act, pressed) => {
      const one = document.createElement("button");
      one.type = "button";
      one.append(...label);
      if (pressed !== undefined) one.setAttribute("aria-pressed", String(pressed));
      one.addEventListener("click", () => {
        const after = act();
        if (pressed !== undefined) one.setAttribute("aria-pressed", String(after));
      });
      tools.append(one);
      return one;
    };
    if (series.length > 1) {
      for (const one of series) {
        const key = document.createElement("span");
        key.className = "key";
        key.style.borderTopColor = `var(--s${one.at % 6})`;
        key.style.borderTopStyle = one.at % DASHES.length ? "dashed" : "solid";
        button([key, `${letter(one.at)} ${one.name}`], () => {
          one.shown = !one.shown;
          again();
          plot.redraw();
          return one.shown;
        }, true).dataset.series = one.at;
      }
    }
    if (hasNow) {
      button(["now (dotted)"], () => {
        now = !now;
        again();
        plot.redraw();
        return now;
      }, true);
    }
    button(["Reset zoom"], reset).className = "end";
    button(["Save PNG"], () => {
      const from = plot.ctx.canvas;
      const to = document.createElement("canvas");
      const ratio = uPlot.pxRatio;
      const head = 26 + 18 * (series.length > 1 ? series.length : 0);
      to.width = from.width;
      to.height = from.height + head * ratio;
      const context = to.getContext("2d");
      context.fillStyle = css("--sheet");
      context.fillRect(0, 0, to.width, to.height);
      context.font = `bold ${13 * ratio}px system-ui, sans-serif`;
      context.fillStyle = css("--text");
      context.fillText(figure.getAttribute("aria-label"), 10 * ratio, 18 * ratio);
      if (series.length > 1) {
        series.forEach((one, at) => {
          context.fillStyle = colour(one.at);
          context.fillText(`${letter(one.at)} ${one.name}${one.shown ? "" : " (hidden)"}`, 10 * ratio, (36 + 18 * at) * ratio);
        });
      }
      context.drawImage(from, 0, head * ratio);
      const link = document.createElement("a");
      link.download = `${figure.id}.png`;
      link.href = to.toDataURL("image/png");
      link.click();
    });

    figure.querySelector("pre").replaceWith(tools, caption, holder);
    holder.append(tip);
    const fit = () => plot.setSize({ width: Math.max(240, holder.clientWidth), height: HEIGHT });
    const seen = new ResizeObserver(fit);
    seen.observe(holder);
    fit();
    charts.push(plot);
    figure.dataset.drawn = "yes";
  };

  document.querySelectorAll("figure.chart").forEach(chart);
  const redraw = () => charts.forEach((plot) => plot.redraw(false, true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", redraw);
  addEventListener("afterprint", redraw);
})();
