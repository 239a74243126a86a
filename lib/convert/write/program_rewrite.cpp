#include "convert/write/program_rewrite.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "exported/program/encoded_texts.h"
#include "exported/program/graph_reader.h"
#include "exported/program/stack_trace.h"
#include "graph/namespace.h"
#include "operators/operators.h"
#include "operators/target.h"
#include "support/error.h"
#include "support/json_emitter.h"
#include "support/text/did_you_mean.h"
#include "support/text/identifier.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

using Names = std::map<std::string, std::string, std::less<>>;

// The minor version of schema.py in the releases 2.6 to 2.15.
constexpr std::array<int, kLastRelease - kFirstRelease + 1> kSchemaMinors{2,  7,  8,  14, 15,
                                                                          17, 20, 20, 20, 20};

// Fields of schema.py's classes and forms of its unions that came later than 2.6, by the release that first
// knows them.  Up to 2.8 a field that is not known is an error, and a form always is.
struct Since {
  std::string_view name;
  int release;
};
constexpr int kFirstLenient = 9;
constexpr Since kFields[] = {{"kind", 7},
                             {"is_hop_single_tensor_return", 7},
                             {"treespec_namedtuple_fields", 7},
                             {"guards_code", 9},
                             {"name", 11}};
constexpr Since kForms[] = {
    {"as_optional_tensor", 8}, {"as_complex", 9},      {"parameter_mutation", 9},    {"as_int_lists", 10},
    {"as_nested_tensors", 11}, {"as_float_lists", 12}, {"as_string_to_argument", 10}};
constexpr Since kDtypes[] = {{"float8_e4m3fn", 7},   {"float8_e5m2", 7},     {"float8_e4m3fnuz", 9},
                             {"float8_e5m2fnuz", 9}, {"float8_e8m0fnu", 12}, {"uint32", 12},
                             {"uint64", 12}};

// Operators with an equal: the same arguments in the same order, and the first result.
struct Equal {
  std::string_view from, to;
};
constexpr Equal kEquals[] = {{"aten._fused_rms_norm.default", "aten.rms_norm.default"},
                             {"aten.cholesky.default", "aten.linalg_cholesky.default"}};

template <class Rows>
int since(const Rows& rows, std::string_view name) {
  const auto row = std::ranges::find(rows, name, &Since::name);
  return row == std::end(rows) ? kFirstRelease : row->release;
}

// Returns the name in the table of releases: "aten.stft.default" -> "aten::stft".
std::string table_name(const std::string& target) {
  const TargetParts parts = parse_target(target);
  if (parts.kind == TargetKind::kPython) return target;
  const bool is_named = !parts.overload.empty() && parts.overload != "default";
  return parts.base_name() + (is_named ? "." + std::string(parts.overload) : "");
}

// Returns whether the argument is the default value in the text of a schema.
bool is_default(const JsonValue& argument, const std::optional<std::string>& text) {
  if (!text) return false;
  const auto [form, value] = argument.alternative();
  if (form == "as_none") return *text == "None";
  if (form == "as_bool") return *text == (value.boolean() ? "True" : "False");
  return form == "as_int" && *text == std::to_string(value.integer());
}

// Replaces identifiers: "Symbol('s0', integer=True)".
std::string with_names(std::string_view text, const Names& names) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const auto found = end == at ? names.end() : names.find(text.substr(at, end - at));
    end = std::max(end, at + 1);
    result += found == names.end() ? text.substr(at, end - at) : std::string_view(found->second);
    at = end;
  }
  return result;
}

// The names of a program that can be changed.
struct ProgramNames {
  std::set<std::string> symbols, values;  // values: all of the root graph
  std::vector<std::string> results;
  std::vector<std::string> arguments, keywords;
  std::vector<std::pair<std::string, std::string>> inputs;  // values with the argument that they are of

