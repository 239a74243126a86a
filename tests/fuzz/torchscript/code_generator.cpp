#include "tests/fuzz/torchscript/code_generator.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/stored_zip.h"
#include "tests/fuzz/torchscript/choices.h"

namespace fxtrace::internal::fuzz {
namespace {

// Types by the letter that stands for them in a template ("torch.add(%i, %i)").
struct Type {
  char letter;
  const char* name;
};
constexpr Type kTypes[] = {
    {'i', "int"},           {'f', "float"},     {'b', "bool"},           {'s', "str"},
    {'l', "List[int]"},     {'S', "List[str]"}, {'d', "Dict[str, int]"}, {'p', "Tuple[int, str]"},
    {'o', "Optional[int]"}, {'x', "Tensor"},    {'X', "List[Tensor]"},   {'q', "List[List[int]]"}};

using Templates = std::vector<const char*>;

// Expressions of each type without operands, for the deepest level.
// %n is an integer too, most often a small one: texts of a great width are refused before the code is loaded.
const std::map<char, Templates> kLeaves = {
    {'n', {"0", "1", "-1", "5", "64", "-3"}},
    {'i',
     {"0",
      "1",
      "-1",
      "2",
      "3",
      "7",
      "-8",
      "63",
      "64",
      "255",
      "1024",
      "65536",
      "1048576",
      "2147483647",
      "-2147483648",
      "4294967296",
      "1099511627776",
      "4611686018427387904",
      "9223372036854775807",
      "-9223372036854775807",
      "self.value"}},
    {'f', {"0.", "1.", "-1.5", "1e-300", "1e308", "0.5", "self.scale"}},
    {'b', {"True", "False", "self.training"}},
    {'s',
     {"\"\"", "\"a\"", "\"ab\"", "\"{}\"", "\"%d\"", "\"a b\\tc\\n\"", "\"\\303\\251\"", "\"\\377\"",
      "\"12\"", "self.name"}},
    {'l', {"[1, 2, 3]", "[0]", "[2, 3]", "[-1]", "annotate(List[int], [])", "self.items"}},
    {'S', {"[\"a\", \"b\"]", "annotate(List[str], [])"}},
    {'d', {"{\"a\": 1}", "annotate(Dict[str, int], {})", "self.table"}},
    {'p', {"(1, \"a\")", "self.pair"}},
    {'o', {"annotate(Optional[int], None)", "annotate(Optional[int], 1)", "self.maybe"}},
    {'x', {"x", "x", "self.weight", "torch.tensor(1, dtype=4, device=None, requires_grad=False)"}},
    {'X', {"[x]", "[x, x]", "annotate(List[Tensor], [])"}},
    {'q', {"[[1], [2, 3]]", "annotate(List[List[int]], [])"}},
};

const std::map<char, Templates> kCalls = {
    {'n', {"torch.len(%s)", "torch.len(%l)", "torch.dim(%x)", "torch.add(%n, %n)", "torch.sub(%n, 7)", "%i"}},
    {'i',
     {"torch.add(%i, %i)",
      "torch.sub(%i, %i)",
      "torch.mul(%i, %i)",
      "torch.floordiv(%i, %i)",
      "torch.remainder(%i, %i)",
      "torch.neg(%i)",
      "torch.gcd(%i, %i)",
      "torch.__lshift__(%i, %i)",
      "torch.__rshift__(%i, %i)",
      "torch.__and__(%i, %i)",
      "torch.__or__(%i, %i)",
      "torch.__xor__(%i, %i)",
      "torch.len(%l)",
      "torch.len(%s)",
      "torch.len(%d)",
      "torch.len(%X)",
      "(%l)[%i]",
      "(%d)[%s]",
      "(%p)[0]",
      "(%q)[%i][%i]",
      "torch.find(%s, %s, %i, %i)",
      "torch.rfind(%s, %s, %i, %i)",
      "torch.count(%s, %s, %i, %i)",
      "torch.index(%s, %s, %i, %i)",
      "torch.rindex(%s, %s, %i, %i)",
      "torch.count(%l, %i)",
      "torch.index(%l, %i)",
      "torch.pop(%l, %i)",
      "torch.pop(%d, %s)",
      "torch.setdefault(%d, %s, %i)",
      "torch.get(%d, %s, %i)",
      "torch.ord(%s)",
      "int(%f)",
      "int(%b)",
      "int(%s)",
      "torch.size(%x, %i)",
      "torch.dim(%x)",
      "torch.numel(%x)",
      "ops.prim.max(%i, %i)",
      "ops.prim.min(%l)",
      "ops.prim.max(%l)",
      "ops.prim.abs(%i)",
      "torch.sum(%l)",
      "torch.factorial(%i)",
      "torch.hash(%s)",
      "torch.hash(%f)",
      "torch.floor(%f)",
      "torch.ceil(%f)",
      "torch.__range_length(%i, %i, %i)",
      "torch.__derive_index(%i, %i, %i)",
      "int(torch.item(%x))",
      "torch.stride(%x, %i)",
      "torch.storage_offset(%x)",
      "unchecked_cast(int, %o)",
      "ops.prim.dtype(%x)",
      "__torch__.f0(%i, %s)",
      "(self).g(%i, )",
      "(self).g()"}},
    {'f', {"torch.add(%f, %i)", "torch.mul(%f, %f)",      "torch.div(%i, %i)",       "torch.div(%f, %f)",
           "torch.pow(%i, %i)", "torch.pow(%f, %f)",      "torch.remainder(%f, %f)", "torch.floordiv(%f, %f)",
           "torch.sqrt(%i)",    "torch.log(%f)",          "torch.exp(%i)",           "float(%i)",
           "float(%s)",         "torch.fmod(%f, %f)",     "torch.ldexp(%f, %i)",     "torch.gamma(%f)",
           "torch.lgamma(%i)",  "torch.copysign(%f, %i)", "torch.atan2(%i, %i)",     "torch.pow(%f, %i)",
           "torch.round(%f)",   "torch.log1p(%i)",        "torch.sinh(%f)",          "ops.prim.max(%f, %f)"}},
    {'b',
     {"torch.eq(%i, %i)",
      "torch.lt(%i, %i)",
      "torch.gt(%f, %i)",
      "torch.eq(%s, %s)",
      "torch.lt(%s, %s)",
      "torch.eq(%l, %l)",
      "torch.__contains__(%l, %i)",
      "torch.__contains__(%d, %s)",
      "torch.__contains__(%s, %s)",
      "torch.startswith(%s, %s, %i, %i)",
      "torch.endswith(%s, %s, %i, %i)",
      "torch.isdigit(%s)",
      "torch.isidentifier(%s)",
      "torch.istitle(%s)",
      "torch.__not__(%b)",
      "torch.__isnot__(%o, None)",
      "bool(%i)",
      "bool(%x)",
      "torch.is_floating_point(%x)",
      "torch.any([%b, %b])",
      "torch.all([%b])",
      "torch.isinf(%f)",
      "torch.equal(%x, %x)",
      "torch.is_contiguous(%x)"}},
    {'s',
     {"torch.add(%s, %s)",
      "torch.format(%s, %i, %s)",
      "torch.replace(%s, %s, %s, %i)",
      "torch.join(%s, %S)",
      "torch.strip(%s, %s)",
      "torch.lstrip(%s, %s)",
      "torch.ljust(%s, %n, %s)",
      "torch.rjust(%s, %n, %s)",
      "torch.center(%s, %n, %s)",
      "torch.zfill(%s, %n)",
      "torch.expandtabs(%s, %n)",
      "torch.upper(%s)",
      "torch.title(%s)",
      "torch.capitalize(%s)",
      "torch.swapcase(%s)",
      "torch.slice(%s, %i, %i, %i)",
      "str(%i)",
      "str(%f)",
      "str(%l)",
      "str(%d)",
      "torch.percentFormat(%s, %i)",
      "torch.percentFormat(%s, %p)",
      "torch.chr(%i)",
      "torch.hex(%i)",
      "torch.oct(%i)",
      "torch.bin(%i)",
      "(%s)[%i]",
      "(%S)[%i]",
      "(%p)[1]",
      "torch.format(%s, %x)",
      "torch.rstrip(%s, %s)"}},
    {'l',
     {"[%i, %i]", "[%i]", "[%i, %i, %i]", "torch.mul(%l, %i)", "torch.mul(%i, %l)", "torch.add(%l, %l)",
      "torch.slice(%l, %i, %i, %i)", "torch.copy(%l)", "torch.list(%l)", "torch.size(%x)", "torch.sorted(%l)",
      "torch.list(torch.values(%d))", "(%q)[%i]", "torch.stride(%x)", "torch.slice(%l, %o, %o)"}},
    {'S',
     {"[%s, %s]", "torch.split(%s, %s, %i)", "torch.rsplit(%s, %s, %i)", "torch.splitlines(%s, %b)",
      "torch.list(torch.keys(%d))", "torch.list(%s)", "torch.mul(%S, %i)", "torch.sorted(%S)",
      "torch.slice(%S, %i, %i, %i)"}},
    {'d', {"{%s: %i, %s: %i}", "torch.copy(%d)", "{%s: %i}"}},
    {'p', {"(%i, %s)"}},
    {'o', {"annotate(Optional[int], %i)", "annotate(Optional[int], None)"}},
    {'q', {"[%l, %l]", "torch.mul(%q, %i)", "torch.slice(%q, %i, %i, %i)", "torch.copy(%q)"}},
    {'x',
     {"torch.add(%x, %x, alpha=%i)",
      "torch.mul(%x, %f)",
      "torch.div(%x, %i)",
      "torch.floor_divide(%x, %i)",
      "torch.remainder(%x, %i)",
      "torch.view(%x, %l)",
      "torch.reshape(%x, %l)",
      "torch.slice(%x, %i, %i, %i, %i)",
      "torch.select(%x, %i, %i)",
      "torch.narrow(%x, %i, %i, %i)",
      "torch.expand(%x, %l)",
      "torch.permute(%x, %l)",
      "torch.transpose(%x, %i, %i)",
      "torch.squeeze(%x, %i)",
      "torch.unsqueeze(%x, %i)",
      "torch.flatten(%x, %i, %i)",
      "torch.tensor(%i, dtype=%i, device=None, requires_grad=False)",
      "torch.tensor(%l, dtype=None, device=None, requires_grad=False)",
      "torch.tensor(%q, dtype=4)",
      "torch.zeros(%l, dtype=%i, layout=None, device=None, pin_memory=False)",
      "torch.zeros(%l, dtype=6, layout=%i, device=None)",
      "torch.ones(%l)",
      "torch.full(%l, %i)",
      "torch.full(%l, %f, dtype=%i)",
      "torch.empty(%l)",
      "torch.empty_strided(%l, %l)",
      "torch.arange(%i)",
      "torch.arange(%i, %i, %i)",
      "torch.linspace(%f, %f, %i)",
      "torch.eye(%i)",
      "torch.as_strided(%x, %l, %l, %i)",
      "torch.to(%x, %i)",
      "torch.to(%x, dtype=%i, layout=%i)",
      "torch.cat(%X, %i)",
      "torch.stack(%X, %i)",
      "(%X)[%i]",
      "torch.repeat(%x, %l)",
      "torch.repeat_interleave(%x, %i)",
      "torch.index_select(%x, %i, %x)",
      "torch.gather(%x, %i, %x)",
      "torch.scatter(%x, %i, %x, %x)",
      "torch.index(%x, [%x])",
      "torch.index_put_(%x, [%x], %x, %b)",
      "torch.masked_fill(%x, %x, %i)",
      "torch.where(%x, %x, %x)",
      "torch.embedding(%x, %x, %i)",
      "torch.one_hot(%x, %i)",
      "torch.conv2d(%x, %x, None, %l, %l, %l, %i)",
      "torch.conv1d(%x, %x, None, %l)",
      "torch.max_pool2d(%x, %l, %l, %l, %l, %b)",
      "torch.avg_pool2d(%x, %l, %l)",
      "torch.adaptive_avg_pool2d(%x, %l)",
      "torch.upsample_nearest2d(%x, %l)",
      "torch.pad(%x, %l)",
      "torch.constant_pad_nd(%x, %l, %i)",
      "torch.reflection_pad2d(%x, %l)",
      "torch.unfold(%x, %i, %i, %i)",
      "torch.roll(%x, %l, %l)",
      "torch.flip(%x, %l)",
      "torch.cumsum(%x, %i)",
      "torch.sum(%x, %l, %b)",
      "torch.mean(%x)",
      "torch.max(%x)",
      "torch.argmax(%x, %i)",
      "torch.topk(%x, %i)[0]",
      "torch.sort(%x, %i)[0]",
      "torch.matmul(%x, %x)",
      "torch.bmm(%x, %x)",
      "torch.linear(%x, %x)",
      "torch.softmax(%x, %i)",
      "torch.layer_norm(%x, %l)",
      "torch.group_norm(%x, %i)",
      "torch.batch_norm(%x, None, None, None, None, %b, %f, %f, %b)",
      "torch.dropout(%x, %f, %b)",
      "torch.relu_(%x)",
      "torch.add_(%x, %i)",
      "torch.clamp(%x, %i, %i)",
      "torch.bincount(%x, None, %i)",
      "torch.tril(%x, %i)",
      "torch.diag(%x, %i)",
      "torch.diagonal(%x, %i, %i, %i)",
      "torch.pow(%x, %i)",
      "torch.__lshift__(%x, %i)",
      "torch.bitwise_and(%x, %i)",
      "torch.nonzero(%x)",
      "torch.take(%x, %x)",
      "torch.searchsorted(%x, %x)",
      "torch.quantize_per_tensor(%x, %f, %i, %i)",
      "torch.clone(%x, memory_format=%i)",
      "torch.contiguous(%x, memory_format=%i)",
      "torch.fft_fft(%x, %i, %i)",
      "torch.movedim(%x, %l, %l)",
      "torch.scaled_dot_product_attention(%x, %x, %x)",
      "torch.pixel_shuffle(%x, %i)",
      "torch.rot90(%x, %i, %l)",
      "torch.resize_(%x, %l)",
      "torch.set_(%x, %x)",
      "torch.new_zeros(%x, %l)",
      "torch.randint(%i, %l)",
      "torch.multinomial(%x, %i)",
      "torch.histc(%x, %i)",
      "torch.combinations(%x, %i)",
      "torch.vander(%x, %i)",
      "torch.tensordot(%x, %x, %l, %l)",
      "torch.block_diag(%X)",
      "torch.cartesian_prod(%X)",
      "(self.sub).forward(%x, )",
      "(self.sub).forward(%x, %i, )",
      "torch.detach(%x)",
      "torch.scalar_tensor(%f)",
      "ops.prim.NumToTensor(%i)"}},
    {'X',
     {"[%x, %x]", "torch.split(%x, %i, %i)", "torch.chunk(%x, %i, %i)", "torch.split_with_sizes(%x, %l, %i)",
      "torch.unbind(%x, %i)", "torch.mul(%X, %i)", "torch.slice(%X, %i, %i, %i)", "torch.meshgrid(%X)",
      "torch.tensor_split(%x, %i, %i)", "torch.broadcast_tensors(%X)", "torch.split(%x, %l)"}},
};

const Templates kStatements = {"self.value = %i",
                               "self.items = %l",
                               "self.table = %d",
                               "self.maybe = %o",
                               "self.name = %s",
                               "torch.append(%l, %i)",
                               "torch.extend(%l, %l)",
                               "torch.insert(%l, %i, %i)",
                               "torch._set_item(%l, %i, %i)",
                               "torch.sort(%l, %b)",
                               "torch.reverse(%l)",
                               "torch.clear(%l)",
                               "torch.remove(%l, %i)",
                               "torch.Delete(%l, %i)",
                               "torch.Delete(%d, %s)",
                               "torch._set_item(%d, %s, %i)",
                               "torch.update(%d, %d)",
                               "torch.clear(%d)",
                               "torch._set_item(%X, %i, %x)",
                               "torch.append(%X, %x)",
                               "torch.append(%q, %l)",
                               "torch.extend(%q, %q)",
                               "ops.prim.RaiseException(%s)",
                               "torch.append(%S, %s)",
                               "torch.warn(%s)",
                               "ops.prim.Print(%i, %s)",
                               "torch.copy_(%x, %x)",
                               "torch._assert(%b, %s)"};

const char* name_of(char letter) {
  for (const Type& type : kTypes) {
    if (type.letter == letter) return type.name;
  }
  return "";
}

class Code {
 public:
  explicit Code(Choices& choices) : choices_(choices) {}

