// SPDX-License-Identifier: Apache-2.0
// Programs, sessions and runs of byoc/c/byoc.h.
#include <algorithm>
#include <charconv>

#include "byoc/base/nearest.h"
#include "byoc/runtime/allocator.h"
#include "runtime/c/handles.h"
#include "runtime/c/infos.h"
#include "runtime/cli/named_plugins.h"

namespace byoc::c {
namespace {

struct LoadOptions {
  PluginSearch search = default_plugin_search();
  std::vector<std::string> files;
  cli::IsolationFlags isolation;
  SessionOptions session;
  bool check = false;
};

Status wrong_value(const std::string& name, const std::string& value, const char* expected) {
  return invalid(cat("the option ", name, " expects ", expected, ", not \"", value, "\""))
      .with_slug("usage");
}

Result<LoadOptions> load_options(const byoc_options* given) {
  LoadOptions out;
  for (const auto& [name, value] : given ? given->values : decltype(given->values){}) {
    if (name == "threads") {
      auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), out.session.threads);
      if (error != std::errc() || end != value.data() + value.size())
        return wrong_value(name, value, "a number, 0 for all cores");
    } else if (name == "plugin") {
      out.files.push_back(value);
    } else if (name == "plugin-option") {
      BYOC_TRY_STATUS(cli::add_plugin_option(value, out.search));
    } else if (name == "isolate") {
      out.search.isolation.all = true;
    } else if (name == "isolate-plugin") {
      out.isolation.ids.push_back(value);
    } else if (name == "check") {
      out.check = true;
    } else if (name == "no-native") {
      out.session.allow_native = false;
    } else {
      const std::vector<std::string> known = {
          "threads", "plugin", "plugin-option", "no-native", "isolate", "isolate-plugin", "check"};
      return not_found(cat("a session has no option \"", name, "\"", did_you_mean(name, known)))
          .with_slug("usage");
    }
  }
  out.search.files = out.files;
  BYOC_TRY_STATUS(cli::read_isolation(out.isolation, out.search.isolation));
  return out;
}

/// Returns the plugins that the modules need. No others are opened: a compiler takes memory that no
/// run uses.
std::set<std::string> ids_of(const Executable& executable) {
  std::set<std::string> ids;
  for (const ExternalModule& module : executable.modules) {
    if ((module.flags & BYOC_MODULE_NATIVE) == 0) ids.insert(module.plugin);
  }
  if (executable.fallback) ids.merge(ids_of(*executable.fallback));
  return ids;
}

Result<std::unique_ptr<byoc_session>> new_session(const byoc_program& program, size_t k,
                                                  const byoc_options* options,
                                                  const byoc_watch* watch) {
  if (k >= program.sizes.size()) {
    return Status(Code::kOutOfRange,
                  cat("the program has ", program.sizes.size(), " sizes, there is no size ", k))
        .with_help(cat("it has ", describe_sizes(program.sizes)));
  }
  const Executable& executable = program.sizes[k].executable;
  BYOC_TRY(LoadOptions with, load_options(options));
  if (with.check) BYOC_TRY_STATUS(check_contents({&program.sizes[k], 1}));
  with.search.ids = ids_of(executable);
  BYOC_TRY(with.session.cancel, cancellation_of(watch));
  auto out = std::make_unique<byoc_session>();
  out->plugins = PluginSet::load(with.search);
  BYOC_TRY_STATUS(cli::check_named_plugins(*out->plugins, with.files));
  BYOC_TRY_STATUS(cli::check_isolated_plugins(*out->plugins, with.isolation));
  BYOC_TRY(out->session, Session::load(executable, out->plugins, with.session));
  return out;
}

Status info_of(const std::vector<NamedTensor>& all, const char* what, size_t k,
               byoc_tensor_info* out) {
  BYOC_C_REQUIRE(out);
  if (k >= all.size())
    return Status(Code::kOutOfRange,
                  cat("there are ", all.size(), " ", what, "s, no ", what, " ", k));
  *out = tensor_info(all[k].name, all[k].type);
  return {};
}

}  // namespace
}  // namespace byoc::c

using namespace byoc;
using namespace byoc::c;

byoc_error* byoc_program_load(const char* path, byoc_program** out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(path);
    BYOC_C_REQUIRE(out);
    auto program = std::make_unique<byoc_program>();
    BYOC_TRY(program->sizes, load_artifact_sizes(path));
    *out = program.release();
    return {};
  });
}

byoc_error* byoc_program_load_memory(const void* data, size_t size, byoc_program** out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(data);
    BYOC_C_REQUIRE(out);
    auto program = std::make_unique<byoc_program>();
    BYOC_TRY(program->sizes, load_artifact_bytes({static_cast<const std::byte*>(data), size}));
    *out = program.release();
    return {};
  });
}

byoc_error* byoc_program_save(const byoc_program* program, const char* path) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(program);
    BYOC_C_REQUIRE(path);
    return save_artifact_sizes(program->sizes, path);
  });
}

