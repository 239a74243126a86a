#include "torchscript/custom_classes.h"

#include <ATen/core/class_type.h>
#include <torch/custom_class_detail.h>

#include <cctype>
#include <memory>

namespace fxtrace {
namespace {

constexpr std::string_view kPrefix = "__torch__.torch.classes.";

// The doc string of classes that are only declared: LibTorch keeps them, and a later model meets them again.
constexpr char kDeclared[] = "declared by fxtrace";

std::string_view identifier(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[size])) != 0 || text[size] == '_')) {
    ++size;
  }
  return text.substr(0, size);
}

}  // namespace

bool declare_classes(std::string_view text) {
  bool any = false;
  for (std::size_t at = text.find(kPrefix); at != std::string_view::npos; at = text.find(kPrefix, at)) {
    at += kPrefix.size();
    const std::string_view space = identifier(text.substr(at));
    at += space.size();
    // A pickle has the name on a line of its own.
    if (space.empty() || at == text.size() || (text[at] != '.' && text[at] != '\n')) continue;
    const std::string_view name = identifier(text.substr(++at));
    if (name.empty()) continue;
    std::string full(kPrefix);
    full += space;
    full += '.';
    full += name;
    if (torch::getCustomClass(full) != nullptr) {
      any = any || is_declared_class(full);
      continue;
    }
    const auto type =
        c10::ClassType::create(c10::QualifiedName(full), std::weak_ptr<torch::jit::CompilationUnit>(),
                               /*is_module=*/false, kDeclared);
    type->addAttribute("capsule", c10::CapsuleType::get());  // as LibTorch's own have it
    torch::registerCustomClass(type);
    any = true;
  }
  return any;
}

bool is_declared_class(const std::string& name) {
  const c10::ClassTypePtr type = torch::getCustomClass(name);
  return type != nullptr && type->doc_string() == kDeclared;
}

}  // namespace fxtrace
