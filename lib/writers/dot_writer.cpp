#include "writers/dot_writer.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/text_form.h"
#include "pictures/scope_tree.h"
#include "support/utf8.h"
#include "writers/dot_text.h"

namespace fxtrace {
namespace {

struct Style {
  const char* shape;
  const char* fill;
  const char* line;
};

constexpr const char* kText = "#24292f";
constexpr const char* kQuiet = "#5f6b7a";     // secondary text
constexpr const char* kFailure = "#b3261e";   // text of a failure
constexpr const char* kSubgraph = "#7d5fb2";  // around subgraphs of control flow

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
constexpr std::size_t kMaxParameters = 12;  // lines in one box
constexpr Style kFailedStyle = {"component", "#fbdcda", kFailure};

// Nested clusters alternate, so that neighbours stand apart.
constexpr const char* kClusterFills[] = {"#f6f8fa", "#ffffff"};

// One graph on its way to the paper.
struct Drawing {
  const ModuleGraph& graph;
  std::string id;                                       // begins the names of its nodes and clusters
  ScopeTree tree;                                       // a cluster for each scope
  std::vector<std::optional<std::size_t>> first_drawn;  // by subgraph: position of its first drawn node
};

class Writer {
 public:
  Writer(const GraphCollection& collection, std::ostream& out, const DotOptions& options)
      : collection_(collection), out_(out), options_(options), scopes_(collection) {
    for (const auto& module : collection.modules) modules_.emplace(module.path, &module);
    for (const auto& parameter : collection.parameters) {
      parameters_.insert(parameter.name);
      if (!options.parameters) continue;
      // Every module around it has it below.
      for (std::size_t dot = parameter.name.rfind('.');; dot = parameter.name.rfind('.', dot - 1)) {
        const bool is_root = dot == std::string::npos;
        below_[is_root ? "" : parameter.name.substr(0, dot)].push_back(&parameter);
        if (is_root || dot == 0) break;
      }
    }
  }

