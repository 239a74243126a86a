// TorchScript archives in LibTorch: loads them, with records mapped into memory, and runs methods and
// functions of their code.
#include <algorithm>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/script_type_parser.h>
#include <torch/csrc/jit/operator_upgraders/upgraders_entry.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/csrc/jit/serialization/import_read.h>
#include <torch/csrc/jit/serialization/import_source.h>
#include <torch/csrc/jit/serialization/storage_context.h>
#include <torch/custom_class.h>

#include "execute/engine_value.h"

namespace fxtrace::internal::execute {
namespace {

class Reader : public caffe2::serialize::ReadAdapterInterface {
 public:
  Reader(FxtraceRead how, void* context, uint64_t bytes) : read_(how), context_(context), size_(bytes) {}
  size_t size() const override { return size_; }
  size_t read(uint64_t position, void* to, size_t count, const char* what) const override {
    const size_t done = read_(context_, position, to, count);
    TORCH_CHECK(done == count, "the file ends early: ", what);
    return done;
  }

 private:
  FxtraceRead read_;
  void* context_;
  uint64_t size_;
};

// Finds classes that C++ has registered, which the code of an archive may use without defining them.
struct ClassResolver : torch::jit::Resolver {
  c10::TypePtr resolveType(const std::string& name, const torch::jit::SourceRange& /*place*/) override {
    return torch::getCustomClass(name);
  }
};

c10::IValue constants_of(const std::shared_ptr<Reader>& file) {
  caffe2::serialize::PyTorchStreamReader archive(file);
  const auto type_named = [](const c10::QualifiedName& name) {
    torch::jit::ScriptTypeParser parser(std::make_shared<ClassResolver>());
    return c10::StrongTypePtr(nullptr, parser.parseType(name.qualifiedName()));
  };
  return torch::jit::readArchiveAndTensors("constants", "", "constants/", type_named,
                                           torch::jit::ObjLoaderFunc, c10::Device(c10::kCPU), archive);
}

// Returns the value with its lists and dicts in the types of the attribute.
c10::IValue as_type(const c10::IValue& value, const c10::TypePtr& type) {
  if (const auto optional = type->cast<c10::OptionalType>())
    return value.isNone() ? value : as_type(value, optional->getElementType());
  if (const auto list = type->cast<c10::ListType>()) {
    c10::impl::GenericList items(list->getElementType());
    for (const c10::IValue& item : value.toListRef()) items.push_back(as_type(item, list->getElementType()));
    return items;
  }
  if (const auto dict = type->cast<c10::DictType>()) {
    c10::impl::GenericDict entries(dict->getKeyType(), dict->getValueType());
    for (const auto& entry : value.toGenericDict())
      entries.insert(entry.key(), as_type(entry.value(), dict->getValueType()));
    return entries;
  }
  if (const auto tuple = type->cast<c10::TupleType>()) {
    std::vector<c10::IValue> items;
    for (size_t i = 0; i < tuple->elements().size(); ++i)
      items.push_back(as_type(value.toTupleRef().elements().at(i), tuple->elements()[i]));
    return c10::ivalue::Tuple::create(std::move(items));
  }
  return value;
}

// Loads an archive with records mapped into memory; torch::jit::load() would copy every tensor.
class MappedModel {
 public:
  MappedModel(const std::shared_ptr<Reader>& file, FxtraceMap map, void* context)
      : archive_(std::make_shared<caffe2::serialize::PyTorchStreamReader>(file)),
        map_(map),
        context_(context),
        importer_(
            code_, &constants_, [this](const std::string& name) { return source_of(name); },
            archive_->version()) {}

  c10::IValue load() {
    torch::jit::populate_upgraders_graph_map();
    const c10::IValue constants = read("constants");
    for (const c10::IValue& constant : constants.toTupleRef().elements()) constants_.push_back(constant);
    c10::IValue model = read("data");
    TORCH_CHECK(model.isObject(), "the archive does not hold a module");
    return model;
  }

 private:
  std::shared_ptr<torch::jit::Source> source_of(const std::string& name) {
    std::string path = "code/" + name + ".py";
    std::replace(path.begin(), path.end() - 3, '.', '/');
    if (!archive_->hasRecord(path)) return nullptr;
    const auto [data, size] = archive_->getRecord(path);
    return std::make_shared<torch::jit::Source>(std::string(static_cast<const char*>(data.get()), size), path,
                                                1);
  }

  c10::IValue read(const std::string& name) {
    auto storages = std::make_shared<torch::jit::DeserializationStorageContext>();
    const std::string folder = name + "/";
    for (const std::string& record : archive_->getAllRecords()) {
      if (record.compare(0, folder.size(), folder) != 0) continue;
      size_t size = 0;
      void* const data = map_(context_, record.c_str(), &size);
      const std::string key = record.substr(folder.size());
      if (data == nullptr || storages->hasStorage(key)) continue;
      storages->addStorage(key, c10::Storage(c10::Storage::use_byte_size_t(), size,
                                             c10::DataPtr(data, c10::Device(c10::kCPU)), nullptr, false));
    }
    const auto type_named = [this](const c10::QualifiedName& type) {
      return c10::StrongTypePtr(code_, importer_.loadType(type));
    };
    return torch::jit::readArchiveAndTensors(name, "", folder, type_named, torch::jit::ObjLoaderFunc,
                                             c10::Device(c10::kCPU), *archive_,
                                             torch::jit::Unpickler::defaultTypeParser, storages);
  }

