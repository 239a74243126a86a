#include "writers/dot_writer.h"

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "writers/dot_text.h"
#include "writers/utf8.h"

namespace fxtrace {
namespace {

struct Style {
  const char* shape;
  const char* fill;
  const char* line;
};

constexpr const char* kQuiet = "#5f6b7a";    // secondary text
constexpr const char* kFailure = "#b3261e";  // text of a failure

Style style_of(Opcode op) {
  switch (op) {
    case Opcode::kPlaceholder:
      return {"ellipse", "#e3f4e5", "#3f8f4f"};
    case Opcode::kGetAttr:
      return {"note", "#fdf6d8", "#a88a1d"};
    case Opcode::kCallFunction:
      return {"box", "#e6f0fb", "#4a7fb5"};
    case Opcode::kCallMethod:
      return {"hexagon", "#efe8fa", "#7d5fb2"};
    case Opcode::kCallModule:
      return {"component", "#fdeedc", "#c07a2c"};
    case Opcode::kOutput:
      return {"ellipse", "#e4e7ec", "#4c5563"};
  }
  return {"box", "#ffffff", "#000000"};
}
constexpr Style kFailedStyle = {"component", "#fbdcda", kFailure};

// Nested clusters alternate, so that neighbours stand apart.
constexpr const char* kClusterFills[] = {"#f6f8fa", "#ffffff"};

// Nodes of one graph by the cluster they stand in.
struct Cluster {
  std::string path;
  std::vector<std::size_t> nodes;  // positions in the graph's order
  std::vector<std::size_t> children;
};

class Writer {
 public:
  Writer(const GraphCollection& collection, std::ostream& out, const DotOptions& options)
      : collection_(collection), out_(out), options_(options) {
    for (const auto& module : collection.modules) modules_.emplace(module.path, &module);
    for (const auto& parameter : collection.parameters) parameters_.insert(parameter.name);
  }

  void document() {
    out_
        << "digraph fxtrace {\n"
           "  graph [fontname=\"Helvetica\", fontsize=12, fontcolor=\"#24292f\", bgcolor=\"white\",\n"
           "         rankdir=TB, ranksep=0.35, nodesep=0.25, labelloc=t, labeljust=l, pad=0.3];\n"
           "  node [fontname=\"Helvetica\", fontsize=11, fontcolor=\"#24292f\", penwidth=1.1, margin=\"0.14,0.07\",\n"
           "        height=0.35];\n"
           "  edge [color=\"#6e7781\", arrowsize=0.6, penwidth=0.9];\n";
    out_ << "  label=<" << bold(collection_.model.type.empty() ? "model" : collection_.model.type);
    if (!collection_.model.file.empty()) out_ << "<BR ALIGN=\"LEFT\"/>" << quiet(collection_.model.file);
    out_ << "<BR ALIGN=\"LEFT\"/>>;\n";
    for (std::size_t i = 0; i < collection_.graphs.size(); ++i) {
      const auto& graph = collection_.graphs[i];
      const std::string id = "g" + std::to_string(i);
      if (collection_.graphs.size() == 1) {
        body(graph, id, "  ", 0);
        continue;
      }
      out_ << "  subgraph cluster_" << id << " {\n";
      graph_cluster(graph, graph.module.empty() ? "graph of the root" : "graph of " + graph.module);
      body(graph, id, "    ", 0);
      out_ << "  }\n";
    }
    out_ << "}\n";
  }

 private:
  std::string html(std::string_view text) const { return dot_html(cut(text, options_.max_label)); }
  std::string bold(std::string_view text) const { return "<B>" + html(text) + "</B>"; }
  static std::string small(const std::string& html, const char* colour) {
    return R"(<FONT POINT-SIZE="9" COLOR=")" + std::string(colour) + "\">" + html + "</FONT>";
  }
  std::string quiet(std::string_view text) const { return small(html(text), kQuiet); }
  // Of a long qualified type the last parts say most.
  std::string quiet_type(std::string_view type) const {
    return small(dot_html(cut(type, options_.max_label, Keep::kEnd)), kQuiet);
  }