  // Returns a program with one line of the form, in forward.
  std::string text_with(const char* form) {
    only_ = form;
    return text();
  }

  std::string text() {
    out_ =
        "class Net(Module):\n  __parameters__ = [\"weight\", ]\n  __buffers__ = []\n  weight : Tensor\n  training : bool\n"
        "  value : int\n  scale : float\n  name : str\n  items : List[int]\n  table : Dict[str, int]\n"
        "  pair : Tuple[int, str]\n  maybe : Optional[int]\n  sub : __torch__.Sub\n";
    out_ += "  limit : Final[int] = " + std::string(choices_.one_in(2) ? "9223372036854775807" : "3") + "\n";
    method("  def forward(self: __torch__.Net,\n    x: Tensor,\n    n: int=" + leaf('i', true) +
               ",\n    flag: bool=False)",
           'x', {{"x", 'x'}, {"n", 'i'}, {"flag", 'b'}});
    method("  def g(self: __torch__.Net,\n    n: int=" + leaf('i', true) + ")", 'i', {{"n", 'i'}}, true);
    if (choices_.one_in(4)) {
      has_state_ = true;
      out_ += "  def __getstate__(self: __torch__.Net) -> int:\n    return 1\n";
      method("  def __setstate__(self: __torch__.Net,\n    state: int)", 'N', {{"state", 'i'}}, true);
    }
    out_ +=
        "class Sub(Module):\n  __parameters__ = []\n  __buffers__ = []\n  weight : Tensor\n  training : bool\n"
        "  value : int\n  scale : float\n  name : str\n  items : List[int]\n  table : Dict[str, int]\n"
        "  pair : Tuple[int, str]\n  maybe : Optional[int]\n  limit : Final[int] = 3\n";
    method("  def forward(self: __torch__.Sub,\n    x: Tensor,\n    n: int=" + leaf('i', true) + ")", 'x',
           {{"x", 'x'}, {"n", 'i'}});
    out_ += "def f0(n: int,\n    s: str) -> int:\n";
    in_function_ = true;
    begin({{"n", 'i'}, {"s", 's'}}, "  ");
    block(2, 2);
    out_ += "  return " + expression('i', 3) + "\n";
    return out_;
  }
  bool has_state() const { return has_state_; }