  std::shared_ptr<caffe2::serialize::PyTorchStreamReader> archive_;
  FxtraceMap map_;
  void* context_;
  std::shared_ptr<torch::jit::CompilationUnit> code_ = std::make_shared<torch::jit::CompilationUnit>();
  std::vector<c10::IValue> constants_;
  torch::jit::SourceImporter importer_;
};

// Returns the name of a class or function as Python has it: "__torch__.pkg.___torch_mangle_3.Net" ->
// "pkg.Net".
std::string demangled(const std::string& name) {
  static const std::regex mangle(R"((^__torch__\.)|(___torch_mangle_\d+\.))");
  return std::regex_replace(name, mangle, "");
}

// Runs the function.  Forked calls run at once, as there are no threads.
c10::IValue run(torch::jit::Function& function, torch::jit::Stack stack) {
  const auto done = function.runAsync(stack, [](const std::function<void()>& task) { task(); });
  done->wait();
  if (done->hasError()) std::rethrow_exception(done->exception_ptr());
  return done->value();
}

// Returns the arguments of a method, the object first.
std::vector<c10::IValue> bound_with_self(const c10::FunctionSchema& schema, const c10::IValue& object,
                                         const FxtraceArguments& arguments) {
  FxtraceValue self{object, {}};
  std::vector<FxtraceValue*> positional{&self};
  positional.insert(positional.end(), arguments.positional,
                    arguments.positional + arguments.positional_count);
  FxtraceArguments with_self = arguments;
  with_self.positional = positional.data();
  with_self.positional_count = positional.size();
  return bound(schema, with_self);
}

// Calls forward with the hooks of the module, as a call in Python does.
c10::IValue call_with_hooks(const c10::IValue& object, const FxtraceArguments& arguments) {
  const auto type = object.toObject()->type();
  torch::jit::Function& forward = type->getMethod("forward");
  const auto with_self = [&](std::vector<c10::IValue> values) {
    values.insert(values.begin(), object);
    return values;
  };
  std::vector<c10::IValue> inputs = bound_with_self(forward.getSchema(), object, arguments);
  inputs.erase(inputs.begin());
  const auto as_tuple = [&] { return c10::IValue(c10::ivalue::Tuple::create(inputs)); };
  for (torch::jit::Function* hook : type->getForwardPreHooks()) {
    const c10::IValue changed = run(*hook, {object, as_tuple()});
    if (changed.isTuple()) {
      inputs = changed.toTupleRef().elements().vec();
    } else if (!changed.isNone()) {
      inputs = {changed};
    }
  }
  c10::IValue result = run(forward, with_self(inputs));
  for (torch::jit::Function* hook : type->getForwardHooks()) {
    c10::IValue changed = run(*hook, {object, as_tuple(), result});
    if (!changed.isNone()) result = std::move(changed);
  }
  return result;
}

c10::IValue call_method(const c10::IValue& object, const std::string& name,
                        const FxtraceArguments& arguments) {
  TORCH_CHECK(object.isObject(), "only objects have methods");
  const auto self = object.toObject();
  if (name == "__call__") return call_with_hooks(object, arguments);
  torch::jit::Function& method = self->type()->getMethod(name);
  return run(method, bound_with_self(method.getSchema(), object, arguments));
}

c10::IValue call_function(const c10::IValue& module, const std::string& name,
                          const FxtraceArguments& arguments) {
  const auto unit = module.toObject()->compilation_unit();
  torch::jit::Function* found = nullptr;
  std::string why = "the archive has no function " + name;
  for (torch::jit::Function* function : unit->get_functions()) {
    if (demangled(function->qualname().qualifiedName()) != name) continue;
    TORCH_CHECK(found == nullptr, "the archive has several functions ", name);
    found = function;
  }
  TORCH_CHECK(found != nullptr, why);
  return run(*found, bound(found->getSchema(), arguments));
}

}  // namespace

void add_scripts(FxtraceEngine& engine) {
  engine.load = [](FxtraceRead read, FxtraceMap map, void* context, uint64_t size) {
    return value_of([&]() -> c10::IValue {
      const auto reader = std::make_shared<Reader>(read, context, size);
      if (map != nullptr) return MappedModel(reader, map, context).load();
      return torch::jit::load(std::shared_ptr<caffe2::serialize::ReadAdapterInterface>(reader),
                              c10::Device(c10::kCPU))
          ._ivalue();
    });
  };
  engine.constants = [](FxtraceRead read, void* context, uint64_t size) {
    return value_of([&] { return constants_of(std::make_shared<Reader>(read, context, size)); });
  };
  engine.attribute = [](FxtraceValue* object, const char* name) {
    return value_of([&] {
      TORCH_CHECK(object->value.isObject(), "the value has no attribute ", name);
      return object->value.toObject()->getAttr(name);
    });
  };
  engine.set_attribute = [](FxtraceValue* object, const char* name, FxtraceValue* value) {
    return guarded(false, [&] {
      TORCH_CHECK(object->value.isObject(), "the value has no attribute ", name);
      const auto holder = object->value.toObject();
      holder->setAttr(name, as_type(value->value, holder->type()->getAttribute(name)));
      return true;
    });
  };
  engine.has_method = [](FxtraceValue* object, const char* name) {
    return object->value.isObject() && object->value.toObject()->type()->findMethod(name) != nullptr;
  };
  engine.call_method = [](FxtraceValue* object, const char* name, const FxtraceArguments* arguments) {
    return value_of([&] { return call_method(object->value, name, *arguments); });
  };
  engine.call_function = [](FxtraceValue* module, const char* name, const FxtraceArguments* arguments) {
    return value_of([&] { return call_function(module->value, name, *arguments); });
  };
}

}  // namespace fxtrace::internal::execute
