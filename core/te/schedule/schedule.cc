#include "core/te/schedule/state.h"

namespace byoc::te {

Schedule::Schedule(Dag dag) : state_(std::make_unique<State>(State{std::move(dag), {}})) {}
Schedule::~Schedule() = default;
Schedule::Schedule(const Schedule& other) : state_(std::make_unique<State>(*other.state_)) {}
Schedule::Schedule(Schedule&&) noexcept = default;
Schedule& Schedule::operator=(const Schedule& other) {
  *state_ = *other.state_;
  return *this;
}
Schedule& Schedule::operator=(Schedule&&) noexcept = default;

const Dag& Schedule::dag() const { return state_->dag; }
const Trace& Schedule::trace() const { return state_->trace; }

}  // namespace byoc::te
