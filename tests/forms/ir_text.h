// IR graphs as text, in the form in which LibTorch prints and reads them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "torchscript/ir/ir.h"

namespace fxtrace::internal::torchscript {

// Subgraphs follow the graph.  Source ranges are left out.
std::string to_text(const IrGraph& graph);
std::string to_text(const IrNode& node);  // its first line

// Reads a graph.  Operators get their schemas (by name and fitting types), values the names that they have in
// the text.  `resolve` finds classes.  Throws Error(kInput).
using ResolveTypeName = std::function<TypePtr(const std::string&)>;
std::unique_ptr<IrGraph> parse_ir(std::string_view text, const ResolveTypeName& resolve = nullptr);

}  // namespace fxtrace::internal::torchscript
