// SPDX-License-Identifier: Apache-2.0
// The graph of one configuration. Rows, order and x come from byoc; y depends on the regions that
// are collapsed.

const kMostExpanded = 1000;  // nodes; a larger graph is shown with its regions collapsed
const kNodeLine = 13;
const kLeastFit = 0.2;  // scale; boxes of ops are a few pixels high
const kLeastReadable = 0.35;  // scale; texts are left out below it

// The path through points. It is straight between points with equal x, else a curve that is
// vertical at both ends.
function pathOf(points) {
  let path = `M${points[0][0]} ${points[0][1]}`;
  for (let k = 1; k < points.length; ++k) {
    const [ax, ay] = points[k - 1], [bx, by] = points[k], middle = (ay + by) / 2;
    if (Math.abs(ax - bx) + Math.abs(ay - by) < 0.2) continue;  // a line without length turns the arrow
    path += Math.abs(ax - bx) < 0.5 ? `L${bx} ${by}` : `C${ax} ${middle} ${bx} ${middle} ${bx} ${by}`;
  }
  return path;
}

class Graph {
  constructor(index) {
    this.index = index;
    this.graph = configurations[index].graph;
    this.layout = this.graph.layout;
    this.ops = configurations[index].explain.ops;
    const isSmall = this.graph.nodes.length <= kMostExpanded;
    this.expanded = new Set(isSmall ? this.graph.regions.keys() : []);
    this.owners = this.graph.nodes.map((node) => this.ownerOf(node));
    this.boxOf = [];
    this.layout.boxes.forEach((box, k) => {
      for (let n = 0; n < box.count; ++n) this.boxOf[box.first + n] = k;
    });
    this.boxOfRegion = new Map(this.layout.boxes.map((box, k) => [box.region, k]));
    this.view = { x: 0, y: 0, scale: 1 };
    this.build();
    listeners.push((changes) => this.onChange(changes));
  }

  ownerOf(node) {
    if (node.ops.length) return this.ops[node.ops[0]].plugin;
    return node.region === null ? "" : this.graph.regions[node.region].plugin;
  }

  build() {
    const tool = (text, title, action) =>
      make("button", { title, "aria-label": title, onclick: action }, text);
    this.element = make("div", { class: "graph" });
    this.element.innerHTML = '<svg role="img" tabindex="0" aria-label="graph of the model"><defs>' +
      `<marker id="arrow${this.index}" viewBox="0 0 6 6" refX="5.5" refY="3" markerWidth="6" markerHeight="6" ` +
      'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L6 3L0 6z" fill="var(--edge)"/></marker></defs>' +
      "<g></g></svg>";
    this.svg = this.element.lastChild;
    this.group = this.svg.querySelector("g");
    this.map = new GraphMap(this);
    this.element.prepend(this.map.canvas);
    if (configurations.length > 1)
      this.element.append(make("div", { class: "name" }, configurations[this.index].name));
    this.element.append(make("div", { class: "tools" },
      tool("+", "zoom in", () => this.zoom(1.3)), tool("\u2212", "zoom out", () => this.zoom(1 / 1.3)),
      tool("fit", "show all", () => this.fit()),
      tool("collapse", "collapse all regions", () => this.setExpanded([])),
      tool("expand", "expand all regions", () => this.setExpanded(this.graph.regions.keys()))));
    this.listen();
    this.render();
  }

  setExpanded(regions) {
    this.expanded = new Set(regions);
    this.render();
    this.start();
  }
  toggle(region) {
    const box = this.layout.boxes.findIndex((b) => b.region === region);
    const before = this.tops[box] * this.view.scale + this.view.y;
    if (!this.expanded.delete(region)) this.expanded.add(region);
    this.render();
    this.view.y = before - this.tops[box] * this.view.scale;  // the box stays where it is
    this.center(this.x(box), null);
  }

