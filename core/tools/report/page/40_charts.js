// SPDX-License-Identifier: Apache-2.0
// Coverage, timeline, roofline, memory and the table of kernels.

function stack(shares) {
  const whole = sum(shares.map(([, value]) => value));
  return make("div", { class: "stack" }, shares.filter(([, value]) => value > 0).map(([id, value]) => {
    const part = make("span", { title: `${id || "no plugin"}: ${percent(value, whole)}` });
    part.style.width = `${(100 * value) / whole}%`;
    part.style.background = pluginOf(id).colour;
    return part;
  }));
}

// Adds up ops, flops and time by plugin. The time is that of the regions.
function shares(configuration) {
  const rows = new Map();
  const row = (id) => {
    if (!rows.has(id)) rows.set(id, { id, regions: 0, ops: 0, flops: 0, ns: 0 });
    return rows.get(id);
  };
  for (const plugin of configuration.explain.plugins)
    Object.assign(row(plugin.plugin), { regions: plugin.regions, ops: plugin.ops, flops: plugin.flops });
  for (const figure of configuration.figures.values()) row(figure.run_by.split(" ")[0]).ns += figure.median_ns;
  return [...rows.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

function coverage(configuration) {
  const rows = shares(configuration), total = (key) => sum(rows.map((row) => row[key]));
  const by = (name, key) => [make("p", {}, name), stack(rows.map((row) => [row.id, row[key]]))];
  const bars = [by("ops", "ops"), by("work", "flops"), configuration.total ? by("time", "ns") : []].flat();
  const kinds = new Map(), ids = rows.map((row) => row.id);
  for (const op of configuration.explain.ops) {
    if (!kinds.has(op.op)) kinds.set(op.op, new Map());
    kinds.get(op.op).set(op.plugin, (kinds.get(op.op).get(op.plugin) || 0) + 1);
  }
  const perKind = [...kinds].sort((a, b) => sum([...b[1].values()]) - sum([...a[1].values()]));
  return make("div", {}, bars,
    make("div", { class: "scroll" }, table(["plugin", ">regions", ">ops", ">work", ">time"], rows.map((row) =>
      [pluginName(row.id), String(row.regions), `${row.ops} (${percent(row.ops, total("ops"))})`,
        percent(row.flops, total("flops")),
        configuration.total ? `${formatTime(row.ns)} (${percent(row.ns, total("ns"))})` : "-"]))),
    make("details", {}, make("summary", {}, `by kind of op (${perKind.length})`),
      make("div", { class: "scroll" }, table(["op", ...ids.map((id) => `>${id || "no plugin"}`)],
        perKind.map(([op, counts]) => [op, ...ids.map((id) => String(counts.get(id) || ""))])))));
}

// Makes an SVG chart of `width` x `height` units from the text of its elements.
function chart(width, height, label, content, hits, kind = "fixed") {
  const box = make("div");
  box.innerHTML = `<svg class="chart ${kind}" viewBox="0 0 ${width} ${height}" role="img" ` +
    `aria-label="${escape(label)}">${content}</svg>`;
  box.firstChild.addEventListener("click", (event) => {
    const hit = event.target.closest("[data-hit]");
    if (hit) hits[+hit.dataset.hit]();
  });
  return box;
}
const textAt = (x, y, anchor, text) => `<text x="${x}" y="${y}" text-anchor="${anchor}">${escape(text)}</text>`;
const noTimes = (configuration) => make("p", { class: "faint" },
  configuration.explain.uncompiled ? "The model does not compile with these flags."
    : data.interrupted ? "Interrupted before this was timed." : "Made with --no-run.");

function timeline(configuration, index) {
  if (!configuration.trace) return noTimes(configuration);
  const events = configuration.trace.traceEvents.filter((event) => event.ph === "X");
  const names = new Map(configuration.trace.traceEvents.filter((event) => event.ph === "M")
    .map((event) => [event.tid, event.args.name]));
  const tracks = [...new Set(events.map((event) => event.tid))].sort((a, b) => a - b);
  const end = events.reduce((last, event) => Math.max(last, event.ts + event.dur), 1e-3);
  const steps = events.filter((event) => event.cat === "step");
  const stepAt = (time) => steps.findLast((step) => step.ts <= time + 1e-6);
  const box = make("div", { class: "scroll" }), zooms = make("div", { class: "bar" });
  const draw = (factor) => {
    const width = (configurations.length > 1 ? 520 : 900) * factor, row = 34, hits = [];
    const scale = (width - 4) / end, parts = [];
    tracks.forEach((track, k) =>
      parts.push(`<text x="2" y="${k * row + 12}">${escape(names.get(track) || track)}</text>`));
    for (const event of events) {
      const step = event.cat === "step" ? event : stepAt(event.ts);
      const plugin = pluginOf(step ? step.args.run_by : "");
      const name = step ? step.name : "";
      const words = `${event.name}\n${formatTime(event.dur * 1000)}\n${event.args.implementation || ""}`;
      hits.push(() => chooseSpan(index, event, name));
      parts.push(`<rect class="hit" data-hit="${hits.length - 1}" x="${2 + event.ts * scale}" ` +
        `y="${tracks.indexOf(event.tid) * row + 15}" width="${Math.max(event.dur * scale, 0.4)}" height="17" ` +
        `fill="${plugin.colour}"><title>${escape(words)}</title></rect>`);
    }
    const y = tracks.length * row + 4, ticks = (configurations.length > 1 ? 3 : 5) * factor;
    for (let k = 0; k <= ticks; ++k) {
      const part = k / ticks, anchor = k === 0 ? "start" : part === 1 ? "end" : "middle";
      parts.push(textAt(2 + part * (width - 4), y + 12, anchor, formatTime(part * end * 1000)));
    }
    const drawn = chart(width, y + 16, "timeline of one run", parts.join(""), hits, "");
    drawn.style.width = `${100 * factor}%`;
    box.replaceChildren(drawn);
  };
  for (const factor of [1, 4, 16]) zooms.append(make("button", { onclick: () => draw(factor) }, `${factor}\u00d7`));
  draw(1);
  return make("div", {}, zooms, box);
}
// Chooses the op of a span where it has the name of one, else the region of its step.
function chooseSpan(configuration, event, region) {
  const op = configurations[configuration].explain.ops.findIndex(
    (o) => event.cat !== "step" && o.name === event.name && o.function === region);
  const node = op >= 0 ? nodeOfOp(configuration, op) : -1;
  if (node >= 0) chooseNode(configuration, node);
  else chooseRegion(configuration, region);
}

const decades = (low, high) => {
  const out = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); ++k) out.push(10 ** k);
  return out;
};