 private:
  using Variables = std::vector<std::pair<std::string, char>>;

  void begin(Variables variables, const char* indent) {
    variables_ = std::move(variables);
    indent_ = indent;
    has_tensor_ = false;
    for (const auto& [name, type] : variables_) has_tensor_ = has_tensor_ || name == "x";
  }
  void method(const std::string& head, char result, const Variables& variables, bool is_simple = false) {
    out_ += head + " -> " + (result == 'N' ? "NoneType" : name_of(result)) + ":\n";
    is_simple_ = is_simple;  // calls nothing of the module itself
    begin(variables, "    ");
    block(is_simple ? 3 : 6, 3);
    out_ += std::string("    return ") + (result == 'N' ? "None" : expression(result, 3)) + "\n";
    is_simple_ = false;
  }

  std::string fill(const char* form, int depth) {
    std::string text;
    for (const char* c = form; *c != '\0'; ++c) {
      if (*c == '%') {
        text += expression(*++c, depth - 1);
      } else {
        text += *c;
      }
    }
    return text;
  }

  bool fits(std::string_view form) const {
    const auto has = [&](const char* part) { return form.find(part) != std::string_view::npos; };
    if (in_function_ && (has("self") || has("__torch__"))) return false;
    if (is_simple_ && (has("self)") || has("self.sub") || has("f0"))) return false;
    if (has("self.sub") && in_sub()) return false;
    return !((form == "x" || form == "[x]" || form == "[x, x]") && !has_tensor_);
  }
  bool in_sub() const { return out_.find("class Sub") != std::string::npos; }

