#include "app/output/picture_titles.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

namespace fxtrace::internal::cli {
namespace {

template <class F>
void for_each_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    f(text.substr(0, size));
    text.remove_prefix(size);
  }
}

// A cluster of a layout, while its lines are read.
struct Cluster {
  std::string_view fill = "white";  // the colour behind the title
  std::map<std::string_view, std::string_view> attributes;
};

}  // namespace

std::string svg_with_titles_last(std::string_view svg) {
  constexpr std::string_view kEnd = "</g>\n</svg>";
  constexpr std::string_view kText = "<text ";
  const std::size_t end = svg.rfind(kEnd);
  if (end == std::string_view::npos) return std::string(svg);
  std::string kept;
  std::string titles;
  bool is_title = false;
  for_each_line(svg.substr(0, end), [&](std::string_view line) {
    if (line.starts_with("<g id=\"clust")) is_title = true;
    if (line.starts_with("<g id=\"node") || line.starts_with("<g id=\"edge")) is_title = false;
    if (is_title && line.starts_with(kText)) {
      titles.append(kText)
          .append(R"(paint-order="stroke" stroke="#ffffff" stroke-width="3" stroke-linejoin="round" )")
          .append(line.substr(kText.size()));
    } else {
      kept += line;
    }
  });
  return kept + titles + std::string(svg.substr(end));
}

std::string layout_with_titles_last(std::string_view layout) {
  constexpr std::string_view kLabel = "label=<";
  constexpr std::string_view kLabelEnd = ">,\n";
  const std::size_t end = layout.rfind('}');
  if (end == std::string_view::npos) return std::string(layout);
  std::string kept;
  std::string titles;
  std::size_t count = 0;
  std::vector<Cluster> open;
  bool is_about_cluster = false;  // within the lines of its attributes
  for_each_line(layout.substr(0, end), [&](std::string_view line) {
    std::string_view words = line.substr(std::min(line.find_first_not_of('\t'), line.size() - 1));
    if (words.starts_with("subgraph ")) {
      open.push_back({open.empty() ? "white" : open.back().fill, {}});
    } else if (words == "}\n" && !open.empty()) {
      open.pop_back();
    } else if (words.starts_with("graph [") && !open.empty()) {
      is_about_cluster = true;
    } else if (is_about_cluster && words.starts_with(kLabel) && words.ends_with(kLabelEnd)) {
      open.back().attributes["label"] =
          words.substr(kLabel.size(), words.size() - kLabel.size() - kLabelEnd.size());
      // otherwise it inherits the label of the cluster around it
      kept.append(line.substr(0, line.size() - words.size())).append("label=\"\",\n");
      return;
    } else if (is_about_cluster && words.starts_with("];")) {
      is_about_cluster = false;
      Cluster& cluster = open.back();
      auto& has = cluster.attributes;
      if (const auto fill = has.find("fillcolor"); fill != has.end()) cluster.fill = fill->second;
      if (has.contains("label") && has.contains("lp") && has.contains("lwidth") && has.contains("lheight")) {
        titles += "\tt" + std::to_string(count++);
        titles += " [shape=plaintext, style=filled, margin=0, fixedsize=true, fontsize=12, fillcolor=\"";
        titles.append(cluster.fill).append("\", pos=\"").append(has["lp"]);
        titles.append("\", width=").append(has["lwidth"]).append(", height=").append(has["lheight"]);
        titles.append(", label=<").append(has["label"]).append(">];\n");
      }
    }
    if (is_about_cluster) {
      const std::size_t equals = words.find('=');
      const std::size_t value_end = words.find_last_not_of("\",\n");
      if (equals != std::string_view::npos && value_end != std::string_view::npos && value_end > equals) {
        std::string_view value = words.substr(equals + 1, value_end - equals);
        if (value.starts_with('"')) value.remove_prefix(1);
        open.back().attributes[words.substr(0, equals)] = value;
      }
    }
    kept += line;
  });
  return kept + "\tgraph [outputorder=edgesfirst];\n" + titles + std::string(layout.substr(end));
}

}  // namespace fxtrace::internal::cli
