// SPDX-License-Identifier: Apache-2.0
// Ops by their times, and what differs between configurations.

// The kernels of a configuration, the slowest first: a node where the kernel of its region reports times inside of it,
// else a region. The last rows have the time of such kernels that no node has.
function timedOps(index) {
  const { graph, figures, nodeFigures, explain } = configurations[index], rows = [], rests = [], nodesOf = new Map();
  graph.nodes.forEach((node, k) => {
    if (node.region === null || !node.ops.length) return;
    const name = graph.regions[node.region].function;
    nodesOf.set(name, [...(nodesOf.get(name) || []), k]);
  });
  const flopsOf = (node) => sum(graph.nodes[node].ops.map((op) => explain.ops[op].flops));
  for (const [region, figure] of figures) {
    const nodes = nodesOf.get(region) || [], timed = nodes.filter((node) => nodeFigures[node]);
    for (const node of timed)
      rows.push({ ...nodeFigures[node], region, node, nodes: [node], run_by: figure.run_by });
    const rest = figure.median_ns - sum(timed.map((node) => nodeFigures[node].median_ns));
    if (!timed.length) {
      const node = nodes.reduce((most, k) => (most === undefined || flopsOf(k) > flopsOf(most) ? k : most), undefined);
      rows.push({ ...figure, node, nodes });
    } else if (rest > 0) {
      rests.push({ median_ns: rest, region, nodes: [], run_by: figure.run_by });
    }
  }
  return rows.sort((a, b) => b.median_ns - a.median_ns).concat(rests);
}

const cut = (text, length) => (text.length > length ? `${text.slice(0, length)}\u2026` : text);
const listed = (names, most) =>
  names.slice(0, most).join(" + ") + (names.length > most ? ` + ${names.length - most} more` : "");

function othersText(op) {
  const others = op.opinions.filter((opinion) => opinion.plugin !== op.plugin);
  const later = others.filter(({ verdict }) => verdict === "not reached").map(({ plugin }) => plugin);
  return others.filter(({ verdict }) => verdict !== "not reached")
    .map(({ plugin, verdict, reason }) => cut(`${plugin} ${verdict}: ${reason}`, 110))
    .concat(later.length ? [`${later.join(", ")} not reached`] : []).join("; ");
}

function slowest(configuration, index) {
  if (!configuration.total) return noTimes(configuration);
  const all = timedOps(index), { ops } = configuration.explain, box = make("div", { class: "scroll ops" });
  const rowOf = (row) => {
    const inside = row.nodes.flatMap((node) => configuration.graph.nodes[node].ops).map((op) => ops[op]);
    const main = row.node === undefined ? null : ops[configuration.graph.nodes[row.node].ops[0]];
    return { value: row, cells: [
      main ? listed(inside.map((op) => op.op), 4) : "outside of all ops", main ? main.name : row.region,
      pluginName(row.run_by), formatTime(row.median_ns), percent(row.median_ns, configuration.total),
      row.gflop_per_s ? fixed(row.gflop_per_s, 2) : "-", main ? othersText(main) : ""] };
  };
  const titles = ["op", "name", "run by", ">time", ">share", ">GFLOP/s", "why not the others"];
  const choose = ({ node, region }) => (node === undefined ? chooseRegion(index, region) : chooseNode(index, node));
  const show = (n) => {
    const rows = all.filter((row) => state.plugin === null || pluginOf(row.run_by) === pluginOf(state.plugin));
    box.replaceChildren(table(titles, rows.slice(0, n).map(rowOf), choose),
      rows.length > n ? make("button", { class: "more", onclick: () => show(rows.length) }, `all ${rows.length}`) : "");
  };
  listeners.push((changes) => { if ("plugin" in changes) show(15); });
  show(15);
  return box;
}

