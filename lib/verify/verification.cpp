#include "verify/verification.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "graph/analysis/text_form.h"
#include "support/text/words.h"
#include "verify/calls/engine.h"
#include "verify/inputs/guard_evaluator.h"
#include "verify/inputs/inputs.h"

namespace fxtrace::internal::verify {
namespace {

std::string form_text(const std::string& dtype, const std::vector<std::int64_t>& shape) {
  std::string text = dtype + "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(shape[i]);
  return text + "]";
}

// Returns whether the graph writes to attributes or assigns them.
bool keeps_state(const ModuleGraph& graph) {
  if (!graph.graph.assignments().empty()) return true;
  return std::ranges::any_of(graph.graph.order(), [&](NodeId id) {
    const Node& node = graph.graph.node(id);
    const auto* first = node.args.empty() ? nullptr : node.args[0].get_if<NodeId>();
    return node.target == "aten.copy_.default" && first != nullptr &&
           graph.graph.node(*first).op == Opcode::kGetAttr;
  });
}

// Calls f(node) for each call of a module, in bodies of control flow too.
template <class F>
void for_each_module_call(const ModuleGraph& graph, const F& f) {
  for (const NodeId id : graph.graph.order()) {
    const Node& node = graph.graph.node(id);
    if (node.op == Opcode::kCallModule) f(node);
  }
  for (const Subgraph& body : graph.subgraphs) for_each_module_call(body.graph, f);
}

void note_own_modules(const GraphCollection& collection, Verification& done) {
  std::unordered_set<std::string_view> failed, seen;
  for (const ModuleRecord& module : collection.modules) {
    if (module.status == ModuleStatus::kFailed) failed.insert(module.path);
  }
  for_each_module_call(collection.graphs.front(), [&](const Node& node) {
    if (!seen.insert(*node.target).second) return;
    done.own_modules.push_back(*node.target);
    if (failed.contains(*node.target)) done.failed_modules.push_back(*node.target);
  });
}

using Buffers = std::vector<std::pair<std::string, RunValue>>;

// The result of one run, and the inputs and buffers after it.
struct Outcome {
  RunValue result;
  std::vector<RunValue> inputs;
  Buffers buffers;
};

class Verifier {
 public:
  Verifier(const Engine& engine, const GraphCollection& collection, const TraceOptions& trace_options,
           const Load& load, const VerifyOptions& options, const GivenInputs& given, const Load& other)
      : engine_(engine),
        graph_(collection.graphs.front()),
        is_torchscript_(collection.model.is_torchscript()),
        load_(load),
        other_(other),
        options_(options),
        maker_(engine, collection, trace_options, options.seed, given) {
    note_own_modules(collection, done_);
    if (const auto known = not_verified(collection)) {
      done_.calls_whole_model = true;
      done_.why = known->why;
    }
  }

  Verification run() {
    // A second run reads the state that the first one leaves, and runs other code of an archive: LibTorch
    // optimizes that once more by what it saw in the first run.
    const bool differs = is_torchscript_ || other_ || keeps_state(graph_);
    const std::int64_t runs = std::max<std::int64_t>(options_.runs, differs ? 2 : 1);
    for (std::int64_t i = 0; i < runs; ++i) inputs_.push_back(make_inputs(i));
    // Code that asks for the gradient mode was traced with gradients enabled if there is this guard.
    engine_.api().set_grad(std::ranges::any_of(
        graph_.guards, [](const Guard& guard) { return guard.expr.text() == "torch.is_grad_enabled()"; }));
    const std::vector<Outcome> theirs = run_accepted();
    for (const InputMaker::Inputs& inputs : inputs_) {
      done_.sizes.push_back(sizes_text(inputs.sizes));
      done_.origins.push_back(inputs.origin);
    }
    check_guards();
    if (!done_.fault) check_graph(theirs);
    if (done_.fault && done_.fault->kind == Fault::Kind::kValue) find_node();
    if (!done_.fault && options_.profiles) profile();
    return std::move(done_);
  }

