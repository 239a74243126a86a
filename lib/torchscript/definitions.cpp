#include "torchscript/definitions.h"

#include <torch/csrc/jit/frontend/lexer.h>
#include <torch/csrc/jit/frontend/parser.h>

#include "support/error.h"

namespace fxtrace {

using namespace torch::jit;  // NOLINT(google-build-using-namespace): kinds of tokens are macros' enumerators

void for_each_definition(const std::shared_ptr<Source>& source,
                         const std::function<void(const TreeRef&)>& f) {
  Parser parser(source);
  Lexer& lexer = parser.lexer();
  if (lexer.cur().kind == TK_IDENT && lexer.cur().text() == "op_version_set") {
    lexer.next();
    lexer.expect('=');
    lexer.expect(TK_NUMBER);
    lexer.expect(TK_NEWLINE);
  }
  while (lexer.cur().kind != TK_EOF) {
    while (lexer.nextIf(TK_IMPORT)) {
      while (lexer.cur().kind != TK_NEWLINE) {
        if (lexer.cur().kind == TK_EOF) throw input_error("its code ends in an import");
        lexer.next();
      }
      lexer.expect(TK_NEWLINE);
    }
    if (lexer.cur().kind == TK_EOF) break;
    if (lexer.cur().kind != TK_CLASS_DEF && lexer.cur().kind != TK_DEF)
      lexer.reportError("unexpected token in code import");
    f(lexer.cur().kind == TK_CLASS_DEF ? parser.parseClass() : parser.parseFunction(/*is_method=*/false));
  }
}

}  // namespace fxtrace
