// SPDX-License-Identifier: Apache-2.0
// Puts the page together.

const graphs = [];

// Shows how a configuration did, and its ratio to the first one.
function tile(configuration) {
  const { result } = configuration, first = configurations[0].result;
  const box = make("section", { class: "tile" }, make("h3", {}, configuration.name));
  if (!result) {
    const why = configuration.explain.uncompiled;
    box.append(make("p", { class: why ? "bad" : "faint" }, why ? `does not compile: ${why}`
      : data.interrupted ? "not run" : "made with --no-run"));
    return box;
  }
  const { bench } = configuration, isRight = result.outputs.every((output) => output.equal);
  const check = !bench.reference ? `outputs not compared: ${bench.why_not_checked}`
    : isRight ? `outputs agree with those of ${bench.reference}` : `outputs differ from those of ${bench.reference}`;
  box.append(
    make("p", {}, make("b", { class: "time" }, formatTime(result.median_ns)),
      result === first || !first ? ""
        : ` ${fixed(result.median_ns / first.median_ns, 2)} times that of ${configurations[0].name}`),
    make("p", { class: "faint" }, `p5 ${formatTime(result.p5_ns)}, p95 ${formatTime(result.p95_ns)}, ` +
      `${result.samples_ns.length} samples, ${result.threads} ${result.threads === 1 ? "thread" : "threads"}`),
    make("p", {}, result.gflop_per_s ? `${fixed(result.gflop_per_s, 2)} GFLOP/s` +
      (result.share_of_peak ? `, ${ofPeak(result.share_of_peak)}` : "") : "rate unknown"),
    make("p", { class: bench.reference && !isRight ? "bad" : "faint" }, check));
  return box;
}

// Warns of other work on the machine while it was measured.
function busy() {
  const load = configurations.map(({ bench }) => bench && bench.other_load).find((one) => one && one.busy);
  return load ? make("p", { class: "bad" }, `The machine was busy: other work used ${fixed(load.used_by_others, 1)} ` +
    `of ${load.processors} processors, and byoc waited ${percent(load.waited, 1)} of the time. Times, rates and ` +
    "shares are not reliable; measure again on a quiet machine.") : null;
}

function header() {
  const { explain } = configurations[0], { machine } = data;
  const facts = [explain.opset ? `opset ${explain.opset}` : "", `${explain.ops.length} ops`,
    formatFlops(explain.flops), `${formatBytes(explain.weight_bytes)} of weights`, `target ${explain.target}`,
    machine.processor];
  return make("header", {}, make("h1", {}, data.model),
    make("p", { class: "faint" }, facts.filter(Boolean).join(" \u00b7 ")),
    data.interrupted ? make("p", { class: "bad" }, "Interrupted: the page has what was done until then.") : null,
    busy(),
    make("div", { class: "tiles" }, configurations.map(tile)));
}

// Finds ops by name or kind in all configurations; nodes before ops that do not run.
function find(text) {
  const found = [], wanted = text.toLowerCase();
  configurations.forEach((configuration, index) => {
    const suffix = configurations.length > 1 ? ` (${configuration.name})` : "";
    configuration.graph.nodes.forEach((node, k) => {
      const ops = node.ops.map((op) => configuration.explain.ops[op]);
      const names = ops.length ? ops.map((op) => `${op.op} ${op.name}`) : [node.label[0]];
      for (const name of names)
        if (name.toLowerCase().includes(wanted)) found.push([name + suffix, () => chooseNode(index, k)]);
    });
    for (const region of configuration.graph.regions)
      if (region.function.toLowerCase().includes(wanted))
        found.push([`region ${region.function}${suffix}`, () => chooseRegion(index, region.function)]);
  });
  return found;
}