  explicit ProgramNames(const JsonValue& program) {
    for_each_key(program.at("range_constraints"), [&](std::string_view name) { symbols.emplace(name); });
    const JsonValue module = program.at("graph_module");
    for (const JsonValue part : module.at("graph").fields()) {
      if (part.key().ends_with("_values"))
        for_each_key(part, [&](std::string_view name) { values.emplace(name); });
    }
    read_arguments(module.at("module_call_graph"));
    std::size_t number = 0;
    for (const JsonValue spec : module.at("signature").at("input_specs").items()) {
      const auto [role, given] = spec.alternative();
      if (role != "user_input" && role != "constant_input") continue;
      const std::string name =
          std::string(role == "user_input" ? value_name(given.at("arg")) : given.at("name").string());
      inputs.emplace_back(name, number < owners_.size() ? owners_[number] : "");
      ++number;
    }
    for (const JsonValue spec : module.at("signature").at("output_specs").items()) {
      const auto [role, given] = spec.alternative();
      if (role == "user_output") results.emplace_back(value_name(given.at("arg")));
    }
  }

 private:
  template <class F>
  static void for_each_key(const JsonValue& object, F&& f) {
    const auto all = object.fields();
    for (auto at = all.begin(); at != all.end(); ++at) f(at.key());
  }

  void read_arguments(const JsonValue& calls) {
    for (const JsonValue call : calls.items()) {
      const auto signature = call.find("signature");
      if (!signature || !call.at("fqn").string().empty()) continue;
      if (const auto names = signature->find("forward_arg_names")) {
        for (const JsonValue name : names->items()) arguments.emplace_back(name.string());
      }
      const TreeSpec spec = TreeSpec::parse(signature->at("in_spec").string(), "in_spec");
      if (spec.children.size() != 2) continue;
      const auto add = [&](const TreeSpec& child, const std::string& name) {
        owners_.insert(owners_.end(), child.leaves, name);
      };
      for (std::size_t i = 0; i < spec.children[0].children.size(); ++i)
        add(spec.children[0].children[i], i < arguments.size() ? arguments[i] : "");
      for (std::size_t i = 0; i < spec.children[1].children.size(); ++i) {
        if (const auto* key = spec.children[1].keys[i].get_if<std::string>()) keywords.push_back(*key);
        add(spec.children[1].children[i], "");
      }
    }
  }

  std::vector<std::string> owners_;  // the arguments of the inputs
};

class Rewriter {
 public:
  // Without a release the program is read for what it needs.
  Rewriter(JsonEmitter& json, std::optional<int> release, const NewNames& names)
      : json_(json), release_(release), names_(names) {}

  void program(const JsonValue& program) {
    fields(program, [&](std::string_view key, const JsonValue& value) {
      if (key == "graph_module") {
        json_.key(key);
        graph_module(value);
      } else if (key == "range_constraints") {
        json_.key(key);
        fields(value, [&](std::string_view name, const JsonValue& range) {
          json_.key(renamed(name, names_.symbols));
          range.write(json_);
        });
      } else if (key == "schema_version") {
        json_.key(key);
        fields(value, [&](std::string_view name, const JsonValue& number) {
          const std::int64_t version = number.integer();
          const bool is_less = release_ && name == "minor";
          json_.field(
              name, is_less ? std::min<std::int64_t>(
                                  version, kSchemaMinors[static_cast<std::size_t>(*release_ - kFirstRelease)])
                            : version);
        });
      } else if (key == "guards_code") {
        // 2.9 fails at guards on the items of *inputs.
        constexpr int kOnlyOfArguments = 9;
        if (release_ == kOnlyOfArguments && has_other_guards(program, value)) {
          notes.push_back(
              "torch 2.9 checks no guards on inputs that are no arguments of their own; all are left out");
          return json_.key(key).list(std::array<int, 0>{}, [](int) {});
        }
        if (is_dropped(key)) {
          if (!value.items().empty())
            notes.push_back("torch " + release_text(*release_) +
                            " checks the ranges of dimensions, and not the other guards of the program");
          return;
        }
        json_.key(key).list(value.items(), [&](const JsonValue& guard) { json_.string(guard_text(guard)); });
      } else {
        json_.key(key);
        value.write(json_);
      }
    });
  }

  std::vector<ReleaseNeed> needs;  // what the release lacks; without one, what not all have
  std::vector<std::string> notes;

