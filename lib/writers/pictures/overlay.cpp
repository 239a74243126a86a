#include "writers/pictures/overlay.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "support/error.h"
#include "support/json_fields.h"
#include "support/text/numbers.h"
#include "support/text/unicode.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

using Colour = std::array<double, 3>;  // red, green, blue: 0 to 255

constexpr std::string_view kColourNames =
    "black silver gray grey white maroon red purple fuchsia green lime olive yellow navy blue teal aqua orange "
    "pink brown cyan magenta gold violet";
constexpr std::array<std::uint32_t, 24> kColours = {
    0x000000, 0xc0c0c0, 0x808080, 0x808080, 0xffffff, 0x800000, 0xff0000, 0x800080,
    0xff00ff, 0x008000, 0x00ff00, 0x808000, 0xffff00, 0x000080, 0x0000ff, 0x008080,
    0x00ffff, 0xffa500, 0xffc0cb, 0xa52a2a, 0x00ffff, 0xff00ff, 0xffd700, 0xee82ee};

Colour colour_of(std::uint32_t bits) {
  return {static_cast<double>(bits >> 16), static_cast<double>(bits >> 8 & 255),
          static_cast<double>(bits & 255)};
}

Colour read_colour(const JsonValue& value) {
  std::string text = read_string(value);
  if (const auto place = find_word(kColourNames, text)) return colour_of(kColours[*place]);
  if (text.size() == 4) text = {text[0], text[1], text[1], text[2], text[2], text[3], text[3]};
  std::uint32_t bits = 0;
  const char* const end = text.data() + text.size();
  if (text.size() != 7 || text[0] != '#' || std::from_chars(text.data() + 1, end, bits, 16).ptr != end)
    value.fail(R"(expected a colour: "#rrggbb", "#rgb" or a name such as "orange")");
  return colour_of(bits);
}

Colour mixed(const Colour& from, const Colour& to, double share) {
  Colour result;
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = from[i] + (to[i] - from[i]) * share;
  return result;
}

std::string text_of(const Colour& colour) {
  std::string text = "#";
  for (const double part : colour)
    text += hexadecimal(static_cast<unsigned>(std::clamp(std::lround(part), 0L, 255L)), 2);
  return text;
}

// The colours of one graph's numbers.
struct Scale {
  std::vector<std::pair<double, Colour>> thresholds, stops;  // by their largest number; by share of the range
  double least = INFINITY, most = -INFINITY;

  // In steps, so that a legend can name them.
  Colour at(double number) const {
    constexpr double kSteps = 8;
    if (stops.empty()) {
      const auto found =
          std::ranges::find_if(thresholds, [&](const auto& each) { return number <= each.first; });
      return found == thresholds.end() ? Colour{255, 255, 255} : found->second;
    }
    const double share = most > least ? std::round((number - least) / (most - least) * kSteps) / kSteps : 1;
    auto above = std::ranges::find_if(stops, [&](const auto& stop) { return stop.first >= share; });
    if (above == stops.end()) return stops.back().second;
    if (above == stops.begin()) return above->second;
    const auto below = std::prev(above);
    return mixed(below->second, above->second, (share - below->first) / (above->first - below->first));
  }
};

void read_scale(const JsonValue& data, const char* list, const char* at,
                std::vector<std::pair<double, Colour>>& scale) {
  const auto items = data.find(list);
  if (!items) return;
  for (const JsonValue item : array_items(*items, "an array of colours"))
    scale.emplace_back(item.at(at).number(), read_colour(item.at("bgColor")));
  std::ranges::sort(scale, {}, &std::pair<double, Colour>::first);
}

void read_graph(const std::string& graph, const JsonValue& data, Overlay& overlay) {
  Scale scale;
  read_scale(data, "thresholds", "value", scale.thresholds);
  read_scale(data, "gradient", "stop", scale.stops);
  if (scale.thresholds.empty() && scale.stops.empty())
    scale.stops = {{0, colour_of(0xffe08a)}, {1, colour_of(0xd7301f)}};
  const JsonValue::Range results = object_fields(data.at("results"), "an object of values by name");
  const auto is_text = [](const JsonValue& result) { return result.at("value").is_string(); };
  for (const JsonValue result : results) {
    if (is_text(result)) continue;
    scale.least = std::min(scale.least, result.at("value").number());
    scale.most = std::max(scale.most, result.at("value").number());
  }
  const auto name = data.find("name");
  const std::string title = name ? read_string(*name) + ": " : "";
  for (const JsonValue result : results) {
    const JsonValue value = result.at("value");
    Overlay::Value& added = overlay.values.emplace_back(graph, std::string(result.key()), title);
    Colour colour = colour_of(0xd0d7de);
    if (is_text(result)) {
      added.text += value.string();
    } else {
      std::array<char, 32> digits;
      added.number = value.number();
      added.text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(),
                                                     *added.number, std::chars_format::general, 6)
                                           .ptr);
      colour = scale.at(*added.number);
    }
    const auto own = result.find("bgColor");
    added.colour = text_of(own ? read_colour(*own) : colour);
  }
}

