// SPDX-License-Identifier: Apache-2.0
// Loads libraries with passes, ops, importer rows and policies (byoc/extend/library.h).
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "byoc/base/file.h"
#include "byoc/base/nearest.h"
#include "byoc/base/shared_library.h"
#include "byoc/base/version.h"
#include "core/compile/guard_library.h"
#include "core/extend/added.h"

namespace byoc::extend {
namespace {

constexpr const char* kAdd = "byoc_library_add";
constexpr const char* kRebuild = "build the library against the headers of this byoc";
// A function that every library may call. A program without it in its dynamic symbols has no C++
// interface: libbyoc.so, which the command of packages uses, exports the C API alone.
constexpr const char* kProbe = "_ZN4byoc7all_opsEv";

Status refused(std::string message) { return failed(std::move(message)).with_slug("pass-library"); }

// Returns the facts in the file's bytes; nullopt when it has none.
std::optional<Interface> find_interface(std::string_view bytes) {
  const size_t at = bytes.find(kMagic);
  if (at == bytes.npos || bytes.size() - at < sizeof(Interface)) return std::nullopt;
  Interface out;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  out.version[sizeof out.version - 1] = 0;
  return out;
}

Status check_interface(const Interface& found) {
  const std::string version(byoc::version());
  const Interface due = interface_of(version);
  if (found.version != version)
    return refused(cat("it was built for byoc ", found.version, ", this is byoc ", version))
        .with_help(kRebuild);
  if (found.cxx_abi != due.cxx_abi || found.checks != due.checks)
    return refused(cat("it was built by a compiler with the C++ ABI ", found.cxx_abi,
                       found.checks ? " and checks of the standard library" : "",
                       ", this byoc with ", due.cxx_abi))
        .with_help("build the library and byoc with one compiler");
  if (!std::ranges::equal(found.layouts, due.layouts))
    return refused(cat("it was built with headers of another state of byoc ", version,
                       ": types that cross have other sizes"))
        .with_help(kRebuild);
  return {};
}

Status check_pass(const AddedPass& pass, const Library& library) {
  const std::string& name = pass.info.name;
  const auto taken = std::ranges::count(library.passes, name, [](auto& p) { return p.info.name; });
  if (!pass.info.run || name.empty())
    return refused(cat("the pass \"", name, "\" has no function"));
  if (name.find_first_of(" \t\n=,+[]") != name.npos)
    return refused(cat("the pass \"", name, "\" has a name that --passes cannot read"))
        .with_help("names have no spaces and none of = , + [ ]");
  if (taken > 1 || std::ranges::count(all_passes(), name, &PassInfo::name) > 0)
    return refused(cat("a pass is called ", name, " already"));
  if (pass.after.empty()) return {};
  std::vector<std::string> known;
  for (const Pass& one : Pipeline::whole(PassContext())) known.push_back(one.name);
  known.push_back("place_by_cost");  // of the choice by cost
  for (const AddedPass& other : library.passes) known.push_back(other.info.name);
  if (std::ranges::count(known, pass.after) > 0 && pass.after != name) return {};
  return refused(cat("the pass ", name, " comes after \"", pass.after,
                     "\", which the pipeline does not have", did_you_mean(pass.after, known)))
      .with_help("byoc opt --list");
}

Status check_onnx(const OnnxRow& row, const Library& library) {
  if (row.domain.empty() || row.domain.starts_with("ai.onnx") || row.domain == "com.microsoft")
    return refused(cat("the operator ", row.op_type, " is of the domain \"", row.domain,
                       "\", whose operators byoc defines"));
  const bool is_own = std::ranges::count(library.ops, row.op, &OpDef::name) > 0;
  if (!is_own && all_ops().find(row.op) == nullptr)
    return refused(cat("the operator ", row.op_type, " is the op \"", row.op, "\", which is none"));
  const auto rows = std::ranges::count_if(library.onnx, [&](const OnnxRow& other) {
    return other.domain == row.domain && other.op_type == row.op_type;
  });
  if (rows > 1)
    return refused(cat("the operator ", row.domain, ".", row.op_type, " has ", rows, " rows"));
  if (find_onnx_row(row.domain, row.op_type) != nullptr)
    return refused(cat("the operator ", row.domain, ".", row.op_type, " is there already"));
  return {};
}

Status check(const Library& library) {
  std::set<std::string> names;
  for (const OpDef& op : library.ops) {
    Status status = check_added_op(op);
    if (!status.ok()) return refused(std::string(status.message()));
    if (!names.insert(op.name).second) return refused(cat("two ops are called ", op.name));
  }
  for (const AddedPass& pass : library.passes) BYOC_TRY_STATUS(check_pass(pass, library));
  for (const OnnxRow& row : library.onnx) BYOC_TRY_STATUS(check_onnx(row, library));
  return {};
}

void add_hooks(Hooks from) {
  Hooks& to = added().hooks;
  if (from.placement_cost) to.placement_cost = std::move(from.placement_cost);
  if (from.region_judge) to.region_judge = std::move(from.region_judge);
  if (from.placement_solver) to.placement_solver = std::move(from.placement_solver);
  if (from.tuner_model.train) to.tuner_model = std::move(from.tuner_model);
  if (from.tuner_search) to.tuner_search = std::move(from.tuner_search);
}

Status add(Library library, const std::string& name) {
  BYOC_TRY_STATUS(check(library));
  guard(library, name);
  if (auto& reference = added().register_reference; reference != nullptr && !library.ops.empty())
    BYOC_TRY_STATUS(std::exchange(reference, nullptr)());
  for (OpDef& op : library.ops) BYOC_TRY_STATUS(add_op(std::move(op)).status());
  for (AddedPass& pass : library.passes) added().passes.push_back(std::move(pass));
  for (OnnxRow& row : library.onnx) added().onnx.push_back(std::move(row));
  add_hooks(std::move(library.hooks));
  return {};
}

Status load(const std::string& path) {
  BYOC_TRY(const std::string bytes, read_file(path));
  const auto found = find_interface(bytes);
  if (!found)
    return refused("it is no library of byoc: it has no BYOC_LIBRARY")
        .with_help("plugins are loaded by --plugin");
  BYOC_TRY_STATUS(check_interface(*found));
  if (dlsym(RTLD_DEFAULT, kProbe) == nullptr)
    return refused("this program has no C++ interface that a library could use")
        .with_help("use the command of a build of byoc, or of cmake --install");
  Result<SharedLibrary> opened = SharedLibrary::open(path);
  if (!opened.ok()) {
    Status status = refused(std::string(opened.status().message()));
    return std::move(status).with_help(kRebuild);
  }
  auto* add_parts = reinterpret_cast<void (*)(Library&)>(opened->symbol(kAdd));
  opened->keep();
  if (add_parts == nullptr) return refused(cat("it has no function ", kAdd)).with_help(kRebuild);
  Library library;
  try {
    add_parts(library);
  } catch (const std::exception& e) {
    return refused(cat("it threw an exception: ", e.what()));
  } catch (...) {
    return refused("it threw something that is no std::exception");
  }
  return add(std::move(library), std::filesystem::path(path).filename().string());
}

}  // namespace

Status load_library(const std::string& path) {
  static auto* const loaded = new std::set<std::string>;
  std::error_code error;
  const std::string file = std::filesystem::canonical(path, error).string();
  if (error) return refused(cat("cannot read it: ", error.message())).at(path);
  if (!loaded->insert(file).second) return {};
  Status status = load(file);
  if (status.ok()) return {};
  loaded->erase(file);
  return std::move(status).with_slug("pass-library").at(path);
}

}  // namespace byoc::extend
