// SPDX-License-Identifier: Apache-2.0
// The whole graph as a strip at the left of its panel, for graphs that are much larger than the panel. The frame is
// the part that the panel shows; a click or a drag moves it.

const kMapWidth = 56;

class GraphMap {
  constructor(graph) {
    this.graph = graph;
    this.canvas = make("canvas", { class: "map", role: "img", "aria-label": "map of the graph",
      title: "the whole graph; click or drag to go there" });
    this.picture = document.createElement("canvas");  // of the nodes, without the frame
    let isHeld = false;
    this.canvas.addEventListener("pointerdown", (event) => {
      isHeld = true;
      this.canvas.setPointerCapture(event.pointerId);
      this.go(event);
    });
    this.canvas.addEventListener("pointermove", (event) => { if (isHeld) this.go(event); });
    this.canvas.addEventListener("pointerup", () => { isHeld = false; });
  }

  // Decides whether the graph needs a map, and gives the map the height of the panel.
  resize() {
    const { element, size } = this.graph, [width, height] = [element.clientWidth, element.clientHeight];
    this.isShown = size[1] > 1.5 * height || size[0] > 1.5 * width;
    element.classList.toggle("mapped", this.isShown);
    this.ratio = window.devicePixelRatio || 1;
    this.canvas.width = this.picture.width = Math.round(kMapWidth * this.ratio);
    this.canvas.height = this.picture.height = Math.max(1, Math.round(height * this.ratio));
    this.redraw();
  }
  scales() {
    const { size } = this.graph;
    return [this.canvas.width / Math.max(1, size[0]), this.canvas.height / Math.max(1, size[1])];
  }

  // Draws all nodes and collapsed regions in the colours of their plugins; those that are dimmed are faint.
  redraw() {
    if (!this.isShown) return;
    const { graph, picture } = this, [sx, sy] = this.scales(), to = picture.getContext("2d");
    to.clearRect(0, 0, picture.width, picture.height);
    const draw = (element, x, y, width, height, colour) => {
      to.globalAlpha = element && element.classList.contains("dim") ? 0.12 : 1;
      to.fillStyle = colour;
      to.fillRect((x - width / 2) * sx, (y - height / 2) * sy, Math.max(width * sx, 2), Math.max(height * sy, 1.5));
    };
    for (const element of graph.group.querySelectorAll(".n")) {
      const { node, region } = element.dataset;
      if (node !== undefined) {
        draw(element, ...graph.middle(+node), ...graph.layout.sizes[node], pluginOf(graph.owners[node]).colour);
      } else {
        const box = graph.boxOfRegion.get(+region), [width, height] = graph.sizes[box];
        draw(element, graph.x(box), graph.tops[box] + height / 2, width, height,
          pluginOf(graph.graph.regions[region].plugin).colour);
      }
    }
    this.frame();
  }

  // Draws the picture with the frame.
  frame() {
    if (!this.isShown) return;
    const { canvas, graph, picture, ratio } = this, to = canvas.getContext("2d"), [sx, sy] = this.scales();
    const { x, y, scale } = graph.view, { clientWidth, clientHeight } = graph.svg;
    to.clearRect(0, 0, canvas.width, canvas.height);
    to.drawImage(picture, 0, 0);
    const left = Math.max(0, (-x / scale) * sx), right = Math.min(canvas.width, ((clientWidth - x) / scale) * sx);
    const top = (-y / scale) * sy, height = Math.max((clientHeight / scale) * sy, 4 * ratio);
    to.strokeStyle = to.fillStyle = getComputedStyle(canvas).color;
    to.lineWidth = 2 * ratio;
    to.globalAlpha = 0.15;
    to.fillRect(left, top, right - left, height);
    to.globalAlpha = 1;
    to.strokeRect(left + ratio, top, Math.max(right - left - 2 * ratio, 1), height);
  }

  go(event) {
    const area = this.canvas.getBoundingClientRect(), [sx, sy] = this.scales();
    const at = [(event.clientX - area.left) * this.ratio / sx, (event.clientY - area.top) * this.ratio / sy];
    const isWide = this.graph.size[0] * this.graph.view.scale > this.graph.svg.clientWidth;
    this.graph.center(isWide ? at[0] : null, at[1]);
  }
}