class ValueMarks {
 public:
  ValueMarks(const Overlay& overlay, const GraphCollection& collection, std::vector<std::string>& unknown) {
    for (const ModuleGraph& graph : collection.graphs)
      add_nodes(graph, graph.module.empty() ? "(root)" : graph.module);
    std::unordered_map<std::string_view, std::string_view> paths;
    for (const ModuleRecord& module : collection.modules) paths.emplace(module.path, module.path);
    for (const Overlay::Value& value : overlay.values) {
      const auto graph =
          names_.find(overlay.is_of_one_graph && !names_.contains(value.graph) ? "(root)" : value.graph);
      const Node* const* node = nullptr;
      if (graph != names_.end()) {
        const auto found = graph->second.find(value.name);
        node = found == graph->second.end() ? nullptr : &found->second;
      }
      const auto path = paths.find(value.name);
      if (node != nullptr) {
        nodes_.emplace(*node, &value);
      } else if (path != paths.end()) {
        modules_.emplace(path->second, &value);
      } else {
        unknown.push_back(value.name);
        continue;
      }
      colours_[value.colour].add(value);
    }
    for (auto& [colour, range] : colours_) order_.push_back(&range);
    std::ranges::sort(order_, {}, [](const Range* range) { return std::pair(range->least, range->text); });
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i]->style = i + 1;
  }

  std::vector<MarkStyle> styles() const {
    std::vector<MarkStyle> styles(order_.size());
    for (const auto& [colour, range] : colours_) {
      std::uint32_t bits = 0;
      std::from_chars(colour.data() + 1, colour.data() + colour.size(), bits, 16);
      // Light enough for the text in it.
      constexpr double kLight = 205;
      const Colour own = colour_of(bits);
      const double light = 0.2126 * own[0] + 0.7152 * own[1] + 0.0722 * own[2];
      const double white = light < kLight ? (kLight - light) / (255 - light) : 0;
      const std::string fill = text_of(mixed(own, {255, 255, 255}, white));
      styles[range.style - 1] = {"value", "",    range.meaning(), "", fill, text_of(mixed(own, {}, 0.35)),
                                 fill,    colour};
    }
    return styles;
  }

  int distinction(const Outline::Item& item) const {
    const Overlay::Value* value = value_of(item);
    return value == nullptr ? 0 : static_cast<int>(colours_.at(value->colour).style);
  }

  std::vector<Mark> marks(const Outline& outline) const {
    std::vector<Mark> marks(outline.items.size());
    std::vector<const Overlay::Value*> largest(marks.size());
    for (Outline::Index i = 0; i < marks.size(); ++i) {
      const Overlay::Value* value = value_of(outline[i]);
      if (value == nullptr) continue;
      marks[i] = {colours_.at(value->colour).style, false, value->title + value->text};
      if (!value->number) continue;
      for (Outline::Index around = outline[i].parent; around != Outline::kNone;
           around = outline[around].parent) {
        if (largest[around] == nullptr || *largest[around]->number < *value->number) largest[around] = value;
      }
    }
    for (std::size_t i = 0; i < marks.size(); ++i) {
      if (marks[i].style == 0 && largest[i] != nullptr)
        marks[i] = {colours_.at(largest[i]->colour).style, true,
                    largest[i]->title + "up to " + largest[i]->text};
    }
    return marks;
  }

 private:
  // The values of one colour.
  struct Range {
    std::size_t style = 0;  // as in Mark
    double least = INFINITY, most = -INFINITY;
    std::string title, first, last, text;  // the texts of these numbers; that of a value without a number

    void add(const Overlay::Value& value) {
      title = value.title;
      if (!value.number) return void(text = text.empty() || text == value.text ? value.text : "…");
      if (*value.number < least) std::tie(least, first) = std::pair(*value.number, value.text);
      if (*value.number > most) std::tie(most, last) = std::pair(*value.number, value.text);
    }
    std::string meaning() const {
      const std::string numbers = first == last ? first : first + " … " + last;
      return short_line(title + numbers + (numbers.empty() || text.empty() ? "" : ", ") + text);
    }
  };

  void add_nodes(const ModuleGraph& graph, const std::string& id) {
    auto& names = names_[id];
    for (NodeId node = graph.graph.first(); node.valid(); node = graph.graph.next(node))
      names.emplace(graph.graph.node(node).name, &graph.graph.node(node));
    for (const Subgraph& body : graph.subgraphs) add_nodes(body.graph, id + "/" + body.name);
  }

  const Overlay::Value* value_of(const Outline::Item& item) const {
    if (item.kind == Outline::Kind::kNode) {
      if (const auto found = nodes_.find(item.node); found != nodes_.end()) return found->second;
    }
    const auto found = item.path.empty() ? modules_.end() : modules_.find(item.path);
    return found == modules_.end() ? nullptr : found->second;
  }

  std::unordered_map<std::string, std::unordered_map<std::string_view, const Node*>>
      names_;  // by id of the graph
  std::unordered_map<const Node*, const Overlay::Value*> nodes_;
  std::unordered_map<std::string_view, const Overlay::Value*> modules_;  // by path
  std::map<std::string, Range> colours_;
  std::vector<Range*> order_;  // of the legend
};

}  // namespace

