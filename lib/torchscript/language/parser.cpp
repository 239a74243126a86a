// The grammar is that of PyTorch's torch/csrc/jit/frontend/parser.cpp (BSD-3-Clause, see NOTICE).
#include "torchscript/language/parser.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace fxtrace::internal::torchscript {
namespace {

constexpr int kLowest = 0;
constexpr int kNoOperator = -1;

// Forms of the language that no version of PyTorch writes: torch.jit.save prints graphs, which have branches,
// loops and calls in their place.
struct Unwritten {
  TokenKind token;  // within or behind an expression, or at the start of a statement
  std::string_view form;
};
constexpr Unwritten kUnwritten[] = {
    {TokenKind::kAnd, "`and`"},
    {TokenKind::kAssert, "`assert`"},
    {TokenKind::kBreak, "`break`"},
    {TokenKind::kContinue, "`continue`"},
    {TokenKind::kFor, "a comprehension"},
    {TokenKind::kIf, "`a if b else c`"},
    {TokenKind::kOr, "`or`"},
    {TokenKind::kRaise, "`raise`"},
};
constexpr std::string_view kUnwrittenLoop = "a loop over anything but `range(n)`";
constexpr std::string_view kUnwrittenReturn = "a `return` that is not the last statement of its function";
constexpr std::string_view kUnwrittenFunctions[] = {"dict", "enumerate", "hasattr", "list", "tuple", "zip"};

[[noreturn]] void refuse(const SourceRange& range, std::string_view form) {
  throw SourceError(
      range, std::string(form) + " is in no code that torch.jit.save writes, and fxtrace reads no other");
}

// Returns the precedence of an operator as in LibTorch; kNoOperator for other tokens.
int binary_level(TokenKind kind) {
  switch (kind) {
    case TokenKind::kIn:
    case TokenKind::kNotIn:
    case TokenKind::kLess:
    case TokenKind::kGreater:
    case TokenKind::kIs:
    case TokenKind::kIsNot:
    case TokenKind::kEqual:
    case TokenKind::kLessEqual:
    case TokenKind::kGreaterEqual:
    case TokenKind::kNotEqual:
      return 4;
    case TokenKind::kBar:
      return 5;
    case TokenKind::kCaret:
      return 6;
    case TokenKind::kAmpersand:
      return 7;
    case TokenKind::kShiftLeft:
    case TokenKind::kShiftRight:
      return 8;
    case TokenKind::kPlus:
    case TokenKind::kMinus:
      return 9;
    case TokenKind::kStar:
    case TokenKind::kSlash:
    case TokenKind::kSlashSlash:
    case TokenKind::kPercent:
    case TokenKind::kAt:
      return 10;
    case TokenKind::kPower:
      return 11;
    default:
      return kNoOperator;
  }
}

int unary_level(TokenKind kind) {
  switch (kind) {
    case TokenKind::kNot:
    case TokenKind::kTilde:
      return 3;
    case TokenKind::kMinus:
    case TokenKind::kStar:
      return 10;
    default:
      return kNoOperator;
  }
}

struct Assigning {
  TokenKind assignment, sign;
};
constexpr Assigning kAssigning[] = {
    {TokenKind::kPlusAssign, TokenKind::kPlus},
    {TokenKind::kMinusAssign, TokenKind::kMinus},
    {TokenKind::kStarAssign, TokenKind::kStar},
    {TokenKind::kSlashAssign, TokenKind::kSlash},
    {TokenKind::kPercentAssign, TokenKind::kPercent},
    {TokenKind::kBarAssign, TokenKind::kBar},
    {TokenKind::kAmpersandAssign, TokenKind::kAmpersand},
    {TokenKind::kCaretAssign, TokenKind::kCaret},
    {TokenKind::kShiftLeftAssign, TokenKind::kShiftLeft},
    {TokenKind::kShiftRightAssign, TokenKind::kShiftRight},
    {TokenKind::kPowerAssign, TokenKind::kPower},
};

// Returns "+" for "+=".
TokenKind operator_of(TokenKind assignment) {
  const auto* const row = std::ranges::find(kAssigning, assignment, &Assigning::assignment);
  return row != std::end(kAssigning) ? row->sign : TokenKind::kEnd;
}

bool is_word(TokenKind kind) {
  return kind >= TokenKind::kAnd && kind <= TokenKind::kWith && kind != TokenKind::kEllipsis &&
         kind != TokenKind::kIsNot && kind != TokenKind::kNotIn;
}

class Parser {
 public:
  explicit Parser(SyntaxFile& file)
      : file_(file), text_(file.source().text()), tokens_(tokenize(file.source())) {
    find_names();
  }

