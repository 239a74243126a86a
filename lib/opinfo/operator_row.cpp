#include "opinfo/operator_row.h"

#include <algorithm>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "opinfo/rules/cost_helpers.h"
#include "opinfo/rules/shape_helpers.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

bool has(std::string_view letters, char letter) { return letters.find(letter) != std::string_view::npos; }

// ---- Texts ----

struct DtypeWord {
  std::string_view name;
  Dtype (*make)(Dtype);                    // of a result; null for
  bool (*is_right)(ScalarType) = nullptr;  // an argument
  std::string_view expected = {};
};
constexpr DtypeWord kDtypeWords[] = {
    {"float", float_dtype},
    {"real", real_dtype, [](ScalarType type) { return !is_complex(type); }, "a real dtype"},
    {"complex", complex_dtype},
    {"number", nullptr, [](ScalarType type) { return type != ScalarType::kBool; }, "a dtype other than bool"},
    {"sum", sum_dtype},
    {"floating", nullptr, is_floating, "a floating dtype"},
    {"inexact", nullptr, [](ScalarType type) { return !is_integral(type); }, "a floating or complex dtype"},
    {"index", nullptr,
     [](ScalarType type) { return type == ScalarType::kInt64 || type == ScalarType::kInt32; },
     "int64 or int32"},
};

const DtypeWord* find_dtype_word(std::string_view name) {
  const auto* const found = std::ranges::find(kDtypeWords, name, &DtypeWord::name);
  return found == std::end(kDtypeWords) ? nullptr : found;
}

void require_text(bool is_right, std::string_view text) {
  if (!is_right) throw std::logic_error("not a signature: " + std::string(text));
}

SignatureWord parse_word(std::string_view text, bool is_result) {
  constexpr std::string_view kEllipsis = "...", kReduced = ".../";
  const std::size_t colon = std::min(text.find(':'), text.size());
  std::string_view dims = text.substr(0, colon);
  SignatureWord word;
  word.dtype = text.substr(std::min(colon + 1, text.size()));
  if (is_result && dims.starts_with('<') && dims.ends_with('>')) {
    word.argument = dims.substr(1, dims.size() - 2);
    dims = {};
  } else if (is_result && dims.starts_with(kReduced)) {
    word.argument = dims.substr(kReduced.size());
    dims = kEllipsis;
  }
  if (dims.starts_with(kEllipsis)) {
    word.dims = '.';
    dims.remove_prefix(kEllipsis.size());
  }
  word.dims += dims;
  const DtypeWord* dtype = find_dtype_word(word.dtype);
  const bool is_known = is_result ? (dtype != nullptr && dtype->make != nullptr) || word.dtype == "first" ||
                                        find_scalar_type(word.dtype)
                                  : dtype != nullptr && dtype->is_right != nullptr;
  const std::string_view letters = is_result ? "abcdefghijklmnopqrstuvwxyz?&" : "abcdefghijklmnopqrstuvwxyz";
  require_text(
      (colon == text.size() || is_known) && dims.find_first_not_of(letters) == std::string_view::npos, text);
  return word;
}

// Completes a form of which all words are read.
void finish_form(SignatureForm& form, bool has_arrow, std::string_view text) {
  if (form.results.empty()) form.results.emplace_back();
  std::string all = "?&", results;
  for (const SignatureWord& result : form.results) results += result.dims;
  for (const SignatureWord& word : form.operands) {
    all += word.dims;
    if (word.sign != '*') continue;
    for (const char letter : word.dims) {
      if (has(form.factors, letter) && !has(results, letter)) form.summed += letter;
    }
    form.factors += word.dims;
  }
  require_text(has_arrow && results.find_first_not_of(all) == std::string::npos, text);
}

// ---- Calls ----

std::string_view name_of(const RuleArguments& args, std::size_t operand) {
  return nth(args.schema().arguments, operand).name;
}

// Returns null for an argument that is left out, and for a number in the place of a tensor of any sizes.
const TensorInfo* find_operand(const RuleArguments& args, std::size_t operand, const SignatureWord& word) {
  const std::string_view name = name_of(args, operand);
  const bool is_tensor = args.is_given(name) && (word.dims != "." || args.is_tensor(name));
  return is_tensor ? &args.tensor(name) : nullptr;
}

bool has_rank(const SignatureWord& word, std::size_t rank) {
  return word.dims.starts_with('.') ? rank + 1 >= word.dims.size() : rank == word.dims.size();
}

