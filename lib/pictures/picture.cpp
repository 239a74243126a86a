#include "pictures/picture.h"

#include <algorithm>
#include <deque>
#include <ranges>
#include <set>
#include <tuple>
#include <unordered_map>

#include "graph/graph_collection.h"
#include "pictures/labels.h"
#include "pictures/looks.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

using Index = Outline::Index;
using Kind = Outline::Kind;
constexpr std::size_t kMaxNeighbors = 40;
// The levels of modules that are opened whatever shape the picture gets, as long as it is no larger than a
// large page: the model and its children.
constexpr std::size_t kFirstLevels = 2;

class Maker {
 public:
  Maker(const GraphCollection& collection, const PictureOptions& options)
      : collection_(collection), options_(options) {}

  Picture make(const Distinction& distinction) {
    picture_.outline =
        make_outline(collection_, {.plumbing = options_.plumbing, .parameters = options_.parameters});
    structures_ = find_structures(picture_.outline, distinction);
    if (options_.fold) fold_repeats(picture_.outline, structures_);
    if (!options_.depth) split_large(picture_.outline, kSiblings);
    structures_.resize(picture_.outline.items.size());
    picture_.same_as.assign(picture_.outline.items.size(), Outline::kNone);
    labels_.emplace(collection_, picture_.outline, false);
    picture_.tops = options_.focus ? focus(*options_.focus) : picture_.outline.graphs;
    if (options_.depth) {
      open_to(static_cast<std::size_t>(*options_.depth));
      if (options_.most_boxes > 0 && count_seen() > options_.most_boxes) close_down_to(options_.most_boxes);
    } else {
      open_what_fits();
    }
    see();
    return std::move(picture_);
  }

 private:
  const Outline::Item& item(Index index) const { return picture_.outline[index]; }

  std::vector<Index> focus(const std::string& path) const {
    const Outline& outline = picture_.outline;
    const auto record = outline.modules.find(path);
    const std::string& first =
        record != outline.modules.end() && record->second->alias_of ? *record->second->alias_of : path;
    // Prefers a module with a box or a graph of its own; else takes the modules that are called through a
    // container.
    std::vector<Index> inside;
    for (Index i = 0; i < outline.items.size(); ++i) {
      const Outline::Item& candidate = outline[i];
      if (candidate.kind != Kind::kModule && candidate.kind != Kind::kGraph) continue;
      if (candidate.path == path || candidate.path == first) return {i};
      if (QualifiedName(candidate.path).is_below(path) && !is_in_any(i, inside)) inside.push_back(i);
    }
    if (!inside.empty()) return inside;
    if (record != outline.modules.end()) {
      const ModuleStatus status = record->second->status;
      const bool is_leaf = status == ModuleStatus::kLeaf;
      throw usage_error("--focus " + shell_word(path) + ": the module has no nodes in a graph: it " +
                            (is_leaf                           ? "is a leaf"
                             : status == ModuleStatus::kFailed ? "failed to trace"
                                                               : "is not called"),
                        {is_leaf ? "trace with --no-leaf " + shell_word("@" + path) + " to look inside"
                                 : "fxtrace inspect lists the modules"});
    }
    return focus(find_module(collection_, path));
  }

  bool is_in_any(Index index, const std::vector<Index>& boxes) const {
    for (; index != Outline::kNone; index = item(index).parent) {
      if (std::find(boxes.begin(), boxes.end(), index) != boxes.end()) return true;
    }
    return false;
  }

  static bool is_module(const Outline::Item& item) { return item.kind == Kind::kModule; }

  // Opens modules up to `depth` levels; boxes of other kinds do not count as levels.
  void open_to(std::size_t depth, std::size_t most = SIZE_MAX) {
    picture_.is_open.assign(picture_.outline.items.size(), false);
    std::size_t seen = picture_.tops.size();
    std::deque<std::pair<Index, std::size_t>> open;  // from the outermost inwards
    for (const Index top : picture_.tops) open.emplace_back(top, 0);
    while (!open.empty()) {
      const auto [box, level] = open.front();
      open.pop_front();
      if (seen + item(box).children.size() > most) continue;
      seen += item(box).children.size();
      picture_.is_open[box] = true;
      for (const Index child : item(box).children) {
        const std::size_t inner = level + static_cast<std::size_t>(is_module(item(child)));
        if (may_open(child) && inner < depth) open.emplace_back(child, inner);
      }
    }
  }

