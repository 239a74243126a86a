#include "writers/pictures/html_writer.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/analysis/collection_summary.h"
#include "graph/analysis/text_form.h"
#include "pictures/labels.h"
#include "pictures/looks.h"
#include "summaries/model_summary.h"
#include "support/text/numbers.h"
#include "support/text/unicode.h"
#include "symbolic/size_text.h"
#include "writers/formats/markup_text.h"
#include "writers/pictures/html_page.h"

namespace fxtrace::internal {
namespace {

using Index = Outline::Index;
using Kind = Outline::Kind;
constexpr Index kNone = Outline::kNone;

// The most characters of one text: longer ones are hard to read in a panel, and many would make the page
// large.
constexpr std::size_t kMaxText = 300;
constexpr std::size_t kMaxMessage = 4000;
constexpr std::int64_t kLargestExactDouble = std::int64_t{1} << 53;

// The cost of running everything in an item.
struct Sum {
  std::optional<SymInt> macs;
  std::optional<SymInt> activation_bytes;
  std::int64_t parameter_bytes = 0;
  bool is_partial = false;

  void add(const std::optional<SymInt>& more, std::optional<SymInt> Sum::* member) {
    if (!more) return;
    std::optional<SymInt>& sum = this->*member;
    try {
      sum = sum ? *sum + *more : *more;
    } catch (const SymbolicError&) {
      is_partial = true;
    }
  }
  void add(const Sum& other) {
    add(other.macs, &Sum::macs);
    add(other.activation_bytes, &Sum::activation_bytes);
    parameter_bytes += other.parameter_bytes;
    is_partial |= other.is_partial;
  }
  bool is_empty() const { return !macs && !activation_bytes && parameter_bytes == 0 && !is_partial; }
};

Sum sum_of(const Cost& cost) {
  return {cost.macs, cost.activation_bytes, cost.parameter_bytes, !cost.unknown.empty() || cost.unsized > 0};
}

std::string size_json(const std::optional<SymInt>& size, std::string (*number_text)(std::int64_t)) {
  if (!size) return "null";
  const auto number = size->number();
  return number && *number < kLargestExactDouble ? std::to_string(*number)
                                                 : html_json(readable_size(*size, number_text));
}

class HtmlDataWriter {
 public:
  HtmlDataWriter(const GraphCollection& collection, std::ostream& out, const PictureOptions& options,
                 const Marking& marking)
      : collection_(collection),
        out_(out),
        outline_(make_folded_outline(collection, options, marking.distinction)),
        labels_(collection, outline_, true),
        arguments_(outline_, labels_),
        styles_(marking.styles) {
    text("");
    if (marking.marks) marks_ = marking.marks(outline_);
  }

  void write() {
    number();
    add_costs();
    out_ << R"({"version":1)";
    write_model();
    write_items();
    write_tables();
    out_ << '}';
  }

 private:
  // Numbers the items in pre-order.
  void number() {
    place_.resize(outline_.items.size());
    order_.reserve(outline_.items.size());
    std::vector<Index> open(outline_.graphs.rbegin(), outline_.graphs.rend());
    while (!open.empty()) {
      const Index item = open.back();
      open.pop_back();
      place_[item] = static_cast<Index>(order_.size());
      order_.push_back(item);
      const auto& children = outline_[item].children;
      open.insert(open.end(), children.rbegin(), children.rend());
    }
  }

  // An operator of control flow and a graph have a cost of their own, if it is known; the cost of another box
  // is the sum of its content.
  void add_costs() {
    sums_.resize(order_.size());
    for (std::size_t place = order_.size(); place-- > 0;) {
      const Outline::Item& item = outline_[order_[place]];
      Sum& sum = sums_[place];
      const bool tells = item.kind == Kind::kNode || item.kind == Kind::kOperator;
      if (tells && item.node->cost->has_value()) sum = sum_of(**item.node->cost);
      if (item.kind == Kind::kGraph && item.graph->cost) sum = sum_of(*item.graph->cost);
      if (item.parent == kNone) continue;
      const Outline::Item& parent = outline_[item.parent];
      const bool parent_tells = (parent.kind == Kind::kOperator && parent.node->cost->has_value()) ||
                                (parent.kind == Kind::kGraph && parent.graph->cost);
      if (!parent_tells) sums_[place_[item.parent]].add(sum);
    }
  }

  std::size_t text(std::string_view whole, std::size_t limit = kMaxText, Keep keep = Keep::kStart) {
    std::string kept = whole.size() > limit ? cut(whole, limit, keep) : std::string(whole);
    const auto [found, is_new] = text_places_.try_emplace(std::move(kept), texts_.size());
    if (is_new) texts_.push_back(&found->first);
    return found->second;
  }