// Returns the form of a call.  Throws Raises when none fits.
const SignatureForm& form_of(const RuleArguments& args, const OperatorFacts& facts) {
  if (facts.forms == nullptr) throw CannotTell{};  // of another operator's rule, without `like`
  for (const SignatureForm& form : *facts.forms) {
    bool fits = true;
    for (std::size_t i = 0; i < form.operands.size() && fits; ++i) {
      const SignatureWord& word = form.operands[i];
      const TensorInfo* info = word.sign == '+' ? nullptr : find_operand(args, i, word);
      fits = info == nullptr || has_rank(word, info->sizes.size());
      if (fits || facts.forms->size() > 1) continue;
      const auto rank = std::ssize(word.dims);
      if (word.dims.starts_with('.')) require_least_rank(*info, rank - 1, name_of(args, i));
      require_rank(*info, {rank}, name_of(args, i));
    }
    if (fits) return form;
  }
  throw Raises{"the arguments have other dimensions than " + std::string(facts.signature)};
}

// Calls visit(letter, size, dimension); the letter is '.' for dimensions of "...".
template <class Visit>
void for_each_size(const SignatureWord& word, const Sizes& sizes, const Visit& visit) {
  if (!has_rank(word, sizes.size())) throw CannotTell{};
  const std::size_t before = word.dims.starts_with('.') ? sizes.size() + 1 - word.dims.size() : 0;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    visit(i < before ? '.' : word.dims[i + word.dims.size() - sizes.size()], sizes[i], i);
}

// A call of which the sizes are known.
struct Bound {
  const SignatureForm& form;
  ShapeEnv& dimensions;
  std::map<char, SymInt> letters;
  std::vector<std::pair<std::string_view, Sizes>> ellipses;  // of the operands, by name

  Sizes sizes_of(const std::string& dims) const {
    Sizes sizes;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == '.') {
        if (ellipses.empty()) throw CannotTell{};
        std::string names;  // of the tensors so far: "self, tensor1"
        for (const auto& [name, ellipsis] : ellipses) {
          sizes = broadcast(sizes, ellipsis, dimensions, {names, name});
          names.append(names.empty() ? "" : ", ").append(name);
        }
      } else if (dims[i] == '&' && i + 1 < dims.size()) {
        sizes.back() = min(sizes.back(), size_of(dims[++i]));
      } else {
        sizes.push_back(size_of(dims[i]));
      }
    }
    return sizes;
  }
  const SymInt& size_of(char letter) const {
    const auto found = letters.find(letter);
    if (found == letters.end()) throw CannotTell{};
    return found->second;
  }
};

Bound bind(const RuleArguments& args, const OperatorFacts& facts) {
  Bound bound{form_of(args, facts), args.dimensions, {}, {}};
  std::map<char, std::size_t> owners;  // the operands that had each letter before
  for (std::size_t i = 0; i < bound.form.operands.size(); ++i) {
    const SignatureWord& word = bound.form.operands[i];
    const TensorInfo* info = word.sign == '+' ? nullptr : find_operand(args, i, word);
    const std::string_view name = name_of(args, i);
    const bool is_number = info == nullptr && !bound.ellipses.empty() && args.is_given(name);
    const DtypeWord* dtype = find_dtype_word(word.dtype);
    if (dtype != nullptr && (info != nullptr || is_number)) {
      require_dtype(is_number ? number_dtype(args, name) : info->dtype, dtype->is_right, name,
                    dtype->expected);
    }
    if (info == nullptr) continue;
    Sizes& ellipsis = bound.ellipses.emplace_back(name, Sizes()).second;
    for_each_size(word, info->sizes, [&](char letter, const SymInt& size, std::size_t dim) {
      if (letter == '.') return ellipsis.push_back(size);
      const auto [known, is_new] = bound.letters.try_emplace(letter, size);
      const std::size_t before = std::exchange(owners[letter], i);
      if (is_new) return;
      const NamePair names{name_of(args, before), name_of(args, i)};
      const bool is_last = word.dims.ends_with(letter) && bound.form.operands[before].dims.ends_with(letter);
      const bool is_inner = has(bound.form.summed, letter);
      if (before == i) {
        require_equal(args.dimensions, known->second, size,
                      "rows and columns of " + std::string(names.first));
      } else if (is_last || is_inner) {
        require_equal(args.dimensions, known->second, size, is_last ? "last sizes" : "inner sizes", names);
      } else {
        require_equal_size(args.dimensions, known->second, size, names, dim);
      }
      known->second = same_size(known->second, size);
    });
  }
  return bound;
}

