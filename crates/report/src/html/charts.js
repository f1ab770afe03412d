"use strict";
// Curves, drawn over the axes of uPlot: its data are the logarithms, so that both kinds of axes zoom alike.
(() => {
  const HEIGHT = 320;
  const FONT = "system-ui, sans-serif";
  const DASHES = [[], [9, 4], [3, 3], [12, 3, 3, 3], [6, 3, 1, 3], [1, 4]];
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (series) => css(`--s${series % 6}`);
  const letter = (series) => String.fromCharCode(97 + (series % 26));
  const fits = (v, log) => Number.isFinite(v) && (log ? v > 0 : v >= 0);
  const charts = [];

  const element = (name, properties) => Object.assign(document.createElement(name), properties);

  const size = (bytes) => {
    const units = ["", "K", "M", "G", "T"];
    let at = 0;
    while (bytes >= 1024 && at < 4) {
      bytes /= 1024;
      at++;
    }
    return `${+bytes.toPrecision(3)}${units[at]}`;
  };
  // An axis has room for some seven signs: 1e5, and not 1.00e+5.
  const short = (v) => v.toExponential(2).replace(/\.?0*e\+?/, "e");
  const number = (v) => (Math.abs(v) >= 1e5 ? short(v) : String(+v.toPrecision(4)));

  // Round values between two ends: steps, or 1, 2, 5 in each decade.
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
    // A zoom, or a document, may ask for more decades than numbers have.
    if (!(low > 0) || !Number.isFinite(high)) return found;
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++) {
      for (const m of [1, 2, 5]) if (m * 10 ** e >= low && m * 10 ** e <= high) found.push(m * 10 ** e);
    }
    if (found.length < 3) return steps(low, high, wanted);
    return found.length > 2 * wanted ? found.filter((v) => Math.abs(Math.log10(v) % 1) < 1e-9) : found;
  };

  // What a chart shows, and of it what is hidden.
  const read = (figure) => {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const bySize = data.x === "size";
    const series = data.series.map((one, at) => {
      const all = one.points.map(([x, y], place) => ({ x, y, about: one.about[place] || {} }));
      const placed = all.filter((p) => fits(p.x, bySize) && (p.y === null || fits(p.y, data.log_y)));
      if (bySize) placed.sort((a, b) => a.x - b.x);
      // A point that was refused or withheld has no value: the line ends before it, and another begins behind it.
      const strokes = [[]];
      for (const p of placed) {
        if (p.y === null) strokes.push([]);
        else strokes[strokes.length - 1].push(p);
      }
      const points = strokes.flat();
      return { name: one.name, points, strokes, at, shown: true, scatter: one.scatter === true, behind: one.behind === true };
    });
    const points = series.flatMap((one) => one.points);
    const toX = bySize ? Math.log2 : (v) => v;
    const xs = [...new Set(points.map((p) => toX(p.x)))].sort((a, b) => a - b);
    const last = xs[xs.length - 1];
    const whole = bySize ? [xs[0] - 0.3, last + 0.3] : [0, last * 1.04 || 1];
    return {
      ...data,
      title: figure.getAttribute("aria-label"),
      id: figure.id,
      bySize,
      series,
      points,
      toX,
      toY: data.log_y ? Math.log10 : (v) => v,
      xs,
      // Doublings and tenants have no halves.
      counted: bySize || points.every((p) => Number.isInteger(p.x)),
      // The ends of x: of all points, and those shown.
      whole,
      ends: whole,
      best: points.some((p) => fits(p.about.best, data.log_y)),
    };
  };

  // The range of y over what is shown between the ends of x.
  const yRange = (chart) => {
    const [first, last] = chart.ends;
    const seen = chart.series.filter((s) => s.shown).flatMap((s) => s.points);
    const near = seen.filter((p) => chart.toX(p.x) >= first && chart.toX(p.x) <= last);
    const points = near.length ? near : chart.points;
    const ys = points.map((p) => p.y).filter((v) => fits(v, chart.log_y));
    const [least, most] = [ys.reduce((a, b) => Math.min(a, b), Infinity), ys.reduce((a, b) => Math.max(a, b), 0)];
    // A spike of what a program got leaves the picture: it does not squeeze the curves.
    const isNear = (v) => v >= least / 3 && v <= 3 * most;
    const all = ys.concat(points.map((p) => p.about.best).filter((v) => chart.best && isNear(v)));
    const values = all.filter((v) => fits(v, chart.log_y)).map(chart.toY);
    // Not by arguments: a document may have more points than a call takes.
    const [low, high] = [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];
    if (chart.log_y) return [low - 0.06, high + 0.06];
    // A rate begins at zero; of a loaded latency what counts is how much it rises.
    const from = chart.bySize ? 0 : Math.max(0, low - Math.max(0.3 * (high - low), 0.04 * high));
    return [Math.min(from, low), high + 0.06 * (high - from) || 1];
  };

  const place = (chart, u, p, y) => [u.valToPos(chart.toX(p.x), "x", true), u.valToPos(chart.toY(y ?? p.y), "y", true)];

  const line = (context, dots) => {
    context.beginPath();
    dots.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
  };

  // A trusted point is filled, a bound a triangle, a suspect point hollow.
  const mark = (context, x, y, grade, ratio) => {
    const r = 3.2 * ratio;
    context.beginPath();
    if (grade === "bound") {
      context.moveTo(x, y - r * 1.2);
      context.lineTo(x + r * 1.1, y + r * 0.9);
      context.lineTo(x - r * 1.1, y + r * 0.9);
      context.closePath();
      context.fill();
      return;
    }
    context.arc(x, y, r, 0, 7);
    if (!grade) {
      context.fill();
      return;
    }
    context.save();
    context.fillStyle = css("--sheet");
    context.fill();
    context.restore();
    context.stroke();
  };

  // Declared sizes of caches, where the curve should bend; knees, and the level to compare with.
  const drawMarks = (chart, u, ratio) => {
    const { ctx: context, bbox } = u;
    context.font = `${12 * ratio}px ${FONT}`;
    context.fillStyle = context.strokeStyle = css("--dim");
    context.lineWidth = ratio;
    context.setLineDash([2 * ratio, 4 * ratio]);
    if (chart.level) {
      const y = u.valToPos(chart.toY(chart.level[0]), "y", true);
      line(context, [[bbox.left, y], [bbox.left + bbox.width, y]]);
      context.textAlign = "left";
      context.fillText(chart.level[1], bbox.left + 6 * ratio, y - 4 * ratio);
    }
    for (const [x, words] of chart.marks) {
      const at = u.valToPos(chart.toX(x), "x", true);
      line(context, [[at, bbox.top], [at, bbox.top + bbox.height]]);
      context.save();
      context.translate(at - 4 * ratio, bbox.top + 4 * ratio);
      context.rotate(-Math.PI / 2);
      context.textAlign = "right";
      context.fillText(words, 0, 0);
      context.restore();
    }
  };

  const drawBand = (chart, u, stroke) => {
    const band = stroke.filter((p) => fits(p.about.low, chart.log_y) && fits(p.about.high, chart.log_y));
    if (band.length < 2) return;
    const context = u.ctx;
    context.globalAlpha = 0.18;
    context.beginPath();
    band.forEach((p, at) => {
      const dot = place(chart, u, p, p.about.high);
      if (at) context.lineTo(...dot);
      else context.moveTo(...dot);
    });
    [...band].reverse().forEach((p) => context.lineTo(...place(chart, u, p, p.about.low)));
    context.fill();
    context.globalAlpha = 1;
  };

  const drawSeries = (chart, u, one, ratio) => {
    const { ctx: context, bbox } = u;
    context.strokeStyle = context.fillStyle = colour(one.at);
    one.strokes.forEach((stroke) => drawBand(chart, u, stroke));
    if (chart.best) {
      context.globalAlpha = 0.7;
      context.lineWidth = 1.2 * ratio;
      context.setLineDash([1.5 * ratio, 4 * ratio]);
      for (const stroke of one.strokes) {
        const seen = stroke.filter((p) => fits(p.about.best, chart.log_y));
        line(context, seen.map((p) => place(chart, u, p, p.about.best)));
      }
      context.globalAlpha = 1;
    }
    context.lineWidth = 2 * ratio;
    context.setLineDash(DASHES[one.at % DASHES.length].map((d) => d * ratio));
    if (!one.scatter) one.strokes.forEach((stroke) => line(context, stroke.map((p) => place(chart, u, p))));
    context.setLineDash([]);
    context.lineWidth = 1.6 * ratio;
    const hollow = one.behind && "behind";
    one.points.forEach((p) => mark(context, ...place(chart, u, p), p.about.grade || hollow, ratio));
    if (chart.series.length > 1) {
      const [x, y] = place(chart, u, one.points[one.points.length - 1]);
      context.font = `bold ${13 * ratio}px ${FONT}`;
      context.textAlign = "left";
      const right = bbox.left + bbox.width - 10 * ratio;
      context.fillText(letter(one.at), Math.min(x + 6 * ratio, right), Math.max(y - 5 * ratio, bbox.top + 12 * ratio));
    }
  };

  const draw = (chart, u, ratio) => {
    const { ctx: context, bbox } = u;
    context.save();
    context.beginPath();
    context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    context.clip();
    drawMarks(chart, u, ratio);
    const shown = chart.series.filter((s) => s.shown && s.points.length);
    // What is drawn later covers what is there.
    const ordered = [...shown].sort((a, b) => b.behind - a.behind);
    ordered.forEach((one) => drawSeries(chart, u, one, ratio));
    context.restore();
  };

  // The values at the ticks of both axes, and their texts.
  const splitX = (chart, u, min, max) => {
    const found = steps(min, max, u.width / (chart.bySize ? 60 : 80));
    return chart.counted ? found.filter(Number.isInteger) : found;
  };
  const splitY = (chart, min, max) => (chart.log_y ? rounds(10 ** min, 10 ** max, 6).map(Math.log10) : steps(min, max, 6));
  const textX = (chart, v) => (chart.bySize ? size(2 ** v) : number(v));
  const textY = (chart, v) => number(chart.log_y ? 10 ** v : v);
  // What each axis is of.
  const titleX = (chart) => (chart.bySize ? "size, bytes" : chart.x_unit);
  const titleY = (chart) => chart.unit;

  const options = (chart, hover) => {
    const stroke = () => css("--line");
    const font = `12px ${FONT}`;
    const title = { labelFont: font, labelSize: 18, labelGap: 2 };
    const axis = { stroke: () => css("--dim"), grid: { stroke, width: 1 }, ticks: { stroke, width: 1 }, font, ...title };
    return {
      width: 600,
      height: HEIGHT,
      padding: [12, 14, 0, 0],
      legend: { show: false },
      cursor: { points: { show: false }, drag: { x: true, y: false }, y: false },
      scales: {
        // The library sets the scales after it has all ranges: the range of y needs the new ends of x.
        x: { time: false, range: (u, min, max) => (chart.ends = u.zoomed ? [min, max] : chart.whole) },
        y: { range: () => yRange(chart) },
      },
      series: [{}, { paths: () => null, points: { show: false } }],
      axes: [
        { ...axis, label: titleX(chart), size: 34, splits: (u, at, min, max) => splitX(chart, u, min, max), values: (u, found) => found.map((v) => textX(chart, v)) },
        { ...axis, label: titleY(chart), size: 58, splits: (u, at, min, max) => splitY(chart, min, max), values: (u, found) => found.map((v) => textY(chart, v)) },
      ],
      hooks: {
        draw: [(u) => draw(chart, u, uPlot.pxRatio)],
        setSelect: [(u) => (u.zoomed = u.zoomed || u.select.width > 0)],
        setCursor: [hover],
      },
    };
  };

  const words = (chart, one, p) => {
    const at = chart.bySize ? size(p.x) : `${number(p.x)} ${chart.x_unit}`;
    const lines = [`${letter(one.at)} ${one.name || chart.title}`, `${at}: ${number(p.y)} ${chart.unit}`];
    if (fits(p.about.low) && fits(p.about.high)) lines.push(`interval ${number(p.about.low)} to ${number(p.about.high)}`);
    if (fits(p.about.best)) lines.push(`best ${number(p.about.best)} ${chart.unit}`);
    const grade = [p.about.grade, p.about.why].filter(Boolean).join(": ");
    return [...lines, p.about.of, grade].filter(Boolean).join("\n");
  };

  // The library sets the scale later: the next key goes on from here.
  const setX = (chart, u, ends) => {
    chart.ends = ends;
    u.setScale("x", { min: ends[0], max: ends[1] });
  };

  const reset = (chart, u) => {
    u.zoomed = false;
    setX(chart, u, chart.whole);
  };

  // Keys that zoom: how much wider the shown part of x gets; 0 shows all of it.
  const ZOOMS = { "+": 0.5, "=": 0.5, "-": 2, 0: Infinity };
  // A narrower part of x has no point, or one.
  const NARROWEST = 1 / 256;

  // Shows a part of x of some width about a place, within all of it.
  const showPart = (chart, u, width, middle) => {
    const [from, to] = chart.whole;
    const start = Math.max(from, Math.min(to - width, middle - width / 2));
    u.zoomed = true;
    setX(chart, u, [start, start + width]);
  };

  // About the point that was read last, or about the middle.
  const zoomBy = (chart, u, factor, at) => {
    const [low, high] = chart.ends;
    const all = chart.whole[1] - chart.whole[0];
    const width = Math.max((high - low) * factor, all * NARROWEST);
    if (width >= all) reset(chart, u);
    else showPart(chart, u, width, at ?? (low + high) / 2);
  };

  // Moves the shown part of x so that a place is in it; returns whether it had to.
  const turnTo = (chart, u, x) => {
    const [low, high] = chart.ends;
    if (x >= low && x <= high) return false;
    showPart(chart, u, high - low, x);
    return true;
  };

  // The values of a point, by pointer and by keyboard.
  const reader = (chart, holder) => {
    const tip = element("div", { className: "tip", hidden: true });
    tip.setAttribute("role", "status");
    const show = (u, one, p) => {
      const [x, y] = place(chart, u, p).map((v) => v / uPlot.pxRatio);
      tip.textContent = words(chart, one, p);
      tip.hidden = false;
      tip.style.left = `${Math.max(0, Math.min(x + 12, holder.clientWidth - tip.offsetWidth - 4))}px`;
      tip.style.top = `${Math.max(0, y - tip.offsetHeight - 8)}px`;
    };
    const hover = (u) => {
      const { left, top } = u.cursor;
      tip.hidden = true;
      if (left < 0) return;
      let best = [30, null, null];
      for (const one of chart.series.filter((s) => s.shown)) {
        for (const p of one.points) {
          const away = Math.hypot(u.valToPos(chart.toX(p.x), "x") - left, u.valToPos(chart.toY(p.y), "y") - top);
          if (away < best[0]) best = [away, one, p];
        }
      }
      if (best[1]) show(u, best[1], best[2]);
    };
    let at = [0, -1];
    const key = (u, event) => {
      // With these the keys are the browser's.
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const shown = chart.series.filter((s) => s.shown && s.points.length);
      const zoom = ZOOMS[event.key];
      if (zoom !== undefined) {
        event.preventDefault();
        tip.hidden = true;
        const read = at[1] < 0 ? null : shown[Math.min(at[0], shown.length - 1)]?.points[at[1]];
        zoomBy(chart, u, zoom, read && chart.toX(read.x));
        return;
      }
      const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
      if (event.key === "Escape") tip.hidden = true;
      if (!move || !shown.length) return;
      event.preventDefault();
      const clamp = (v, n) => Math.max(0, Math.min(n - 1, v));
      const series = clamp(at[0] + move[0], shown.length);
      at = [series, clamp(at[1] + move[1], shown[series].points.length)];
      const point = shown[series].points[at[1]];
      if (turnTo(chart, u, chart.toX(point.x))) requestAnimationFrame(() => show(u, shown[series], point));
      else show(u, shown[series], point);
    };
    return { tip, hover, key };
  };

  // Title and legend of a saved picture; returns their height.
  const head = (chart, context, ratio) => {
    const named = chart.series.length > 1 ? chart.series : [];
    context.font = `bold ${13 * ratio}px ${FONT}`;
    context.textAlign = "left";
    context.fillStyle = css("--text");
    context.fillText(chart.title, 10 * ratio, 18 * ratio);
    named.forEach((one, at) => {
      context.fillStyle = colour(one.at);
      context.fillText(`${letter(one.at)} ${one.name}${one.shown ? "" : " (hidden)"}`, 10 * ratio, (36 + 18 * at) * ratio);
    });
    return headHeight(chart) * ratio;
  };
  const headHeight = (chart) => 26 + 18 * (chart.series.length > 1 ? chart.series.length : 0);

  const save = (chart, kind, href) => element("a", { download: `${chart.id}.${kind}`, href }).click();

  const savePng = (chart, u) => {
    const from = u.ctx.canvas;
    const ratio = uPlot.pxRatio;
    const to = element("canvas", { width: from.width, height: from.height + headHeight(chart) * ratio });
    const context = to.getContext("2d");
    context.fillStyle = css("--sheet");
    context.fillRect(0, 0, to.width, to.height);
    context.drawImage(from, 0, head(chart, context, ratio));
    save(chart, "png", to.toDataURL("image/png"));
  };

  // The same picture in vectors: drawn by the same functions, with axes of its own.
  const saveSvg = (chart, u) => {
    const ratio = uPlot.pxRatio;
    const pen = new SvgPen(u.width, u.height + headHeight(chart));
    pen.fillStyle = css("--sheet");
    pen.fillRect(0, 0, pen.width, pen.height);
    pen.translate(0, head(chart, pen, 1));
    const bbox = Object.fromEntries(Object.entries(u.bbox).map(([side, v]) => [side, v / ratio]));
    const at = (v, scale) => u.valToPos(v, scale, true) / ratio;
    const [right, bottom] = [bbox.left + bbox.width, bbox.top + bbox.height];
    pen.font = `12px ${FONT}`;
    pen.fillStyle = css("--dim");
    pen.strokeStyle = css("--line");
    const { x, y } = u.scales;
    for (const v of splitX(chart, u, x.min, x.max)) {
      line(pen, [[at(v, "x"), bbox.top], [at(v, "x"), bottom + 5]]);
      pen.textAlign = "center";
      pen.fillText(textX(chart, v), at(v, "x"), bottom + 18);
    }
    for (const v of splitY(chart, y.min, y.max)) {
      line(pen, [[bbox.left - 5, at(v, "y")], [right, at(v, "y")]]);
      pen.textAlign = "right";
      pen.fillText(textY(chart, v), bbox.left - 8, at(v, "y") + 4);
    }
    pen.textAlign = "center";
    pen.fillText(titleX(chart), (bbox.left + right) / 2, bottom + 34);
    pen.save();
    pen.translate(12, (bbox.top + bottom) / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(titleY(chart), 0, 0);
    pen.restore();
    draw(chart, { ctx: pen, bbox, valToPos: at }, 1);
    save(chart, "svg", `data:image/svg+xml,${encodeURIComponent(pen.picture())}`);
  };

  // Buttons: the series, `best`, zoom, picture.
  const controls = (chart, u) => {
    const tools = element("div", { className: "tools" });
    const button = (label, act) => {
      const one = element("button", { type: "button" });
      one.append(...label);
      one.addEventListener("click", () => act(one));
      tools.append(one);
      return one;
    };
    const toggle = (label, change) => {
      const one = button(label, () => {
        one.setAttribute("aria-pressed", String(change()));
        setX(chart, u, chart.ends);
        u.redraw();
      });
      one.setAttribute("aria-pressed", "true");
      return one;
    };
    for (const one of chart.series.length > 1 ? chart.series : []) {
      const key = element("span", { className: "key" });
      key.style.borderTop = `2.5px ${one.at % DASHES.length ? "dashed" : "solid"} var(--s${one.at % 6})`;
      toggle([key, `${letter(one.at)} ${one.name}`], () => (one.shown = !one.shown)).dataset.series = one.at;
    }
    if (chart.best) toggle(["best (dotted)"], () => (chart.best = !chart.best));
    u.over.addEventListener("dblclick", () => reset(chart, u));
    button(["Reset zoom"], () => reset(chart, u)).className = "end";
    button(["Save PNG"], () => savePng(chart, u));
    button(["Save SVG"], () => saveSvg(chart, u));
    return tools;
  };

  const make = (figure) => {
    const chart = read(figure);
    if (!chart.points.length) return;
    const ends = ({ points }) =>
      points.length ? `${number(points[0].y)} to ${number(points[points.length - 1].y)} ${chart.unit}` : "no point";
    const spoken = chart.series.map((s) => `${s.name} ${ends(s)}`).join("; ");
    const holder = element("div", { className: "plot", tabIndex: 0 });
    holder.setAttribute("role", "img");
    holder.setAttribute("aria-label", `${chart.title}: ${spoken}. The arrow keys read points, + and - zoom, 0 shows all.`);
    const { tip, hover, key } = reader(chart, holder);
    const plot = new uPlot(options(chart, hover), [chart.xs, chart.xs.map(() => null)], holder);
    holder.addEventListener("keydown", (event) => key(plot, event));
    holder.addEventListener("blur", () => (tip.hidden = true));
    const only = chart.series.length === 1 ? chart.series[0].name : "";
    const caption = element("div", { className: "axis", textContent: only });
    // Beside the picture, not in it: what is inside of an image is not read out.
    const frame = element("div", { className: "frame" });
    frame.append(holder, tip);
    figure.querySelector("pre").replaceWith(controls(chart, plot), caption, frame);
    const fit = () => plot.setSize({ width: Math.max(240, holder.clientWidth), height: HEIGHT });
    new ResizeObserver(fit).observe(holder);
    fit();
    charts.push(plot);
    figure.dataset.drawn = "yes";
  };

  document.querySelectorAll("figure.chart").forEach((figure) => {
    try {
      make(figure);
    } catch (error) {
      // The drawing in characters stays, and so do the other charts.
      console.error(error);
    }
  });
  const redraw = () => charts.forEach((plot) => plot.redraw(false, true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", redraw);
  addEventListener("afterprint", redraw);
})();