  // Computes where the boxes are. With any region expanded all have the places that leave room for
  // the expanded ones.
  place() {
    const { boxes, row_gap } = this.layout;
    this.mode = this.expanded.size ? 1 : 0;
    const heights = [];
    this.sizes = boxes.map((box) => box.size[box.region !== null && this.expanded.has(box.region) ? 1 : 0]);
    boxes.forEach((box, k) => { heights[box.row] = Math.max(heights[box.row] || 0, this.sizes[k][1]); });
    let y = 0;
    this.rows = heights.map((height) => { const top = y; y += height + row_gap; return [top, top + height]; });
    this.tops = boxes.map((box, k) => (this.rows[box.row][0] + this.rows[box.row][1] - this.sizes[k][1]) / 2);
    this.size = [this.layout.width[this.mode], Math.max(0, y - row_gap)];
  }
  x(box) { return this.layout.boxes[box].x[this.mode]; }
  isOpen(box) {
    const region = this.layout.boxes[box].region;
    return region !== null && this.expanded.has(region);
  }

  // Returns the middle of a node, or that of the box that hides it.
  middle(node) {
    const box = this.boxOf[node], [x, y] = this.layout.at[node];
    if (this.isOpen(box)) return [this.x(box) + x, this.tops[box] + y];
    return [this.x(box), this.tops[box] + this.sizes[box][1] / 2];
  }

  linkPoints(source, pair) {
    const { from, to, verticals } = this.layout.pairs[pair], { boxes } = this.layout;
    const port = (box, ports) => {
      const found = this.isOpen(box) && ports.find(([node]) => node === source);
      return this.x(box) + (found ? found[1] : 0);
    };
    const begin = port(from, boxes[from].out), end = port(to, boxes[to].in);
    const points = [[begin, this.tops[from] + this.sizes[from][1]], [begin, this.rows[boxes[from].row][1]]];
    for (const [first, last, x] of verticals[this.mode])
      points.push([x, this.rows[first][0]], [x, this.rows[last][1]]);
    points.push([end, this.rows[boxes[to].row][0]], [end, this.tops[to]]);
    return points;
  }