// Returns the dtype of results for which the signature has no word.
Dtype common_dtype(const RuleArguments& args, const SignatureForm& form) {
  Promotion promotion;
  std::optional<std::size_t> first;  // of the factors and what is added
  Dtype common;
  for (std::size_t i = 0; i < form.operands.size(); ++i) {
    const TensorInfo* info = find_operand(args, i, form.operands[i]);
    if (info == nullptr && form.summed.empty() && args.is_given(name_of(args, i)))
      promotion.add_number(args, name_of(args, i));
    if (info == nullptr) continue;
    if (form.summed.empty()) promotion.add(*info);
    const char sign = form.operands[i].sign;
    if (form.summed.empty() || sign == ' ' || (sign == '+' && args.is_given("out_dtype"))) continue;
    if (first) require_same_dtype(common, info->dtype, {name_of(args, *first), name_of(args, i)});
    if (!common) first = i;
    common = either(common, info->dtype);
  }
  return form.summed.empty() ? promotion.result() : common;
}

Dtype dtype_of(const RuleArguments& args, const SignatureForm& form, std::string_view word) {
  const DtypeWord* made = find_dtype_word(word);
  Dtype dtype;
  if (made != nullptr || word.empty()) {
    dtype = common_dtype(args, form);
  } else {
    dtype = word == "first" ? first_tensor(args).dtype : find_scalar_type(word);
  }
  for (const std::string_view name : {"dtype", "out_dtype"}) {
    if (!args.is_given(name)) continue;
    dtype = dtype_or(args, name, dtype);
    if (word != "real") return dtype;
  }
  return made != nullptr ? made->make(dtype) : dtype;
}

const OperatorFacts& facts_of_call(const RuleArguments& args) {
  const std::string_view name = args.name();
  const OperatorFacts& facts = facts_of(name);
  return facts.forms == nullptr && name.ends_with('_') ? facts_of(name.substr(0, name.size() - 1)) : facts;
}

}  // namespace

Signature parse_signature(std::string_view text) {
  Signature signature(1);
  bool has_arrow = false;
  char sign = ' ';
  for_each_word(text, [&](std::string_view word) {
    SignatureForm& form = signature.back();
    if (word == "|") {
      finish_form(form, std::exchange(has_arrow, false), text);
      signature.emplace_back();
    } else if (word == "->") {
      require_text(!std::exchange(has_arrow, true) && sign == ' ', text);
    } else if (word == "*" || word == "+") {
      require_text(!has_arrow && sign == ' ' && !form.operands.empty(), text);
      sign = word.front();
      char& before = form.operands.back().sign;
      if (before != '*') before = sign;
    } else {
      auto& words = has_arrow ? form.results : form.operands;
      words.push_back(parse_word(word, has_arrow));
      words.back().sign = std::exchange(sign, ' ');
    }
  });
  finish_form(signature.back(), has_arrow, text);
  return signature;
}

Results shape_by_signature(const RuleArguments& args) {
  const Bound bound = bind(args, facts_of_call(args));
  std::vector<TensorInfo> results;
  for (const SignatureWord& word : bound.form.results) {
    TensorInfo info = tensor_of(bound.sizes_of(word.dims), dtype_of(args, bound.form, word.dtype));
    if (!word.argument.empty())
      info.sizes = word.dims.empty() ? args.sizes(word.argument) : reduced(args, info);
    results.push_back(std::move(info));
  }
  for (std::size_t i = 0; i < bound.form.operands.size(); ++i) {
    const TensorInfo* info =
        bound.form.operands[i].sign == '+' ? find_operand(args, i, bound.form.operands[i]) : nullptr;
    if (info != nullptr) require_expandable(args.dimensions, info->sizes, results[0].sizes, name_of(args, i));
  }
  results.resize(std::min(results.size(), args.schema().results.size()));
  return make_many(std::move(results));
}

SymInt macs_by_signature(const RuleArguments& args, const Results& results) try {
  const Bound bound = bind(args, facts_of_call(args));
  std::int64_t numbers = 1;  // in an element of a factor
  for (std::size_t i = 0; i < bound.form.operands.size(); ++i) {
    if (bound.form.operands[i].sign == '*') numbers = numbers_in_element(operand(args, name_of(args, i)));
  }
  Sizes sizes = bound.sizes_of(bound.form.summed);
  const SignatureWord& result = bound.form.results[0];
  const bool is_known = !results.empty() && results[0].tensor() != nullptr;
  for_each_size(result, is_known ? results[0].tensor()->sizes : bound.sizes_of(result.dims),
                [&](char letter, const SymInt& size, std::size_t) {
                  if (has(bound.form.factors, letter)) sizes.push_back(size);
                });
  return product(sizes, numbers);
} catch (const Raises&) {
  throw CannotTell{};
}