  void document() {
    out_
        << "digraph fxtrace {\n"
           "  graph [fontname=\"Helvetica\", fontsize=12, fontcolor=\"#24292f\", bgcolor=\"white\",\n"
           "         rankdir=TB, ranksep=0.35, nodesep=0.25, labelloc=t, labeljust=l, pad=0.3];\n"
           "  node [fontname=\"Helvetica\", fontsize=11, fontcolor=\"#24292f\", penwidth=1.1, margin=\"0.14,0.07\",\n"
           "        height=0.35];\n"
           "  edge [color=\"#6e7781\", arrowsize=0.6, penwidth=0.9];\n";
    for (const auto& graph : collection_.graphs) {
      if (graph.subgraphs.empty()) continue;
      out_ << "  compound=true;\n";  // edges that end at a cluster
      break;
    }
    out_ << "  label=<" << bold(collection_.model.type.empty() ? "model" : collection_.model.type);
    if (!collection_.model.file.empty()) out_ << "<BR ALIGN=\"LEFT\"/>" << quiet(collection_.model.file);
    out_ << "<BR ALIGN=\"LEFT\"/>>;\n";
    for (std::size_t i = 0; i < collection_.graphs.size(); ++i) {
      const auto& graph = collection_.graphs[i];
      std::string id = "g";
      id += std::to_string(i);
      if (collection_.graphs.size() == 1) {
        body(graph, id, {}, "  ", 0);
        continue;
      }
      out_ << "  subgraph cluster_" << id << " {\n";
      graph_cluster(graph, graph.module.empty() ? "graph of the root" : "graph of " + graph.module);
      body(graph, id, {}, "    ", 0);
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

  // The position of the first node that is drawn, if any is.
  std::optional<std::size_t> body(const ModuleGraph& graph, const std::string& id,
                                  std::vector<std::string> around, const std::string& indent,
                                  std::size_t depth) {
    std::unordered_set<std::string_view> shown;  // constants of the code, and what the program changes
    for (const auto& [name, value] : graph.constants) shown.insert(name);
    if (graph.signature) {
      for (const auto& output : graph.signature->outputs) {
        if (output.target) shown.insert(*output.target);
      }
    }
    const auto is_drawn = [&](const Node& node) {
      return options_.parameters || node.op != Opcode::kGetAttr || !parameters_.contains(node.target) ||
             shown.contains(node.target);
    };
    Drawing drawing{graph, id, scopes_.tree(graph, is_drawn, std::move(around)), {}};
    drawing.first_drawn.resize(graph.subgraphs.size());
    cluster(drawing, 0, indent, depth);
    edges(drawing, indent);
    for (std::size_t i = 0; i < drawing.tree.order.size(); ++i) {
      if (drawing.tree.scope_of[i] != ScopeTree::kNowhere) return i;
    }
    return std::nullopt;
  }

  void cluster(Drawing& drawing, std::size_t at, const std::string& indent, std::size_t depth) {
    const ScopeTree& tree = drawing.tree;
    for (const auto position : tree.scopes[at].nodes) {
      node(drawing.graph.graph.node(tree.order[position]), drawing.id + "_n" + std::to_string(position),
           indent);
    }
    for (const auto child : tree.scopes[at].children) {
      const std::string& path = tree.scopes[child].path;
      const std::string& type = tree.scopes[child].type;
      out_ << indent << "subgraph cluster_" << drawing.id << "_c" << child << " {\n"
           << indent << "  label=<" << bold(path);
      if (!type.empty()) out_ << "<BR ALIGN=\"LEFT\"/>" << quiet_type(type);
      out_ << "<BR ALIGN=\"LEFT\"/>>; tooltip=" << dot_quoted(type.empty() ? path : path + ": " + type)
           << R"(; style="rounded,filled"; fillcolor=")" << kClusterFills[depth % 2]
           << "\"; color=\"#afb8c1\"; penwidth=1; margin=10;\n";
      this->cluster(drawing, child, indent + "  ", depth + 1);
      out_ << indent << "}\n";
    }
    for (const auto i : tree.scopes[at].subgraphs) {
      const auto& [name, inner] = drawing.graph.subgraphs[i];
      const std::string id = subgraph_id(drawing, i);
      out_ << indent << "subgraph cluster_" << id << " {\n"
           << indent << "  label=<" << bold(name) << R"(<BR ALIGN="LEFT"/>>; style="rounded,dashed"; color=")"
           << kSubgraph << "\"; penwidth=1.2; margin=10;\n";
      drawing.first_drawn[i] = body(inner, id, tree.modules_around(at), indent + "  ", depth + 1);
      out_ << indent << "}\n";
    }
  }

  static std::string subgraph_id(const Drawing& drawing, std::size_t subgraph) {
    return drawing.id + "s" + std::to_string(subgraph);
  }

  void node(const Node& node, const std::string& id, const std::string& indent) {
    Style style = style_of(node.op);
    std::vector<std::string> lines;
    std::vector<std::string> parameters;
    std::string about = node.name + " = " + to_string(node.op) + "[" + *node.target + "]";
    const bool named_by_target = node.op == Opcode::kOutput || node.op == Opcode::kCallModule;
    if (node.op == Opcode::kCallModule) {
      const auto* module = find_first(node.target);
      const std::string type = module != nullptr ? module->type : node.scope->module_type.value_or("");
      lines.push_back(bold(node.target->empty() ? "(root)" : *node.target));
      if (!type.empty()) lines.push_back(quiet_type(type));
      if (!node.method->empty()) lines.push_back(quiet("runs " + *node.method));
      if (module != nullptr && module->status == ModuleStatus::kFailed) {
        style = kFailedStyle;
        lines.push_back(failure(*module));
        if (module->failure) about += "; failed: " + module->failure->message;
      }
      if (!type.empty()) about += "; " + type;
      list_parameters(module != nullptr ? module->path : *node.target, parameters);
    } else {
      lines.push_back(bold(node.target));
    }
    if (!named_by_target && node.name != node.target) lines.push_back(quiet(node.name));
    // An operator that is called by this one.
    for_each_of<Argument::Function>(
        node, [&](const auto& function) { lines.push_back(quiet("of " + function.name)); });
    if (auto value = value_text(node.meta); !value.empty()) lines.push_back(quiet(value));
    if (!node.program_nodes->empty()) {
      const std::size_t count = node.program_nodes->size();
      about.append("; stands for ").append(std::to_string(count));
      about += count == 1 ? " node of the program" : " nodes of the program";
    }
    if (const auto& source = *node.source) {
      about += "; " + source->file;
      if (source->line > 0) about.append(":").append(std::to_string(source->line));
      if (!source->text.empty()) about.append(": ").append(source->text);
    }
    out_ << indent << id << " [shape=" << style.shape << ", style=\""
         << (std::string_view(style.shape) == "box" ? "rounded,filled" : "filled") << "\", fillcolor=\""
         << style.fill << "\", color=\"" << style.line << "\", label=<";
    for (std::size_t i = 0; i < lines.size(); ++i) out_ << (i == 0 ? "" : "<BR/>") << lines[i];
    if (!parameters.empty()) out_ << "<BR/>";
    for (const auto& line : parameters) out_ << line << "<BR ALIGN=\"LEFT\"/>";
    out_ << ">, tooltip=" << dot_quoted(about) << "];\n";
  }

