// Reading the objects of a TorchScript archive from its pickles.
#include "torchscript/objects/objects.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "support/error.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/stored_zip.h"
#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::torchscript {
namespace {

using namespace std::string_literals;

// --- pickles, opcode by opcode ---

std::string little(std::uint64_t number, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>((number >> (8 * i)) & 0xffU);
  return bytes;
}
std::string text(const std::string& value) { return "X" + little(value.size(), 4) + value; }
std::string number(std::int64_t value) { return "\x8a\x08"s + little(static_cast<std::uint64_t>(value), 8); }
std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
std::string tuple(const std::vector<std::string>& items) {
  std::string all;
  for (const std::string& item : items) all += item;
  return "(" + all + "t";
}
std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string all;
  for (const auto& [key, value] : items) all += text(key) + value;
  return "}(" + all + "u";
}
std::string object(const std::string& name, const std::string& state) {
  return global("__torch__", name) + ")\x81" + state + "b";
}
std::string storage(const std::string& type, const std::string& key, const std::string& device,
                    std::int64_t count) {
  return tuple({text("storage"), global("torch", type + "Storage"), text(key), text(device), number(count)}) +
         "Q";
}
std::string tensor(const std::string& stored, std::int64_t offset, const std::vector<std::int64_t>& sizes,
                   const std::vector<std::int64_t>& strides) {
  std::vector<std::string> size_items, stride_items;
  for (const auto size : sizes) size_items.push_back(number(size));
  for (const auto stride : strides) stride_items.push_back(number(stride));
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple({stored, number(offset), tuple(size_items), tuple(stride_items), "\x89",
                global("collections", "OrderedDict") + ")R"}) +
         "R";
}

// --- an archive with three classes and an enum ---

TypePtr find_class(const std::string& name) {
  static const std::map<std::string, TypePtr> classes = [] {
    auto net = std::make_shared<ClassType>("__torch__.Net", ClassType::Form::kModule);
    net->add_attribute({"weight", tensor_type(), true, false});
    net->add_attribute({"numbers", list_type(int_type()), false, false});
    auto packed =
        std::make_shared<ClassType>("__torch__.torch.classes.quantized.Packed", ClassType::Form::kTorchBind);
    auto color =
        std::make_shared<EnumType>("__torch__.Color", int_type(),
                                   std::vector<EnumType::Member>{{"RED", ScriptConstant(std::int64_t{1})},
                                                                 {"BLUE", ScriptConstant(std::int64_t{2})}});
    return std::map<std::string, TypePtr>{
        {net->name(), net}, {packed->name(), packed}, {color->name(), color}};
  }();
  const auto found = classes.find(name);
  return found == classes.end() ? nullptr : found->second;
}

Value read(const std::string& pickle, const std::map<std::string, std::string>& records = {},
           std::uint64_t version = 10) {
  std::vector<std::pair<std::string, std::string>> all{{"m/data.pkl", "\x80\x02" + pickle + "."}};
  for (const auto& [name, bytes] : records) all.emplace_back("m/data/" + name, bytes);
  const ZipArchive zip(fuzz::memory_file(fuzz::stored_zip(all)));
  return read_objects({zip, "m/", version, find_class}, "data");
}

std::string error(const std::string& pickle, const std::map<std::string, std::string>& records = {}) {
  try {
    read(pickle, records);
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::kInput);
    return e.what();
  }
  return "no error";
}

bool contains(const std::string& whole, const std::string& part) {
  return whole.find(part) != std::string::npos;
}

TEST_CASE("objects: a module with its attributes") {
  const std::string weight = tensor(storage("Float", "0", "cpu", 6), 0, {2, 3}, {3, 1});
  const std::string numbers = global("torch.jit._pickle", "build_intlist") +
                              "](K\x01K\x02"
                              "e\x85R";
  const Value root =
      read(object("Net", dict({{"weight", weight}, {"numbers", numbers}})), {{"0", std::string(24, '\0')}});
  REQUIRE(root.is_object());
  const ObjectValue& net = root.to_object();
  CHECK(net.type->name() == "__torch__.Net");
  CHECK(net.state.is_none());
  const TensorValue& parameter = net.slots[0].to_tensor();
  CHECK(parameter.sizes == std::vector<std::int64_t>{2, 3});
  CHECK(parameter.dtype == ScalarType::kFloat32);
  CHECK(parameter.storage->record == "data/0");
  CHECK(parameter.storage->bytes == 24);
  CHECK(dynamic_type(net.slots[1])->repr_str() == "List[int]");
  CHECK(contains(error(object("Net", dict({{"weight", "N"}}))), "has no 'numbers'"));
  CHECK(contains(error(object("Other", dict({}))), "no code of '__torch__.Other'"));
}