 private:
  // Returns whether a guard is about an input that is not an argument of forward.
  static bool has_other_guards(const JsonValue& program, const JsonValue& guards) {
    if (guards.items().empty()) return false;
    const ProgramNames names(program);
    for (const JsonValue guard : guards.items()) {
      const std::string_view text = guard.string();
      for (std::size_t at = 0; (at = text.find("L['", at)) != std::string_view::npos;) {
        at += 3;
        const std::string name(text.substr(at, text.find('\'', at) - at));
        if (std::ranges::find(names.arguments, name) == names.arguments.end() &&
            std::ranges::find(names.keywords, name) == names.keywords.end())
          return true;
      }
    }
    return false;
  }

  template <class F>
  void fields(const JsonValue& object, F&& write) {
    json_.object([&] {
      const auto all = object.fields();
      for (auto at = all.begin(); at != all.end(); ++at) write(at.key(), *at);
    });
  }

  void need(const Releases& releases, std::string what) {
    if (release_ ? releases.includes(*release_) : releases.are_all()) return;
    const auto is_known = [&](const ReleaseNeed& other) { return other.what == what; };
    if (!release_ && std::ranges::any_of(needs, is_known)) return;
    needs.push_back({releases, std::move(what), module_, source_});
  }

  // Returns whether a field of a class is left out.
  bool is_dropped(std::string_view name) {
    const int first = since(kFields, name);
    if (!release_) need({.since = std::min(first, kFirstLenient)}, "the field " + std::string(name));
    return release_ && *release_ < first;
  }

  std::string_view renamed(std::string_view name, const Names& names) const {
    const auto found = names.find(name);
    return found == names.end() || (depth_ > 0 && &names == &names_.values) ? name
                                                                            : std::string_view(found->second);
  }

  std::string guard_text(const JsonValue& guard) const {
    std::string text(guard.string());
    for (const auto& [from, to] : names_.arguments) {
      const std::string before = "L['" + from + "']";
      for (std::size_t at = 0; (at = text.find(before, at)) != std::string::npos; at += to.size())
        text.replace(at, before.size(), "L['" + to + "']");
    }
    return text;
  }

  void graph_module(const JsonValue& module) {
    fields(module, [&](std::string_view key, const JsonValue& part) {
      if (key == "treespec_namedtuple_fields") {
        if (!part.fields().empty()) need({.since = since(kFields, key)}, "a named tuple");
        if (is_dropped(key)) return;
      }
      json_.key(key);
      if (key == "graph")
        graph(part);
      else if (key == "signature")
        value(part);
      else if (key == "module_call_graph")
        json_.list(part.items(), [&](const JsonValue& entry) { module_call(entry); });
      else
        part.write(json_);
    });
  }

  void module_call(const JsonValue& entry) {
    const bool is_root = entry.at("fqn").string().empty();
    fields(entry, [&](std::string_view key, const JsonValue& part) {
      json_.key(key);
      if (key != "signature" || !part.is_object()) return part.write(json_);
      fields(part, [&](std::string_view name, const JsonValue& field) {
        json_.key(name);
        if (is_root && name == "forward_arg_names" && field.is_array())
          json_.list(field.items(), [&](const JsonValue& argument) {
            json_.string(renamed(argument.string(), names_.arguments));
          });
        else
          value(field);
      });
    });
  }

  void graph(const JsonValue& graph) {
    fields(graph, [&](std::string_view key, const JsonValue& part) {
      json_.key(key);
      if (key == "nodes") return json_.list(part.items(), [&](const JsonValue& each) { node(each, graph); });
      if (depth_ == 0 && (key == "inputs" || key == "outputs")) {
        for (const JsonValue item : part.items()) {
          if (item.find(key == "inputs" ? "as_sym_int" : "as_bool"))
            need({.since = 7}, key == "inputs" ? "an integer input that varies" : "a bool among the results");
        }
      }
      if (!key.ends_with("_values")) return value(part);
      fields(part, [&](std::string_view name, const JsonValue& meta) {
        json_.key(renamed(name, names_.values));
        value(meta);
      });
    });
  }