  void write_model() {
    const GraphCollection::Model& model = collection_.model;
    out_ << R"(,"model":{"file":)" << html_json(model.file) << R"(,"kind":)" << html_json(model.kind)
         << R"(,"type":)" << html_json(model.type) << R"(,"dtype":)" << html_json(labels_.usual_dtype())
         << '}';
  }

  // A column: one value for each item, as `value` writes it.
  template <class F>
  void column(const char* name, const F& value) {
    table(name, order_, value);
  }

  void write_items() {
    std::vector<Label> labels;
    labels.reserve(order_.size());
    for (const Index index : order_) labels.push_back(labels_.label(index));
    const auto label = [&](Index index) -> const Label& { return labels[place_[index]]; };

    column("kind", [&](Index i) { out_ << static_cast<int>(outline_[i].kind); });
    column("depth", [&](Index i) { out_ << outline_[i].depth; });
    column("op", [&](Index i) {
      out_ << (outline_[i].node == nullptr ? 0 : static_cast<int>(outline_[i].node->op) + 1);
    });
    column("title", [&](Index i) { out_ << text(label(i).title); });
    column("type", [&](Index i) { out_ << text(outline_[i].type, kMaxText, Keep::kEnd); });
    column("details", [&](Index i) { out_ << text(label(i).details); });
    column("value", [&](Index i) { out_ << text(label(i).value); });
    column("note", [&](Index i) { out_ << text(label(i).note); });
    column("order", [&](Index i) { out_ << text(label(i).order); });
    column("path", [&](Index i) { out_ << text(outline_[i].path); });
    column("name", [&](Index i) {
      out_ << text(outline_[i].node != nullptr ? outline_[i].node->name : outline_[i].name);
    });
    column("target",
           [&](Index i) { out_ << (outline_[i].node != nullptr ? text(*outline_[i].node->target) : 0); });
    column("call", [&](Index i) { out_ << outline_[i].call; });
    column("like",
           [&](Index i) { out_ << (outline_[i].like == kNone ? 0 : place_[i] - place_[outline_[i].like]); });
    column("module", [&](Index i) { out_ << module_row(outline_[i].module); });
    column("source", [&](Index i) { out_ << source_row(outline_[i].node); });
    column("cost", [&](Index i) { out_ << cost_row(sums_[place_[i]]); });
    // Distances to places in front of the item; the inputs of a loop may stand behind it.
    column("inputs", [&](Index i) {
      write_list(outline_[i].inputs, [&](Index input) {
        out_ << static_cast<std::int64_t>(place_[i]) - static_cast<std::int64_t>(place_[input]);
      });
    });
    column("weights", [&](Index i) {
      write_list(label(i).attributes, [&](const std::string& attribute) { out_ << text(attribute); });
    });
    column("arguments", [&](Index i) { write_arguments(i); });
    if (!marks_.empty()) {
      column("mark", [&](Index i) { out_ << marks_[i].style + (marks_[i].is_within ? styles_.size() : 0); });
      column("mark_text", [&](Index i) { out_ << text(marks_[i].text); });
      table("marks", styles_, [&](const MarkStyle& style) {
        out_ << '[' << html_json(style.name) << ',' << html_json(style.sign) << ','
             << html_json(style.meaning);
        if (!style.colour.empty()) out_ << ',' << html_json(style.colour);
        out_ << ']';
      });
    }
    out_ << ",\n\"failures\":[";
    bool is_first = true;
    for (const Index i : order_) {
      const std::size_t failure = text(label(i).failure, kMaxMessage);
      if (failure == 0) continue;
      out_ << (is_first ? "" : ",") << '[' << place_[i] << ',' << failure << ']';
      is_first = false;
    }
    out_ << ']';
  }

  template <class T, class F>
  void write_list(const T& values, const F& write) {
    if (values.empty()) {
      out_ << '0';
      return;
    }
    write_values(values, write);
  }

  template <class T, class F>
  void write_values(const T& values, const F& write) {
    out_ << '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ << ',';
      write(values[i]);
    }
    out_ << ']';
  }

  // Writes each argument as [name, piece, ...]: a number is the place of an item, a string is text.
  void write_arguments(Index index) {
    if (outline_[index].kind != Kind::kNode) {
      out_ << '0';
      return;
    }
    write_list(arguments_.arguments(index), [&](const ArgumentText& argument) {
      out_ << '[' << text(argument.name);
      for (const ArgumentText::Piece& piece : argument.pieces) {
        out_ << ',';
        if (piece.item != kNone) {
          out_ << place_[piece.item];
        } else {
          out_ << html_json(cut(piece.text, kMaxText));
        }
      }
      out_ << ']';
    });
  }

  std::size_t module_row(const ModuleRecord* module) {
    if (module == nullptr) return 0;
    const auto [found, is_new] = module_rows_.emplace(module, module_rows_.size() + 1);
    if (is_new) modules_.push_back(module);
    return found->second;
  }