 private:
  // Makes the inputs of a run.  An extra run uses given inputs again: random ones may not fit the model.
  InputMaker::Inputs make_inputs(std::int64_t run) const {
    InputMaker::Inputs inputs = maker_.make(run);
    if (run == 0 || run < options_.runs) return inputs;
    InputMaker::Inputs first = maker_.make(0);
    return first.origin == InputOrigin::kRandom ? inputs : first;
  }

  std::vector<RunValue> copies(std::size_t run) const {
    std::vector<RunValue> values;
    for (const RunValue& input : inputs_[run].values) values.push_back(engine_.copy(input));
    return values;
  }

  void seed(std::size_t run) const { engine_.api().seed(options_.seed + run); }

  // --- the model ---

  using Digests = std::unordered_set<std::uint64_t>;

  // Runs the model.  Integers that it refuses as indices are drawn anew, from a range that it takes.  Runs
  // whose sizes it refuses are left out, if another one is left.
  std::vector<Outcome> run_accepted() {
    bool has_fitted = false;
    while (true) {
      try {
        return run_file(nullptr);
      } catch (const CannotRun&) {
        throw;
      } catch (const RunError& error) {
        const bool fits = !std::exchange(has_fitted, true) && fit_ranges();
        if (!fits && !leave_out(error)) throw;
      }
    }
  }

  // Leaves out the run that the model refused.  All runs are repeated with a newly loaded model.
  bool leave_out(const RunError& error) {
    const InputMaker::Inputs& inputs = inputs_.at(run_);
    if (inputs.origin != InputOrigin::kRandom || inputs.sizes.empty()) return false;
    if (inputs_.size() == 1) throw Refused(error.what(), inputs.sizes);
    done_.refusals.push_back({inputs.sizes, error.what()});
    if (other_ && is_taken(inputs))
      done_.why = "the program takes " + sizes_text(inputs.sizes) + ", which the model refuses";
    inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(run_));
    return true;
  }

  // Returns whether the graph takes the inputs.
  bool is_taken(const InputMaker::Inputs& inputs) const {
    const std::unique_ptr<RunnableModel> model = load_();
    std::vector<RunValue> values;
    for (const RunValue& input : inputs.values) values.push_back(engine_.copy(input));
    try {
      run_graph(engine_, graph_, values, *model, [](const ModuleGraph&, const Node&, const RunValue&) {});
      return true;
    } catch (const CannotRun&) {
      throw;
    } catch (const RunError&) {
      return false;
    }
  }

  bool fit_ranges() {
    const std::unique_ptr<RunnableModel> model = load_();
    IndexRanges ranges(engine_, graph_, maker_);
    for (std::size_t round = 0; round < 2;
         ++round) {  // a later run may narrow the range that an earlier one has shifted
      for (std::size_t run = 0; run < inputs_.size(); ++run) {
        if (inputs_[run].origin != InputOrigin::kRandom) continue;
        if (!ranges.fit(static_cast<std::int64_t>(run), *model, [&] { seed(run); })) return false;
      }
    }
    for (std::size_t run = 0; run < inputs_.size(); ++run) {
      inputs_[run] = make_inputs(static_cast<std::int64_t>(run));
    }
    return true;
  }

  // Runs the model as its file defines it.  `seen` gets the digests of all tensors that operators make in the
  // last run.
  std::vector<Outcome> run_file(Digests* seen, std::size_t runs = SIZE_MAX) {
    const std::unique_ptr<RunnableModel> model = other_ ? other_() : load_();
    if (other_ && theirs_before_.empty()) theirs_before_ = kept_buffers(*model);
    std::vector<Outcome> outcomes;
    for (std::size_t run = 0; run < std::min(runs, inputs_.size()); ++run) {
      Outcome outcome;
      run_ = run;
      outcome.inputs = copies(run);
      seed(run);
      const bool watched = seen != nullptr && run + 1 == runs;
      if (watched) {
        engine_.api().watch([](void* to, std::uint64_t digest) { static_cast<Digests*>(to)->insert(digest); },
                            seen);
      }
      try {
        outcome.result = model->run_file(outcome.inputs);
      } catch (...) {
        engine_.api().watch(nullptr, nullptr);
        throw;
      }
      engine_.api().watch(nullptr, nullptr);
      outcome.result = engine_.copy(outcome.result);  // a buffer changes in the next run
      outcomes.push_back(std::move(outcome));
    }
    if (!outcomes.empty()) outcomes.back().buffers = kept_buffers(*model);
    return outcomes;
  }