  ParsedFile code() {
    ParsedFile result;
    if (is_word("op_version_set")) {
      next();
      expect(TokenKind::kAssign);
      const Token number = expect(TokenKind::kNumber);
      std::int64_t version = 0;
      const std::string_view text = text_of(number);
      std::from_chars(text.data(), text.data() + text.size(), version);
      result.version = version;
      expect(TokenKind::kNewline);
    }
    while (!at(TokenKind::kEnd)) {
      if (accept(TokenKind::kNewline)) continue;
      if (accept(TokenKind::kImport)) {  // in old archives; ignored, as a name tells its file
        while (!at(TokenKind::kNewline) && !at(TokenKind::kEnd)) next();
        expect(TokenKind::kNewline);
      } else if (at(TokenKind::kDef)) {
        result.definitions.push_back(&definition());
      } else if (at(TokenKind::kClass)) {
        result.definitions.push_back(&class_definition());
      } else {
        fail("Unexpected token in code import: " + std::string(to_text(current().kind)));
      }
    }
    return result;
  }

  const Tree& single_expression() {
    const Tree& result = expression(kLowest);
    accept(TokenKind::kNewline);
    expect(TokenKind::kEnd);
    return result;
  }

 private:
  // A module may have any name, and torch.jit.save writes `self.class` and, in the body of a class, `class :
  // T`, which LibTorch does not read again.
  void find_names() {
    for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
      if (!torchscript::is_word(tokens_[i].kind)) continue;
      const TokenKind before = tokens_[i - 1].kind;
      const bool begins =
          before == TokenKind::kNewline || before == TokenKind::kIndent || before == TokenKind::kDedent;
      const bool is_declared =
          begins && tokens_[i + 1].kind == TokenKind::kColon && tokens_[i].kind != TokenKind::kElse;
      if (before == TokenKind::kDot || is_declared) tokens_[i].kind = TokenKind::kIdentifier;
    }
  }

  using Parts = std::vector<const Tree*>;