function roofline(configuration, index) {
  if (!configuration.total) return noTimes(configuration);
  const { gflop_per_s: peak, gb_per_s: speed } = configuration.peaks;
  const { graph } = configuration;
  const inside = configuration.nodeFigures.map((figure, node) => figure &&
    { ...figure, node, name: nodeName(index, node), run_by: graphs[index].owners[node] }).filter((point) => point);
  const regions = inside.map((point) => graph.nodes[point.node].region).filter((region) => region !== null);
  const whole = new Set(regions.map((region) => graph.regions[region].function));
  const points = [...configuration.figures.values()]
    .map((f) => ({ ...f, name: f.region, isWhole: whole.has(f.region) })).concat(inside)
    .filter((f) => f.flops > 0 && f.bytes > 0 && f.median_ns > 0)
    .map((f) => ({ ...f, intensity: f.flop_per_byte, rate: f.gflop_per_s }));
  if (!points.length) return make("p", { class: "faint" }, "No kernel has floating-point work.");
  const range = (key, low, high) =>
    decades(points.reduce((a, p) => Math.min(a, p[key]), low), points.reduce((a, p) => Math.max(a, p[key]), high));
  const xs = range("intensity", 0.1, 100), ys = range("rate", 0.1, Math.max(peak, 1)), right = xs[xs.length - 1];
  const [left, top, width, height] = [62, 10, 640, 300];
  const place = (value, ticks) => Math.log10(value / ticks[0]) / Math.log10(ticks[ticks.length - 1] / ticks[0]);
  const x = (value) => left + place(value, xs) * (width - left - 14);
  const y = (value) => top + (1 - place(value, ys)) * (height - top - 46);
  const parts = [], hits = [];
  for (const tick of xs)
    parts.push(`<path class="axis" d="M${x(tick)} ${y(ys[0])}V${top}"/>`,
      textAt(x(tick), y(ys[0]) + 14, "middle", +tick.toPrecision(1)));
  for (const tick of ys)
    parts.push(`<path class="axis" d="M${left} ${y(tick)}H${x(right)}"/>`,
      textAt(left - 5, y(tick) + 4, "end", +tick.toPrecision(1)));
  parts.push(textAt((left + width) / 2, height - 10, "middle", "FLOP per byte"),
    `<g transform="rotate(-90 14 ${height / 2})">${textAt(14, height / 2, "middle", "GFLOP/s")}</g>`);
  if (peak > 0 && speed > 0) {
    const low = Math.max(xs[0], ys[0] / speed), knee = peak / speed;
    parts.push(`<path class="roof" d="M${x(low)} ${y(low * speed)}L${x(knee)} ${y(peak)}H${x(right)}"/>`,
      textAt(x(right), y(peak) - 5, "end", `${fixed(peak, 1)} GFLOP/s`),
      textAt(x(low) + 46, y(low * speed) + 4, "start", `${fixed(speed, 1)} GB/s`));
  }
  for (const point of points.sort((a, b) => b.median_ns - a.median_ns)) {
    const radius = 3.5 + 14 * Math.sqrt(point.median_ns / configuration.total);
    const { node, region, name, rate, intensity, median_ns: ns } = point, { colour } = pluginOf(point.run_by);
    hits.push(() => (node !== undefined ? chooseNode(index, node) : chooseRegion(index, region)));
    const words = `${name}\n${fixed(rate, 2)} GFLOP/s\n${fixed(intensity, 2)} FLOP per byte\n${formatTime(ns)}`;
    const look = point.isWhole ? `fill="none" style="stroke:${colour};stroke-width:2"`
      : `fill="${colour}" fill-opacity=".75"`;
    parts.push(`<circle class="hit" data-hit="${hits.length - 1}" cx="${x(intensity)}" cy="${y(rate)}" r="${radius}" ` +
      `${look}><title>${escape(words)}</title></circle>`);
  }
  const above = peak > 0 ? points.filter((point) => point.rate > peak).length : 0;
  return make("div", {}, chart(width, height, "roofline of the kernels", parts.join(""), hits),
    above ? make("p", { class: "bad" }, `${above} above the flat roof: fewer operations than counted (Winograd), ` +
      "types smaller than f32, or a machine that was busy while the roof was measured.") : null,
    make("p", { class: "faint" }, "One circle per kernel, its area by time; a ring is a region whose kernel reports " +
      "the times inside of it. Bytes are those of arguments and weights, each once. The roofs were measured in the " +
      "same run; kernels whose data stay in caches can be above the sloped one."));
}