Overlay read_overlay(std::string_view text, const std::string& file) {
  constexpr std::size_t kMostColours = 100;
  const JsonDocument document(text, file, {ErrorKind::kUsage, 32, true});
  const JsonValue root = document.root();
  object_fields(root, "an object, as Model Explorer's node data is");
  Overlay overlay;
  if (root.find("results")) {
    read_graph("(root)", root, overlay);
  } else {
    const JsonValue graphs = root.find("graphsData").value_or(root);
    std::size_t count = 0;
    for (const JsonValue data : object_fields(graphs, "an object of graphs by id")) {
      read_graph(std::string(data.key()), data, overlay);
      ++count;
    }
    overlay.is_of_one_graph = count == 1;
  }
  if (overlay.values.empty()) root.fail("expected at least one value");
  std::vector<std::string> colours;
  for (const Overlay::Value& value : overlay.values) colours.push_back(value.colour);
  std::ranges::sort(colours);
  colours.erase(std::ranges::unique(colours).begin(), colours.end());
  if (colours.size() > kMostColours)
    root.fail("the values have more than " + std::to_string(kMostColours) + " colours",
              {R"("gradient" or "thresholds" in place of "bgColor" gives fewer)"});
  return overlay;
}

Marking mark_values(const Overlay& overlay, const GraphCollection& collection,
                    std::vector<std::string>& unknown) {
  const auto marks = std::make_shared<const ValueMarks>(overlay, collection, unknown);
  return {marks->styles(), false, [marks](const Outline::Item& item) { return marks->distinction(item); },
          [marks](const Outline& outline) { return marks->marks(outline); }};
}

}  // namespace fxtrace::internal
