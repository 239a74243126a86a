#include "torchscript/torchscript_program.h"

#include <sys/mman.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <ucontext.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <sstream>

#include "support/error.h"
#include "torchscript/bound_torchscript_program.h"
#include "torchscript/convert.h"
#include "torchscript/input_guesses.h"
#include "torchscript/interpreter.h"
#include "torchscript/same_code.h"
#include "torchscript/same_modules.h"
#include "torchscript/tensor_writes.h"

namespace fxtrace {

namespace {

// Memory for a stack with a guard below it; only what is touched takes room, but limits count all of it.
class LargeStack {
 public:
  // As much as recursion in LibTorch's parser and unpickler needs for the worst nesting that fits in a file
  // of some megabytes, and at most half of what may be had.
  LargeStack() {
    constexpr std::size_t kLargest = std::size_t{4} << 30;
    constexpr std::size_t kSmallest = std::size_t{8} << 20;
    for (std::size_t size = kLargest; size >= kSmallest && base_ == nullptr; size /= 2) {
      if (void* const both = map(2 * size)) {
        ::munmap(both, 2 * size);
        base_ = map(size);
        size_ = size;
      }
    }
    if (base_ != nullptr) ::mprotect(base_, kGuard, PROT_NONE);
  }
  ~LargeStack() {
    if (base_ != nullptr) ::munmap(base_, size_);
  }
  LargeStack(const LargeStack&) = delete;
  LargeStack& operator=(const LargeStack&) = delete;

  explicit operator bool() const { return base_ != nullptr; }
  void give_to(ucontext_t& context) const {
    context.uc_stack.ss_sp = static_cast<char*>(base_) + kGuard;
    context.uc_stack.ss_size = size_ - kGuard;
  }

 private:
  static constexpr std::size_t kGuard = std::size_t{1} << 16;

  static void* map(std::size_t size) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    void* const address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    return address == MAP_FAILED ? nullptr : address;
  }

  void* base_ = nullptr;
  std::size_t size_ = 0;
};

// A call that another stack runs: no thread, which a process that is locked down cannot make.
struct Job {
  const std::function<void()>* f = nullptr;
  std::exception_ptr error;

  void run() {
    // LibTorch's warnings are about running models; they would land on stderr between the program's own
    // lines.
    class Silence : public c10::WarningHandler {
      void process(const c10::Warning& /*warning*/) override {}
    } silence;
    const c10::WarningUtils::WarningHandlerGuard guard(&silence);
    try {
      (*f)();
    } catch (...) {
      error = std::current_exception();
    }
  }
};
thread_local Job* job_of_new_stack = nullptr;

}  // namespace

void with_large_stack(const std::function<void()>& f) {
  Job job{&f, nullptr};
  const LargeStack stack;
  ucontext_t here{}, there{};
  if (stack && ::getcontext(&there) == 0) {
    stack.give_to(there);
    there.uc_link = &here;
    job_of_new_stack = &job;
    ::makecontext(&there, [] { job_of_new_stack->run(); }, 0);
    ::swapcontext(&here, &there);
  } else {
    job.run();
  }
  if (job.error) std::rethrow_exception(job.error);
}

bool is_forward(const std::string& method) {
  constexpr std::string_view kOverload = "forward__";
  return method == "forward" ||
         (method.rfind(kOverload, 0) == 0 &&
          method.find_first_not_of("0123456789", kOverload.size()) == std::string::npos);
}

torch::jit::Function* find_forward(const c10::ClassType& type) {
  if (torch::jit::Function* forward = type.findMethod("forward")) return forward;
  return type.findMethod("forward__0");
}

bool is_traced_call(const c10::ClassType& type, const std::string& method) {
  constexpr std::string_view kForward = "forward";
  if (method.rfind(kForward, 0) != 0 || type.findMethod("forward") == nullptr) return false;
  int number = 0;
  const char* const end = method.data() + method.size();
  const auto [rest, error] = std::from_chars(method.data() + kForward.size(), end, number);
  if (error != std::errc() || rest != end || method != "forward" + std::to_string(number)) return false;
  for (int earlier = 1; earlier < number; ++earlier) {
    if (type.findMethod("forward" + std::to_string(earlier)) == nullptr) return false;
  }
  return number > 0;
}

bool TorchScriptProgram::does_as_forward(const c10::ClassType& type, torch::jit::Function& method) const {
  if (is_forward(method.name())) return true;
  const auto [place, is_new] = same_as_forward_.emplace(&method, false);
  if (is_new) place->second = have_same_code(*find_forward(type), method);
  return place->second;
}