  // Returns copies of the buffers, which outlive the model.
  Buffers kept_buffers(RunnableModel& model) const {
    Buffers buffers = model.buffers();
    for (auto& [name, value] : buffers) value = engine_.copy(value);
    return buffers;
  }

  // --- guards ---

  void check_guards() {
    for (std::size_t run = 0; run < inputs_.size() && !done_.fault; ++run) {
      auto named = named_inputs(graph_.graph, inputs_[run].values);
      // The signature of an exported program leaves out arguments without parts.
      if (is_torchscript_) {
        for (auto& argument : arguments_of_forward(engine_, graph_, inputs_[run].values))
          named.push_back(std::move(argument));
      }
      const GuardEvaluator conditions(engine_, inputs_[run].sizes, {named.begin(), named.end()});
      std::int64_t decided = 0;
      for (const Guard& guard : graph_.guards) {
        const auto holds = conditions.holds(guard.expr);
        decided += holds.has_value() ? 1 : 0;
        if (!holds || *holds) continue;
        Fault fault;
        fault.kind = Fault::Kind::kGuard;
        fault.run = static_cast<std::int64_t>(run);
        fault.what = "the guard " + guard.expr.text().substr(0, 1000) + " does not hold";
        if (guard.source) fault.source = place_text(*guard.source);
        done_.fault = fault;
        return;
      }
      done_.guards = decided;
    }
  }

  // --- the graph ---

  void check_graph(const std::vector<Outcome>& theirs) {
    const std::unique_ptr<RunnableModel> model = load_();
    const Buffers before = other_ ? kept_buffers(*model) : Buffers();
    for (std::size_t run = 0; run < inputs_.size() && !done_.fault; ++run) {
      Outcome ours;
      ours.inputs = copies(run);
      run_ = run;
      sizes_ = inputs_[run].sizes;
      done_.nodes = done_.tensors = 0;
      seed(run);
      try {
        ours.result = run_graph(engine_, graph_, ours.inputs, *model,
                                [&](const ModuleGraph& graph, const Node& node, const RunValue& value) {
                                  check_meta(graph, node, value);
                                });
      } catch (const NodeError& error) {
        done_.fault = fault_at(Fault::Kind::kFails, *error.graph, error.graph->graph.node(error.node));
        done_.fault->what = error.what();
        return;
      }
      if (meta_fault_) {
        done_.fault = std::move(meta_fault_);
        return;
      }
      compare(ours.result, theirs[run].result, "result");
      for (std::size_t i = 0; i < ours.inputs.size(); ++i) {
        compare(ours.inputs[i], theirs[run].inputs[i], "input " + std::to_string(i) + ", after the run");
      }
      if (!done_.fault) ++done_.runs;
    }
    if (done_.fault) return;
    const Buffers buffers = model->buffers();
    if (other_) return compare_state(buffers, before, theirs.back().buffers);
    for (std::size_t i = 0; i < buffers.size() && i < theirs.back().buffers.size(); ++i) {
      compare(buffers[i].second, theirs.back().buffers[i].second,
              "buffer " + buffers[i].first + ", after the run");
    }
  }