  std::size_t source_row(const Node* node) {
    if (node == nullptr || !node->source->has_value()) return 0;
    const SourceLocation& source = **node->source;
    const std::tuple row{text(source.file), source.line, text(source.function), text(source.text)};
    const auto [found, is_new] = source_rows_.emplace(row, source_rows_.size() + 1);
    if (is_new) sources_.push_back(row);
    return found->second;
  }

  std::size_t cost_row(const Sum& sum) {
    if (sum.is_empty()) return 0;
    std::string row = "[" + size_json(sum.macs, with_separators) + "," + std::to_string(sum.parameter_bytes) +
                      "," + size_json(sum.activation_bytes, bytes_text) + "," + (sum.is_partial ? "1" : "0") +
                      "," + std::to_string(typical_value(sum.macs).value_or(0)) + "]";
    const auto [found, is_new] = cost_rows_.emplace(std::move(row), cost_rows_.size() + 1);
    if (is_new) costs_.push_back(&found->first);
    return found->second;
  }

  void write_tables() {
    table("modules", modules_, [&](const ModuleRecord* module) { write_module(*module); });
    table("sources", sources_, [&](const auto& source) {
      out_ << '[' << std::get<0>(source) << ',' << std::get<1>(source) << ',' << std::get<2>(source) << ','
           << std::get<3>(source) << ']';
    });
    table("costs", costs_, [&](const std::string* cost) { out_ << *cost; });
    table("parameters", collection_.parameters, [&](const ParameterRecord& parameter) {
      Meta meta;
      meta.set_dtype(parameter.dtype);
      if (parameter.kind != ParameterKind::kCustomObject)
        meta.shape.emplace(parameter.shape.begin(), parameter.shape.end());
      out_ << '[' << text(parameter.name) << ',' << text(meta.shape ? value_text(meta) : parameter.type)
           << ',' << static_cast<int>(parameter.kind) << ',' << text(parameter.alias_of.value_or("")) << ']';
    });
    table("texts", texts_, [&](const std::string* text) { out_ << html_json(*text); });
  }

  template <class T, class F>
  void table(const char* name, const std::vector<T>& rows, const F& write) {
    out_ << ",\n\"" << name << "\":";
    write_values(rows, write);
  }

  // [path, type, status, rule, calls, failure or 0, [[attribute, value], ...]]
  void write_module(const ModuleRecord& module) {
    out_ << '[' << text(module.path) << ',' << text(module.type, kMaxText, Keep::kEnd) << ','
         << static_cast<int>(module.status) << ',' << text(module.rule.value_or("")) << ',' << module.calls
         << ',';
    if (module.failure) {
      const Failure& failure = *module.failure;
      out_ << '[' << text(failure.message, kMaxMessage) << ',' << text(failure.module) << ','
           << text(failure.op) << ',' << text(failure.source ? place_text(*failure.source) : "") << ']';
    } else {
      out_ << '0';
    }
    out_ << ',';
    write_list(module.attributes, [&](const auto& attribute) {
      out_ << '[' << text(attribute.first) << ',' << text(print_argument(attribute.second)) << ']';
    });
    out_ << ']';
  }

  const GraphCollection& collection_;
  std::ostream& out_;
  Outline outline_;
  Labels labels_;
  Arguments arguments_;
  std::vector<MarkStyle> styles_;
  std::vector<Mark> marks_;   // by item; empty when nothing is marked
  std::vector<Index> order_;  // items in pre-order
  std::vector<Index> place_;  // by item: its index in `order_`
  std::vector<Sum> sums_;     // by place

  std::unordered_map<std::string, std::size_t> text_places_;
  std::vector<const std::string*> texts_;
  std::unordered_map<const ModuleRecord*, std::size_t> module_rows_;
  std::vector<const ModuleRecord*> modules_;
  std::map<std::tuple<std::size_t, std::int64_t, std::size_t, std::size_t>, std::size_t> source_rows_;
  std::vector<std::tuple<std::size_t, std::int64_t, std::size_t, std::size_t>> sources_;
  std::unordered_map<std::string, std::size_t> cost_rows_;
  std::vector<const std::string*> costs_;
};

}  // namespace

void write_html_data(const GraphCollection& collection, std::ostream& out, const PictureOptions& options,
                     const Marking& marking) {
  HtmlDataWriter(collection, out, options, marking).write();
}

void write_html(const GraphCollection& collection, std::ostream& out, const PictureOptions& options,
                const Marking& marking) {
  const HtmlPage page = html_page();
  const GraphCollection::Model& model = collection.model;
  out << page.before_title << html_text(model.file.empty() ? model.type : model.file) << page.before_data;
  write_html_data(collection, out, options, marking);
  out << page.after_data;
}

}  // namespace fxtrace::internal