  render() {
    this.place();
    const parts = [];
    this.layout.boxes.forEach((box, k) => { if (box.region !== null) parts.push(this.boxText(box, k)); });
    const drawn = new Set();
    for (const [source, pair] of this.layout.links) {
      const { from, to } = this.layout.pairs[pair];
      const key = `${pair} ${this.isOpen(from) || this.isOpen(to) ? source : ""}`;
      if (drawn.has(key)) continue;
      drawn.add(key);
      const reader = this.graph.nodes[this.layout.boxes[to].first];
      const isEnd = this.graph.nodes[source].look === "input" || reader.look === "output";
      parts.push(this.edgeText(this.linkPoints(source, pair), isEnd ? "" : " border", source, "", !this.isOpen(to)));
    }
    for (const line of this.layout.lines) {
      if (!this.isOpen(line.box)) continue;
      const points = [];
      for (let k = 0; k < line.points.length; k += 2)
        points.push([line.points[k] + this.x(line.box), line.points[k + 1] + this.tops[line.box]]);
      parts.push(this.edgeText(points, "", line.from ?? "", line.to ?? "", line.to !== null));
    }
    this.layout.boxes.forEach((box, k) => { if (this.isOpen(k)) parts.push(this.labelText(box, k)); });
    this.graph.nodes.forEach((node, k) => {
      if (node.region === null || this.isOpen(this.boxOf[k])) parts.push(this.nodeText(node, k));
    });
    this.group.innerHTML = parts.join("");
    this.mark();
  }
  edgeText(points, kind, from, to, hasArrow) {
    const rounded = points.map((point) => point.map((value) => Math.round(value * 10) / 10));
    return `<path class="e${kind}" data-from="${from}" data-to="${to}" ` +
      (hasArrow ? `marker-end="url(#arrow${this.index})" ` : "") +
      `d="${pathOf(rounded)}"/>`;
  }
  rectText(x, y, width, height, plugin) {
    const dashes = plugin.is_dashed ? ' stroke-dasharray="5 3"' : "";
    return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="4" fill="${plugin.colour}"${dashes}/>`;
  }
  linesText(lines, x, top, height, colour) {
    const first = top + (height - lines.length * kNodeLine) / 2 + 10;
    const fill = colour ? ` fill="${colour}"` : "";
    return lines.map((line, k) => `<text x="${x}" y="${first + k * kNodeLine}"${fill}>${escape(line)}</text>`).join("");
  }
  boxText(box, k) {
    const region = this.graph.regions[box.region], plugin = pluginOf(region.plugin);
    const [width, height] = this.sizes[k], left = this.x(k) - width / 2, top = this.tops[k];
    const words = [region.plugin, `${region.ops} ${region.ops === 1 ? "op" : "ops"}`];
    const inside = `<title>${escape(region.function)}</title>${this.rectText(left, top, width, height, plugin)}`;
    if (this.isOpen(k)) return `<g class="cluster" data-region="${box.region}">${inside}</g>`;
    return `<g class="n closed" data-region="${box.region}">${inside}` +
      `${this.linesText(words, this.x(k), top, height, plugin.text)}</g>`;
  }
  labelText(box, k) {
    const { plugin, ops } = this.graph.regions[box.region], [width] = this.sizes[k];
    return `<text class="label" x="${this.x(k) - width / 2 + 8}" y="${this.tops[k] + 13}">` +
      `${escape(`${plugin} \u00b7 ${ops} ${ops === 1 ? "op" : "ops"}`)}</text>`;
  }
  nodeText(node, k) {
    const [x, y] = this.middle(k), [width, height] = this.layout.sizes[k];
    const plugin = pluginOf(this.owners[k]), isEnd = node.look !== "op";
    const names = node.ops.map((op) => this.ops[op].name).join("\n");
    return `<g class="n${isEnd ? " end" : ""}" data-node="${k}"><title>${escape(names || node.label[0])}</title>` +
      `${this.rectText(x - width / 2, y - height / 2, width, height, plugin)}` +
      `${this.linesText(node.label, x, y - height / 2, height, isEnd ? "" : plugin.text)}</g>`;
  }

  // Marks what is chosen, and dims what the filter leaves out.
  mark() {
    const chosen = state.chosen && state.chosen.configuration === this.index ? state.chosen : {};
    for (const element of this.group.querySelectorAll(".n, .cluster")) {
      const { node, region } = element.dataset;
      const owner = node !== undefined ? this.owners[node] : this.graph.regions[region].plugin;
      const isSame = state.same && node !== undefined && state.same.configuration === this.index &&
        this.graph.nodes[node].ops.some((op) => state.same.ops.has(op));
      element.classList.toggle("chosen", node !== undefined ? +node === chosen.node : +region === chosen.region);
      element.classList.toggle("same", Boolean(isSame));
      const isHidden = (state.plugin !== null && owner !== state.plugin) ||
        (state.same && state.same.configuration === this.index && !isSame && node !== undefined);
      element.classList.toggle("dim", Boolean(isHidden));
    }
    for (const element of this.group.querySelectorAll(".e")) {
      const { from, to } = element.dataset, node = chosen.node;
      element.classList.toggle("near",
        node !== undefined && ((from !== "" && +from === node) || (to !== "" && +to === node)));
    }
    this.map.redraw();
  }

  onChange(changes) {
    const chosen = changes.chosen;
    if (chosen && chosen.configuration === this.index) this.show(chosen);
    this.mark();
  }
  // Makes what is chosen visible.
  show(chosen) {
    let box = chosen.node !== undefined ? this.boxOf[chosen.node] : -1;
    if (chosen.region !== undefined) box = this.layout.boxes.findIndex((b) => b.region === chosen.region);
    const region = this.layout.boxes[box].region;
    if (chosen.node !== undefined && region !== null && !this.isOpen(box)) {
      this.expanded.add(region);
      this.render();
    }
    const [x, y] = chosen.node !== undefined ? this.middle(chosen.node) : [this.x(box), this.tops[box]];
    const at = [x * this.view.scale + this.view.x, y * this.view.scale + this.view.y];
    const { clientWidth: width, clientHeight: height } = this.svg;
    if (at[0] < 20 || at[1] < 40 || at[0] > width - 20 || at[1] > height - 20) this.center(x, y);
  }

  // ---- zoom and pan
  apply() {
    const { x, y, scale } = this.view;
    this.group.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    this.group.classList.toggle("far", scale < kLeastReadable);
    this.map.frame();
  }
  center(x, y) {
    const { clientWidth: width, clientHeight: height } = this.svg;
    if (x !== null) this.view.x = width / 2 - x * this.view.scale;
    if (y !== null) this.view.y = height / 2 - y * this.view.scale;
    this.apply();
  }
  // Shows the begin of the graph, as wide as the panel but readable.
  start() {
    this.map.resize();
    const { clientWidth: width } = this.svg;
    const scale = Math.min(1, Math.max(0.55, (width - 30) / this.size[0]));
    const first = this.layout.boxes.length ? this.x(0) : 0;
    const isWide = this.size[0] * scale > width;
    this.view = { scale, x: isWide ? width / 2 - first * scale : (width - this.size[0] * scale) / 2, y: 44 };
    this.apply();
  }
  // Shows all of the graph. One that would be a thin line is shown as small boxes around the middle of the view; the
  // map shows all of it.
  fit() {
    const { clientWidth: width, clientHeight: height } = this.svg;
    const wide = (width - 20) / this.size[0], whole = Math.min(1.5, wide, (height - 60) / this.size[1]);
    const scale = Math.max(whole, Math.min(wide, kLeastFit));
    const middle = (height / 2 - this.view.y) / this.view.scale;
    const y = scale > whole ? Math.min(44, height / 2 - middle * scale) : 44;
    this.view = { scale, x: (width - this.size[0] * scale) / 2, y };
    this.apply();
  }
  zoom(factor, at) {
    const [x, y] = at || [this.svg.clientWidth / 2, this.svg.clientHeight / 2];
    const scale = Math.min(4, Math.max(0.005, this.view.scale * factor)), real = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * real, y: y - (y - this.view.y) * real };
    this.apply();
  }

  listen() {
    this.svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const area = this.svg.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 500), [event.clientX - area.left, event.clientY - area.top]);
    }, { passive: false });
    let drag = null;
    this.svg.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, moved: false };
    });
    window.addEventListener("pointermove", (event) => {
      if (!drag) return;
      const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
      if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
      this.view.x += dx;
      this.view.y += dy;
      drag = { x: event.clientX, y: event.clientY, moved: true };
      this.apply();
    });
    window.addEventListener("pointerup", () => { setTimeout(() => { drag = null; }, 0); });
    this.svg.addEventListener("click", (event) => {
      if (drag && drag.moved) return;
      const hit = event.target.closest("[data-node], [data-region]");
      if (!hit) return;
      const { node, region } = hit.dataset;
      if (node !== undefined) chooseNode(this.index, +node);
      else change({ chosen: { configuration: this.index, region: +region } });
    });
    const keys = { ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0] };
    this.svg.addEventListener("keydown", (event) => {
      const [dx, dy] = keys[event.key] || [0, 0];
      if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? 1.3 : 1 / 1.3);
      else if (!dx && !dy) return;
      event.preventDefault();
      this.view.x += dx;
      this.view.y += dy;
      this.apply();
    });
    window.addEventListener("resize", () => { this.map.resize(); this.apply(); });
    this.svg.addEventListener("dblclick", (event) => {
      const hit = event.target.closest("[data-region]");
      if (hit) this.toggle(+hit.dataset.region);
    });
  }
}
