// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small values of the graph JSON. Errors are exceptions, like nlohmann's own, because they pass
// through its parser; read_graph_json.cc catches them.
#include <stdexcept>

#include "byoc/base/json.h"
#include "byoc/ir/composite.h"
#include "byoc/ir/dim.h"
#include "byoc/ir/module.h"

namespace byoc::graph {

struct BadGraph : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class TypeTable {
 public:
  void read(const Json& types);
  /// Reads the named sizes that expressions in types have; they come before the types.
  void read_sizes(const Json& sizes);
  TypeId operator[](const Json& index) const;

 private:
  std::vector<TypeId> types_;
  std::vector<Dim> sizes_;
};

uint32_t read_index(const Json& value);
ContentKey read_key(const Json& value);
AttrValue read_attr(const Json& value, const TypeTable& types);
Captures read_captures(const Json& captures);
/// Reads "value" of a constant.
std::shared_ptr<const Buffer> read_elements(const Json& values, DType dtype);

}  // namespace byoc::graph