  // Compares the buffers that both have.  A buffer that only one has may not change: then the verdict is
  // kCannotTell.
  void compare_state(const Buffers& ours, const Buffers& ours_before, const Buffers& theirs) {
    const auto find = [](const Buffers& buffers, const std::string& name) -> const RunValue* {
      const auto found = std::ranges::find(buffers, name, &Buffers::value_type::first);
      return found == buffers.end() ? nullptr : &found->second;
    };
    const auto stays = [&](const Buffers& buffers, const Buffers& before, const Buffers& others,
                           const char* who) {
      for (const auto& [name, value] : buffers) {
        const RunValue* first = find(before, name);
        if (find(others, name) != nullptr || (first != nullptr && is_same(value, *first)) ||
            !done_.why.empty())
          continue;
        done_.why = "the buffer " + name + " changes, but only the " + who + " has it";
      }
    };
    for (const auto& [name, value] : ours) {
      if (const RunValue* their = find(theirs, name))
        compare(value, *their, "buffer " + name + ", after the run");
    }
    stays(ours, ours_before, theirs, "program");
    stays(theirs, theirs_before_, ours, "model");
  }

  bool is_same(const RunValue& one, const RunValue& two) const {
    if (!engine_.is_tensor(one) || !engine_.is_tensor(two))
      return engine_.text_of(one) == engine_.text_of(two);
    return engine_.api().digest(one.get()) == engine_.api().digest(two.get());
  }

  Fault fault_at(Fault::Kind kind, const ModuleGraph& graph, const Node& node) const {
    Fault fault;
    fault.kind = kind;
    fault.run = static_cast<std::int64_t>(run_);
    fault.graph = &graph == &graph_ ? "" : graph.module;
    fault.node = node.name;
    fault.text = print_node(graph.graph, node);
    fault.module = node.scope->module_path;
    if (*node.source) fault.source = place_text(**node.source);
    return fault;
  }

  // Compares a value with the metadata of its node.  Symbols that only the run knows are bound at their first
  // occurrence.
  void check_meta(const ModuleGraph& graph, const Node& node, const RunValue& value) {
    if (&graph == &graph_) ++done_.nodes;
    if (meta_fault_ || !engine_.is_tensor(value)) return;
    if (&graph == &graph_) ++done_.tensors;
    const Meta& meta = *node.meta;
    const std::vector<std::int64_t> shape = engine_.shape(value);
    const std::string dtype = engine_.dtype(value);
    bool fits = meta.dtype_text().value_or(dtype) == dtype;
    if (fits && meta.shape) {
      fits = meta.shape->size() == shape.size();
      for (std::size_t i = 0; fits && i < shape.size(); ++i)
        fits = is_size((*meta.shape)[i], shape[i], &graph == &graph_);
    }
    if (fits) return;
    meta_fault_ = fault_at(Fault::Kind::kMeta, graph, node);
    meta_fault_->what = "it is " + form_text(dtype, shape) + ", but the graph says " + value_text(meta);
  }

  bool is_size(const Expression& said, std::int64_t actual, bool binds) {
    const SymInt* size = said.size();
    if (size == nullptr) return true;
    if (const auto number = size->evaluate(sizes_)) return *number == actual;
    if (const auto found = solve(*size, actual, sizes_); found && binds) sizes_.insert(*found);
    return true;
  }

  // --- comparing ---