  std::size_t count_seen() const {
    std::size_t count = 0;
    for_each_seen([&](Index) { ++count; });
    return count;
  }

  // Closes boxes until at most `most` are drawn.  Many siblings become parts, which can be closed, too.
  void close_down_to(std::size_t most) {
    const std::size_t all = count_seen();
    split_large(picture_.outline, kSiblings);
    structures_.resize(picture_.outline.items.size());
    picture_.same_as.assign(picture_.outline.items.size(), Outline::kNone);
    open_to(static_cast<std::size_t>(*options_.depth), most);
    picture_.note = "Of " + with_separators(static_cast<std::int64_t>(all)) + " boxes " +
                    with_separators(static_cast<std::int64_t>(count_seen())) +
                    " are drawn; --focus PATH opens more, and -f html shows any number.";
  }

  bool may_open(Index index) const {
    return item(index).kind != Kind::kNode && item(index).kind != Kind::kRepeats;
  }

  void open_what_fits() {
    if (options_.fold) find_same(Kind::kGraph);
    if (open_levels()) return;
    if (options_.fold) {
      find_same(Kind::kModule);
      if (open_levels()) {
        picture_.note = "Of several boxes with the same structure, the first is open.";
        return;
      }
    }
    std::size_t closed = 0;
    for_each_seen([&](Index index) { closed += static_cast<std::size_t>(item(index).kind != Kind::kNode); });
    picture_.note = std::to_string(closed) + (closed == 1 ? " box is" : " boxes are") +
                    " closed to keep the picture small; --depth N and --focus PATH open more.";
    if (hidden_tops_ > 0)
      picture_.note += " " + std::to_string(hidden_tops_) +
                       (hidden_tops_ == 1 ? " more graph is" : " more graphs are") + " not drawn.";
  }

  // Keeps boxes closed whose structure an earlier box has.
  void find_same(Kind kind) {
    std::unordered_map<std::uint64_t, Index> first;
    std::vector<Index> open(picture_.tops.rbegin(), picture_.tops.rend());
    while (!open.empty()) {
      const Index box = open.back();
      open.pop_back();
      if (item(box).kind == kind && item(box).children.size() > 2) {
        const auto [found, is_new] = first.emplace(structures_[box].loose, box);
        if (!is_new) {
          picture_.same_as[box] = found->second;
          continue;
        }
      }
      for (const Index child : std::ranges::reverse_view(item(box).children)) {
        if (may_open(child)) open.push_back(child);
      }
    }
  }

  // Opens boxes from the outermost inwards while all visible items fit.  Returns whether all of them could
  // be opened.
  bool open_levels() {
    picture_.is_open.assign(picture_.outline.items.size(), false);
    bool all = true;
    if (picture_.tops.size() > kBoxesOfPicture) {
      hidden_tops_ = picture_.tops.size() - kBoxesOfPicture;
      picture_.tops.resize(kBoxesOfPicture);
      all = false;
    }
    std::size_t seen = picture_.tops.size();
    struct Box {
      Index index;
      std::size_t level;  // the number of modules around it
    };
    std::vector<Box> level;
    for (const Index top : picture_.tops) level.push_back({top, 0});
    while (!level.empty()) {
      std::vector<Box> next;
      for (const Box& box : level) {
        const std::size_t more = item(box.index).children.size();
        const bool is_only_top = picture_.tops.size() == 1 && box.index == picture_.tops[0];
        if (picture_.same_as[box.index] != Outline::kNone) continue;
        picture_.is_open[box.index] = seen + more <= kBoxesOfPicture + 1 || is_only_top;
        const bool may_be_long = box.level < kFirstLevels && item(box.index).kind != Kind::kPart;
        if (picture_.is_open[box.index] && !is_only_top) {
          const PageSize size = estimate_size(picture_, *labels_);
          picture_.is_open[box.index] = may_be_long ? is_large_page(size) : is_page(size);
        }
        if (!picture_.is_open[box.index]) {
          all = false;
          continue;
        }
        seen = seen + more - 1;
        for (const Index child : item(box.index).children) {
          const auto inner = box.level + static_cast<std::size_t>(is_module(item(child)));
          if (may_open(child)) next.push_back({child, inner});
        }
      }
      level = std::move(next);
    }
    return all && hidden_tops_ == 0;
  }