  const char* pick(const Templates& forms) {
    const std::size_t first = choices_.below(forms.size());
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const char* form = forms[(first + i) % forms.size()];
      if (fits(form) && !(in_sub() && std::string_view(form).find("(self)") != std::string_view::npos))
        return form;
    }
    return forms.back();
  }

  std::string leaf(char type, bool is_literal = false) {
    if (!is_literal && choices_.below(3) == 0) {
      Variables fitting;
      for (const auto& variable : variables_) {
        if (variable.second == type) fitting.push_back(variable);
      }
      if (!fitting.empty()) return fitting[choices_.below(fitting.size())].first;
    }
    const Templates& forms = kLeaves.at(type);
    if (!is_literal) return pick(forms);
    constexpr std::size_t kNumbers = 20;
    return forms[choices_.below(kNumbers)];
  }

  std::string expression(char type, int depth) {
    if (depth <= 0 || choices_.is_empty() || choices_.below(3) == 0) return leaf(type);
    return fill(pick(kCalls.at(type)), depth);
  }

  void line(const std::string& text) { out_ += indent_ + text + "\n"; }

  void block(std::size_t statements, int depth) {
    if (only_ != nullptr) {
      if (has_tensor_ && !in_sub() && !in_function_) line("_ = " + fill(only_, 1));
      return;
    }
    const std::size_t variables = variables_.size();
    const std::size_t count = 1 + choices_.below(statements);
    for (std::size_t i = 0; i < count && out_.size() < kMaxSize; ++i) statement(depth);
    if (indent_.size() > 4) variables_.resize(variables);  // the variables of a branch end with it
    if (choices_.is_empty()) line("pass");
  }

