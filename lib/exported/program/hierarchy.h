// The module tree of an exported program and the calls of its modules, reconstructed from the
// "nn_module_stack" of each node: the stack of modules whose forward was running.
//
// A stack is a text of items "key,path,type", outermost first.  The key ends in "@1", "@2", ... for the
// second and later calls.  With strict=True the key is a number that is the same for every name of a module;
// with strict=False it follows the name by which the module was called.  The file need not list all modules,
// so the tree is made of the paths that it lists, those of the stacks, and the owners of parameters and
// buffers.
//
// A module may have several names (self.dec = self.enc).  It is one ModuleInfo under its first path; the
// other names are aliases of it.  Which names are of one module is known from equal keys (strict=True), or
// assumed: names of one type with the same tensors below them are one module's, unless their calls differ
// (same_calls.h; strict=False), and so is a name that is never called and has the same tensors as names of
// just one key (strict=True).
//
// Invariants:
// 1. calls()[0] is the call of the root, kRootCall.  Every other call has a parent with a smaller CallId, and
//    is one level deeper.
// 2. Stacks share the calls of the items that they have in common from the beginning: a call is identified by
//    its parent, key, number and path.
// 3. Of two names of a module, the first is the one that became known earlier: paths listed by the file, then
//    paths of stacks, then owners of tensors.
// 4. After finish(), modules()[0] is the root, and modules() is the tree in preorder: a parent stands before
//    its children.
// 5. A module with `alias_of` has no children, and modules below a shared module have only the path below its
//    first name.  `is_assumed` tells that the sharing is assumed.
// 6. With strict=True, a module that forward took from elsewhere than its registered name has an expression
//    as its path: "G['CACHE'].blocks[0]", "plain[0]".  Its name is that of the module that owns what it uses.
// 7. After finish(), Call::module is the module under its first path, by whatever name it was called.
//
// Example: the model has self.enc = Block(), self.dec = self.enc, and forward calls both names.  With
// strict=False two nodes have the stacks
//
//   "L__self__,,Net;L__self__enc,enc,Block"
//   "L__self__,,Net;L__self__dec,dec,Block"
//
// call_of() returns call 1 for the first and call 2 for the second, both with the root's call as parent.  In
// finish(), enc.w and dec.w have the same tensor number, the types are equal, and the two calls may be of one
// module.  So modules() is "" (0), "enc" (1) and "dec" (2, an alias of 1, assumed), and `module` of both
// calls is 1.  With strict=True the stacks have the items "11,enc,Block" and "11,dec,Block", so the sharing
// is known.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/program_view.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

class Hierarchy {
 public:
  struct Call {
    ModuleId module;  // the module under its first path; set by finish()
    CallId parent = kRootCall;
    std::uint32_t depth = 0;  // 0 for the root's call
    std::string number;       // distinguishes calls with the same path: "", "1", "2"
    std::string path;         // as written in the program; the name of a module that an expression reached
  };

  Hierarchy();

  // Declares a path that the program lists, in registration order.  Called before finish(), as call_of() is.
  void declare(std::string_view path);
  // Returns the innermost call of a stack "key,path,type;key,path,type"; nothing when no module runs.  Throws
  // Error(kInput) for a malformed stack.
  std::optional<CallId> call_of(std::string_view stack);

  // A parameter, buffer or other tensor.
  struct NamedTensor {
    std::string name;        // qualified
    std::size_t tensor = 0;  // a number that tied names share
    bool is_empty = false;   // has no elements, and so no storage to share
  };

  // Tells that an operation of the call uses a parameter or buffer.  Called before finish().
  void note_use(CallId call, std::string_view tensor);

  // Tells whether two calls of modules with the same tensors may be calls of one module.
  using MayBeOneModule = std::function<bool(CallId, CallId)>;

  // Builds the tree, after the whole program is read.  Throws Error(kInput) for paths beyond the limits of a
  // model in a file of that many bytes.
  void finish(const std::vector<NamedTensor>& tensors, const MayBeOneModule& may_be_one,
              std::uint64_t file_size = UINT64_MAX);

  const std::vector<Call>& calls() const { return calls_; }
  std::vector<ModuleInfo>& modules() { return modules_; }
  const std::vector<ModuleInfo>& modules() const { return modules_; }
  // Returns whether the program was exported with strict=True, where a module's key is a number.
  bool is_strict() const;
  // Returns the module that has this path as its first or a later one.
  std::optional<ModuleId> find_module(std::string_view path) const;
  // Returns the qualified name with later names of shared modules replaced by their first names.
  std::string first_name(std::string_view name) const;

  // Returns the innermost call that contains both.
  CallId common_call(CallId a, CallId b) const;
  // Returns whether the operation is run by the forward of a call around `call`, not by `call` itself.
  bool is_run_by_caller_of(const ProgramNode& operation, CallId call) const;

 private:
  struct Entry {
    std::string_view key;  // the module's key, without the number of the call
    std::string_view number;
    std::string path;
    std::string_view type;
  };
  static Entry parse(std::string_view item);
  // Returns the innermost call of a stack that continues, after items with the innermost call `outer`, with
  // `item`.
  std::optional<CallId> enter(std::optional<CallId> outer, std::string_view item);
  CallId add_call(CallId parent, const Entry& entry);
  std::size_t insert(std::string_view path);
  void find_shared_modules(const std::vector<NamedTensor>& tensors);
  void find_equal_modules(const std::vector<NamedTensor>& tensors, const MayBeOneModule& may_be_one);
  void find_uncalled_names(const std::vector<NamedTensor>& tensors);
  void find_names_of_expressions(const std::vector<NamedTensor>& tensors);

  std::vector<Call> calls_;
  std::unordered_map<std::string, CallId> known_calls_;  // parent and entry, as text
  // An item of the last stack that call_of() was given.
  struct StackItem {
    std::size_t end = 0;         // position in the stack
    std::optional<CallId> call;  // the innermost call of this item and those before it
  };
  std::string last_stack_;
  std::vector<StackItem> last_items_;

  std::vector<std::string> paths_;  // each once, in the order in which they became known
  std::unordered_map<std::string, std::size_t> path_index_;
  std::vector<std::string> types_;                                 // by path
  std::vector<bool> called_;                                       // by path
  std::unordered_map<std::string, std::set<std::size_t>> by_key_;  // the paths of a module, by its key
  std::unordered_map<std::string, std::string> shared_;            // the first path, by later path
  std::unordered_set<std::string> assumed_;  // paths whose sharing is assumed, not known
  std::unordered_set<std::string> declared_;
  std::set<std::pair<std::string, std::string>> uses_;  // paths of calls, and owners of tensors that they use
  std::unordered_set<std::string> expressions_;  // paths by which Python reached modules that have names

  std::vector<ModuleInfo> modules_;
  std::unordered_map<std::string, ModuleId> by_path_;
};

}  // namespace fxtrace::internal
