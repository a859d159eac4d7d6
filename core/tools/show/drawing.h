#pragma once
// What a picture of a partitioned module shows, before anything is said about how it looks.
#include "byoc/ir/module.h"

namespace byoc::driver {

inline constexpr size_t kNoRegion = SIZE_MAX;

struct Drawn {
  enum Look { kOp, kInput, kOutput, kRegion };
  Look look = kOp;
  size_t region = kNoRegion;  // index in Scene::regions
  std::string label, tooltip;
};

struct DrawnRegion {
  std::string plugin, function;
  size_t ops = 0;
};

struct DrawnEdge {
  size_t from, to;
  bool is_border;  // a border tensor, as border.h counts them
  std::string tooltip;
};

struct Scene {
  std::vector<Drawn> nodes;  // in topological order
  std::vector<DrawnRegion> regions;
  std::vector<DrawnEdge> edges;
  size_t ops_outside = 0;
};

/// Nodes of the whole scene, and of the one with a node per region.
struct SceneSize {
  size_t nodes = 0, folded_nodes = 0;
};
SceneSize size_of_scene(const IRModule& partitioned);
/// Composites are one node each, constants none; folded, two nodes have one edge between them
/// however many tensors go there. Linear.
Scene make_scene(const IRModule& partitioned, bool folded);

}  // namespace byoc::driver