  void inner(int depth) {
    indent_ += "  ";
    block(3, depth - 1);
    line("pass");
    indent_.resize(indent_.size() - 2);
  }

  void statement(int depth) {
    const std::size_t kind = choices_.below(10);
    if (kind < 5 || depth <= 0) {
      const char type = kTypes[choices_.below(std::size(kTypes))].letter;
      const std::string name = "v" + std::to_string(next_++);
      line(name + " = " + expression(type, 3));
      variables_.emplace_back(name, type);
    } else if (kind < 7) {
      const std::string text = fill(pick(kStatements), 2);
      line(text.starts_with("self.") || text.starts_with("ops.prim.Raise")
               ? text
               : "_" + std::to_string(next_++) + " = " + text);
    } else if (kind == 7) {
      line("if " + expression('b', 2) + ":");
      inner(depth);
      line("else:");
      inner(depth);
    } else if (kind == 8) {
      const std::string name = "i" + std::to_string(next_++);
      line("for " + name + " in range(" + expression('i', 2) + "):");
      variables_.emplace_back(name, 'i');
      inner(depth);
      variables_.pop_back();
    } else {
      const std::string name = "w" + std::to_string(next_++);
      line(name + " = " + expression('b', 2));
      line("while " + name + ":");
      indent_ += "  ";
      block(2, depth - 1);
      line(name + " = " + expression('b', 2));
      indent_.resize(indent_.size() - 2);
    }
  }