size_t byoc_program_size_count(const byoc_program* program) {
  return program == nullptr ? 0 : program->sizes.size();
}
const char* byoc_program_size_label(const byoc_program* program, size_t k) {
  return k < byoc_program_size_count(program) ? program->sizes[k].label.c_str() : "";
}
void byoc_program_free(byoc_program* program) { delete program; }

byoc_error* byoc_session_new(const byoc_program* program, size_t k, const byoc_options* options,
                             const byoc_watch* watch, byoc_session** out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(program);
    BYOC_C_REQUIRE(out);
    return give(new_session(*program, k, options, watch), out);
  });
}

size_t byoc_session_input_count(const byoc_session* session) {
  return session == nullptr ? 0 : session->session->inputs().size();
}
size_t byoc_session_output_count(const byoc_session* session) {
  return session == nullptr ? 0 : session->session->outputs().size();
}
byoc_error* byoc_session_input(const byoc_session* session, size_t k, byoc_tensor_info* out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(session);
    return info_of(session->session->inputs(), "input", k, out);
  });
}
byoc_error* byoc_session_output(const byoc_session* session, size_t k, byoc_tensor_info* out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(session);
    return info_of(session->session->outputs(), "output", k, out);
  });
}
int32_t byoc_session_output_is_counted(const byoc_session* session, size_t k) {
  return k < byoc_session_output_count(session) && session->session->outputs()[k].type.counted != 0;
}
int32_t byoc_session_is_open(const byoc_session* session) {
  return session != nullptr && !session->session->program().sizes.empty();
}
size_t byoc_session_warning_count(const byoc_session* session) {
  return session == nullptr ? 0 : session->session->warnings().size();
}
const char* byoc_session_warning(const byoc_session* session, size_t k) {
  return k < byoc_session_warning_count(session) ? session->session->warnings()[k].c_str() : "";
}

byoc_error* byoc_session_set_extern(byoc_session* session, const char* symbol,
                                    byoc_extern_fn function, void* user) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(session);
    BYOC_C_REQUIRE(symbol);
    BYOC_C_REQUIRE(function);
    return session->session->register_extern(
        symbol, [function, user](std::span<const DLTensor> in, std::span<DLTensor> out) -> Status {
          byoc_error* error = function(user, in.data(), in.size(), out.data(), out.size());
          if (error == nullptr) return {};
          Status status = status_of(error);
          byoc_error_free(error);
          return status;
        });
  });
}
void byoc_session_free(byoc_session* session) { delete session; }

byoc_error* byoc_set_allocator(const byoc_allocator* given) {
  return guarded([&]() -> Status {
    if (given == nullptr) return set_allocator(nullptr), Status();
    if (given->size < sizeof(byoc_allocator)) {
      return invalid(cat("byoc_allocator.size is ", given->size, ", expected at least ",
                         sizeof(byoc_allocator)))
          .with_slug("allocator-size")
          .with_help("set it to sizeof(byoc_allocator)");
    }
    BYOC_C_REQUIRE(given->allocate);
    BYOC_C_REQUIRE(given->release);
    auto out = std::make_shared<Allocator>();
    out->allocate = [own = *given](size_t bytes, size_t alignment) {
      return own.allocate(own.user, bytes, alignment);
    };
    out->release = [own = *given](void* memory, size_t bytes) {
      own.release(own.user, memory, bytes);
    };
    set_allocator(std::move(out));
    return {};
  });
}

byoc_error* byoc_context_new(const byoc_session* session, byoc_context** out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(session);
    BYOC_C_REQUIRE(out);
    BYOC_TRY_STATUS(session->session->check_externs());
    BYOC_TRY(auto context, session->session->make_context());
    *out = new byoc_context{*session->session, std::move(context)};
    return {};
  });
}

byoc_error* byoc_run(byoc_context* context, const DLTensor* inputs, size_t n_in, DLTensor* outputs,
                     size_t n_out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(context);
    if (n_in > 0) BYOC_C_REQUIRE(inputs);
    if (n_out > 0) BYOC_C_REQUIRE(outputs);
    return context->session.run(*context->context, {inputs, n_in}, {outputs, n_out});
  });
}

byoc_error* byoc_context_take_inputs(byoc_context* context, const DLTensor* inputs, size_t n_in) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(context);
    if (n_in > 0) BYOC_C_REQUIRE(inputs);
    return context->session.take_sizes(*context->context, {inputs, n_in});
  });
}

byoc_error* byoc_context_output_shape(const byoc_context* context, size_t k, const int64_t** shape,
                                      int32_t* ndim) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(context);
    BYOC_C_REQUIRE(shape);
    BYOC_C_REQUIRE(ndim);
    const size_t count = context->session.outputs().size();
    if (k >= count)
      return Status(Code::kOutOfRange, cat("there are ", count, " outputs, no output ", k));
    const auto dims = context->session.output_dims(*context->context, k);
    *shape = dims.data();
    *ndim = static_cast<int32_t>(dims.size());
    return {};
  });
}
void byoc_context_free(byoc_context* context) { delete context; }