function memory(configuration, index) {
  if (!configuration.memory) return noTimes(configuration);
  const { arena_bytes: arena, peak_live_bytes: least, steps, values } = configuration.memory;
  const note = make("p", { class: "faint" },
    `arena ${formatBytes(arena)}; no plan needs less than ${formatBytes(least)}; ` +
    `${values.length} values in ${steps} steps; the largest workspace of a kernel is ` +
    formatBytes(configuration.steps.reduce((most, step) => Math.max(most, step.workspace_bytes || 0), 0)));
  if (!values.length) return note;
  const [left, top, width, height] = [62, 8, 640, 260], hits = [], parts = [];
  const x = (step) => left + (step / steps) * (width - left - 8);
  const y = (byte) => top + (byte / arena) * (height - top - 34);
  for (let k = 0, at = 0; k <= 4; ++k, at = (arena * k) / 4)
    parts.push(`<path class="axis" d="M${left} ${y(at)}H${x(steps)}"/>`,
      textAt(left - 4, y(at) + 4, "end", formatBytes(Math.round(at))));
  for (const value of values) {
    const figure = configuration.figures.get(value.region);
    hits.push(() => chooseRegion(index, value.region));
    const words = `${value.region}: ${value.type}\n${formatBytes(value.bytes)} at ${value.offset}\n` +
      `steps ${value.first} to ${value.last}`;
    const wide = Math.max(x(value.last + 1) - x(value.first), 1);
    const high = Math.max(y(value.offset + value.bytes) - y(value.offset), 1);
    parts.push(`<rect class="hit" data-hit="${hits.length - 1}" x="${x(value.first)}" y="${y(value.offset)}" ` +
      `width="${wide}" height="${high}" ` +
      `fill="${pluginOf(figure ? figure.run_by : "").colour}"><title>${escape(words)}</title></rect>`);
  }
  parts.push(textAt(left, height - 18, "start", "step 0"), textAt(x(steps), height - 18, "end", `step ${steps - 1}`));
  return make("div", {}, chart(width, height - 10, "memory over the steps", parts.join(""), hits), note);
}

function kernels(configuration, index) {
  if (!configuration.total) return noTimes(configuration);
  const all = [...configuration.figures.values()].sort((a, b) => b.median_ns - a.median_ns);
  const titles = [">step", "region", "run by", ">median", ">share", ">GFLOP/s", ">FLOP/byte", "kernel", "nodes"];
  const rowOf = (f) => ({ value: f.region, cells: [String(f.step), f.region, pluginName(f.run_by),
    formatTime(f.median_ns), percent(f.median_ns, configuration.total), f.gflop_per_s ? fixed(f.gflop_per_s, 2) : "-",
    f.flop_per_byte ? fixed(f.flop_per_byte, 2) : "-", f.kernel,
    f.nodes.slice(0, 3).join(", ") + (f.nodes.length > 3 ? ` and ${f.nodes.length - 3} more` : "")] });
  const box = make("div", { class: "scroll" });
  const show = (n) => box.replaceChildren(
    table(titles, all.slice(0, n).map(rowOf), (name) => chooseRegion(index, name)),
    all.length > n ? make("button", { onclick: () => show(all.length) }, `all ${all.length}`) : "");
  show(30);
  return box;
}