  void graph_cluster(const ModuleGraph& graph, const std::string& title) {
    out_ << "    label=<" << bold(title) << "<BR ALIGN=\"LEFT\"/>" << quiet_type(graph.type);
    const auto* module = find_module(graph.module);
    const bool failed = module != nullptr && module->status == ModuleStatus::kFailed;
    if (failed) out_ << "<BR ALIGN=\"LEFT\"/>" << failure(*module);
    out_ << R"(<BR ALIGN="LEFT"/>>; style="rounded,filled"; fillcolor="#ffffff"; color=")"
         << (failed ? kFailure : "#8c959f") << "\"; penwidth=1.4; margin=14;\n";
  }

  const ModuleRecord* find_module(const std::string& path) const {
    const auto found = modules_.find(path);
    return found == modules_.end() ? nullptr : found->second;
  }

  // The module's record, or that of its first name when it is a shared module's later one.
  const ModuleRecord* find_first(const std::string& path) const {
    const auto* module = find_module(path);
    const auto* first = module != nullptr && module->alias_of ? find_module(*module->alias_of) : nullptr;
    return first != nullptr ? first : module;
  }

  std::string failure(const ModuleRecord& module) const {
    const std::string kind = module.failure ? to_string(module.failure->kind) : "other";
    return small("<B>failed: " + dot_html(kind) + "</B>", kFailure);
  }

  bool is_drawn(const Node& node) const {
    return options_.parameters || node.op != Opcode::kGetAttr || !parameters_.contains(node.target);
  }

  // The modules around a node, outermost first, without the graph's own root.
  std::vector<std::string> enclosing(const ModuleGraph& graph, const Node& node) const {
    std::vector<std::string> found;
    const std::string& path = node.scope.module_path;
    if (path.empty() || path == graph.module) return found;
    const std::string root = graph.module.empty() ? "" : graph.module + ".";
    for (std::size_t end = path.find('.');; end = path.find('.', end + 1)) {
      const bool whole = end == std::string::npos;
      // A call of a module has the called module as its scope, but stands in the caller's cluster.
      if (whole && node.op == Opcode::kCallModule) break;
      std::string prefix = path.substr(0, end);
      const bool is_around_root =
          prefix == graph.module || (prefix.size() < root.size() && root.starts_with(prefix + "."));
      const bool is_known = modules_.contains(prefix) || (whole && node.scope.module_type);
      if (!is_around_root && is_known) found.push_back(std::move(prefix));
      if (whole) break;
    }
    return found;
  }

  void body(const ModuleGraph& graph, const std::string& id, const std::string& indent, std::size_t depth) {
    const auto order = graph.graph.order();
    std::vector<Cluster> clusters(1);
    std::unordered_map<std::string, std::size_t> cluster_of;
    std::unordered_map<std::string, std::string> type_of;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Node& node = graph.graph.node(order[i]);
      if (!is_drawn(node)) continue;
      std::size_t at = 0;
      for (auto& path : enclosing(graph, node)) {
        const auto [found, is_new] = cluster_of.emplace(path, clusters.size());
        if (is_new) {
          clusters[at].children.push_back(clusters.size());
          clusters.push_back({path, {}, {}});
        }
        at = found->second;
      }
      clusters[at].nodes.push_back(i);
      if (node.op != Opcode::kCallModule && node.scope.module_type) {
        type_of.emplace(node.scope.module_path, *node.scope.module_type);
      }
    }
    cluster(graph, order, clusters, type_of, 0, id, indent, depth);

    for (std::size_t i = 0; i < graph.subgraphs.size(); ++i) {
      const auto& [name, inner] = graph.subgraphs[i];
      const std::string inner_id = id + "s" + std::to_string(i);
      out_
          << indent << "subgraph cluster_" << inner_id << " {\n"
          << indent << "  label=<" << bold(name)
          << "<BR ALIGN=\"LEFT\"/>>; style=\"rounded,dashed\"; color=\"#7d5fb2\"; penwidth=1.2; margin=10;\n";
      body(inner, inner_id, indent + "  ", depth + 1);
      out_ << indent << "}\n";
    }
    edges(graph, order, id, indent);
  }

