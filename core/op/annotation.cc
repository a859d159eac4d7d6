// SPDX-License-Identifier: Apache-2.0
// compiler_begin and compiler_end: a value crosses the border of region `region` of plugin
// `compiler`. copy_to_device and copy_to_host: it crosses the border of a device.
#include "byoc/op/registry.h"
#include "core/op/kernel/util.h"

namespace byoc::op {
namespace {

OpDef annotation(std::string name, std::string doc) {
  OpDef op{.name = name, .doc = std::move(doc)};
  op.inputs = {{"x", "any type"}};
  op.attrs = {{"compiler", "", "id of the plugin", AttrSpec::kRequired},
              {"region", 0, "number of the region in its function", AttrSpec::kRequired},
              {"open", false, "may still be merged with its neighbours"}};
  op.infer = [](Types inputs, const Attrs&) { return one_result(*inputs[0]); };
  op.reference = [](Types inputs, Types, const Attrs&) -> Result<RefKernel> {
    return copy_kernel(inputs[0]);
  };
  op.flops = [](Types, Types, const Attrs&) { return 0.0; };
  op.is_annotation = true;
  return op;
}

OpDef device_copy(std::string name, std::string doc) {
  OpDef op = annotation(std::move(name), std::move(doc));
  op.attrs.clear();
  return op;
}

}  // namespace

void add_annotation_ops(OpRegistry& ops) {
  OpDef to_device = device_copy("copy_to_device", "y = x, in the memory of device `device`");
  to_device.attrs = {{"device", 0, "number of the device in the program", AttrSpec::kRequired}};
  ops.add(std::move(to_device));
  ops.add(device_copy("copy_to_host", "y = x, from the memory of a device in that of the host"));
  ops.add(annotation("compiler_begin", "y = x, which enters region `region` of plugin `compiler`"));
  ops.add(annotation("compiler_end", "y = x, which leaves region `region` of plugin `compiler`"));
}

}  // namespace byoc::op
