// The answer of `fxtrace why` as JSON.
#include "writers/formats/field_writer.h"
#include "writers/formats/json_parts.h"
#include "writers/reports/explanation_writers.h"

namespace fxtrace {
namespace {

class ExplanationJsonWriter {
 public:
  explicit ExplanationJsonWriter(std::ostream& out) : json_(out) {}

  void document(const Explanation& explanation) {
    json_.document([&] {
      write_format(json_, "fxtrace.why", 1);
      json_.key("model").object([&] { write_model_fields(json_, explanation.model); });
      json_.field("tried", explanation.suggestions && explanation.suggestions->is_tried);
      json_.key("modules").object([&] {
        json_.field("all", explanation.modules);
        json_.field("failed", explanation.failed);
      });
      json_.key("failures").objects_lines(explanation.failures, [&](const FailureGroup& item) {
        failure_group(item);
      });
      json_.key("suggestions");
      explanation.suggestions ? suggestions(*explanation.suggestions) : json_.null();
      json_.key("explained").list_lines(explanation.explained, [&](const ModuleExplanation& item) {
        module(item);
      });
      json_.key("guards").objects_lines(explanation.guards, [&](const GuardExplanation& item) {
        json_.field("graph", item.graph);
        json_.field("number", item.number);
        guard(item.guard);
      });
      json_.key("dimension");
      explanation.dimension ? dimension(*explanation.dimension) : json_.null();
    });
  }

 private:
  void guard(const Guard& guard) {
    FieldWriter fields(json_);
    describe(fields, guard);
  }

  void failure_group(const FailureGroup& modules) {
    json_.field("paths", modules.paths);
    json_.text_or_null("type", modules.type);
    json_.field("depth", modules.depth);
    write_failure(json_, modules.failure);
  }

  void trial(const Trial& trial) {
    json_.object([&] {
      json_.field("options", trial.options);
      json_.field("failed", trial.failed);
      json_.field("nodes", trial.nodes);
    });
  }

  void trial(std::string_view name, const std::optional<Trial>& trial) {
    json_.key(name);
    trial ? this->trial(*trial) : json_.null();
  }

  void suggestions(const Suggestions& suggestions) {
    json_.object_lines([&] {
      json_.key("helpful").list_lines(suggestions.helpful, [&](const Trial& item) { trial(item); });
      json_.field("others", suggestions.others);
      trial("best", suggestions.best);
      trial("with_leaves", suggestions.with_leaves);
      json_.key("operators")
          .objects_lines(suggestions.operators, [&](const Suggestions::UnknownOperator& item) {
            json_.field("name", item.name);
            json_.field("schema", item.schema);
          });
    });
  }

  void module(const ModuleExplanation& module) {
    json_.object_lines([&] {
      json_.field("path", module.path);
      json_.text_or_null("type", module.type);
      json_.field("asked", module.asked);
      json_.field("other_names", module.other_names);
      json_.field("status", to_string(module.status));
      json_.field("cause", to_string(module.cause));
      json_.field("rule", module.rule);
      json_.field("config", module.origin);
      write_failure(json_, module.failure);
      json_.field("decided_by", module.decided_by);
      json_.field("calls", module.calls);
      if (!module.methods.empty()) json_.field("methods", module.methods);
      json_.field("submodules", module.submodules);
      json_.key("places").objects_lines(module.places, [&](const ModuleExplanation::Place& item) {
        json_.field("graph", item.graph);
        json_.field("calls", item.calls);
        json_.field("nodes", item.nodes);
        json_.text_or_null("first", item.first);
        write_source(json_, item.source);
      });
      json_.key("call_sites").objects_lines(module.call_sites, [&](const CallSite& item) {
        json_.field("module", item.module);
        json_.field("method", item.method);
        json_.field("entered", item.entered);
        json_.field("is_run", item.is_run);
        write_source(json_, item.source);
        write_source(json_, item.condition, "condition");
        json_.field("in_loop", item.is_in_loop);
      });
      json_.key("guards").objects_lines(module.guards, [&](const Guard& item) { guard(item); });
    });
  }

  void place(const DimensionExplanation::Place& place) {
    json_.object([&] {
      json_.field("graph", place.graph);
      json_.text_or_null("node", place.node);
      json_.text_or_null("target", place.target);
      json_.text_or_null("text", place.text);
      write_source(json_, place.source);
      json_.field("count", place.count);
    });
  }

  void places(std::string_view name, const std::vector<DimensionExplanation::Place>& places) {
    json_.key(name).list_lines(places, [&](const DimensionExplanation::Place& item) { place(item); });
  }

  void counts(const DimensionExplanation::Counts& counts) {
    json_.field("nodes", counts.nodes);
    json_.field("guards", counts.guards);
    json_.field("failed", counts.failed);
  }

  void dimension(const DimensionExplanation& dimension) {
    json_.object_lines([&] {
      json_.field("name", dimension.name);
      json_.key("range").object([&] {
        json_.field("low", dimension.range.low);
        json_.field("high", dimension.range.high);
      });
      json_.key("inputs").objects_lines(dimension.inputs, [&](const DimensionExplanation::Origin& item) {
        json_.field("input", item.input);
        json_.field("place", item.place);
        json_.field("size", item.expression);
      });
      json_.key("made_by");
      dimension.made_by ? place(*dimension.made_by) : json_.null();
      places("guards", dimension.guards);
      places("asserts", dimension.asserts);
      places("derived", dimension.derived);
      places("questions", dimension.questions);
      json_.field("nodes", dimension.nodes);
      json_.key("narrowed")
          .objects_lines(dimension.narrowed, [&](const DimensionExplanation::Narrowed& item) {
            json_.field("option", item.option);
            counts(item.counts);
          });
      json_.key("all");
      dimension.narrowed.empty() ? json_.null() : json_.object([&] { counts(dimension.all); });
    });
  }

  JsonEmitter json_;
};

}  // namespace

void write_explanation_json(const Explanation& explanation, std::ostream& out) {
  ExplanationJsonWriter(out).document(explanation);
}

}  // namespace fxtrace
