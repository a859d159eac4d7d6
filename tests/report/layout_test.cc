// SPDX-License-Identifier: Apache-2.0
// Layered layouts on plain graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <random>

#include "byoc/base/status.h"
#include "core/tools/layout/grouped_layout.h"

namespace byoc::layout {
namespace {

struct Graph {
  std::vector<Edge> edges;
  std::vector<Size> sizes;
};

// A graph like a network: most nodes read the node before or another recent one, some read a node
// far above.
Graph random_graph(size_t nodes, uint32_t seed) {
  std::mt19937 random(seed);
  Graph graph;
  for (size_t k = 0; k < nodes; ++k) {
    graph.sizes.push_back({40.0 + random() % 100, 20.0 + random() % 40});
    if (k == 0) continue;
    graph.edges.push_back({k - 1 - random() % std::min<size_t>(k, 5), k});
    if (random() % 4 == 0) graph.edges.push_back({random() % k, k});
  }
  return graph;
}

struct Rect {
  double left, right, top, bottom;
};

// Returns descriptions of overlapping rectangles by a sweep over the tops: pairs are too many.
std::string overlaps(std::vector<Rect> rects) {
  std::sort(rects.begin(), rects.end(), [](auto& a, auto& b) { return a.top < b.top; });
  std::vector<Rect> open;
  std::string out;
  for (const Rect& rect : rects) {
    std::erase_if(open, [&](const Rect& r) { return r.bottom <= rect.top + 1e-6; });
    for (const Rect& r : open) {
      if (rect.left < r.right - 1e-6 && r.left < rect.right - 1e-6)
        out += cat(rect.left, "..", rect.right, " over ", r.left, "..", r.right, "\n");
    }
    open.push_back(rect);
  }
  return out;
}

std::vector<Rect> rects_of(const Graph& graph, const Layers& layers, const Placed& placed) {
  std::vector<Rect> rects;
  for (size_t k = 0; k < graph.sizes.size(); ++k) {
    uint32_t row = layers.row[k];
    double half = graph.sizes[k].width / 2, height = graph.sizes[k].height;
    double top = placed.row_top[row] + (placed.row_height[row] - height) / 2;
    rects.push_back({placed.x[k] - half, placed.x[k] + half, top, top + height});
  }
  return rects;
}

TEST(Layers, EveryEdgeGoesDown) {
  Graph graph = random_graph(3000, 1);
  Layers layers = make_layers(graph.sizes.size(), graph.edges);
  for (const Edge& edge : graph.edges) EXPECT_LT(layers.row[edge.from], layers.row[edge.to]);
}

TEST(Layers, AnEdgeBendsInEachRowThatItPassesOrUsesALane) {
  Graph graph = random_graph(3000, 2);
  Layers layers = make_layers(graph.sizes.size(), graph.edges);
  size_t bent = 0, in_lanes = 0;
  for (size_t k = 0; k < graph.edges.size(); ++k) {
    uint32_t from = layers.row[graph.edges[k].from], to = layers.row[graph.edges[k].to];
    const Route& route = layers.routes[k];
    if (route.lane != kNoLane) {
      ++in_lanes;
      EXPECT_GT(to - from - 1, kMostBends);
      continue;
    }
    ASSERT_EQ(route.bends.size(), to - from - 1);
    for (uint32_t n = 0; n < route.bends.size(); ++n)
      EXPECT_EQ(layers.row[route.bends[n]], from + 1 + n);
    bent += !route.bends.empty();
  }
  EXPECT_GT(bent, 30u);
  EXPECT_GT(in_lanes, 100u);
}

TEST(Layers, LanesOfEdgesThatPassTheSameRowDiffer) {
  Graph graph = random_graph(2000, 3);
  Layers layers = make_layers(graph.sizes.size(), graph.edges);
  std::map<std::pair<uint32_t, uint32_t>, size_t> user;  // row, lane -> the node
  for (size_t k = 0; k < graph.edges.size(); ++k) {
    const Edge& edge = graph.edges[k];
    if (layers.routes[k].lane == kNoLane) continue;
    for (uint32_t row = layers.row[edge.from] + 1; row < layers.row[edge.to]; ++row) {
      auto [at, is_new] = user.emplace(std::pair(row, layers.routes[k].lane), edge.from);
      EXPECT_TRUE(is_new || at->second == edge.from) << "row " << row;
    }
  }
}

TEST(Layers, AnInputIsNextToItsReader) {
  // 0 -> 1 -> 2 -> 3 -> 4, and 5 is read by 6 = (4, 5) alone.
  std::vector<Edge> edges{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 6}, {5, 6}};
  Layers layers = make_layers(7, edges);
  EXPECT_EQ(layers.row, (std::vector<uint32_t>{0, 1, 2, 3, 4, 4, 5}));
}

TEST(Layers, PinnedNodesAreInTheFirstAndInTheLastRow) {
  std::vector<Edge> edges{{0, 2}, {1, 3}, {2, 3}, {2, 5}, {3, 4}};
  std::vector<Pin> pins{Pin::kTop, Pin::kTop, Pin::kNone, Pin::kNone, Pin::kNone, Pin::kBottom};
  Layers layers = make_layers(6, edges, pins);
  layers.row.resize(6);  // without bends
  EXPECT_EQ(layers.row, (std::vector<uint32_t>{0, 0, 1, 2, 3, 3}));
}

TEST(Layers, TwoBranchesThatCouldCrossDoNot) {
  // 0 reads into 1 and 2; 3 reads 2, 4 reads 1: with 3 to the left of 4 the lines would cross.
  std::vector<Edge> edges{{0, 1}, {0, 2}, {2, 3}, {1, 4}};
  Layers layers = make_layers(5, edges);
  ASSERT_EQ(layers.rows.size(), 3u);
  bool one_first = layers.rows[1][0] == 1, four_first = layers.rows[2][0] == 4;
  EXPECT_EQ(one_first, four_first);
}

TEST(Place, BoxesDoNotOverlapAndStayInside) {
  for (uint32_t seed : {1, 2, 3}) {
    Graph graph = random_graph(2000, seed);
    Layers layers = make_layers(graph.sizes.size(), graph.edges);
    Placed placed = place(layers, graph.edges, graph.sizes);
    std::vector<Rect> rects = rects_of(graph, layers, placed);
    EXPECT_EQ(overlaps(rects), "") << "seed " << seed;
    for (const Rect& rect : rects) {
      EXPECT_GE(rect.left, -1e-6);
      EXPECT_LE(rect.right, placed.size.width + 1e-6);
      EXPECT_LE(rect.bottom, placed.size.height + 1e-6);
    }
  }
}

TEST(Place, AChainIsAStraightLine) {
  std::vector<Edge> edges;
  std::vector<Size> sizes(50, Size{60, 20});
  for (size_t k = 1; k < sizes.size(); ++k) edges.push_back({k - 1, k});
  Placed placed = place(make_layers(sizes.size(), edges), edges, sizes);
  for (double x : placed.x) EXPECT_NEAR(x, 30, 1e-6);
}

TEST(Place, SkipConnectionsLeaveAChainStraight) {
  std::vector<Edge> edges;
  std::vector<Size> sizes(60, Size{60, 20});
  for (size_t k = 1; k < sizes.size(); ++k) edges.push_back({k - 1, k});
  for (size_t k = 0; k + 3 < sizes.size(); k += 3) edges.push_back({k, k + 3});
  Placed placed = place(make_layers(sizes.size(), edges), edges, sizes);
  for (size_t k = 0; k < sizes.size(); ++k) EXPECT_NEAR(placed.x[k], placed.x[0], 0.1) << k;
}

// Modules of four branches, the first of which is one node shorter than the others.
TEST(Place, RepeatedBranchesOfUnequalLengthDoNotLean) {
  auto width = [](size_t modules) {
    std::vector<Edge> edges;
    size_t last = 0;
    for (size_t module = 0; module < modules; ++module, last += 8) {
      for (size_t branch = 1; branch <= 4; ++branch) {
        edges.push_back({last, last + branch});
        if (branch > 1) edges.push_back({last + branch, last + branch + 3});
        edges.push_back({branch > 1 ? last + branch + 3 : last + 1, last + 8});
      }
    }
    std::vector<Size> sizes(last + 1, Size{60, 20});
    return place(make_layers(sizes.size(), edges), edges, sizes).size.width;
  };
  EXPECT_LT(width(20), 1.2 * width(1));
}

TEST(Place, BendsAreOutsideOfBoxes) {
  Graph graph = random_graph(1500, 5);
  Layers layers = make_layers(graph.sizes.size(), graph.edges);
  Placed placed = place(layers, graph.edges, graph.sizes);
  for (const auto& row : layers.rows) {
    for (size_t k = 1; k < row.size(); ++k) {
      auto half = [&](uint32_t cell) {
        return cell < graph.sizes.size() ? graph.sizes[cell].width / 2 : 0;
      };
      EXPECT_GE(placed.x[row[k]] - half(row[k]), placed.x[row[k - 1]] + half(row[k - 1]) + 1);
    }
  }
}

TEST(Place, IsTheSameEveryTime) {
  Graph graph = random_graph(1000, 7);
  auto x = [&] {
    return place(make_layers(graph.sizes.size(), graph.edges), graph.edges, graph.sizes).x;
  };
  EXPECT_EQ(x(), x());
}

TEST(Place, AnEmptyGraphHasNoSize) {
  Placed placed = place(make_layers(0, {}), {}, {});
  EXPECT_EQ(placed.size.width, 0);
  EXPECT_EQ(placed.size.height, 0);
}

TEST(Layers, WorkGrowsWithTheGraphAndNoFaster) {
  auto cells = [](size_t nodes) {
    Graph graph = random_graph(nodes, 11);
    Layers layers = make_layers(nodes, graph.edges);
    size_t links = 0;
    for (const auto& below : layers.below) links += below.size();
    return layers.row.size() + links;
  };
  size_t small = cells(1000), large = cells(10'000);
  EXPECT_LT(large, 12 * small) << small;
}

// In the worst case each node is read at the end: without lanes there would be n * n bends.
TEST(Layers, ManyLongEdgesNeedFewBends) {
  constexpr size_t kNodes = 10'000;
  std::vector<Edge> edges;
  for (size_t k = 1; k < kNodes; ++k) edges.push_back({k - 1, k});
  for (size_t k = 0; k + 1 < kNodes; ++k) edges.push_back({k, kNodes - 1});
  Layers layers = make_layers(kNodes, edges);
  EXPECT_LE(layers.row.size(), kNodes * (1 + kMostBends));
  EXPECT_LE(layers.lanes, kNodes);
}

GroupedGraph grouped(const Graph& graph, size_t of_group) {
  GroupedGraph out;
  out.nodes = graph.sizes;
  out.edges = graph.edges;
  for (size_t k = 0; k < graph.sizes.size(); ++k)
    out.group.push_back(k / of_group % 3 == 2 ? kNone : k / of_group);
  out.groups.resize(graph.sizes.size() / of_group + 1, Size{70, 34});
  return out;
}

TEST(GroupedLayout, OfTwoThousandNodesTakesLessThanASecond) {
  GroupedGraph graph = grouped(random_graph(2000, 9), 30);
  const std::clock_t begin = std::clock();  // of this process: other work does not count
  make_grouped_layout(graph);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 1);
}

Rect rect_of_box(const GroupedLayout& layout, size_t box, Mode mode) {
  Point top = layout.top(box, mode);
  const Size& size = layout.boxes[box].size[mode];
  return {top.x - size.width / 2, top.x + size.width / 2, top.y, top.y + size.height};
}

TEST(GroupedLayout, BoxesDoNotOverlapAndHoldTheirNodes) {
  Graph graph = random_graph(1200, 4);
  GroupedGraph input = grouped(graph, 25);
  GroupedLayout layout = make_grouped_layout(input);
  for (Mode mode : {kCollapsed, kExpanded}) {
    std::vector<Rect> boxes;
    for (size_t k = 0; k < layout.boxes.size(); ++k) boxes.push_back(rect_of_box(layout, k, mode));
    EXPECT_EQ(overlaps(boxes), "") << mode;
  }
  std::vector<Rect> nodes;
  for (size_t k = 0; k < graph.sizes.size(); ++k) {
    size_t box = layout.box_of[k];
    if (input.group[k] == kNone) continue;
    Point top = layout.top(box, kExpanded);
    double x = top.x + layout.at[k].x, y = top.y + layout.at[k].y;
    const Size& size = graph.sizes[k];
    nodes.push_back(
        {x - size.width / 2, x + size.width / 2, y - size.height / 2, y + size.height / 2});
    Rect around = rect_of_box(layout, box, kExpanded);
    EXPECT_GT(nodes.back().left, around.left);
    EXPECT_LT(nodes.back().right, around.right);
    EXPECT_GT(nodes.back().top, around.top + 14) << "below the words of the box";
    EXPECT_LT(nodes.back().bottom, around.bottom);
  }
  EXPECT_EQ(overlaps(nodes), "");
}

TEST(GroupedLayout, EveryLineGoesDown) {
  GroupedLayout layout = make_grouped_layout(grouped(random_graph(1000, 6), 20));
  auto descends = [](const std::vector<Point>& points) {
    for (size_t k = 1; k < points.size(); ++k)
      if (points[k].y < points[k - 1].y - 1e-6) return false;
    return points.front().y < points.back().y;
  };
  for (const Link& link : layout.links) {
    for (Mode mode : {kCollapsed, kExpanded}) EXPECT_TRUE(descends(layout.points(link, mode)));
  }
  for (const InnerLine& line : layout.lines) EXPECT_TRUE(descends(line.points));
}

TEST(GroupedLayout, HasEachValueThatEntersABoxOnce) {
  GroupedGraph graph;
  graph.nodes.assign(5, Size{50, 20});
  graph.group = {kNone, 0, 0, 1, 1};
  graph.groups.assign(2, Size{60, 30});
  graph.edges = {{0, 1}, {0, 2}, {1, 2}, {1, 3}, {1, 4}, {2, 4}, {3, 4}, {3, 4}};
  GroupedLayout layout = make_grouped_layout(graph);
  ASSERT_EQ(layout.boxes.size(), 3u);
  EXPECT_EQ(layout.pairs.size(), 2u);  // 0 -> box, box -> box
  ASSERT_EQ(layout.links.size(), 3u);  // 0, 1 and 2 each enter one box
  EXPECT_EQ(layout.boxes[2].in.size(), 2u);
  EXPECT_EQ(layout.boxes[1].out.size(), 2u);
  // Inside: ports of 0 to 1, 2; 1 to 2; two values to the lower edge; 1 to 3, 4; 2 to 4; 3 to 4.
  EXPECT_EQ(layout.lines.size(), 5u + 4u);
}

TEST(GroupedLayout, LinksMeetTheLinesInside) {
  GroupedLayout layout = make_grouped_layout(grouped(random_graph(300, 8), 10));
  for (const Link& link : layout.links) {
    const Pair& pair = layout.pairs[link.pair];
    std::vector<Point> points = layout.points(link, kExpanded);
    if (layout.boxes[pair.to].group == kNone) continue;
    Point top = layout.top(pair.to, kExpanded);
    bool meets = false;
    for (const InnerLine& line : layout.lines) {
      meets = meets || (line.box == pair.to && line.from == kNone &&
                        std::abs(line.points[0].x + top.x - points.back().x) < 1e-6);
    }
    EXPECT_TRUE(meets);
    EXPECT_NEAR(points.back().y, top.y, 1e-6);
  }
}

}  // namespace
}  // namespace byoc::layout
