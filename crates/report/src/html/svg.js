"use strict";
// What charts and heat maps use of a canvas, written down as SVG.
class SvgPen {
  constructor(width, height) {
    Object.assign(this, { width, height, globalAlpha: 1, lineWidth: 1, textAlign: "left" });
    this.fillStyle = this.strokeStyle = "#000";
    this.font = "12px sans-serif";
    this.dash = [];
    this.transform = "";
    this.clipped = "";
    this.saved = [];
    this.path = "";
    this.out = [];
  }

  save() {
    const { fillStyle, strokeStyle, globalAlpha, lineWidth, textAlign, font, dash, transform, clipped } = this;
    this.saved.push({ fillStyle, strokeStyle, globalAlpha, lineWidth, textAlign, font, dash, transform, clipped });
  }
  restore() {
    Object.assign(this, this.saved.pop());
  }
  translate(x, y) {
    this.transform += ` translate(${SvgPen.short(x)} ${SvgPen.short(y)})`;
  }
  rotate(angle) {
    this.transform += ` rotate(${SvgPen.short((angle * 180) / Math.PI)})`;
  }
  setLineDash(dash) {
    this.dash = dash;
  }

  beginPath() {
    this.path = "";
  }
  moveTo(x, y) {
    this.path += `M${SvgPen.short(x)} ${SvgPen.short(y)}`;
  }
  lineTo(x, y) {
    this.path += `L${SvgPen.short(x)} ${SvgPen.short(y)}`;
  }
  closePath() {
    this.path += "Z";
  }
  rect(x, y, width, height) {
    this.path += `M${SvgPen.short(x)} ${SvgPen.short(y)}h${SvgPen.short(width)}v${SvgPen.short(height)}h${SvgPen.short(-width)}Z`;
  }
  // Only whole circles are drawn.
  arc(x, y, r) {
    this.path += `M${SvgPen.short(x - r)} ${SvgPen.short(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  }
  clip() {
    const id = `clip-${this.out.length}`;
    this.out.push(`<clipPath id="${id}"><path d="${this.path}"${this.moved()}/></clipPath>`);
    this.clipped = id;
  }

  stroke() {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    this.put("path", `fill="none" stroke="${SvgPen.text(this.strokeStyle)}" stroke-width="${this.lineWidth}"${dash} d="${this.path}"`);
  }
  fill() {
    this.put("path", `fill="${SvgPen.text(this.fillStyle)}" d="${this.path}"`);
  }
  fillRect(x, y, width, height) {
    this.beginPath();
    this.rect(x, y, width, height);
    this.fill();
  }
  // The pixels of a canvas: as rectangles they would be hundreds of thousands.
  drawImage(canvas, x, y, width, height) {
    const place = `x="${x}" y="${y}" width="${width}" height="${height}"`;
    this.put("image", `${place} style="image-rendering:pixelated" href='${canvas.toDataURL("image/png")}'`);
  }
  fillText(words, x, y) {
    const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign];
    const [, bold, size, family] = this.font.match(/^(bold )?([\d.]+)px (.*)$/);
    const weight = bold ? ' font-weight="bold"' : "";
    const place = `x="${SvgPen.short(x)}" y="${SvgPen.short(y)}" text-anchor="${anchor}"`;
    const font = `font-family="${SvgPen.text(family)}" font-size="${size}"${weight}`;
    this.put("text", `${place} ${font} fill="${SvgPen.text(this.fillStyle)}"`, SvgPen.text(words));
  }

  moved() {
    return this.transform ? ` transform="${this.transform.trim()}"` : "";
  }
  // A clip is in the coordinates of the picture, so it stands around what is moved.
  put(name, attributes, inside = "") {
    const alpha = this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";
    const element = `<${name} ${attributes}${alpha}${this.moved()}>${inside}</${name}>`;
    this.out.push(this.clipped ? `<g clip-path="url(#${this.clipped})">${element}</g>` : element);
  }

  picture() {
    const size = `width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${this.out.join("")}</svg>`;
  }
  static short(v) {
    return +v.toFixed(2);
  }
  static text(words) {
    const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
    return String(words).replace(/[&<>"]/g, (c) => names[c]);
  }
}
