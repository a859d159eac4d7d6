// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of compiling, in one table. Flags of commands, words of `bench --vs`, JSON, replay
// folders and files of tuners on other machines are made of it: an option is one row.
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <variant>

#include "byoc/compile.h"

namespace byoc {

/// The value of an option.
using OptionValue = std::variant<bool, int, uint32_t, std::string, std::vector<std::string>>;

/// The part of the work that an option belongs to.
enum class OptionPart : uint8_t {
  kModel,    ///< reading a model
  kBuild,    ///< compiling
  kTuning,   ///< the choice among kernels by measurements
  kPlugins,  ///< the plugins that are there; for commands without a model, too
};

struct OptionInfo {
  std::string_view name;   ///< "exact-sums": the flag --exact-sums, and the name everywhere else
  std::string_view flag;   ///< a flag of another name, "-O"; empty: as `name`
  std::string_view value;  ///< "CPU" in help; empty for a bool
  std::string_view doc;    ///< one line for help
  OptionValue fallback;    ///< without it
  OptionPart part;
  /// Changes what a plugin's compile makes of one function. Such options are kept in replay folders
  /// and sent to tuners on other machines; target and threads are members of these files.
  bool is_of_functions = false;
  bool needs_model = false;  ///< has no meaning for a model that is compiled already
  bool adds = false;         ///< a word of --vs adds to the list of values, and replaces it not
  /// Writes the value into the options of the flow; null: read by those who load models, plugins
  /// and logs. Errors: slug "usage".
  Status (*set)(const OptionValue&, BuildOptions&) = nullptr;
  /// Reads it back; null where `set` is, and for options that are not `is_of_functions`.
  OptionValue (*get)(const BuildOptions&) = nullptr;
};

/// Returns all rows, in the order of help.
std::span<const OptionInfo> option_table();
/// Returns "--exact-sums" or "-O".
std::string flag_of(const OptionInfo& option);

/// The name of an option whose values have type T.
template <class T>
struct OptionKey {
  std::string_view name;
};
/// Options that code reads by name. The others have an effect through `set` alone.
namespace option {
using Texts = std::vector<std::string>;
inline constexpr OptionKey<Texts> kShape{"shape"}, kBind{"bind"}, kState{"state"},
    kCompiler{"compiler"}, kCompute{"compute"}, kPlace{"place"}, kPlugin{"plugin"},
    kPluginOption{"plugin-option"}, kTuningLog{"tuning-log"}, kIsolatePlugin{"isolate-plugin"};
inline constexpr OptionKey<std::string> kEntry{"entry"}, kTarget{"target"}, kPlan{"plan"},
    kIsolateMemory{"isolate-memory"}, kMaxMemory{"max-memory"};
inline constexpr OptionKey<uint32_t> kThreads{"threads"}, kIsolateTime{"isolate-time"},
    kTimeLimit{"time-limit"};
inline constexpr OptionKey<int> kLevel{"level"};
inline constexpr OptionKey<bool> kRequireTuned{"require-tuned"}, kIsolate{"isolate"};
}  // namespace option

/// A value for each row of the table. Addresses of values are stable, also when it is moved.
class OptionValues {
 public:
  OptionValues();  ///< the fallbacks
  template <class T>
  T& operator[](OptionKey<T> key) {
    return std::get<T>(at(key.name));
  }
  template <class T>
  const T& operator[](OptionKey<T> key) const {
    return std::get<T>(at(key.name));
  }
  OptionValue& at(std::string_view name);  ///< the table has the name
  const OptionValue& at(std::string_view name) const;
  bool is_given(const OptionInfo& option) const { return at(option.name) != option.fallback; }
  /// Reads the value from the right-hand side of a word such as "level=1"; "exact-sums" has none.
  /// Returns false for a value that is not of the row's kind.
  [[nodiscard]] bool read(const OptionInfo& option, const std::string& text);

 private:
  std::map<std::string_view, OptionValue> values_;
};

/// Writes every option that has a `set` into `to`. Errors: slug "usage".
Status apply(const OptionValues& options, BuildOptions& to);
/// Returns the given options by name: {"level":1,"exact-sums":true}.
nlohmann::ordered_json given_json(const OptionValues& options);

/// Returns the values of rows that are `is_of_functions` where they are not the fallbacks, by name,
/// as a JSON object.
std::string function_options_json(const BuildOptions& options);
/// Reads what function_options_json returned. Errors: kInvalidArgument naming the member that is
/// unknown or of another kind.
Status read_function_options(std::string_view json, BuildOptions& to);
/// Returns byoc_compile_flags for a plugin's compile.
uint32_t compile_flags(const BuildOptions& options);

}  // namespace byoc
