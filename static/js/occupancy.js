// The occupancy chart with uPlot: drag or buttons zoom, hover names the event, a click opens it, new events extend it.
// Unknown stays a gap. The drawing that came with the page is its fallback and is hidden only when this one stands.

const UNIT = 12;

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// light-dark() has to be resolved by the browser: an element that uses the token tells the colour in force.
function resolved(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

class OccupancyChart {
  constructor(panel) {
    this.panel = panel;
    this.canvas = panel.querySelector(".chart-canvas");
    this.reading = panel.querySelector(".chart-reading");
    this.series = null;
    this.plot = null;
  }

  async load() {
    const answer = await fetch(this.panel.dataset.series);
    if (!answer.ok) return;
    const zoom = this.plot && !this.isWhole() ? { ...this.plot.scales.x } : null;
    this.series = await answer.json();
    // Changes of settings stand on the rail beside the passes.
    this.series.passes = [...this.series.passes, ...this.series.changes].sort((one, other) => one.seq - other.seq);
    if (this.series.seqs.length < 2 || this.series.shares.every((share) => share === null)) return;
    this.draw();
    if (zoom) this.plot.setScale("x", { min: zoom.min, max: zoom.max });
  }

  isWhole() {
    const { min, max } = this.plot.scales.x;
    return min <= this.series.seqs[0] && max >= this.series.seqs.at(-1);
  }

  draw() {
    this.plot?.destroy();
    this.canvas.hidden = false;
    this.panel.querySelector(".chart-fallback").hidden = true;
    this.panel.querySelector(".chart-tools").hidden = false;
    this.plot = new uPlot(this.options(), [this.series.seqs, this.series.shares], this.canvas);
    this.canvas.querySelector(".u-over").addEventListener("click", () => this.open());
  }

  options() {
    const ink = resolved("--text-3");
    const grid = { stroke: resolved("--line"), width: 1 };
    const font = `11px ${colour("--sans")}`;
    const highest = Math.max(100, ...this.series.shares.filter((share) => share !== null));
    return {
      width: this.canvas.clientWidth,
      height: this.canvas.clientWidth < 600 ? 220 : 300,
      padding: [18, 18, 0, 0],
      legend: { show: false },
      cursor: { drag: { x: true, y: false, dist: 6 }, points: { size: 7 }, y: false },
      scales: { x: { time: false }, y: { range: [0, highest * 1.08] } },
      axes: [
        { stroke: ink, font, grid: { show: false }, ticks: grid, size: 52, values: (_plot, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? tick.toLocaleString("en") : "")) },
        { stroke: ink, font, grid, ticks: { show: false }, size: 40, splits: () => [0, 25, 50, 75, 100].filter((tick) => tick <= highest * 1.08) },
      ],
      series: [{}, { stroke: resolved("--accent"), width: 1.75, spanGaps: false, points: { show: false } }],
      hooks: { draw: [(plot) => this.decorate(plot)], setCursor: [(plot) => this.read(plot)] },
    };
  }

  decorate(plot) {
    const { ctx } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    const y = plot.valToPos(100, "y", true);
    ctx.strokeStyle = ctx.fillStyle = resolved("--signal");
    ctx.lineWidth = 1.25 * ratio;
    ctx.setLineDash([5 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(plot.bbox.left, y);
    ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.font = `${11 * ratio}px ${colour("--sans")}`;
    ctx.textAlign = "right";
    ctx.textBaseline = "alphabetic";
    if (this.series.threshold !== null) {
      const { threshold, thresholdMoved } = this.panel.dataset;
      const words = this.series.is_threshold_moved ? thresholdMoved : threshold;
      ctx.fillText(`${words} ${this.series.threshold.toLocaleString("en")}`, plot.bbox.left + plot.bbox.width, y - 5 * ratio);
    }
    const base = plot.bbox.top + plot.bbox.height + 40 * ratio;
    const inside = this.series.passes
      .map((made) => ({ made, x: plot.valToPos(made.seq, "x", true) }))
      .filter(({ x }) => x >= plot.bbox.left - 1 && x <= plot.bbox.left + plot.bbox.width + 1);
    const places = pushApart(inside.map(({ x }) => x), plot.bbox.left + plot.bbox.width, ratio);
    inside.forEach(({ made }, index) => drawMark(ctx, made.icon, places[index], base, ratio));
    ctx.restore();
  }

  read(plot) {
    const index = plot.cursor.idx;
    if (index === null || index === undefined) return (this.reading.hidden = true);
    const seq = this.series.seqs[index];
    const share = this.series.shares[index];
    const made = this.series.passes.find((one) => one.seq === seq);
    const words = [`${this.panel.dataset.event} ${seq.toLocaleString("en")}`];
    words.push(share === null ? this.panel.dataset.unknown : `${share.toFixed(1)} %`);
    words.push(`${this.series.tokens[index].toLocaleString("en")} ${this.panel.dataset.tokens}`);
    if (made) words.push(made.words);
    this.reading.hidden = false;
    this.reading.textContent = words.join(", ");
  }

  open() {
    const index = this.plot.cursor.idx;
    if (index === null || index === undefined || this.plot.select.width > 0) return;
    const seq = this.series.seqs[index];
    const near = this.series.passes.find((one) => Math.abs(this.plot.valToPos(one.seq, "x") - this.plot.cursor.left) < 6);
    location.href = near ? near.href : `${this.series.session}?show=model&at=${seq}`;
  }

  // The picture as it stands, on the page's own ground and with its title, under a name of its own.
  save(link) {
    const source = this.canvas.querySelector("canvas");
    const picture = document.createElement("canvas");
    const ratio = devicePixelRatio;
    const head = 34 * ratio;
    picture.width = source.width;
    picture.height = source.height + head;
    const ctx = picture.getContext("2d");
    ctx.fillStyle = resolved("--surface");
    ctx.fillRect(0, 0, picture.width, picture.height);
    ctx.fillStyle = resolved("--text");
    ctx.font = `600 ${13 * ratio}px ${colour("--sans")}`;
    ctx.fillText(this.panel.dataset.title, 12 * ratio, 22 * ratio, picture.width - 24 * ratio);
    ctx.drawImage(source, 0, head);
    picture.toBlob((blob) => {
      const address = URL.createObjectURL(blob);
      const anchor = Object.assign(document.createElement("a"), { href: address, download: link.dataset.png });
      anchor.click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    });
  }

  zoom(way) {
    const [first, last] = [this.series.seqs[0], this.series.seqs.at(-1)];
    let { min, max } = this.plot.scales.x;
    const span = max - min;
    if (way === "all") [min, max] = [first, last];
    if (way === "in") [min, max] = [min + span / 4, max - span / 4];
    if (way === "out") [min, max] = [min - span / 2, max + span / 2];
    if (way === "left") [min, max] = [min - span / 2, max - span / 2];
    if (way === "right") [min, max] = [min + span / 2, max + span / 2];
    if (max - min < 2) return;
    const width = Math.min(max - min, last - first);
    min = Math.min(Math.max(min, first), last - width);
    this.plot.setScale("x", { min, max: min + width });
  }
}

// Neighbours keep a mark's width between them while there is room, and none leaves the rail.
function pushApart(xs, right, ratio) {
  const gap = Math.min(UNIT * 0.75 * ratio, xs.length > 1 ? (right - xs[0]) / (xs.length - 1) : Infinity);
  const places = [];
  for (const x of xs) places.push(Math.max(x, (places.at(-1) ?? -Infinity) + gap));
  let limit = right;
  for (let index = places.length - 1; index >= 0; index -= 1) {
    places[index] = Math.min(places[index], limit);
    limit = places[index] - gap;
  }
  return places;
}

function drawMark(ctx, icon, x, y, ratio) {
  const r = 3.5 * ratio;
  ctx.beginPath();
  ctx.lineWidth = 1.5 * ratio;
  ctx.fillStyle = ctx.strokeStyle = resolved(icon === "fail" ? "--signal" : "--text-2");
  if (icon === "micro") ctx.arc(x, y, r, 0, 2 * Math.PI);
  else if (icon === "batch") ctx.rect(x - r, y - r, 2 * r, 2 * r);
  else if (icon === "defrag") polygon(ctx, [[x, y - r - ratio], [x + r + ratio, y], [x, y + r + ratio], [x - r - ratio, y]]);
  else if (icon === "set") sliders(ctx, x, y, r);
  else if (icon === "prune") polygon(ctx, [[x - r, y - r], [x + r, y - r], [x, y + r]]);
  else cross(ctx, x, y, r);
  if (icon === "micro" || icon === "batch") ctx.fill();
  else ctx.stroke();
}

function polygon(ctx, points) {
  points.forEach(([x, y], index) => (index ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  ctx.closePath();
}

function sliders(ctx, x, y, r) {
  for (const side of [-1, 1]) {
    ctx.moveTo(x - r, y + (side * r) / 2);
    ctx.lineTo(x + r, y + (side * r) / 2);
    ctx.moveTo(x + (side * r) / 2, y + (side * r) / 2 - r / 2);
    ctx.lineTo(x + (side * r) / 2, y + (side * r) / 2 + r / 2);
  }
}

function cross(ctx, x, y, r) {
  ctx.moveTo(x - r, y - r);
  ctx.lineTo(x + r, y + r);
  ctx.moveTo(x + r, y - r);
  ctx.lineTo(x - r, y + r);
}

const panel = document.getElementById("occupancy-chart");
if (panel && globalThis.uPlot) {
  const chart = new OccupancyChart(panel);
  chart.load();
  document.addEventListener("session-updated", () => chart.load());
  document.addEventListener("theme-changed", () => chart.series && chart.draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart.series && chart.draw());
  addEventListener("resize", () => chart.plot?.setSize({ width: chart.canvas.clientWidth, height: chart.plot.height }));
  panel.addEventListener("click", (event) => {
    const button = event.target.closest("[data-zoom]");
    if (button) chart.zoom(button.dataset.zoom);
    const link = event.target.closest("[data-png]");
    if (link) chart.save(link);
  });
}