  void cluster(const ModuleGraph& graph, const std::vector<NodeId>& order,
               const std::vector<Cluster>& clusters,
               const std::unordered_map<std::string, std::string>& type_of, std::size_t at,
               const std::string& id, const std::string& indent, std::size_t depth) {
    const Cluster& cluster = clusters[at];
    for (const auto position : cluster.nodes) {
      node(graph.graph.node(order[position]), id + "_n" + std::to_string(position), indent);
    }
    for (const auto child : cluster.children) {
      const std::string& path = clusters[child].path;
      const auto* module = find_module(path);
      const auto type = type_of.find(path);
      const std::string type_text = module != nullptr       ? module->type
                                    : type != type_of.end() ? type->second
                                                            : "";
      out_ << indent << "subgraph cluster_" << id << "_c" << child << " {\n"
           << indent << "  label=<" << bold(path);
      if (!type_text.empty()) out_ << "<BR ALIGN=\"LEFT\"/>" << quiet_type(type_text);
      out_ << "<BR ALIGN=\"LEFT\"/>>; tooltip=" << dot_quoted(path + ": " + type_text)
           << R"(; style="rounded,filled"; fillcolor=")" << kClusterFills[depth % 2]
           << "\"; color=\"#afb8c1\"; penwidth=1; margin=10;\n";
      this->cluster(graph, order, clusters, type_of, child, id, indent + "  ", depth + 1);
      out_ << indent << "}\n";
    }
  }

  void node(const Node& node, const std::string& id, const std::string& indent) {
    Style style = style_of(node.op);
    std::vector<std::string> lines;
    std::string about = node.name + " = " + to_string(node.op) + "[" + node.target + "]";
    const bool named_by_target =
        node.op == Opcode::kPlaceholder || node.op == Opcode::kOutput || node.op == Opcode::kCallModule;
    if (node.op == Opcode::kCallModule) {
      const auto* module = find_first(node.target);
      const std::string type = module != nullptr ? module->type : node.scope.module_type.value_or("");
      lines.push_back(bold(node.target.empty() ? "(root)" : node.target));
      if (!type.empty()) lines.push_back(quiet_type(type));
      if (module != nullptr && module->status == ModuleStatus::kFailed) {
        style = kFailedStyle;
        lines.push_back(failure(*module));
        if (module->failure) about += "; failed: " + module->failure->message;
      }
      about += "; " + type;
    } else {
      lines.push_back(bold(node.target));
    }
    if (!named_by_target || (node.op == Opcode::kPlaceholder && node.name != node.target)) {
      lines.push_back(quiet(node.name));
    }
    if (auto value = value_text(node.meta); !value.empty()) lines.push_back(quiet(value));
    if (node.source) {
      about += "; " + node.source->file;
      if (node.source->line > 0) about += ":" + std::to_string(node.source->line);
      if (!node.source->text.empty()) about += ": " + node.source->text;
    }
    out_ << indent << id << " [shape=" << style.shape << ", style=\""
         << (std::string_view(style.shape) == "box" ? "rounded,filled" : "filled") << "\", fillcolor=\""
         << style.fill << "\", color=\"" << style.line << "\", label=<";
    for (std::size_t i = 0; i < lines.size(); ++i) out_ << (i == 0 ? "" : "<BR/>") << lines[i];
    out_ << ">, tooltip=" << dot_quoted(about) << "];\n";
  }

  // "float32[1, batch]", "int"; empty when nothing is known.
  static std::string value_text(const Meta& meta) {
    std::string text = meta.dtype ? *meta.dtype : meta.type.value_or("");
    if (!meta.shape) return text;
    text += "[";
    for (std::size_t i = 0; i < meta.shape->size(); ++i) {
      if (i != 0) text += ", ";
      const auto& dim = (*meta.shape)[i];
      const auto* size = std::get_if<std::int64_t>(&dim);
      text += size != nullptr ? std::to_string(*size) : std::get<std::string>(dim);
    }
    return text + "]";
  }

  void edges(const ModuleGraph& graph, const std::vector<NodeId>& order, const std::string& id,
             const std::string& indent) {
    std::map<NodeId, std::size_t> position;
    for (std::size_t i = 0; i < order.size(); ++i) position.emplace(order[i], i);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Node& node = graph.graph.node(order[i]);
      if (!is_drawn(node)) continue;
      for (const NodeId user : node.users) {
        out_ << indent << id << "_n" << i << " -> " << id << "_n" << position.at(user) << ";\n";
      }
    }
  }

  const GraphCollection& collection_;
  std::ostream& out_;
  const DotOptions& options_;
  std::unordered_map<std::string, const ModuleRecord*> modules_;
  std::unordered_set<std::string> parameters_;
};

}  // namespace

void write_dot(const GraphCollection& collection, std::ostream& out, const DotOptions& options) {
  Writer(collection, out, options).document();
}

}  // namespace fxtrace