  // Adds the names of the values in arguments: "name" of {"as_tensor":{"name":"x"}}.
  static void add_names(const JsonValue& arguments, std::unordered_set<std::string>& names) {
    const std::string text =
        json_text(JsonLayout::kCompact, [&](JsonEmitter& json) { arguments.write(json); });
    constexpr std::string_view kBefore = ":\"", kBehind = "\"}}";
    for (std::size_t end = 0; (end = text.find(kBehind, end)) != std::string::npos; ++end) {
      const std::size_t begin = end == 0 ? std::string::npos : text.rfind(kBefore, end - 1);
      if (begin != std::string::npos) names.insert(text.substr(begin, end - begin));
    }
  }

  // Returns whether the graph, which is the one being written, uses the value of an output.
  bool has_use(const JsonValue& graph, const JsonValue& output) {
    if (!used_) {
      used_.emplace();
      for (const JsonValue node : graph.at("nodes").items()) add_names(node.at("inputs"), *used_);
      add_names(graph.at("outputs"), *used_);
    }
    std::unordered_set<std::string> names;
    add_names(output, names);
    return names.empty() ||
           std::ranges::any_of(names, [&](const std::string& name) { return used_->contains(name); });
  }

  // Returns the operator to call in place of one that the release lacks; empty where there is none.
  std::string equal_of(const std::string& target, const JsonValue& node, const JsonValue& graph) {
    if (!release_) return {};
    bool is_there = releases_of(table_name(target)).includes(*release_);
    for (const JsonValue input : node.at("inputs").items())
      is_there = is_there && releases_of(argument_name(target, input)).includes(*release_);
    if (is_there) return {};
    const auto row = std::ranges::find(kEquals, target, &Equal::from);
    if (row == std::end(kEquals) || !releases_of(table_name(std::string(row->to))).includes(*release_))
      return {};
    bool is_first = true;
    for (const JsonValue output : node.at("outputs").items()) {
      if (!is_first && !output.find("as_none") && has_use(graph, output)) return {};
      is_first = false;
    }
    return std::string(row->to);
  }

  static std::string argument_name(const std::string& target, const JsonValue& input) {
    return table_name(target) + "/" + std::string(input.at("name").string());
  }

  void node(const JsonValue& node, const JsonValue& graph) {
    const JsonValue metadata = node.at("metadata");
    const auto text = [&](const char* name) {
      const auto found = metadata.find(name);
      return found && found->is_string() ? found->string() : std::string_view();
    };
    source_ = innermost_frame(text("stack_trace"));
    std::string_view stack = text("nn_module_stack");
    stack = stack.substr(stack.rfind(';') + 1);
    stack = stack.substr(std::min(stack.find(',') + 1, stack.size()));
    module_ = stack.substr(0, std::min(stack.find(','), stack.find('@')));
    std::string_view full = node.at("target").string();
    constexpr std::string_view kOperators = "torch.ops.";
    const bool is_operator = full.starts_with(kOperators);
    std::string target(is_operator ? full.substr(kOperators.size()) : full);
    const std::string equal = is_operator ? equal_of(target, node, graph) : "";
    if (!equal.empty()) target = equal;
    need(releases_of(table_name(target)), target);
    const std::string written = is_operator ? std::string(kOperators) + target : target;
    const Operator* op = is_operator ? find_operator(parse_target(target)) : nullptr;
    const std::optional<Schema> schema = op == nullptr ? std::nullopt : std::optional(op->schema());
    fields(node, [&](std::string_view key, const JsonValue& part) {
      if (key == "is_hop_single_tensor_return" || key == "name") {
        if (is_dropped(key)) return;
        json_.key(key);
        return part.is_string() ? json_.string(renamed(part.string(), names_.values)) : part.write(json_);
      }
      json_.key(key);
      if (key == "target") return json_.string(written);
      if (key == "inputs") return inputs(part, target, schema ? &*schema : nullptr);
      if (key == "outputs" && !equal.empty()) {
        json_.open('[');
        json_.item();
        value(*part.items().begin());
        return json_.close(']');
      }
      key == "outputs" ? value(part) : part.write(json_);
    });
    module_.clear();
    source_.reset();
  }

