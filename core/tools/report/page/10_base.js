// SPDX-License-Identifier: Apache-2.0
// Data, formats and small elements. All texts go through text nodes or escape().

const data = JSON.parse(document.getElementById("data").textContent);
const configurations = data.configurations;
const plugins = new Map(data.plugins.map((p) => [p.id, p]));
const noPlugin = { id: "", colour: "#b5b5b5", text: "#000000" };

const escape = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const pluginOf = (id) => plugins.get((id || "").split(" ")[0]) || noPlugin;  // "llvm native" is llvm

// Makes an element. Attributes that begin with "on" are handlers; children are elements or texts.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

const fixed = (value, digits) => value.toFixed(digits);
function formatTime(ns) {
  if (ns === null || ns === undefined) return "unknown";
  if (ns >= 1e9) return `${(ns / 1e9).toPrecision(ns >= 1e11 ? 4 : 3)} s`;
  const [value, unit] = ns >= 1e6 ? [ns / 1e6, "ms"] : [ns / 1e3, "us"];
  return `${value >= 100 ? fixed(value, 1) : value.toPrecision(3)} ${unit}`;
}
function formatBytes(bytes) {
  if (bytes >= 1 << 20) return `${fixed(bytes / (1 << 20), 2)} MiB`;
  return bytes >= 1024 ? `${fixed(bytes / 1024, 2)} KiB` : `${bytes} B`;
}
function formatFlops(flops) {
  for (const [size, unit] of [[1e9, "GFLOP"], [1e6, "MFLOP"], [1e3, "kFLOP"]])
    if (flops >= size) return `${fixed(flops / size, 2)} ${unit}`;
  return `${fixed(flops || 0, 0)} FLOP`;
}
const percent = (part, whole) => (whole > 0 ? `${fixed((100 * part) / whole, 1)} %` : "-");
const ofPeak = (share) => `${percent(share, 1)} of peak${share > 1 ? " (more than the peak that was measured)" : ""}`;
const sum = (values) => values.reduce((a, b) => a + (b || 0), 0);

const swatch = (id) => {
  const box = make("span", { class: "swatch" });
  box.style.background = pluginOf(id).colour;
  return box;
};
const pluginName = (id) => make("span", { class: "chip" }, swatch(id), id || "no plugin");

// Makes a table. A title that begins with ">" is a column of numbers; cells are texts or elements.
function table(titles, rows, choose) {
  const cells = (row, tag) =>
    row.map((cell, k) => make(tag, { class: titles[k].startsWith(">") ? "num" : "long" }, cell));
  const head = make("tr", {}, cells(titles.map((title) => title.replace(/^>/, "")), "th"));
  const body = rows.map((row) => {
    const line = make("tr", {}, cells(row.cells || row, "td"));
    if (choose && row.value !== undefined) {
      line.style.cursor = "pointer";
      line.addEventListener("click", () => choose(row.value));
    }
    return line;
  });
  return make("table", {}, make("thead", {}, head), make("tbody", {}, body));
}

// One column per configuration, with its name when there are several.
function columns(render) {
  return make("div", { class: "columns" }, configurations.map((configuration, index) =>
    make("div", {}, configurations.length > 1 ? make("h3", {}, configuration.name) : null,
      render(configuration, index))));
}

// All configurations one below the other, for wide tables.
function stacked(render) {
  return configurations.map((configuration, index) => {
    const part = render(configuration, index);
    return part && configurations.length > 1 ? [make("h3", {}, configuration.name), part] : [part];
  }).flat().filter(Boolean);
}

// The figures of a region: those of `byoc bench`, and the types of its arguments.
function regionFigures(configuration) {
  const figures = new Map();
  if (!configuration.bench) return figures;
  configuration.bench.configurations[0].regions.forEach((region, step) =>
    figures.set(region.region, { ...region, step, ...configuration.steps[step] }));
  return figures;
}
for (const configuration of configurations) {
  configuration.figures = regionFigures(configuration);
  configuration.total = sum([...configuration.figures.values()].map((figure) => figure.median_ns));
  configuration.result = configuration.bench ? configuration.bench.configurations[0] : null;
  configuration.peaks = (configuration.result && configuration.result.peaks) || { gflop_per_s: 0, gb_per_s: 0 };
  configuration.spans = configuration.bench ? configuration.bench.configurations[0].spans : [];
}

// The figures of a node whose kernel reports spans: its time, the work of its ops, and what they move.
for (const configuration of configurations) {
  const byStep = new Map();
  for (const span of configuration.spans) {
    const key = `${span.step} ${span.name}`;
    if (!byStep.has(key)) byStep.set(key, []);
    byStep.get(key).push(span);
  }
  configuration.spansOf = (node) => {
    const ops = node.ops.map((op) => configuration.explain.ops[op]);
    const keys = ops.filter((op) => configuration.figures.has(op.function))
      .map((op) => `${configuration.figures.get(op.function).step} ${op.name}`);
    return [...new Set(keys)].flatMap((key) => byStep.get(key) || []);
  };
  configuration.nodeFigures = configuration.graph.nodes.map((node) => {
    const ns = sum(configuration.spansOf(node).map((span) => span.median_ns * span.calls_per_run));
    const flops = sum(node.ops.map((op) => configuration.explain.ops[op].flops));
    if (!(ns > 0)) return null;
    return { median_ns: ns, flops, bytes: node.bytes, flop_per_byte: flops / node.bytes, gflop_per_s: flops / ns };
  });
}

// The choice of the user: what is selected, the plugin that is shown, ops with an equal reason.
const listeners = [];
const state = { chosen: null, plugin: null, same: null };
function change(changes) {
  Object.assign(state, changes);
  for (const listener of listeners) listener(changes);
}
const chooseNode = (configuration, node) => change({ chosen: { configuration, node } });
const chooseRegion = (configuration, name) => {
  const region = configurations[configuration].graph.regions.findIndex((r) => r.function === name);
  if (region >= 0) change({ chosen: { configuration, region } });
};