function search() {
  const results = make("div", { class: "found" });
  const input = make("input", { type: "search", id: "search", placeholder: "find an op or a region",
    "aria-label": "find an op or a region" });
  const show = () => {
    const found = input.value.trim() ? find(input.value.trim()) : [];
    results.replaceChildren(...found.slice(0, 40).map(([name, choose]) =>
      make("button", { onclick: () => { results.replaceChildren(); choose(); } }, name)),
    ...(found.length > 40 ? [make("p", { class: "faint" }, `and ${found.length - 40} more`)] : []),
    ...(input.value.trim() && !found.length ? [make("p", { class: "faint" }, "nothing found")] : []));
  };
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && results.querySelector("button")) results.querySelector("button").click();
    if (event.key === "Escape") results.replaceChildren();
  });
  document.addEventListener("click", (event) => {
    if (!results.parentElement.contains(event.target)) results.replaceChildren();
  });
  return make("div", { class: "search" }, input, results);
}

function filters() {
  const used = new Set(configurations.flatMap((configuration) => configuration.explain.ops.map((op) => op.plugin)));
  const buttons = [...used].sort().map((id) => make("button", {
    class: "chip filter", "data-plugin": id, "aria-pressed": "false",
    onclick: () => change({ plugin: state.plugin === id ? null : id }) }, swatch(id), id || "no plugin"));
  listeners.push(() => {
    for (const button of buttons) button.setAttribute("aria-pressed", String(state.plugin === button.dataset.plugin));
  });
  return buttons;
}

function graphPart() {
  configurations.forEach((_, index) => graphs.push(new Graph(index)));
  return [
    make("div", { class: "bar" }, search(), make("span", { class: "faint" }, "only"), filters()),
    make("div", { class: `work ${configurations.length > 1 ? "many" : ""}` },
      make("div", { class: "graphs" }, graphs.map((graph) => graph.element)), detailsPanel()),
  ];
}

function removed(configuration) {
  const { removed: ops, added } = configuration.explain;
  const rows = ops.map((op) => [op.op, op.name, `${op.how} by ${op.pass}`, op.reason]);
  const more = added.map((op) => [op.op, op.function, "added", `run by ${op.plugin}`]);
  return make("details", {}, make("summary", {}, `${ops.length} do not run, ${added.length} were added`),
    make("div", { class: "scroll" }, table(["op", "name", "", "reason"], [...rows, ...more])));
}

function versions() {
  const { machine } = data, timed = configurations.filter((c) => c.result && c.peaks.gflop_per_s);
  const peaks = new Set(timed.map(({ peaks, result }) => `${fixed(peaks.gflop_per_s, 1)} GFLOP/s, ` +
    `${fixed(peaks.gb_per_s, 1)} GB/s, measured, threads: ${result.threads}`));
  return make("div", { class: "tiles" }, make("div", { class: "scroll" }, table(["plugin", "version", "file"],
    data.plugins.map((plugin) => [pluginName(plugin.id), plugin.version, plugin.library]))),
  make("div", {}, pairs([["processor", machine.processor], ["cores", String(machine.cores)],
    ["system", machine.system], ["byoc", data.byoc],
    ...[...peaks].map((text) => ["peaks", text])])));
}

document.documentElement.style.setProperty("--configurations", configurations.length);
const parts = [["Graph", graphPart], ["Slowest ops", () => stacked(slowest)],
  ...(configurations.length > 1 ? [["Ops that differ", () => stacked(changes)]] : []),
  ["Coverage", () => columns(coverage)],
  ["Timeline of one run", () => columns(timeline)],
  ["Kernels", () => stacked(kernels)], ["Roofline", () => columns(roofline)], ["Memory", () => columns(memory)],
  ["Placement", () => columns(placement)], ["Tuning", () => columns(tuning)], ["Ops that passes changed", () => columns(removed)],
  ["Versions and machine", versions]];
const page = document.getElementById("page");
page.append(header());
for (const [title, part] of parts) page.append(make("h2", {}, title), ...[part()].flat());
for (const graph of graphs) graph.start();
document.body.dataset.ready = "yes";