  void inputs(const JsonValue& all, const std::string& target, const Schema* schema) {
    const bool is_there = !release_ || releases_of(table_name(target)).includes(*release_);
    json_.open('[');
    for (const JsonValue input : all.items()) {
      const std::string name(input.at("name").string());
      const SchemaArgument* formal = schema == nullptr ? nullptr : schema->find_formal(name);
      const JsonValue argument = input.at("arg");
      const Releases releases = releases_of(argument_name(target, input));
      if (release_ && !releases.includes(*release_) && formal != nullptr &&
          is_default(argument, formal->default_value))
        continue;
      if (is_there) need(releases, "the argument " + name + " of " + target);
      json_.item();
      fields(input, [&](std::string_view key, const JsonValue& part) {
        if (key == "kind") {
          if (is_dropped(key)) return;
          constexpr std::int64_t kKeyword = 2;
          if (formal != nullptr && formal->keyword_only) return json_.field(key, kKeyword);
        }
        json_.key(key);
        key == "arg" ? value(part) : part.write(json_);
      });
    }
    json_.close(']');
  }

  // Writes arguments, roles and metadata of values: anything in which the fields below have one meaning.
  void value(const JsonValue& given) {
    if (given.is_array()) return json_.list(given.items(), [&](const JsonValue& item) { value(item); });
    if (!given.is_object()) return given.write(json_);
    // The forms of an optional tensor are forms of arguments.
    if (const auto inner = given.find("as_optional_tensor"); inner && release_ && *release_ < 8)
      return value(*inner);
    fields(given, [&](std::string_view key, const JsonValue& part) {
      need({.since = since(kForms, key)}, "the form " + std::string(key));
      json_.key(key);
      if (key == "as_graph") {
        fields(part, [&](std::string_view name, const JsonValue& field) {
          json_.key(name);
          if (name != "graph") return field.write(json_);
          auto around = std::tuple(module_, source_, std::exchange(used_, std::nullopt));
          ++depth_;
          graph(field);
          --depth_;
          std::tie(module_, source_, used_) = std::move(around);
        });
      } else if (key == "expr_str") {
        json_.string(with_names(part.string(), names_.symbols));
      } else if ((key == "name" || key == "as_name" || key == "user_input_name") && part.is_string()) {
        json_.string(renamed(part.string(), names_.values));
      } else if (key == "as_string_to_argument") {
        fields(part, [&](std::string_view name, const JsonValue& argument) {
          json_.key(name);
          value(argument);
        });
      } else if (key == "as_float" || key == "as_floats") {
        real(part);
      } else {
        if (key == "dtype" || key == "as_scalar_type") dtype(part);
        value(part);
      }
    });
  }

  // 2.6 reads infinity and NaN as Python writes them.
  void real(const JsonValue& given) {
    if (given.is_array()) return json_.list(given.items(), [&](const JsonValue& item) { real(item); });
    constexpr int kFirstWithText = 7;
    if (release_ && *release_ < kFirstWithText && given.is_string()) return json_.raw(given.string());
    given.write(json_);
  }

  void dtype(const JsonValue& number) {
    for (const Since& row : kDtypes) {
      if (number.integer() == dtype_number(row.name))
        need({.since = row.release}, "a tensor of " + std::string(row.name));
    }
  }

  JsonEmitter& json_;
  const std::optional<int> release_;
  const NewNames& names_;
  int depth_ = 0;       // of subgraphs, which have values of their own
  std::string module_;  // of the node, and its place
  std::optional<SourceLocation> source_;
  std::optional<std::unordered_set<std::string>> used_;  // names of values that the graph uses, on request
};

std::string help_for(const ReleaseNeed& need) {
  if (need.what.find("_batch_dim") != std::string::npos || need.what.find("_vmap_") != std::string::npos)
    return "--pass remove-batch-dims";
  return {};
}

std::string since_text(const Releases& releases) {
  std::string text;
  if (releases.since > kFirstRelease) text = "it came with " + release_text(releases.since);
  if (releases.until <= kLastRelease)
    text += (text.empty() ? "it" : " and") + (" was removed in " + release_text(releases.until));
  return text;
}

}  // namespace

