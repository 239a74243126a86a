// What the modules of torch.nn do to what they are given, as far as a call of one tells: the traits of
// leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fxtrace {

using ModuleTraits = std::uint32_t;

namespace module_traits {
inline constexpr ModuleTraits kKnown = 1U << 0;          // it does what these traits say, and no more
inline constexpr ModuleTraits kInPlaceOption = 1U << 1;  // writes its first input if its `inplace` is True
inline constexpr ModuleTraits kMayBeArgument = 1U << 2;  // results may share memory with inputs
inline constexpr ModuleTraits kRandom = 1U << 3;         // draws random numbers
inline constexpr ModuleTraits kRandomInTraining = 1U << 4;
inline constexpr ModuleTraits kWritesOwn = 1U << 5;  // its parameters or buffers
inline constexpr ModuleTraits kWritesOwnInTraining = 1U << 6;
inline constexpr ModuleTraits kIdentity = 1U
                                          << 7;  // where it draws nothing and writes nothing, gives its input
inline constexpr ModuleTraits kAnyRank = 1U << 8;  // its input may have any dimensions more in front
// Its input is [N, C, ...] with so many dimensions more, or the same without N; each row is by itself.
inline constexpr ModuleTraits kRows1d = 1U << 9;
inline constexpr ModuleTraits kRows2d = 1U << 10;
inline constexpr ModuleTraits kRows3d = 1U << 11;
}  // namespace module_traits

// Of "torch.nn.modules.activation.ReLU"; none for other types.
ModuleTraits traits_of_module(std::string_view type);

// How many kRows1d, kRows2d and kRows3d tell of; 0 for other modules.
std::size_t spatial_dimensions(ModuleTraits traits);

}  // namespace fxtrace
