// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernel families: ways to compute one op, or several ops as one kernel. A family is a folder and a
// row of families.inc.
#include <map>
#include <string_view>

#include "byoc/translate/translate.h"
#include "plugins/llvm/topi/space.h"

namespace byoc::llvm_plugin {

/// Ops of a function that a family computes as one kernel.
struct Match {
  std::vector<uint32_t> nodes;                 ///< in order; only the last one's result leaves them
  std::map<uint32_t, std::string_view> roles;  ///< what some of them are in the kernel
  /// Returns the role of a node, "" for others.
  std::string_view role(uint32_t node) const;
};

/// A call for which computes are chosen, and its family's match. Families of one op have none.
struct FamilyCall {
  const te::Site& site;
  const Match* match = nullptr;
  /// The result has open sizes, for which the types of the site have numbers.
  bool is_open = false;
  /// The shape of the first result with these sizes.
  Shape open_shape;
};
using Strategies = std::vector<te::Strategy>;

/// A row of the list. Functions that a family does without are null.
struct Family {
  std::string_view name;
  /// The reason why functions with open sizes do without the family; "": it finds kernels in them,
  /// and of its computes they have those with `takes_open`.
  std::string_view declines_open = "";
  /// Finds kernels of several anchors in a function: where they pay, or with `anywhere` all that
  /// the family can compute. The host keeps their ops together (groups_of), and they have the
  /// computes of this family and the direct ones only. Matches have no nodes in common. Linear.
  std::vector<Match> (*find)(const Function&, bool anywhere) = nullptr;
  /// Appends the computes that the family has for a call. `out` begins with the direct one; a
  /// compute that is to be the usual one gets the highest level (prefer).
  void (*add_computes)(const FamilyCall&, Strategies& out) = nullptr;
  /// Returns true for computes that no other family can schedule. A Dag with one of them that
  /// `schedules` refuses is an error.
  bool (*owns)(std::string_view compute) = nullptr;
  /// Returns the schedules of a Dag that the family is made for. The Dag outlives them.
  std::optional<topi::Template> (*schedules)(const te::Dag&, const te::Target&) = nullptr;
};

/// Returns the family of that name. Aborts when there is none.
const Family& family_named(std::string_view name);

/// The attribute of a function with families that are not used: "-winograd,-strassen"; or preferred
/// wherever they can compute something, whatever it costs: "+winograd".
inline constexpr const char* kFamiliesAttr = "llvm.families";
/// Returns an error that names the families when the text of that attribute is none.
Status check_families(std::string_view text);

/// The strategies of the plugin: the direct compute of each call, and those of the families. A
/// function with several anchors that no family has matched has computes with a generic schedule
/// only, as the families schedule Dags of one. One table for one translation.
te::StrategyTable strategies();
/// Returns true where a result of a node has open sizes.
bool has_open_type(const Node& node);
/// Functions with open sizes, by the same functions with numbers for them.
using OpenFunctions = std::map<const Function*, const Function*>;
/// The strategies of functions with numbers for open sizes: kernels of several anchors are found in
/// the open functions, so that what a match relies on holds in every run.
te::StrategyTable strategies(OpenFunctions open_of);
/// Translates the entry of a module with these strategies. Stages that neither an output nor a
/// check reads are left out: of a product whose shape alone is read there is nothing to schedule.
/// Errors: those of translate_to_te.
Result<te::Dag> translate(const IRModule& module, const te::Target& target,
                          const te::StrategySelector& selector = te::by_level());
/// Translates with other strategies.
Result<te::Dag> translate(const IRModule& module, const te::Target& target,
                          const te::StrategySelector& selector,
                          const te::StrategyTable& strategies);
/// Returns the schedules of the family that the Dag's computes belong to, or of the first family
/// that has some; nullopt where none has. `at` fails where a family refuses its own compute.
std::optional<topi::Template> family_template(const te::Dag& dag, const te::Target& target);
/// Returns the same, or the default schedules.
topi::Template template_of(const te::Dag& dag, const te::Target& target);

/// Nodes of a function that are to be one kernel, and the family that has matched them.
struct KernelGroup {
  std::string_view family;
  std::vector<uint32_t> nodes;
};
/// Returns the kernels of several anchors that families find in a function, and those of sibling
/// reductions (siblings.h). Linear.
std::vector<KernelGroup> groups_of(const Function& function);

}  // namespace byoc::llvm_plugin