NewNames new_names(const JsonValue& program, const std::vector<std::pair<std::string, std::string>>& wanted,
                   const std::map<std::string, std::string>& dimensions) {
  NewNames names;
  if (wanted.empty()) return names;
  const ProgramNames known(program);
  const auto add = [](Names& to, const std::string& from, const std::string& name) {
    to.insert_or_assign(from, name);
  };
  for (const auto& [from, to] : wanted) {
    const auto fail = [&, &from = from, &to = to](const std::string& why,
                                                  std::vector<std::string> hints = {}) {
      throw usage_error("--rename " + shell_word(from + "=" + to) + ": " + why, std::move(hints));
    };
    if (!is_identifier(to)) fail("'" + to + "' is no name of letters, digits and underscores");
    // torch writes the names into the code of the program's forward(self, ...).
    if (to == "self" || Namespace().create(to) != to) fail("Python or torch has that name");
    if (std::ranges::count(wanted, from, &std::pair<std::string, std::string>::first) > 1)
      fail("'" + from + "' is given several names");
    const auto dimension = dimensions.find(from);
    const std::string& symbol = dimension == dimensions.end() ? from : dimension->second;
    bool is_known = false;
    if (known.symbols.contains(symbol)) {
      is_known = true;
      // torch tells by these letters that a size depends on data, and reads a number behind them.
      if (to.starts_with('u') || to.starts_with("zu"))
        fail("torch takes a dimension whose name begins with u for one that depends on data");
      add(names.symbols, symbol, to);
    }
    if (std::ranges::find(known.keywords, from) != known.keywords.end())
      fail("it is a keyword of the program, which its callers write");
    if (std::ranges::find(known.arguments, from) != known.arguments.end()) {
      is_known = true;
      add(names.arguments, from, to);
    }
    for (const auto& [value, argument] : known.inputs) {
      if (value == from || (argument == from && value.starts_with(from + "_"))) {
        is_known = true;
        add(names.values, value, to + value.substr(from.size()));
      }
    }
    if (std::ranges::find(known.results, from) != known.results.end()) {
      is_known = true;
      add(names.values, from, to);
    }
    if (!is_known) {
      std::vector<std::string> all(known.symbols.begin(), known.symbols.end());
      for (const auto& [name, of] : dimensions) all.push_back(name);
      all.insert(all.end(), known.arguments.begin(), known.arguments.end());
      for (const std::string& name : known.results) {
        if (!name.empty()) all.push_back(name);
      }
      fail("the program has no dimension, input or result of that name" + did_you_mean(from, all),
           {"its names are " + joined(all)});
    }
  }
  // No two may have one name afterwards.
  const auto check = [](const auto& all, const Names& changed) {
    std::set<std::string> after;
    for (const std::string& name : all) {
      const auto found = changed.find(name);
      const std::string& own = found == changed.end() ? name : found->second;
      if (after.insert(own).second) continue;
      const auto cause = std::ranges::find(changed, own, [](const auto& change) { return change.second; });
      throw usage_error("--rename " + shell_word(cause->first + "=" + own) + ": another has the name '" +
                        own + "'");
    }
  };
  check(known.symbols, names.symbols);
  check(std::set<std::string>(known.arguments.begin(), known.arguments.end()), names.arguments);
  check(known.values, names.values);
  return names;
}

RewrittenProgram rewrite_program(const JsonValue& program, std::optional<int> release,
                                 const NewNames& names) {
  RewrittenProgram result;
  std::ostringstream out;
  JsonEmitter json(out);
  Rewriter rewriter(json, release, names);
  rewriter.program(program);
  json.flush();
  result.json = std::move(out).str();
  result.notes = std::move(rewriter.notes);
  if (release) {
    for (ReleaseNeed& need : rewriter.needs)
      result.refusals.push_back(
          {.module = std::move(need.module),
           .what = need.what,
           .why = "torch " + release_text(*release) + " does not load it: " + since_text(need.releases),
           .help = help_for(need),
           .source = std::move(need.source)});
  }
  return result;
}

std::vector<ReleaseNeed> needs_of(const JsonValue& program) {
  std::ostream none(nullptr);
  JsonEmitter json(none);
  const NewNames names;
  Rewriter rewriter(json, std::nullopt, names);
  rewriter.program(program);
  return std::move(rewriter.needs);
}

}  // namespace fxtrace::internal