TEST_CASE("objects: what is shared stays so") {
  const std::string stored = storage("Float", "0", "cpu", 4);
  const std::string one = tensor(stored + "q\x01", 0, {2}, {1}) + "q\x02",
                    other = tensor("h\x01", 2, {2}, {1});
  const Value all = read(tuple({one, other, "h\x02"}), {{"0", std::string(16, '\0')}});
  CHECK(all.items()[0].is(all.items()[2]));
  CHECK_FALSE(all.items()[0].is(all.items()[1]));
  CHECK(all.items()[0].to_tensor().storage == all.items()[1].to_tensor().storage);
}

TEST_CASE("objects: plain values") {
  const std::string tagged = global("torch.jit._pickle", "restore_type_tag") +
                             tuple({dict({{"a", "K\x07"}}), text("Dict[str, int]")}) + "R";
  const std::string half = "G\x3f\xe0"s + std::string(6, '\0');
  const Value all = read(tuple({"N", "\x88", "\x89", number(-5), "M\x00\x01"s, half, text("x"), tagged,
                                global("torch", "device") + text("cuda:1") + "\x85R",
                                global("builtins", "complex") + half + half + "\x86R",
                                global("__torch__", "Color") + "K\x02R"}));
  CHECK(all.items()[0].is_none());
  CHECK(all.items()[1].to_bool());
  CHECK_FALSE(all.items()[2].to_bool());
  CHECK(all.items()[3].to_int() == -5);
  CHECK(all.items()[4].to_int() == 256);
  CHECK(all.items()[5].to_double() == 0.5);
  CHECK(all.items()[6].to_string() == "x");
  CHECK(dynamic_type(all.items()[7])->repr_str() == "Dict[str, int]");
  CHECK(all.items()[8].to_device().text() == "cuda:1");
  CHECK(all.items()[9].to_complex() == std::complex<double>(0.5, 0.5));
  CHECK(all.items()[10].to_enum().name == "BLUE");
  CHECK(contains(error(global("__torch__", "Color") + "K\x03R"), "has no member"));
}

TEST_CASE("objects: states of objects that C++ makes") {
  const std::string packed = global("__torch__.torch.classes.quantized", "Packed") + ")\x81" +
                             tuple({number(1), text("state")}) + "b";
  const Value object = read(packed);
  CHECK(object.to_object().slots.empty());
  CHECK(object.to_object().state.items()[1].to_string() == "state");
}

TEST_CASE("objects: lists of old archives have the types of attributes") {
  const std::string weight = tensor(storage("Float", "0", "cpu", 0), 0, {0}, {1});
  const std::string pickle = object("Net", dict({{"weight", weight},
                                                 {"numbers",
                                                  "](K\x01K\x02"
                                                  "e"}}));
  CHECK(dynamic_type(read(pickle, {}, 2).to_object().slots[1])->repr_str() == "List[int]");
  CHECK(dynamic_type(read(pickle, {}, 3).to_object().slots[1])->repr_str() == "List[Any]");
}

TEST_CASE("objects: quantized and sparse tensors") {
  const std::string quantized =
      global("torch._utils", "_rebuild_qtensor") +
      tuple({storage("QInt8", "0", "cpu", 4), number(0), tuple({number(4)}), tuple({number(1)}),
             tuple({global("torch", "per_tensor_affine"), "G\x3f\xe0"s + std::string(6, '\0'), number(3)}),
             "\x89", "N"}) +
      "R";
  const Value value = read(quantized, {{"0", "abcd"}});
  CHECK(value.to_tensor().dtype == ScalarType::kQint8);
  CHECK(value.to_tensor().sizes == std::vector<std::int64_t>{4});
  const std::string indices = tensor(storage("Long", "1", "cpu", 2), 0, {1, 2}, {2, 1});
  const std::string values = tensor(storage("Float", "0", "cpu", 2), 0, {2}, {1});
  const std::string sparse = global("torch._utils", "_rebuild_sparse_tensor") +
                             tuple({number(1), tuple({number(9)}), "\x89", indices, values}) + "R";
  const Value found = read(sparse, {{"0", std::string(8, '\0')}, {"1", std::string(16, '\0')}});
  CHECK(found.to_tensor().layout == TensorLayout::kSparseCoo);
  CHECK(found.to_tensor().sizes == std::vector<std::int64_t>{9});
  CHECK(found.to_tensor().parts.size() == 2);
}