  static constexpr std::size_t kMaxSize = 8'000;

  Choices& choices_;
  std::string out_, indent_;
  Variables variables_;
  std::size_t next_ = 0;
  const char* only_ = nullptr;
  bool has_tensor_ = false, in_function_ = false, is_simple_ = false, has_state_ = false;
};

// --- data.pkl, opcode by opcode ---

std::string little(std::uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}
std::string text_of(const std::string& text) { return "X" + little(text.size(), 4) + text; }
std::string number(std::int64_t value) { return "\x8a\x08" + little(static_cast<std::uint64_t>(value), 8); }
std::string real(double value) {
  std::uint64_t bits = 0;
  static_assert(sizeof bits == sizeof value);
  __builtin_memcpy(&bits, &value, sizeof bits);
  std::string bytes = little(bits, 8);
  return "G" + std::string(bytes.rbegin(), bytes.rend());
}
std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}

std::string tensor(std::int64_t rows, std::int64_t columns) {
  const std::string storage = "(" + text_of("storage") + global("torch", "FloatStorage") + text_of("0") +
                              text_of("cpu") + number(rows * columns) + "tQ";
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + storage + number(0) + "(" + number(rows) +
         number(columns) + "t(" + number(columns) + number(1) + "t\x89" +
         global("collections", "OrderedDict") + ")RtR";
}

