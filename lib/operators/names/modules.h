// Traits of torch.nn modules, for calls of leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fxtrace::internal {

using ModuleTraits = std::uint32_t;

namespace module_traits {
inline constexpr ModuleTraits kKnown = 1U << 0;          // has no effects but those of its traits
inline constexpr ModuleTraits kInPlaceOption = 1U << 1;  // writes to its first input if its `inplace` is True
inline constexpr ModuleTraits kMayBeArgument = 1U << 2;  // results may alias inputs
inline constexpr ModuleTraits kRandom = 1U << 3;         // draws random numbers
inline constexpr ModuleTraits kRandomInTraining = 1U << 4;
inline constexpr ModuleTraits kWritesOwn = 1U << 5;  // writes to its parameters or buffers
inline constexpr ModuleTraits kWritesOwnInTraining = 1U << 6;
inline constexpr ModuleTraits kIdentity = 1U << 7;  // returns its input when no other trait applies
inline constexpr ModuleTraits kAnyRank = 1U << 8;   // accepts any leading dimensions
// The input is [N, C, ...] with one, two or three spatial dimensions, or the same without N; rows are
// independent.
inline constexpr ModuleTraits kRows1d = 1U << 9;
inline constexpr ModuleTraits kRows2d = 1U << 10;
inline constexpr ModuleTraits kRows3d = 1U << 11;
}  // namespace module_traits

// Returns the traits of a type such as "torch.nn.modules.activation.ReLU"; none for other types.
ModuleTraits traits_of_module(std::string_view type);

// Returns whether the class is defined in torch.nn or torch.ao.nn.
bool is_torch_module(std::string_view type);
// Returns the public name of a type: "torch.nn.modules.linear.Linear" -> "torch.nn.Linear"; other types stay
// as they are.
std::string public_alias(const std::string& type);

// Returns the number of spatial dimensions by kRows1d, kRows2d and kRows3d; 0 for other modules.
std::size_t spatial_dimensions(ModuleTraits traits);

}  // namespace fxtrace::internal