// Finds an op of another configuration by kind, name and its number among equal ones.
function sameOp(configuration, op, other) {
  const indices = (k) => {
    const all = configurations[k], { ops } = all.explain;
    if (!all.byName) {
      all.byName = new Map();
      ops.forEach(({ op: kind, name }, n) => {
        const key = `${kind} ${name}`;
        all.byName.set(key, [...(all.byName.get(key) || []), n]);
      });
    }
    const { op: kind, name } = configurations[configuration].explain.ops[op];
    return all.byName.get(`${kind} ${name}`) || [];
  };
  const found = indices(other)[indices(configuration).indexOf(op)];
  return found === undefined ? -1 : found;
}

// The plugin and the time of an op in each other configuration.
function otherRows(configuration, op) {
  return configurations.map((other, k) => {
    if (k === configuration) return null;
    const at = sameOp(configuration, op, k);
    if (at < 0) return [`in ${other.name}`, "does not run"];
    const node = nodeOfOp(k, at), { plugin, function: region } = other.explain.ops[at];
    const inside = other.nodeFigures[node], whole = other.figures.get(region);
    const time = inside ? `, ${formatTime(inside.median_ns)}`
      : whole ? `, its region ${formatTime(whole.median_ns)}` : "";
    return [`in ${other.name}`, make("span", {}, pluginName(plugin), `${time} `,
      link("show", () => chooseNode(k, node)))];
  }).filter(Boolean);
}

// What `byoc explain --diff` prints about the first configuration and another one.
function changes(configuration, index) {
  if (!configuration.changes) return null;
  const { ops, same } = configuration.changes, box = make("div", { class: "scroll" });
  const side = ({ plugin, composite, how }) =>
    [pluginName(plugin), composite ? ` ${composite}` : "", how ? ` ${cut(how, 60)}` : ""];
  const rowOf = (change) => ({ value: change, cells: [change.op, change.name, change.change,
    change.before ? side(change.before) : "-", change.after ? side(change.after) : "-", change.reason] });
  const choose = ({ before, after }) => (after ? chooseNode(index, nodeOfOp(index, after.index))
    : chooseNode(0, nodeOfOp(0, before.index)));
  const show = (n) => box.replaceChildren(
    table(["op", "name", "", "before", "after", "reason"], ops.slice(0, n).map(rowOf), choose),
    ops.length > n ? make("button", { class: "more", onclick: () => show(ops.length) }, `all ${ops.length}`) : "");
  show(15);
  return make("div", {}, make("p", {}, `${configurations[0].name} \u2192 ${configuration.name}: ` +
    `${ops.length} ${ops.length === 1 ? "op differs" : "ops differ"}, ${same} run as before`), ops.length ? box : null);
}

// The plan by which plugins were chosen, or the predictions of the choice by cost.
function placement(configuration) {
  const { choices, order } = configuration.explain;
  if (!choices.length) return make("p", { class: "faint" }, `By priority: ${order.join(", ")}.`);
  return make("div", {}, choices.map((text) => make("p", {}, text)));
}

// The points that logs of tuning chose.
function tuning(configuration) {
  const { tuning: used } = configuration.explain;
  if (!used) return make("p", { class: "faint" }, "No tuning log: kernels are the first choices of their plugins.");
  const rows = used.functions.map((one) => [one.symbol, pluginName(one.plugin), one.origin,
    one.best_ns ? formatTime(one.best_ns) : "-", one.log,
    Object.entries(one.point).map((pair) => pair.join("=")).join(" ")]);
  return make("div", {}, make("p", {}, used.summary),
    used.shipped_log ? make("p", {}, `log: ${used.shipped_log}, which comes with byoc`) : null,
    used.notes.map((note) => make("p", { class: "bad" }, note)),
    rows.length ? make("details", {},
      make("summary", {}, `${rows.length} ${rows.length === 1 ? "function" : "functions"}`),
      make("div", { class: "scroll" },
        table(["function", "plugin", "point from", ">logged time", "log", "point"], rows))) : null);
}