  void compare(const RunValue& ours, const RunValue& theirs, const std::string& place) {
    if (done_.fault) return;
    const auto as_list = [](FxtraceKind kind) { return kind == kFxtraceTuple ? kFxtraceList : kind; };
    const FxtraceKind kind = as_list(engine_.kind(ours));
    if (kind != as_list(engine_.kind(theirs))) {
      return differ(place,
                    "its type differs from the model's: " + short_text(ours) + ", not " + short_text(theirs));
    }
    if (kind == kFxtraceTensor) return compare_tensors(ours, theirs, place);
    if (kind == kFxtraceList || kind == kFxtraceDict) {
      if (engine_.size(ours) != engine_.size(theirs))
        return differ(place, "its number of items differs from the model's");
      for (std::size_t i = 0; i < engine_.size(ours); ++i) {
        std::string inner = place + "[" + std::to_string(i) + "]";
        if (kind == kFxtraceDict) {
          const std::string key = engine_.text_of(engine_.key(ours, i));
          if (key != engine_.text_of(engine_.key(theirs, i)))
            return differ(place, "its keys differ from the model's");
          inner = place + "[" + key + "]";
        }
        compare(engine_.item(ours, i), engine_.item(theirs, i), inner);
      }
      return;
    }
    if (kind == kFxtraceObject || kind == kFxtraceOther) {
      if (done_.why.empty()) done_.why = place + " is of a kind that is not compared: " + short_text(ours);
      return;
    }
    if (engine_.text_of(ours) != engine_.text_of(theirs))
      differ(place, "it is " + short_text(ours) + ", but the model's is " + short_text(theirs));
  }

  std::string short_text(const RunValue& value) const {
    if (engine_.is_tensor(value)) return form_text(engine_.dtype(value), engine_.shape(value));
    constexpr std::size_t kMost = 60;
    const std::string text = engine_.text_of(value);
    return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
  }

  void differ(const std::string& place, const std::string& what) {
    Fault fault;
    fault.run = static_cast<std::int64_t>(run_);
    fault.place = place;
    fault.what = what;
    done_.fault = fault;
  }

  void compare_tensors(const RunValue& ours, const RunValue& theirs, const std::string& place) {
    const std::string our_form = short_text(ours);
    const std::string their_form = short_text(theirs);
    FxtraceDifference difference{};
    engine_.check(
        engine_.api().compare(ours.get(), theirs.get(), options_.absolute, options_.relative, &difference));
    if (difference.elements == 0 && our_form == their_form) return;
    if (our_form != their_form) {
      differ(place, "it is " + our_form + ", but the model's is " + their_form);
      return;
    }
    differ(place, std::to_string(difference.elements) + " of its elements differ from the model's");
    done_.fault->difference = difference;
    done_.fault->ours = statistics(ours);
    done_.fault->theirs = statistics(theirs);
  }

  FxtraceStatistics statistics(const RunValue& tensor) const {
    FxtraceStatistics found{};
    engine_.check(engine_.api().statistics(tensor.get(), &found));
    return found;
  }

  void profile() {
    const std::unique_ptr<RunnableModel> model = load_();
    done_.profile = profile_graph(
        engine_, graph_, *model,
        [&] {
          seed(0);
          return copies(0);
        },
        options_.runs);
    done_.profile->sizes = inputs_.front().sizes;
  }

  // --- where it begins ---

  // Finds the first node whose value is not among those that the model makes, and puts it into the fault.
  void find_node() {
    Digests seen;
    run_file(&seen, run_ + 1);
    const std::unique_ptr<RunnableModel> model = load_();
    std::vector<Fault> found;      // the first fault of each module
    std::optional<Fault> leaving;  // the first fault whose value leaves its module
    std::int64_t others = 0;
    for (std::size_t run = 0; run <= run_; ++run) {
      const std::vector<RunValue> inputs = copies(run);
      seed(run);
      run_graph(engine_, graph_, inputs, *model,
                [&](const ModuleGraph& graph, const Node& node, const RunValue& value) {
                  if (run != run_ || !is_checked(node) || !differs(value, seen)) return;
                  ++others;
                  const std::string& module = node.scope->module_path;
                  const bool is_known = std::ranges::find(found, module, &Fault::module) != found.end();
                  const bool leaves = other_ && !leaving && leaves_module(graph, node);
                  if ((is_known || (!other_ && !found.empty())) && !leaves) return;
                  Fault fault = fault_at(Fault::Kind::kValue, graph, node);
                  if (engine_.is_tensor(value)) fault.ours = statistics(value);
                  if (leaves) leaving = fault;
                  if (!is_known) found.push_back(std::move(fault));
                });
    }
    if (found.empty()) return;
    // A module that computes its results in another way does not differ if its results are the same.
    const Fault* first = &found.front();
    if (leaving) first = &*std::ranges::find(found, leaving->module, &Fault::module);
    --others;
    Fault& fault = *done_.fault;
    fault.graph = first->graph;
    fault.node = first->node;
    fault.text = first->text;
    fault.module = first->module;
    fault.source = first->source;
    fault.more = others;
  }