TorchScriptProgram::TorchScriptProgram(std::unique_ptr<TorchScriptArchive> archive,
                                       std::unique_ptr<Declarations> declarations,
                                       const TraceOptions& options)
    : declarations_(std::move(declarations)), archive_(std::move(archive)) {
  read_modules();
  initialize(options);
}

TorchScriptProgram::~TorchScriptProgram() {
  with_large_stack([this] { archive_.reset(); });
}

std::string TorchScriptProgram::producer_version() const {
  return std::to_string(archive_->format_version());
}

void TorchScriptProgram::read_modules() {
  const ModuleObject root = archive_->module()._ivalue();
  same_modules_ = find_same_modules(
      root, [this](const c10::ivalue::Object* object) { return archive_->find_state(object) != nullptr; });
  read_module(root, "", std::nullopt);
  for (const auto& [object, first] : same_modules_) {
    const auto known = module_ids_.find(first.get());
    if (known != module_ids_.end()) module_ids_.emplace(object, known->second);
  }
}

namespace {

// A value that the predicates of leaf rules can look at.
std::optional<Argument> plain_attribute(const at::IValue& value) {
  if (value.isBool()) return Argument(value.toBool());
  if (value.isInt()) return Argument(value.toInt());
  if (value.isDouble()) return Argument(value.toDouble());
  if (value.isString()) return Argument(value.toStringRef());
  if (value.isNone()) return Argument(Argument::None{});
  const auto list = [](const auto& items) -> std::optional<Argument> {
    Argument::List result;
    for (const auto& item : items) {
      auto element = plain_attribute(item);
      if (!element) return std::nullopt;
      result.items.push_back(std::move(*element));
    }
    return Argument(std::move(result));
  };
  constexpr std::size_t kMaxElements = 64;  // a rule that compares longer lists is a mistake
  constexpr std::size_t kMaxValues = 4096;
  if (extent_of(value).size > kMaxValues) return std::nullopt;
  if (value.isList() && value.toListRef().size() <= kMaxElements) return list(value.toListRef());
  if (value.isTuple() && value.toTupleRef().size() <= kMaxElements)
    return list(value.toTupleRef().elements());
  return std::nullopt;
}

// A name has one value, the last; its place is that of the first.
void set_attribute(ModuleInfo& module, const std::string& name, Argument value) {
  const auto found = std::find_if(module.attributes.begin(), module.attributes.end(),
                                  [&](const auto& attribute) { return attribute.first == name; });
  if (found == module.attributes.end()) {
    module.attributes.emplace_back(name, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

}  // namespace

// Names of nested modules contain each other, and many may stand for one shape: neither is bounded by the
// file.
void TorchScriptProgram::count_names(std::size_t bytes) {
  constexpr std::size_t kMaxNames = std::size_t{64} << 20;
  name_bytes_ += bytes;
  if (name_bytes_ > kMaxNames) {
    throw input_error("the qualified names and shapes of its modules and parameters take more than " +
                      std::to_string(kMaxNames >> 20) + " MB");
  }
}

void TorchScriptProgram::read_module(const ModuleObject& named, const std::string& path,
                                     std::optional<ModuleId> parent) {
  const auto same = same_modules_.find(named.get());
  const ModuleObject& object = same != same_modules_.end() ? same->second : named;
  const ModuleId id{static_cast<std::uint32_t>(modules_.size())};
  const auto& type = *object->type();
  count_names(path.size());
  ModuleInfo info;
  info.path = path;
  info.type = type.name() ? demangle(type.name()->qualifiedName()) : "";
  info.parent = parent;
  info.has_forward = find_forward(type) != nullptr;
  const auto [known, is_new] = module_ids_.emplace(object.get(), id);
  if (!is_new) info.alias_of = known->second;
  modules_.push_back(std::move(info));
  objects_.push_back(object);
  if (!is_new) return;
  paths_.emplace(object.get(), path);

  const std::string prefix = path.empty() ? "" : path + ".";
  for (std::size_t i = 0; i < type.numAttributes() && i < object->slots().size(); ++i) {
    const std::string& name = type.getAttributeName(i);
    const at::IValue& value = object->slots()[i];
    if (value.isTensor()) {
      const bool parameter = type.is_parameter(i);
      if (!parameter && !type.is_buffer(i)) continue;
      const at::Tensor tensor = value.toTensor();
      if (!tensor.defined()) continue;
      ParameterRecord record;
      count_names(prefix.size() + name.size() + tensor.sizes().size() * sizeof(std::int64_t));
      record.name = prefix + path_part(name);
      record.kind = parameter ? ParameterKind::kParameter : ParameterKind::kBuffer;
      record.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
      record.dtype = dtype_name(tensor.scalar_type());
      record.device = archive_->saved_device(tensor);
      const auto [first, fresh] =
          tensors_.emplace(tensor_identity(tensor) + (parameter ? "p" : "b"), parameters_.size());
      if (!fresh) record.alias_of = parameters_[first->second].name;
      modules_[id.index].parameters.push_back(parameters_.size());
      parameters_.push_back(std::move(record));
    } else if (value.isObject()) {
      if (!value.toObjectRef().type()->is_module()) {
        count_names(prefix.size() + name.size());
        paths_.emplace(&value.toObjectRef(), prefix + path_part(name));
      }
    } else if (auto plain = plain_attribute(value)) {
      set_attribute(modules_[id.index], name, std::move(*plain));
    }
  }
  for (std::size_t i = 0; i < type.numConstants(); ++i) {
    if (auto plain = plain_attribute(type.getConstant(i))) {
      set_attribute(modules_[id.index], type.getConstantName(i), std::move(*plain));
    }
  }
  for (std::size_t i = 0; i < type.numAttributes() && i < object->slots().size(); ++i) {
    const at::IValue& value = object->slots()[i];
    if (!value.isObject() || !value.toObjectRef().type()->is_module()) continue;
    const ModuleId child{static_cast<std::uint32_t>(modules_.size())};
    modules_[id.index].children.push_back(child);
    read_module(value.toObject(), prefix + path_part(type.getAttributeName(i)), id);
  }
}

// Attributes that __setstate__ fills: followed symbolically, so that numbers and flags are there and packed
// parameters are known to exist.
void TorchScriptProgram::initialize(const TraceOptions& options) {
  Budget budget(options.limits);
  Interpreter interpreter(*this, options, budget, nullptr, nullptr);
  for (std::uint32_t i = 0; i < modules_.size(); ++i) {
    if (modules_[i].alias_of) continue;
    const at::IValue* state = archive_->find_state(objects_[i].get());
    if (state == nullptr) continue;
    interpreter.set_state(objects_[i], *state);
    for (std::size_t slot = 0; slot < objects_[i]->slots().size(); ++slot) {
      if (auto plain = plain_attribute(objects_[i]->slots()[slot])) {
        set_attribute(modules_[i], objects_[i]->type()->getAttributeName(slot), std::move(*plain));
      }
    }
  }
}

namespace {

PortInfo port(std::string name, const c10::Type& type) {
  PortInfo info;
  info.name = std::move(name);
  info.meta.type = type_name(type);
  return info;
}

// A tuple's parts stand for themselves.
std::vector<PortInfo> results(const c10::FunctionSchema& schema) {
  std::vector<PortInfo> found;
  for (const auto& result : schema.returns()) {
    const auto tuple = result.type()->cast<c10::TupleType>();
    if (!tuple || tuple->elements().empty()) {
      found.push_back(port("", *result.type()));
      continue;
    }
    for (std::size_t i = 0; i < tuple->elements().size(); ++i) {
      const auto& fields = tuple->schema();
      found.push_back(
          port(fields ? fields->arguments()[i].name() : std::to_string(i), *tuple->elements()[i]));
    }
  }
  return found;
}

}  // namespace

std::vector<MethodInfo> TorchScriptProgram::methods(ModuleId module) const {
  std::vector<MethodInfo> found;
  for (const auto* function : objects_[module.index]->type()->methods()) {
    if (function->name().starts_with("__")) continue;  // for LibTorch: __getstate__
    const auto& schema = function->getSchema();
    MethodInfo method{function->name(), {}, results(schema)};
    for (std::size_t i = 1; i < schema.arguments().size(); ++i) {
      const auto& argument = schema.arguments()[i];
      PortInfo input = port(argument.name(), *argument.type());
      if (argument.default_value()) input.default_value = plain_attribute(*argument.default_value());
      method.inputs.push_back(std::move(input));
    }
    found.push_back(std::move(method));
  }
  return found;
}

std::vector<ConstantInfo> TorchScriptProgram::constants() const {
  std::vector<ConstantInfo> found;
  for (std::size_t i = 0; i < archive_->constants().size(); ++i) {
    const at::IValue& value = archive_->constants()[i];
    ConstantInfo constant;
    constant.name = "CONSTANTS.c" + std::to_string(i);
    if (value.isTensor()) {
      constant.shape.assign(value.toTensor().sizes().begin(), value.toTensor().sizes().end());
      constant.dtype = dtype_name(value.toTensor().scalar_type());
    } else {
      constant.type = type_name(*value.type());
    }
    found.push_back(std::move(constant));
  }
  return found;
}

std::string TorchScriptProgram::method_to_trace(const std::string& asked) const {
  if (has_method(asked)) return asked;
  const auto& type = *objects_.front()->type();
  std::vector<std::string> methods;
  for (const auto* function : type.methods()) {
    if (!function->name().starts_with("__")) methods.push_back(function->name());
  }
  if (asked == "forward" && methods.size() == 1) return methods.front();
  std::string known;
  for (const auto& method : methods) known += (known.empty() ? "" : ", ") + method;
  throw usage_error(
      "the root module has no method '" + asked + "'",
      {known.empty() ? "it has no methods at all" : "--method NAME traces one of its methods: " + known});
}

bool TorchScriptProgram::has_method(const std::string& name) const {
  const auto& type = *objects_.front()->type();
  return type.findMethod(name) != nullptr || (name == "forward" && find_forward(type) != nullptr);
}

std::vector<InputGuess> TorchScriptProgram::guess_inputs(const std::string& method) const {
  put_in_force();
  const auto& root = objects_.front();
  torch::jit::Function& function =
      method == "forward" ? *find_forward(*root->type()) : root->type()->getMethod(method);
  std::vector<InputGuess> guesses;
  with_large_stack([&] { guesses = fxtrace::guess_inputs(root, function); });
  return guesses;
}

std::optional<ModuleId> TorchScriptProgram::find_module(const c10::ivalue::Object* object) const {
  const auto it = module_ids_.find(object);
  return it == module_ids_.end() ? std::nullopt : std::optional<ModuleId>(it->second);
}

const std::string* TorchScriptProgram::find_path(const c10::ivalue::Object* object) const {
  const auto it = paths_.find(object);
  return it == paths_.end() ? nullptr : &it->second;
}

const ParameterRecord* TorchScriptProgram::find_parameter(const at::Tensor& tensor) const {
  for (const char* kind : {"p", "b"}) {
    const auto it = tensors_.find(tensor_identity(tensor) + kind);
    if (it != tensors_.end()) return &parameters_[it->second];
  }
  return nullptr;
}

// Attributes that any method of the class sets, by the class they belong to.
void TorchScriptProgram::find_set_attributes(const c10::ClassType& type) const {
  if (!searched_types_.insert(&type).second) return;
  const std::function<void(const torch::jit::Block&)> look = [&](const torch::jit::Block& block) {
    for (const auto* node : block.nodes()) {
      if (node->kind() == c10::prim::SetAttr) {
        if (const auto* holder = node->input(0)->type()->castRaw<c10::ClassType>()) {
          set_attributes_[holder].insert(node->s(c10::attr::name));
        }
      }
      for (const auto* inner : node->blocks()) look(*inner);
    }
  };
  for (auto* method : type.methods()) {
    if (method->isGraphFunction() && method->name() != "__setstate__") {
      look(*torch::jit::toGraphFunction(*method).graph()->block());
    }
  }
}

bool TorchScriptProgram::is_set_by_code(const c10::ClassType& type, const std::string& attribute) const {
  if (searched_types_.empty()) {
    for (const auto& object : objects_) find_set_attributes(*object->type());
  }
  const auto it = set_attributes_.find(&type);
  return it != set_attributes_.end() && it->second.count(attribute) != 0;
}

std::optional<SourceLocation> TorchScriptProgram::location(const torch::jit::Node* node,
                                                           const std::string& function) const {
  const auto known = locations_.find(node);
  if (known != locations_.end()) return known->second;
  auto found = archive_->debug_records().find(node->sourceRange());
  if (found && found->function.empty()) found->function = function;
  locations_.emplace(node, found);
  return found;
}

std::vector<StackFrame> TorchScriptProgram::stack(const torch::jit::Node* node) const {
  return archive_->debug_records().stack(node->sourceRange());
}

bool TorchScriptProgram::may_write(ModuleId module, const std::string& method) const {
  const auto& type = *object(module)->type();
  torch::jit::Function* function = method.empty() ? find_forward(type) : type.findMethod(method);
  return function == nullptr || may_write_tensors(object(module), *function);
}

std::unique_ptr<BoundProgram> TorchScriptProgram::bind(const TraceOptions& options) const {
  return std::make_unique<BoundTorchScriptProgram>(*this, options);
}

}  // namespace fxtrace
