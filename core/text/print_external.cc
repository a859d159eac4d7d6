// SPDX-License-Identifier: Apache-2.0
// Prints external_mods=[{...}]: all of each external module except the bytes of blobs, which are in
// the side file under their key. symbols[k] and functions[k] belong together.
#include "byoc/ir/attrs.h"
#include "core/ir/quote.h"
#include "core/text/printer.h"

namespace byoc {
namespace {

class RecordPrinter {
 public:
  explicit RecordPrinter(std::string& out) : out_(out) { out_ += '{'; }
  ~RecordPrinter() { out_ += '}'; }
  RecordPrinter(const RecordPrinter&) = delete;
  std::string& name(std::string_view name) {
    out_ += cat(first_ ? "" : ", ", name, "=");
    first_ = false;
    return out_;
  }
  void text(std::string_view name_, std::string_view value) {
    if (!value.empty()) print_quoted(name(name_), value);
  }
  void number(std::string_view name_, uint64_t value, uint64_t usual = 0) {
    if (value != usual) print_to(name(name_), value);
  }
  template <class List, class Print>
  void list(std::string_view name_, const List& list, Print&& print) {
    if (list.empty()) return;
    name(name_) += '[';
    bool first = true;
    for (const auto& item : list) {
      if (!first) out_ += ", ";
      first = false;
      print(item);
    }
    out_ += ']';
  }

 private:
  std::string& out_;
  bool first_ = true;
};

void print_constant(std::string& out, const ExternalConstant& constant) {
  RecordPrinter record(out);
  record.text("name", constant.name);
  record.text("key", constant.key.hex());
  print_to(record.name("type"), constant.type);
  record.number("use", constant.use, 2);
}

void print_function(std::string& out, const ExternalFunction& function) {
  RecordPrinter record(out);
  print_to(record.name("n_in"), function.n_in);
  print_to(record.name("n_out"), function.n_out);
  record.list("constants", function.constants,
              [&](const ExternalConstant& constant) { print_constant(out, constant); });
  record.list("packed", function.packed, [&](const auto& packed) {
    RecordPrinter inner(out);
    inner.text("key", packed.first.hex());
    inner.number("align", packed.second);
  });
  record.list("inplace", function.inplace, [&](const auto& pair) {
    RecordPrinter inner(out);
    print_to(inner.name("input"), pair.first);
    print_to(inner.name("output"), pair.second);
  });
  record.number("workspace_bytes", function.workspace_bytes);
  record.number("workspace_align", function.workspace_align, 1);
  record.number("flags", function.flags);
  auto print_number = [&](uint32_t number) { print_to(out, number); };
  record.list("device", function.device, print_number);
  record.list("placement", function.placement, print_number);
  record.text("implementation", function.implementation);
  if (function.flops != 0) print_to(record.name("flops"), AttrValue(function.flops));
  record.number("ops", function.ops);
  auto print_loc = [&](const std::string& loc) { print_quoted(out, loc); };
  record.list("locs", function.locs, print_loc);
  record.list("aliases", function.aliases, [&](const ExternalAlias& alias) {
    RecordPrinter inner(out);
    inner.text("symbol", alias.symbol);
    inner.list("locs", alias.locs, print_loc);
  });
}

void print_module(std::string& out, const ExternalModule& module) {
  RecordPrinter record(out);
  record.text("plugin", module.plugin);
  record.list("symbols", module.functions,
              [&](const ExternalFunction& function) { print_quoted(out, function.symbol); });
  if (module.blob) record.text("key", module.blob->key().hex());
  record.text("version", module.plugin_version);
  record.text("compat", module.compat);
  record.text("options", module.options_json);
  record.number("flags", module.flags);
  record.list("packed", module.packed, [&](const auto& packed) {
    RecordPrinter inner(out);
    inner.text("name", packed.first.hex());
    inner.text("key", packed.second.hex());
  });
  record.list("functions", module.functions,
              [&](const ExternalFunction& function) { print_function(out, function); });
}

}  // namespace

void print_external_modules(std::string& out, const std::vector<ExternalModule>& modules) {
  out += "external_mods=[";
  for (size_t k = 0; k < modules.size(); ++k) {
    if (k) out += ", ";
    print_module(out, modules[k]);
  }
  out += ']';
}

}  // namespace byoc