  // Returns whether nodes outside of the module use the value.
  static bool leaves_module(const ModuleGraph& graph, const Node& node) {
    if (node.op == Opcode::kCallModule) return true;
    return std::ranges::any_of(node.users, [&](NodeId id) {
      const Node& user = graph.graph.node(id);
      return user.op == Opcode::kOutput || user.scope->module_path != node.scope->module_path;
    });
  }

  // Returns whether the node calls an operator of LibTorch or a module; constants are not checked.
  static bool is_checked(const Node& node) {
    if (node.op == Opcode::kCallModule) return true;
    if (node.op != Opcode::kCallFunction) return false;
    const TargetParts target = target_parts(node);
    return target.kind == TargetKind::kOperator || target.space.starts_with("torch.nn");
  }

  bool differs(const RunValue& value, const Digests& seen) const {
    const FxtraceKind kind = engine_.kind(value);
    if (kind == kFxtraceTensor) return !seen.contains(engine_.api().digest(value.get()));
    if (kind != kFxtraceTuple && kind != kFxtraceList) return false;
    const std::vector<RunValue> items = engine_.items(value);
    return std::ranges::any_of(items, [&](const RunValue& item) { return differs(item, seen); });
  }

  const Engine& engine_;
  const ModuleGraph& graph_;
  const bool is_torchscript_;
  const Load& load_;
  const Load& other_;  // loads the model that the graph is compared with; empty: load_
  const VerifyOptions& options_;
  InputMaker maker_;
  std::vector<InputMaker::Inputs> inputs_;  // by run
  std::size_t run_ = 0;
  Sizes sizes_;
  std::optional<Fault> meta_fault_;
  Buffers theirs_before_;  // buffers of the other model before the first run
  Verification done_;
};

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEqual:
      return "equal";
    case Verdict::kNotEqual:
      return "not equal";
    case Verdict::kCannotTell:
      return "cannot tell";
    case Verdict::kNotVerified:
      return "not verified";
  }
  return "";
}

std::string sizes_text(const Sizes& sizes) {
  return joined(sizes, [](const auto& size) { return size.first + "=" + std::to_string(size.second); });
}

Verdict Verification::verdict() const {
  if (fault) return Verdict::kNotEqual;
  if (calls_whole_model) return Verdict::kNotVerified;
  return why.empty() ? Verdict::kEqual : Verdict::kCannotTell;
}

std::optional<Verification> not_verified(const GraphCollection& collection) {
  Verification done;
  note_own_modules(collection, done);
  if (std::ranges::find(done.own_modules, "") == done.own_modules.end()) return std::nullopt;
  const auto root = std::ranges::find(collection.modules, "", &ModuleRecord::path);
  const bool has_failed = root != collection.modules.end() && root->failure;
  done.calls_whole_model = true;
  done.why = (has_failed ? "the root failed to trace: " + root->failure->message : "the root is a leaf") +
             "; its graph only calls the model, so there is nothing to compare";
  return done;
}

const char* to_string(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::kValue:
      return "value";
    case Fault::Kind::kMeta:
      return "meta";
    case Fault::Kind::kGuard:
      return "guard";
    case Fault::Kind::kFails:
      return "fails";
  }
  return "";
}

Verification verify_graph(const Engine& engine, const GraphCollection& collection,
                          const TraceOptions& trace_options, const Load& load, const VerifyOptions& options,
                          const GivenInputs& given, const Load& other) {
  return Verifier(engine, collection, trace_options, load, options, given, other).run();
}

}  // namespace fxtrace::internal::verify
