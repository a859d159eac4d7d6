// SPDX-License-Identifier: Apache-2.0
// The panel about what is chosen: a node, a region, or all ops with one reason.

const list = (items) => make("ul", {}, items.map((item) => make("li", {}, item)));
function pairs(rows) {
  const present = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return make("dl", {}, present.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}
const link = (text, action) => make("button", { class: "link", onclick: action }, text);

function nodeOfOp(configuration, op) {
  return configurations[configuration].graph.nodes.findIndex((node) => node.ops.includes(op));
}
function opName(configuration, index) {
  const op = configurations[configuration].explain.ops[index];
  return `${op.op} ${op.name}`;
}
function nodeName(configuration, node) {
  const { ops, label } = configurations[configuration].graph.nodes[node];
  return ops.length ? opName(configuration, ops[0]) : label[0];
}

function tunedText(configuration, region) {
  const used = configurations[configuration].explain.tuning;
  const one = used && used.functions.find((f) => f.symbol === region);
  return one ? `${one.origin}${one.log ? `, ${one.log}` : ""}` : "";
}

// The times of a region, as `byoc bench` has them.
function figureRows(configuration, name) {
  const { figures, total } = configurations[configuration], figure = figures.get(name);
  if (!figure) return [];
  return [
    ["time", `${formatTime(figure.median_ns)} (p5 ${formatTime(figure.p5_ns)}, p95 ${formatTime(figure.p95_ns)})`],
    ["share", percent(figure.median_ns, total)],
    ["rate", figure.gflop_per_s ? `${fixed(figure.gflop_per_s, 2)} GFLOP/s` +
      (figure.share_of_peak ? `, ${ofPeak(figure.share_of_peak)}` : "") : ""],
    ["moves", figure.bytes ? `${formatBytes(figure.bytes)}, ${fixed(figure.gb_per_s, 2)} GB/s` : ""],
    ["intensity", figure.flop_per_byte ? `${fixed(figure.flop_per_byte, 2)} FLOP per byte` : ""],
    ["run by", figure.run_by], ["kernel", figure.kernel], ["step", String(figure.step)],
    ["is given", figure.inputs.join(", ")], ["gives", figure.outputs.join(", ")],
    ["tuning", tunedText(configuration, name)],
    ["workspace", figure.workspace_bytes ? formatBytes(figure.workspace_bytes) : ""],
  ];
}

// The time of a node inside of its region, when the kernel reports it.
function insideRows(configuration, node) {
  const { nodeFigures, total, peaks, graph, spansOf } = configurations[configuration], figure = nodeFigures[node];
  if (!figure) return [];
  const share = peaks.gflop_per_s ? `, ${ofPeak(figure.gflop_per_s / peaks.gflop_per_s)}` : "";
  const spans = spansOf(graph.nodes[node]);
  return [
    ["time", `${formatTime(figure.median_ns)}, ${percent(figure.median_ns, total)} of the run`],
    ["rate", figure.flops ? `${fixed(figure.gflop_per_s, 2)} GFLOP/s${share}` : ""],
    ["intensity", figure.flops ? `${fixed(figure.flop_per_byte, 2)} FLOP per byte` : ""],
    ["primitives", list(spans.map((span) => {
      const { src, wei, dst, implementation } = span.details;
      const layout = [src && `src ${src}`, wei && `weights ${wei}`, dst && `dst ${dst}`].filter(Boolean).join(", ");
      return [span.is_reorder ? "reorder" : "", implementation, formatTime(span.median_ns * span.calls_per_run), layout]
        .filter(Boolean).join(" \u00b7 ");
    }))],
  ];
}

// Marks the ops of a configuration for which the plugin gave the same verdict and reason.
function followReason(configuration, opinion) {
  const ops = new Set();
  const isSame = (other) => ["plugin", "verdict", "reason"].every((key) => other[key] === opinion[key]);
  configurations[configuration].explain.ops.forEach((op, k) => { if (op.opinions.some(isSame)) ops.add(k); });
  change({ same: { configuration, ops, opinion } });
}

// The candidates of each op with their costs. A group of ops is a candidate of each of its ops.
const candidatesOf = new Map();
for (const { ops } of data.costs || [])
  for (const { op, name, candidates } of ops)
    candidatesOf.set(`${op} ${name}`, [...(candidatesOf.get(`${op} ${name}`) || []), ...candidates]);
function candidatesTable({ op, name }) {
  const all = [...(candidatesOf.get(`${op} ${name}`) || [])].sort((a, b) => (a.ns ?? Infinity) - (b.ns ?? Infinity));
  const rows = all.map((one) => [
    make("span", { class: "chip" }, swatch(one.plugin), one.name),
    one.ns === null ? "cannot run" : formatTime(one.ns),
    [one.source, one.note].filter(Boolean).join(": ") + (one.chosen ? ", chosen" : "")]);
  return rows.length ? make("div", { class: "scroll candidates" }, table(["candidate", ">cost", "from"], rows)) : null;
}

function opPart(configuration, index) {
  const op = configurations[configuration].explain.ops[index];
  const extra = op.runs.slice(1).map((run) => `${run.op} in ${run.function}`);
  return make("section", { class: "op" },
    make("h3", {}, `${op.op} "${op.name}"`),
    pairs([
      ["taken by", pluginName(op.plugin)],
      ["region", op.function ? link(op.function, () => chooseRegion(configuration, op.function)) : ""],
      ["part of", op.composite], ["work", op.flops ? formatFlops(op.flops) : ""],
      ...otherRows(configuration, index),
      ["runs as", op.runs.length && op.runs[0].op !== op.op ? op.runs[0].op : ""], ["with", extra.join(", ")],
    ]),
    op.opinions.length ? list(op.opinions.map((opinion) => [
      make("b", {}, opinion.plugin), ` ${opinion.verdict}: `,
      make("button", { class: "link reason", title: "show all ops with this reason",
        onclick: () => followReason(configuration, opinion) }, opinion.reason),
    ])) : null,
    candidatesTable(op));
}

function neighbours(configuration, node) {
  const { edges } = configurations[configuration].graph, inputs = new Set(), outputs = new Set();
  for (const [from, to] of edges) {
    if (to === node) inputs.add(from);
    if (from === node) outputs.add(to);
  }
  const links = (nodes) => [...nodes].slice(0, 30).map((other, k) => [k ? ", " : "",
    link(nodeName(configuration, other), () => chooseNode(configuration, other))]);
  return pairs([["reads", links(inputs)], ["read by", links(outputs)]]
    .map(([name, links]) => [name, links.length ? make("span", {}, links.flat()) : ""]));
}

function nodePart(configuration, node) {
  const { graph } = configurations[configuration], drawn = graph.nodes[node];
  const region = drawn.region === null ? null : graph.regions[drawn.region];
  const title = drawn.look === "op" ? drawn.label.join(" ") : `${drawn.look} ${drawn.label.join(" ")}`;
  const inside = insideRows(configuration, node);
  const rows = region ? figureRows(configuration, region.function) : [];
  return [
    make("h2", {}, title),
    pairs([["inputs", drawn.inputs.join(", ")], ["outputs", drawn.outputs.join(", ")]]),
    inside.length ? pairs(inside) : null,
    drawn.ops.map((op) => opPart(configuration, op)),
    drawn.look === "op" && !drawn.ops.length ? make("p", {}, "A pass added this op",
      drawn.added_for.map((op, k) => [k ? ", " : " for ",
        link(opName(configuration, op), () => chooseNode(configuration, nodeOfOp(configuration, op)))])) : null,
    rows.length ? [make("h3", {}, "its region"), pairs(rows)] : null,
    neighbours(configuration, node),
  ].flat();
}

function regionPart(configuration, index) {
  const { graph, explain } = configurations[configuration], region = graph.regions[index];
  const inside = explain.ops.map((op, k) => [op, k]).filter(([op]) => op.function === region.function);
  return [
    make("h2", {}, region.function),
    pairs([["plugin", pluginName(region.plugin)], ["ops", String(region.ops)],
      ["work", formatFlops(sum(inside.map(([op]) => op.flops)))],
      ...figureRows(configuration, region.function)]),
    make("button", { onclick: () => graphs[configuration].toggle(index) },
      graphs[configuration].expanded.has(index) ? "collapse" : "expand"),
    list(inside.slice(0, 100).map(([op, k]) =>
      link(`${op.op} ${op.name}`, () => chooseNode(configuration, nodeOfOp(configuration, k))))),
    inside.length > 100 ? make("p", { class: "faint" }, `and ${inside.length - 100} more`) : null,
  ];
}

function samePart({ configuration, ops, opinion }) {
  const names = [...ops].map((op) => [op, configurations[configuration].explain.ops[op]]);
  return make("section", { class: "tile", id: "same" },
    make("h3", {}, `${opinion.plugin} ${opinion.verdict}: ${opinion.reason}`),
    make("p", {}, `${ops.size} ${ops.size === 1 ? "op" : "ops"} `, make("button",
      { onclick: () => change({ same: null }) }, "show all ops again")),
    list(names.slice(0, 100).map(([k, op]) =>
      link(`${op.op} ${op.name}`, () => chooseNode(configuration, nodeOfOp(configuration, k))))));
}

function detailsPanel() {
  const panel = make("div", { class: "details", id: "details", "aria-live": "polite" });
  const show = () => {
    const { chosen, same } = state;
    panel.replaceChildren(...[same ? samePart(same) : null].concat(
      !chosen ? [make("p", { class: "faint" }, "Click a node or a region. Wheel: zoom. Drag: move. " +
        "Double click on a region: collapse or expand it.")]
        : chosen.node !== undefined ? nodePart(chosen.configuration, chosen.node)
          : regionPart(chosen.configuration, chosen.region)).filter(Boolean));
    panel.scrollTop = 0;
  };
  // A click in a table or chart far below brings the panel back into the window.
  const reveal = () => {
    const { top, bottom } = panel.getBoundingClientRect();
    if (top > window.innerHeight - 60 || bottom < 60) panel.scrollIntoView({ block: "nearest" });
  };
  listeners.push((changes) => {
    show();
    if (changes.chosen) reveal();
  });
  show();
  return panel;
}