TEST_CASE("objects: no tensor reaches beyond its record") {
  const std::map<std::string, std::string> record{{"0", std::string(16, '\0')}};
  const auto with = [&](std::int64_t claimed, std::int64_t offset, const std::vector<std::int64_t>& sizes,
                        const std::vector<std::int64_t>& strides) {
    return error(tensor(storage("Float", "0", "cpu", claimed), offset, sizes, strides), record);
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  CHECK(with(4, 0, {4}, {1}) == "no error");
  CHECK(with(1, 0, {4}, {1}) == "no error");  // the size of the record counts
  CHECK(with(4, 0, {1 << 20}, {0}) == "no error");
  CHECK(with(4, kHuge, {0}, {1}) == "no error");
  CHECK(contains(with(4, 1, {4}, {1}), "beyond its record 'data/0'"));
  CHECK(contains(with(kHuge / 8, 0, {5}, {1}), "beyond its record"));
  CHECK(contains(with(4, 0, {2, 2}, {kHuge, kHuge}), "beyond its record"));
  CHECK(contains(with(4, 0, {kHuge, kHuge}, {4, 1}), "beyond its record"));
  CHECK(contains(with(4, kHuge - 1 + kHuge, {2}, {1}), "beyond its record"));
  CHECK(contains(with(4, -1, {1}, {1}), "beyond its record"));
  CHECK(contains(with(4, 0, {-1}, {1}), "is not an int of at least 0"));
  CHECK(contains(with(4, 0, {1}, {-1}), "is not an int of at least 0"));
  CHECK(contains(with(4, 0, {1}, {}), "have different lengths"));
  CHECK(contains(error(tensor(storage("Float", "1", "cpu", 4), 0, {1}, {1}), record),
                 "no record for storage '1'"));
}

TEST_CASE("objects: a storage has one device and one size") {
  const std::map<std::string, std::string> record{{"0", std::string(16, '\0')}};
  const auto both = [&](const std::string& one, const std::string& other) {
    return error(tuple({tensor(one, 0, {1}, {1}), tensor(other, 0, {1}, {1})}), record);
  };
  CHECK(both(storage("Float", "0", "cpu", 4), storage("Int", "0", "cpu", 400)) == "no error");
  CHECK(contains(both(storage("Float", "0", "meta", 4), storage("Float", "0", "cpu", 4)), "on two devices"));
  CHECK(contains(both(storage("Float", "0", "cuda:0", 4), storage("Float", "0", "cuda:1", 4)),
                 "on two devices"));
  CHECK(contains(both(storage("Float", "0", "meta", 4), storage("Float", "0", "meta", 8)), "has two sizes"));
  CHECK(both(storage("Float", "2", "meta", 1 << 30), storage("Float", "2", "meta", 1 << 30)) == "no error");
  CHECK(both(storage("Float", "0", "npu:0", 4), storage("Float", "0", "npu:0", 4)) == "no error");
  CHECK(contains(both(storage("Float", "0", "", 4), storage("Float", "0", "", 4)), "has an invalid device"));
}

// Returns what Python's pickler writes for a tensor with attributes, or for a class of its own.
std::string of_own_class(const std::string& function, const std::string& type, const std::string& arguments,
                         const std::string& attributes = "}") {
  return global("torch._tensor", "_rebuild_from_type_v2") + "(" + function + type + arguments + attributes +
         "tR";
}

TEST_CASE("objects: tensors of classes of their own are tensors") {
  const std::map<std::string, std::string> records{{"0", std::string(24, '\0')}};
  const std::string plain = tensor(storage("Float", "0", "cpu", 6), 0, {2, 3}, {3, 1});
  const std::string rebuild = global("torch._utils", "_rebuild_tensor_v2");
  const std::string arguments = plain.substr(rebuild.size(), plain.size() - rebuild.size() - 1);
  for (const std::string& type : {global("torch", "Tensor"), global("torch.nn.parameter", "Parameter"),
                                  global("pkg", "Own"), global("__torch__", "Net")}) {
    const Value made = read(of_own_class(rebuild, type, arguments, dict({{"tag", number(3)}})), records);
    CHECK(made.to_tensor().sizes == std::vector<std::int64_t>{2, 3});
  }
  const std::string parameter = global("torch._utils", "_rebuild_parameter");
  const std::string wrapped = tuple({plain, "\x88", global("collections", "OrderedDict") + ")R"});
  CHECK(read(of_own_class(parameter, global("torch", "Tensor"), wrapped), records).to_tensor().requires_grad);
  // The second tensor of a pickle takes the function from the memo.
  const std::string kept = "(" + rebuild + "q\x07" + arguments + "R";
  const Value both = read(kept + of_own_class("h\x07", global("torch", "Tensor"), arguments) + "t", records);
  CHECK(both.items()[1].to_tensor().sizes == std::vector<std::int64_t>{2, 3});
  for (const std::string& damaged : {of_own_class(global("pkg", "f"), global("torch", "Tensor"), arguments),
                                     of_own_class("N", global("torch", "Tensor"), arguments),
                                     of_own_class("K\x05", global("torch", "Tensor"), arguments),
                                     of_own_class(number(-1), global("torch", "Tensor"), arguments),
                                     of_own_class(rebuild, global("torch", "Tensor"), "N"),
                                     of_own_class(rebuild, global("torch", "Tensor"), arguments, "N"),
                                     global("torch._tensor", "_rebuild_from_type_v2") + "(tR",
                                     "(" + rebuild + "t", "](" + rebuild + "e"}) {
    CHECK(error(damaged, records) != "no error");
  }
}

TEST_CASE("objects: texts with a long length") {
  CHECK(read("\x8d" + little(3, 8) + "abc").to_string() == "abc");
  CHECK(error("\x8d" + little(4, 8) + "abc") != "no error");
  CHECK(error("\x8d" + little(UINT64_MAX, 8) + "abc") != "no error");
}

TEST_CASE("objects: lists of the oldest pickles") {
  const Value list = read(global("__main__", "IntList") +
                          "](K\x01K\x02"
                          "eb");
  CHECK(dynamic_type(list)->repr_str() == "List[int]");
  CHECK(error(global("__main__", "IntList") + "](" + text("a") + "eb") != "no error");
}

TEST_CASE("objects: damaged pickles") {
  for (const std::string& pickle :
       {""s,
        ")R"s,
        "Q"s,
        "b"s,
        "K\x01Q"s,
        "K\x01K\x02R"s,
        "K\x01K\x02"
        "b"s,
        "(K\x01"s,
        "a"s,
        "]a"s,
        "K\x01K\x02"s,
        "h\x01"s,
        "r\xff\xff\xff\xff"s,
        "}(K\x01u"s,
        "}(]K\x01u"s,
        "K\x01)\x81"s,
        global("os", "system") + ")R",
        global("torch", "load"),
        global("__torch__", "Net"),
        global("__torch__", "Net") + "\x85",
        "X\xff\xff\xff\xff"s,
        global("torch._utils", "_rebuild_tensor_v2") + ")R",
        global("torch.jit._pickle", "build_intlist") + "]\x85q\x01R(a"s,
        global("torch.jit._pickle", "build_intlist") + "](" + text("a") + "e\x85R",
        global("torch.jit._pickle", "build_intlist") + "]q\x01\x85Rh\x01"
                                                       "a"s,  // a list that contains itself
        global("torch.jit._pickle", "restore_type_tag") + tuple({"]", text("List[")}) + "R",
        global("torch.jit._pickle", "restore_type_tag") + tuple({"]", text("Dict[str, int]")}) + "R",
        "\x8a\x01\x01"s}) {
    INFO(pickle);
    CHECK(error(pickle) != "no error");
  }
}

TEST_CASE("objects: memory is limited by what is made, not by the bytes that say it") {
  std::string lists = "(";
  lists.append(3'000'000, ']');
  CHECK(contains(error(lists + "t"), "makes values of more than"));
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "]"s;
  deep.append(4999, 'a');
  CHECK(contains(error(deep), "nests values"));
}

}  // namespace
}  // namespace fxtrace::internal::torchscript
