// Graphs as text, in the form in which LibTorch prints and reads them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "torchscript/ir/ir.h"

namespace fxtrace::torchscript {

// With subgraphs behind it.  Source ranges are left out.
std::string to_text(const IrGraph& graph);
std::string to_text(const IrNode& node);  // its first line

// Operators get their schemas (by name and types where they fit), values the names that they have in the
// text. `resolve` knows classes.  Throws Error(kInput).
using ResolveTypeName = std::function<TypePtr(const std::string&)>;
std::unique_ptr<IrGraph> parse_ir(std::string_view text, const ResolveTypeName& resolve = nullptr);

}  // namespace fxtrace::torchscript