std::string attributes(Choices& choices, bool is_root) {
  static constexpr std::int64_t kNumbers[] = {0, 1, -1, 3, 64, INT32_MAX, INT64_MAX, INT64_MIN, 1'000'000};
  const auto any = [&] { return number(kNumbers[choices.below(std::size(kNumbers))]); };
  std::string fields = "}(";
  const auto field = [&](const char* name, const std::string& value) { fields += text_of(name) + value; };
  field("weight", tensor(2, 3));
  field("training", choices.one_in(2) ? "\x88" : "\x89");
  field("value", any());
  field("scale", real(0.5));
  field("name", text_of(choices.one_in(2) ? "" : "n{}%d"));
  field("items", "](" + any() + any() + "e");
  field("table", "}(" + text_of("a") + any() + "u");
  field("pair", "(" + any() + text_of("b") + "t");
  field("maybe", choices.one_in(2) ? "N" : any());
  if (is_root) field("sub", global("__torch__", "Sub") + ")\x81" + attributes(choices, false) + "b");
  return fields + "u";
}

}  // namespace

namespace {

GeneratedArchive archive_of(const Code& code, std::string text, Choices& choices) {
  GeneratedArchive archive;
  archive.code = std::move(text);
  const std::string state = code.has_state() ? number(3) : attributes(choices, true);
  archive.bytes =
      stored_zip({{"m/data.pkl", "\x80\x02" + global("__torch__", "Net") + ")\x81" + state + "b."},
                  {"m/data/0", std::string(24, '\0')},
                  {"m/constants.pkl", "\x80\x02)."},
                  {"m/code/__torch__.py", archive.code},
                  {"m/version", "3\n"},
                  {"m/byteorder", "little"}});
  return archive;
}

}  // namespace

GeneratedArchive generate_archive(std::string_view bytes) {
  Choices choices(bytes);
  Code code(choices);
  std::string text = code.text();
  return archive_of(code, std::move(text), choices);
}

std::vector<std::pair<std::string, GeneratedArchive>> archives_of_forms() {
  std::vector<std::pair<std::string, GeneratedArchive>> archives;
  const auto add = [&](const char* form) {
    Choices choices("");
    Code code(choices);
    std::string text = code.text_with(form);
    archives.emplace_back(form, archive_of(code, std::move(text), choices));
  };
  for (const auto& [type, forms] : kCalls) {
    for (const char* form : forms) add(form);
  }
  for (const char* form : kStatements) {
    if (!std::string_view(form).starts_with("self.")) add(form);
  }
  return archives;
}

}  // namespace fxtrace::internal::fuzz