  // Calls f for every visible item that is not an open box.
  template <class F>
  void for_each_seen(const F& f) const {
    std::vector<Index> open = picture_.tops;
    while (!open.empty()) {
      const Index index = open.back();
      open.pop_back();
      if (!picture_.is_open[index]) {
        f(index);
        continue;
      }
      const auto& children = item(index).children;
      open.insert(open.end(), children.begin(), children.end());
    }
  }

  void see() {
    const std::size_t count = picture_.outline.items.size();
    picture_.seen.assign(count, Outline::kNone);
    std::vector<std::pair<Index, Index>> open;  // items with the closed box around each
    for (const Index top : picture_.tops) open.emplace_back(top, Outline::kNone);
    while (!open.empty()) {
      const auto [index, closed] = open.back();
      open.pop_back();
      picture_.seen[index] = closed == Outline::kNone ? index : closed;
      const Index inner = closed != Outline::kNone || picture_.is_open[index] ? closed : index;
      for (const Index child : item(index).children) open.emplace_back(child, inner);
    }
    // A closed box refers to the open box with the same structure only when that one is visible and open.
    for (Index& same : picture_.same_as) {
      if (same != Outline::kNone && (picture_.seen[same] != same || !picture_.is_open[same]))
        same = Outline::kNone;
    }
    find_edges();
  }

  void find_edges() {
    std::vector<Index> neighbor(picture_.outline.items.size(), Outline::kNone);
    std::size_t hidden = 0;
    const auto end_of = [&](Index node) {
      if (picture_.seen[node] != Outline::kNone) return picture_.seen[node];
      if (neighbor[node] == Outline::kNone) {
        if (picture_.neighbors.size() == kMaxNeighbors) {
          ++hidden;
          return Outline::kNone;
        }
        picture_.neighbors.push_back(node);
        neighbor[node] = node;
      }
      return neighbor[node];
    };
    std::set<std::pair<Index, Index>> known;
    for (Index to = 0; to < picture_.outline.items.size(); ++to) {
      for (const Index from : item(to).inputs) {
        if (picture_.seen[from] == Outline::kNone && picture_.seen[to] == Outline::kNone) continue;
        const Picture::Edge edge{end_of(from), end_of(to)};
        if (edge.from == Outline::kNone || edge.to == Outline::kNone || edge.from == edge.to) continue;
        if (known.emplace(edge.from, edge.to).second) picture_.edges.push_back(edge);
      }
    }
    for (const Index index : picture_.neighbors) picture_.seen[index] = index;
    if (hidden > 0) {
      picture_.note += (picture_.note.empty() ? "" : " ") + std::to_string(hidden) +
                       (hidden == 1 ? " more edge leads outside." : " more edges lead outside.");
    }
  }

  const GraphCollection& collection_;
  const PictureOptions& options_;
  Picture picture_;
  std::vector<Structure> structures_;
  std::optional<Labels> labels_;  // gives the sizes of boxes
  std::size_t hidden_tops_ = 0;
};

}  // namespace

Picture make_picture(const GraphCollection& collection, const PictureOptions& options,
                     const Distinction& distinction) {
  return Maker(collection, options).make(distinction);
}

Outline make_folded_outline(const GraphCollection& collection, const PictureOptions& options,
                            const Distinction& distinction) {
  Outline outline =
      make_outline(collection, {.plumbing = options.plumbing, .parameters = options.parameters});
  if (options.fold) fold_repeats(outline, find_structures(outline, distinction));
  split_large(outline, kSiblings);
  return outline;
}

}  // namespace fxtrace::internal
