// SPDX-License-Identifier: Apache-2.0
// States and entries of byoc/c/states.h.
#include "byoc/c/states.h"

#include "runtime/c/handles.h"
#include "runtime/c/infos.h"

using namespace byoc;
using namespace byoc::c;

size_t byoc_session_state_count(const byoc_session* session) {
  return session == nullptr ? 0 : session->session->states().size();
}

byoc_error* byoc_session_state(const byoc_session* session, size_t k, byoc_tensor_info* out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(session);
    BYOC_C_REQUIRE(out);
    const size_t count = byoc_session_state_count(session);
    if (k >= count)
      return Status(Code::kOutOfRange, cat("there are ", count, " states, no state ", k));
    const StateInfo& state = session->session->states()[k];
    *out = tensor_info(state.input, state.type);
    return {};
  });
}

const char* byoc_session_state_output(const byoc_session* session, size_t k) {
  return k < byoc_session_state_count(session) ? session->session->states()[k].output.c_str() : "";
}

int32_t byoc_session_state_is_in_place(const byoc_session* session, size_t k) {
  return k < byoc_session_state_count(session) && session->session->states()[k].is_in_place;
}

byoc_error* byoc_context_new_sharing(const byoc_session* session, const byoc_context* other,
                                     byoc_context** out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(session);
    BYOC_C_REQUIRE(other);
    BYOC_C_REQUIRE(out);
    BYOC_TRY_STATUS(session->session->check_externs());
    BYOC_TRY(auto context, session->session->make_context(*other->context));
    *out = new byoc_context{*session->session, std::move(context)};
    return {};
  });
}

byoc_error* byoc_context_reset_states(byoc_context* context) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(context);
    return context->session.reset_states(*context->context);
  });
}

byoc_error* byoc_context_get_state(const byoc_context* context, const char* name,
                                   const DLTensor* to) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(context);
    BYOC_C_REQUIRE(name);
    BYOC_C_REQUIRE(to);
    return context->session.get_state(*context->context, name, *to);
  });
}

byoc_error* byoc_context_set_state(byoc_context* context, const char* name, const DLTensor* from) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(context);
    BYOC_C_REQUIRE(name);
    BYOC_C_REQUIRE(from);
    return context->session.set_state(*context->context, name, *from);
  });
}

const char* byoc_program_size_entry(const byoc_program* program, size_t k) {
  return k < byoc_program_size_count(program) ? program->sizes[k].entry.c_str() : "";
}

byoc_error* byoc_program_find_entry(const byoc_program* program, const char* name, size_t* first,
                                    size_t* count) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(program);
    BYOC_C_REQUIRE(first);
    BYOC_C_REQUIRE(count);
    BYOC_TRY(const auto found, find_entry(program->sizes, name == nullptr ? "" : name));
    *first = static_cast<size_t>(found.data() - program->sizes.data());
    *count = found.size();
    return {};
  });
}