  // Counts the levels of nested syntax.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser.level_ > kMaxLevels)
        parser.fail("the code has more levels of nesting than fxtrace supports");
    }
    ~Level() { --parser_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  // --- words ---

  const Token& current() const { return tokens_[at_]; }
  bool at(TokenKind kind) const { return current().kind == kind; }
  const Token& next() { return at(TokenKind::kEnd) ? tokens_[at_] : tokens_[at_++]; }
  bool accept(TokenKind kind) {
    if (!at(kind)) return false;
    next();
    return true;
  }
  Token expect(TokenKind kind) {
    if (!at(kind))
      fail("expected " + std::string(to_text(kind)) + " but found '" + std::string(to_text(current().kind)) +
           "' here:");
    return next();
  }
  std::string_view text_of(const Token& token) const {
    return text_.substr(token.begin, token.end - token.begin);
  }
  void refuse_unwritten() const {
    const auto* const row = std::ranges::find(kUnwritten, current().kind, &Unwritten::token);
    if (row != std::end(kUnwritten)) refuse(range_of(current()), row->form);
  }
  SourceRange range_of(const Token& token) const { return {&file_.source(), token.begin, token.end}; }
  bool is_word(std::string_view word) const {
    return at(TokenKind::kIdentifier) && text_of(current()) == word;
  }
  [[noreturn]] void fail(const std::string& message) const {
    throw SourceError(range_of(current()), message);
  }

  // --- trees ---

  const Tree& make(Syntax kind, const Token& place, const Parts& parts = {}, std::string_view text = {},
                   TokenKind token = TokenKind::kEnd) {
    void* memory = arena_->allocate(sizeof(Tree), alignof(Tree));
    Tree* tree = new (memory) Tree;
    tree->kind = kind;
    tree->token = token;
    tree->begin = place.begin;
    tree->end = place.end;
    tree->text = text;
    tree->count = static_cast<std::uint32_t>(parts.size());
    if (!parts.empty()) {
      const std::size_t bytes = parts.size() * sizeof(const Tree*);
      auto* copy = static_cast<const Tree**>(arena_->allocate(bytes, alignof(const Tree*)));
      std::ranges::copy(parts, copy);
      tree->parts = copy;
    }
    int depth = 0;
    for (const Tree* part : parts) depth = std::max<int>(depth, part->depth);
    if (depth >= 2 * kMaxLevels) fail("the code has more levels of nesting than fxtrace supports");
    tree->depth = static_cast<std::uint16_t>(depth + 1);
    return *tree;
  }
  const Tree& absent() { return make(Syntax::kAbsent, current()); }
  static Token place_of(const Tree& tree) { return {TokenKind::kEnd, tree.begin, tree.end}; }

  // --- expressions ---

  const Tree& expression(int level) {
    const Level guard(*this);
    const Tree* left = &prefix();
    while (true) {
      const TokenKind kind = current().kind;
      int binds = binary_level(kind);
      if (binds == kNoOperator) refuse_unwritten();
      if (binds <= level) return *left;
      const Token place = next();
      if (kind == TokenKind::kPower) --binds;
      if (kind == TokenKind::kNotIn) {
        const Tree& inside = make(Syntax::kBinary, place, {left, &expression(binds)}, {}, TokenKind::kIn);
        left = &make(Syntax::kUnary, place, {&inside}, {}, TokenKind::kNot);
      } else {
        left = &make(Syntax::kBinary, place, {left, &expression(binds)}, {}, kind);
      }
    }
  }

  const Tree& prefix() {
    const int binds = unary_level(current().kind);
    if (binds == kNoOperator) return primary();
    const Token place = next();
    const Tree& operand = expression(binds);
    if (place.kind == TokenKind::kStar) return make(Syntax::kStarred, place, {&operand});
    if (place.kind == TokenKind::kMinus && operand.is(Syntax::kNumber) && operand.text[0] != '-')
      return make(Syntax::kNumber, place_of(operand), {}, keep("-" + std::string(operand.text)));
    return make(Syntax::kUnary, place, {&operand}, {}, place.kind);
  }

  std::string_view keep(const std::string& text) {
    auto* copy = static_cast<char*>(arena_->allocate(text.size() + 1, 1));
    std::ranges::copy(text, copy);
    return {copy, text.size()};
  }

  const Tree& primary() {
    const Tree* value = &atom();
    while (true) {
      if (accept(TokenKind::kDot)) {
        const Token name = expect(TokenKind::kIdentifier);
        value = &make(Syntax::kAttribute, name, {value}, text_of(name));
      } else if (at(TokenKind::kLeftParenthesis)) {
        value = &call(*value);
      } else if (at(TokenKind::kLeftBracket)) {
        value = &subscript(*value);
      } else {
        return *value;
      }
    }
  }

  const Tree& atom() {
    const Token token = current();
    switch (token.kind) {
      case TokenKind::kNumber:
        next();
        return make(Syntax::kNumber, token, {}, text_of(token));
      case TokenKind::kTrue:
        return make(Syntax::kTrue, next());
      case TokenKind::kFalse:
        return make(Syntax::kFalse, next());
      case TokenKind::kNone:
      case TokenKind::kNoneType:
        return make(Syntax::kNone, next());
      case TokenKind::kEllipsis:
        return make(Syntax::kEllipsis, next());
      case TokenKind::kString:
        return strings();
      case TokenKind::kLeftParenthesis: {
        next();
        if (at(TokenKind::kRightParenthesis)) {
          next();
          return make(Syntax::kTuple, token);
        }
        const Tree& inner = expression_or_tuple();
        expect(TokenKind::kRightParenthesis);
        return inner;
      }
      case TokenKind::kLeftBracket: {
        next();
        Parts items;
        separated(TokenKind::kRightBracket, [&] { items.push_back(&expression(kLowest)); });
        return make(Syntax::kListLiteral, token, items);
      }
      case TokenKind::kLeftBrace:
        return dict();
      default: {
        const Token name = expect(TokenKind::kIdentifier);
        return make(Syntax::kName, name, {}, text_of(name));
      }
    }
  }

  const Tree& dict() {
    const Token place = next();
    Parts keys;
    Parts values;
    separated(TokenKind::kRightBrace, [&] {
      keys.push_back(&expression(kLowest));
      expect(TokenKind::kColon);
      values.push_back(&expression(kLowest));
    });
    return make(Syntax::kDictLiteral, place,
                {&make(Syntax::kList, place, keys), &make(Syntax::kList, place, values)});
  }

  // Reads items with commas between them, up to `close`, which it returns.  One comma may stand before that.
  template <class ReadItem>
  Token separated(TokenKind close, const ReadItem& read_item) {
    while (!at(close)) {
      read_item();
      if (!accept(TokenKind::kComma)) break;
    }
    return expect(close);
  }

  // Reads "a", or a tuple: "a," or "a, b".
  const Tree& expression_or_tuple() {
    const Tree& first = expression(kLowest);
    if (!at(TokenKind::kComma)) return first;
    Parts items{&first};
    while (accept(TokenKind::kComma)) {
      if (at(TokenKind::kNewline) || at(TokenKind::kAssign) || at(TokenKind::kRightParenthesis) ||
          operator_of(current().kind) != TokenKind::kEnd)
        break;
      items.push_back(&expression(kLowest));
    }
    return make(Syntax::kTuple, place_of(first), items);
  }

  const Tree& call(const Tree& callee) {
    const Token place = expect(TokenKind::kLeftParenthesis);
    Parts arguments;
    Parts keywords;
    separated(TokenKind::kRightParenthesis, [&] {
      if (at(TokenKind::kIdentifier) && tokens_[at_ + 1].kind == TokenKind::kAssign) {
        const Token name = next();
        next();
        keywords.push_back(&make(Syntax::kKeyword, name, {&expression(kLowest)}, text_of(name)));
      } else {
        arguments.push_back(&expression(kLowest));
      }
    });
    return make(Syntax::kCall, place,
                {&callee, &make(Syntax::kList, place, arguments), &make(Syntax::kList, place, keywords)});
  }

  const Tree& subscript(const Tree& value) {
    Token place = expect(TokenKind::kLeftBracket);
    Parts items;
    place.end = separated(TokenKind::kRightBracket, [&] { items.push_back(&subscript_item()); }).end;
    return make(Syntax::kSubscript, place, {&value, &make(Syntax::kList, place, items)});
  }

  const Tree& subscript_item() {
    const Token place = current();
    const Tree* start = at(TokenKind::kColon) ? &absent() : &expression(kLowest);
    if (!accept(TokenKind::kColon)) return *start;
    const auto part = [&]() -> const Tree& {
      if (at(TokenKind::kComma) || at(TokenKind::kRightBracket) || at(TokenKind::kColon)) return absent();
      return expression(kLowest);
    };
    const Tree& end = part();
    const Tree& step = accept(TokenKind::kColon) ? part() : absent();
    return make(Syntax::kSlice, place, {start, &end, &step});
  }

  const Tree& strings() {
    const Token place = current();
    std::string text;
    while (at(TokenKind::kString)) text += unescaped(text_of(next()));
    return make(Syntax::kStringLiteral, place, {}, keep(text));
  }

  std::string unescaped(std::string_view token) const {
    const std::size_t quotes = token.starts_with(R"(""")") || token.starts_with("'''") ? 3 : 1;
    const std::string_view inner = token.substr(quotes, token.size() - 2 * quotes);
    std::string result;
    for (std::size_t i = 0; i < inner.size(); ++i) {
      if (inner[i] != '\\' || i + 1 == inner.size()) {
        result += inner[i];
        continue;
      }
      const char c = inner[++i];
      static constexpr std::string_view kLetters = "abfnvt\\'\"\nr";
      static constexpr std::string_view kMeant = "\a\b\f\n\v\t\\'\"\n\r";
      if (const auto found = kLetters.find(c); found != std::string_view::npos) {
        result += kMeant[found];
      } else {
        result += octal(inner.substr(i));
        i += 2;
      }
    }
    return result;
  }

  char octal(std::string_view digits) const {
    int value = 0;
    bool valid = digits.size() >= 3;
    for (std::size_t i = 0; valid && i < 3; ++i) {
      valid = digits[i] >= '0' && digits[i] <= '7';
      value = value * 8 + (digits[i] - '0');
    }
    if (!valid || value > 255) fail("a string has an escape sequence that TorchScript does not support");
    return static_cast<char>(value);
  }

  // --- statements ---

  const Tree& statements() {
    expect(TokenKind::kIndent);
    return rest_of_block(false);
  }
  const Tree& rest_of_block(bool is_body) {
    const Token place = current();
    Parts parts;
    do {
      parts.push_back(&statement());
      if (parts.back()->is(Syntax::kReturn) && !(is_body && at(TokenKind::kDedent)))
        refuse(file_.range(*parts.back()), kUnwrittenReturn);
    } while (!accept(TokenKind::kDedent));
    return make(Syntax::kList, place, parts);
  }

  const Tree& statement() {
    const Level guard(*this);
    switch (current().kind) {
      case TokenKind::kIf:
        return if_statement(next());
      case TokenKind::kWhile: {
        const Token place = next();
        const Tree& condition = expression(kLowest);
        expect(TokenKind::kColon);
        return make(Syntax::kWhile, place, {&condition, &statements()});
      }
      case TokenKind::kFor:
        return for_statement();
      case TokenKind::kWith:
        return with_statement();
      case TokenKind::kDef:
        return definition();
      case TokenKind::kReturn: {
        const Token place = next();
        const Tree& value = at(TokenKind::kNewline) ? make(Syntax::kNone, place) : expression_or_tuple();
        return end_of(make(Syntax::kReturn, place, {&value}));
      }
      case TokenKind::kDel: {
        const Token place = next();
        Parts targets;
        do {
          targets.push_back(&expression(kLowest));
        } while (accept(TokenKind::kComma));
        return end_of(make(Syntax::kDelete, place, targets));
      }
      case TokenKind::kPass:
        return end_of(make(Syntax::kPass, next()));
      case TokenKind::kGlobal: {
        const Token place = next();
        do {
          expect(TokenKind::kIdentifier);
        } while (accept(TokenKind::kComma));
        return end_of(make(Syntax::kGlobal, place));
      }
      default:
        refuse_unwritten();
        return assignment_or_expression();
    }
  }

  const Tree& end_of(const Tree& tree) {  // NOLINT(bugprone-return-const-ref-from-parameter): of the arena
    expect(TokenKind::kNewline);
    return tree;  // NOLINT(bugprone-return-const-ref-from-parameter)
  }

  const Tree& assignment_or_expression() {
    const Tree& first = expression_or_tuple();
    const Token place = place_of(first);
    if (at(TokenKind::kNewline)) return end_of(make(Syntax::kExpression, place, {&first}));
    const Tree& type = accept(TokenKind::kColon) ? expression(kLowest) : absent();
    if (const TokenKind op = operator_of(current().kind); op != TokenKind::kEnd) {
      next();
      if (first.is(Syntax::kTuple)) fail("augmented assignment can only have one LHS expression");
      return end_of(make(Syntax::kAugmentedAssignment, place, {&first, &expression_or_tuple()}, {}, op));
    }
    Parts targets{&first};
    const Tree* value = nullptr;
    while (accept(TokenKind::kAssign)) {
      if (value != nullptr) targets.push_back(value);
      value = &expression_or_tuple();
    }
    if (value == nullptr) {
      if (!type.is_there()) expect(TokenKind::kNewline);
      value = &absent();
    }
    if (type.is_there() && targets.size() > 1)
      fail("Annotated multiple assignment is not supported in python");
    return end_of(make(Syntax::kAssignment, place, {&make(Syntax::kList, place, targets), value, &type}));
  }

  const Tree& if_statement(const Token place) {
    const Level guard(*this);
    const Tree& condition = expression(kLowest);
    expect(TokenKind::kColon);
    const Tree& yes = statements();
    const Tree* no = nullptr;
    if (accept(TokenKind::kElse)) {
      expect(TokenKind::kColon);
      no = &statements();
    } else if (accept(TokenKind::kElif)) {
      const Token inner = current();
      no = &make(Syntax::kList, inner, {&if_statement(inner)});
    } else {
      no = &make(Syntax::kList, current());
    }
    return make(Syntax::kIf, place, {&condition, &yes, no});
  }

  const Tree& for_statement() {
    const Token place = next();
    const Token name = expect(TokenKind::kIdentifier);
    const Tree& turn = make(Syntax::kName, name, {}, text_of(name));
    if (at(TokenKind::kComma)) refuse(range_of(place), kUnwrittenLoop);
    expect(TokenKind::kIn);
    if (!is_word("range")) refuse(range_of(place), kUnwrittenLoop);
    next();
    expect(TokenKind::kLeftParenthesis);
    const Tree& count = expression(kLowest);
    if (at(TokenKind::kComma)) refuse(range_of(place), kUnwrittenLoop);
    expect(TokenKind::kRightParenthesis);
    expect(TokenKind::kColon);
    return make(Syntax::kFor, place, {&turn, &count, &statements()});
  }

  const Tree& with_statement() {
    const Token place = next();
    Parts items;
    separated(TokenKind::kColon, [&] {
      const Tree& value = expression(kLowest);
      const Tree* name = nullptr;
      if (accept(TokenKind::kAs)) {
        const Token word = expect(TokenKind::kIdentifier);
        name = &make(Syntax::kName, word, {}, text_of(word));
      } else {
        name = &absent();
      }
      items.push_back(&make(Syntax::kWithItem, place_of(value), {&value, name}));
    });
    const Tree& list = make(Syntax::kList, place, items);
    return make(Syntax::kWith, place, {&list, &statements()});
  }

  const Tree& definition() {
    const Level guard(*this);
    expect(TokenKind::kDef);
    const Token name = expect(TokenKind::kIdentifier);
    const Token open = expect(TokenKind::kLeftParenthesis);
    Parts parameters;
    bool keyword_only = false;
    separated(TokenKind::kRightParenthesis, [&] {
      if (!keyword_only && accept(TokenKind::kStar)) {
        keyword_only = true;
      } else {
        parameters.push_back(&parameter(keyword_only));
      }
    });
    const Tree& result = accept(TokenKind::kArrow) ? expression(kLowest) : absent();
    expect(TokenKind::kColon);
    auto own = std::make_unique<std::pmr::monotonic_buffer_resource>();
    auto* const outer = std::exchange(arena_, own.get());
    const Tree* body = nullptr;
    if (accept(TokenKind::kIndent)) {
      body = &rest_of_block(true);
    } else {
      const Token place = current();
      body = &make(Syntax::kList, place, {&statement()});
    }
    arena_ = outer;
    const Tree& definition = make(Syntax::kDefinition, name,
                                  {&make(Syntax::kList, open, parameters), &result, body}, text_of(name));
    file_.keep_body(definition, std::move(own));
    return definition;
  }

  const Tree& parameter(bool keyword_only) {
    const Token name = expect(TokenKind::kIdentifier);
    const Tree& type = accept(TokenKind::kColon) ? expression(kLowest) : absent();
    const Tree& value = accept(TokenKind::kAssign) ? expression(kLowest) : absent();
    return make(Syntax::kParameter, name, {&type, &value}, text_of(name),
                keyword_only ? TokenKind::kStar : TokenKind::kEnd);
  }

  const Tree& class_definition() {
    const Level guard(*this);
    expect(TokenKind::kClass);
    const Token name = expect(TokenKind::kIdentifier);
    const Tree* base = nullptr;
    if (accept(TokenKind::kLeftParenthesis)) {
      base = &expression(kLowest);
      expect(TokenKind::kRightParenthesis);
    } else {
      base = &absent();
    }
    expect(TokenKind::kColon);
    return make(Syntax::kClass, name, {base, &statements()}, text_of(name));
  }

  SyntaxFile& file_;
  std::pmr::memory_resource* arena_ = &file_.arena();
  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int level_ = 0;
};

}  // namespace

ParsedFile parse_code(SyntaxFile& file) { return Parser(file).code(); }
const Tree& parse_expression(SyntaxFile& file) { return Parser(file).single_expression(); }

void refuse_unwritten_function(const SourceRange& range, std::string_view name) {
  if (std::ranges::find(kUnwrittenFunctions, name) != std::end(kUnwrittenFunctions))
    refuse(range, "`" + std::string(name) + "()`");
}

}  // namespace fxtrace::internal::torchscript