  // "weight float32[8, 4]", one line each.
  void list_parameters(const std::string& module, std::vector<std::string>& lines) const {
    const auto found = below_.find(module);
    if (found == below_.end()) return;
    const std::size_t prefix = module.empty() ? 0 : module.size() + 1;
    for (const ParameterRecord* parameter : found->second) {
      if (lines.size() == kMaxParameters) {
        lines.push_back(quiet("and " + std::to_string(found->second.size() - kMaxParameters) + " more"));
        return;
      }
      std::string value = parameter->type;
      if (parameter->kind != ParameterKind::kCustomObject) {
        Meta meta;
        meta.dtype = parameter->dtype;
        meta.shape.emplace(parameter->shape.begin(), parameter->shape.end());
        value = value_text(meta);
      }
      lines.push_back(
          small(dot_html(cut(parameter->name.substr(prefix), options_.max_label, Keep::kEnd)), kText) +
          small("&#160;", kText) + quiet(value));
    }
  }

  void edges(const Drawing& drawing, const std::string& indent) {
    const ScopeTree& tree = drawing.tree;
    std::map<NodeId, std::size_t> position;
    for (std::size_t i = 0; i < tree.order.size(); ++i) position.emplace(tree.order[i], i);
    for (std::size_t i = 0; i < tree.order.size(); ++i) {
      if (tree.scope_of[i] == ScopeTree::kNowhere) continue;
      for (const NodeId user : drawing.graph.graph.node(tree.order[i]).users) {
        out_ << indent << drawing.id << "_n" << i << " -> " << drawing.id << "_n" << position.at(user)
             << ";\n";
      }
      subgraph_edges(drawing, i, indent);
    }
  }

  // From an operator to the subgraphs that it runs.
  void subgraph_edges(const Drawing& drawing, std::size_t position, const std::string& indent) {
    const auto runs = drawing.tree.runs.find(position);
    if (runs == drawing.tree.runs.end()) return;
    for (const auto i : runs->second) {
      if (!drawing.first_drawn[i]) continue;  // nor is there a box
      const std::string id = subgraph_id(drawing, i);
      out_ << indent << drawing.id << "_n" << position << " -> " << id << "_n" << *drawing.first_drawn[i]
           << " [lhead=cluster_" << id << ", style=dashed, color=\"" << kSubgraph << "\"];\n";
    }
  }

  const GraphCollection& collection_;
  std::ostream& out_;
  const DotOptions& options_;
  ScopeTrees scopes_;
  std::unordered_map<std::string, const ModuleRecord*> modules_;
  std::unordered_set<std::string> parameters_;
  std::unordered_map<std::string, std::vector<const ParameterRecord*>> below_;  // by module, when drawn
};

}  // namespace

void write_dot(const GraphCollection& collection, std::ostream& out, const DotOptions& options) {
  Writer(collection, out, options).document();
}

}  // namespace fxtrace
