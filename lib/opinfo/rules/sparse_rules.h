// Shape rules for calls with a sparse tensor, for the rows of operators that also take dense ones.
#pragma once

#include "opinfo/rules/shape_rules.h"

namespace fxtrace::internal::sparse {

Results addmm(const RuleArguments& args);
Results converted(const RuleArguments& args);
Results indices(const RuleArguments& args);
Results matmul(const RuleArguments& args);
Results matrix_transpose(const RuleArguments& args);
Results scaled(const RuleArguments& args);
Results smm(const RuleArguments& args);
Results sparse_mm(const RuleArguments& args);
Results sum(const RuleArguments& args);
Results sum_of_two(const RuleArguments& args);
Results to_dense(const RuleArguments& args);
Results to_sparse(const RuleArguments& args);
Results transpose(const RuleArguments& args);
Results values(const RuleArguments& args);

}  // namespace fxtrace::internal::sparse