BatchingRule batching_by_signature(const Signature& signature, const Schema& schema) {
  const SignatureForm& form = signature.front();
  if (signature.size() > 1 || form.operands.empty()) return {};
  const SignatureWord &first = form.operands[0], &result = form.results[0];
  if (form.operands.size() == 1 && first.dims.starts_with('.')) {
    if (result.argument.empty()) return kLeading;
    return result.argument == "dim" && schema.find_argument("dim") ? kReduce : BatchingRule{};
  }
  const bool is_added = first.sign == '+';
  if (form.factors.empty() || form.operands.size() != (is_added ? 3 : 2) || !result.dtype.empty() ||
      schema.find_argument("out_dtype") || form.summed.size() > 1) {
    return {};
  }
  if (form.summed.empty()) return is_added ? BatchingRule{} : BatchingRule{.rule = &BatchRules::outer};
  if (is_added) return {.rule = &BatchRules::add_matmul};
  return {.rule = result.dims.empty() ? &BatchRules::dot : &BatchRules::matmul};
}

// The index of all rows by the names of operators that they list.

namespace {

using Index = std::unordered_map<std::string_view, const OperatorFacts*>;

// Returns the facts with the rules that the signature tells, where the row has none.
OperatorFacts with_rules(OperatorFacts facts) {
  static std::deque<Signature> parsed;
  facts.forms = &parsed.emplace_back(parse_signature(facts.signature));
  if (facts.shape == nullptr) facts.shape = shape_by_signature;
  const SignatureForm& form = facts.forms->front();
  if (facts.macs == nullptr && !form.summed.empty()) facts.macs = macs_by_signature;
  if (!form.factors.empty() && form.summed.empty()) facts.traits |= traits::kNoMacs;
  if (!form.operands.empty()) facts.traits |= traits::kRankByRanks;
  return facts;
}

// Returns the facts of a row with `like`, completed by those of the other operator.
OperatorFacts completed(OperatorFacts facts, std::string_view name, const Index& index) {
  const auto found = index.find(facts.like == "=" ? name.substr(name.find("::") + 2) : facts.like);
  if (found == index.end()) return facts;
  const OperatorFacts& other = *found->second;
  using namespace traits;  // NOLINT(google-build-using-namespace)
  constexpr Traits kOfResults = kNoMacs | kKeepsRank | kRankByRanks | kKeepsDtype | kLikeFirst | kGivesBool |
                                kMakesContiguous | kKeepsContiguous | kForFloats | kNotForIntegers |
                                kNotForHalf;
  facts.traits |= other.traits & kOfResults;
  facts.signature = other.signature;
  facts.forms = other.forms;
  if (facts.shape == nullptr) facts.shape = other.shape;
  if (facts.macs == nullptr) facts.macs = other.macs;
  return facts;
}

// The keys are names as rows write them: without "aten::".
Index make_index() {
  Index index;
  constexpr std::size_t kAbout = 2048;
  index.reserve(kAbout);
  static std::deque<OperatorFacts> all_completed;
  for_each_row([&](std::string_view name, const OperatorFacts& facts) {
    const bool is_whole = facts.signature.empty();
    index.emplace(name, is_whole ? &facts : &all_completed.emplace_back(with_rules(facts)));
  });
  for_each_row([&](std::string_view name, const OperatorFacts& facts) {
    if (!facts.like.empty()) index[name] = &all_completed.emplace_back(completed(facts, name, index));
  });
  return index;
}

const OperatorFacts* find_facts(std::string_view name) {
  static const Index index = make_index();
  constexpr std::string_view kAten = "aten::";
  if (name.starts_with(kAten)) name.remove_prefix(kAten.size());
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

constexpr OperatorFacts kNothing;

}  // namespace

std::span<const OperatorRows> all_rows() {
  static const std::array all{attention_rows(),
                              boxes_rows(),
                              convolution_rows(),
                              creation_rows(),
                              matrix_decompositions_rows(),
                              distances_rows(),
                              einsum_rows(),
                              elementwise_rows(),
                              embedding_rows(),
                              fourier_rows(),
                              images_rows(),
                              indexing_rows(),
                              concatenation_rows(),
                              losses_rows(),
                              normalization_rows(),
                              other_libraries_rows(),
                              slicing_rows(),
                              pooling_rows(),
                              matrix_products_rows(),
                              quantized_rows(),
                              queries_rows(),
                              recurrent_rows(),
                              reductions_rows(),
                              sparse_rows(),
                              values_rows(),
                              views_rows()};
  return all;
}

const OperatorFacts& facts_of(std::string_view base_name) {
  const OperatorFacts* found = find_facts(base_name);
  return found != nullptr ? *found : kNothing;
}

const OperatorFacts* facts_of_overload(const Operator& op) {
  const std::string name(op.name);
  return find_facts(op.overload().empty() ? name + "." : name);
}

}  // namespace fxtrace::internal
