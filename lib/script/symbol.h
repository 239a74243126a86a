// Names of operators, node kinds and attributes as small numbers.  One table for the process: a name stays
// once it was seen, so it grows with the names in the files that are read and no further.
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace::script {

// The names that the program itself knows.
#define FXTRACE_SCRIPT_SYMBOLS(row)                                                                                                                         \
  row(kNone, "") row(kPrimAwaitable, "prim::awaitable") row(kPrimBlock, "prim::Block") row(                                                                 \
      kPrimBreak, "prim::BreakStmt") row(kPrimCallFunction,                                                                                                 \
                                         "prim::CallFunction") row(kPrimCallMethod,                                                                         \
                                                                   "prim::CallMethod") row(kPrimClosure,                                                    \
                                                                                           "prim::Closure")                                                 \
      row(kPrimConstant, "prim::Constant") row(kPrimContinue, "prim::ContinueStmt") row(                                                                    \
          kPrimCreateObject,                                                                                                                                \
          "prim::CreateObject") row(kPrimDictConstruct,                                                                                                     \
                                    "prim::DictConstruct") row(kPrimEmptyListLiteral,                                                                       \
                                                               "prim::EmptyListLiteral") row(kPrimEnter,                                                    \
                                                                                             "prim::Enter") row(kPrimExit,                                  \
                                                                                                                "prim::Exit")                               \
          row(kPrimFork, "prim::fork") row(kPrimGetAttr, "prim::GetAttr") row(kPrimIf, "prim::If") row(kPrimIsinstance, "prim::isinstance") row(            \
              kPrimListConstruct,                                                                                                                           \
              "prim::ListConstruct") row(kPrimListUnpack,                                                                                                   \
                                         "prim::ListUnpack") row(kPrimLoad, "prim::Load") row(kPrimLoop,                                                    \
                                                                                              "prim::Loop")                                                 \
              row(kPrimLoopCondition, "prim::LoopCondition") row(kPrimMin, "prim::min") row(kPrimMax, "prim::max") row(                                     \
                  kPrimModuleContainerIndex,                                                                                                                \
                  "prim::ModuleContainerIndex") row(kPrimParam,                                                                                             \
                                                    "prim::Param") row(kPrimPrint,                                                                          \
                                                                       "prim::Print") row(kPrimRaiseException, "prim::RaiseException")                      \
                  row(kPrimReturn, "prim::Return") row(kPrimReturnStatement, "prim::ReturnStmt") row(kPrimSetAttr, "prim::SetAttr") row(                    \
                      kPrimStore,                                                                                                                           \
                      "prim::Store") row(kPrimTupleConstruct,                                                                                               \
                                         "prim::TupleConstruct") row(kPrimTupleIndex,                                                                       \
                                                                     "prim::TupleIndex") row(kPrimTupleSlice,                                               \
                                                                                             "prim::TupleSlice")                                            \
                      row(kPrimTupleUnpack, "prim::TupleUnpack") row(kPrimUncheckedCast, "prim::unchecked_cast") row(                                       \
                          kPrimUncheckedUnwrapOptional,                                                                                                     \
                          "prim::unchecked_unwrap_optional") row(kPrimUninitialized,                                                                        \
                                                                 "prim::Uninitialized") row(kPrimUnwrapOptional,                                            \
                                                                                            "aten::_unwrap_optional")                                       \
                          row(kPrimData, "prim::data") row(kPrimDevice, "prim::device") row(kPrimDtype, "prim::dtype") row(                                 \
                              kPrimEnumName,                                                                                                                \
                              "prim::EnumName") row(kPrimEnumValue,                                                                                         \
                                                    "prim::EnumValue") row(kPrimLayout, "prim::layout") row(kPrimNumToTensor, "prim::NumToTensor")          \
                              row(kPrimRequiresGrad, "prim::requires_grad") row(kPrimShape, "prim::shape") row(                                             \
                                  kPrimType,                                                                                                                \
                                  "prim::type") row(kPrimTolist,                                                                                            \
                                                    "prim::tolist") row(kPrimRpcAsync,                                                                      \
                                                                        "prim::rpc_async") row(kPrimAwaitableWait,                                          \
                                                                                               "prim::awaitable_wait") row(kPrimAwaitableNowait,            \
                                                                                                                           "prim::awaitable_nowait")        \
                                  row(kPrimIsNested, "prim::is_nested") row(kPrimRangelist, "prim::rangelist") row(                                         \
                                      kPrimUnchecked,                                                                                                       \
                                      "prim::unchecked") row(kPrimTypes,                                                                                    \
                                                             "prim::types") row(kAtenAdd, "aten::add")                                                      \
                                      row(kAtenAddInPlace, "aten::add_") row(kAtenAnd, "aten::__and__") row(                                                \
                                          kAtenAppend, "aten::append") row(kAtenBool,                                                                       \
                                                                           "aten::Bool") row(kAtenComplex,                                                  \
                                                                                             "aten::Complex")                                               \
                                          row(kAtenComplexImplicit, "aten::ComplexImplicit") row(                                                           \
                                              kAtenContains,                                                                                                \
                                              "aten::__contains__") row(kAtenCopy,                                                                          \
                                                                        "aten::copy_") row(kAtenDelitem,                                                    \
                                                                                           "aten::Delete")                                                  \
                                              row(kAtenDevice, "aten::device") row(kAtenDict, "aten::dict") row(                                            \
                                                  kAtenDiv,                                                                                                 \
                                                  "aten::div") row(kAtenEq, "aten::eq") row(kAtenFloat,                                                     \
                                                                                            "aten::Float") row(kAtenFloatImplicit,                          \
                                                                                                               "aten::FloatImplicit") row(kAtenFloordiv,    \
                                                                                                                                          "aten::floordiv") \
                                                  row(kAtenFormat, "aten::format") row(kAtenGe, "aten::ge") row(                                            \
                                                      kAtenGetitem,                                                                                         \
                                                      "aten::__getitem__") row(kAtenGt, "aten::gt") row(kAtenIndex,                                         \
                                                                                                        "aten::index")                                      \
                                                      row(kAtenIndexPut, "aten::index_put_") row(kAtenInt, "aten::Int") row(                                \
                                                          kAtenIntImplicit,                                                                                 \
                                                          "aten::IntImplicit") row(kAtenIs, "aten::__is__") row(kAtenIsnot,                                 \
                                                                                                                "aten::__isnot__")                          \
                                                          row(kAtenKeys, "aten::keys") row(kAtenLe, "aten::le") row(                                        \
                                                              kAtenLen,                                                                                     \
                                                              "aten::len") row(kAtenList,                                                                   \
                                                                               "aten::list") row(kAtenLshift,                                               \
                                                                                                 "aten::__lshift__")                                        \
                                                              row(kAtenLt, "aten::lt") row(kAtenMatmul, "aten::matmul") row(                                \
                                                                  kAtenMul, "aten::mul") row(kAtenNe,                                                       \
                                                                                             "aten::ne") row(kAtenNeg,                                      \
                                                                                                             "aten::neg")                                   \
                                                                  row(kAtenBitwiseNot, "aten::bitwise_not") row(                                            \
                                                                      kAtenNot,                                                                             \
                                                                      "aten::__not__") row(kAtenOr, "aten::__or__")                                         \
                                                                      row(kAtenPercentFormat, "aten::percentFormat") row(                                   \
                                                                          kAtenPow,                                                                         \
                                                                          "aten::pow") row(kAtenRangeLength,                                                \
                                                                                           "aten::__range_length") row(kAtenDeriveIndex,                    \
                                                                                                                       "aten::__derive_index")              \
                                                                          row(kAtenRemainder, "aten::remainder") row(                                       \
                                                                              kAtenRshift,                                                                  \
                                                                              "aten::__rshift__") row(kAtenScalarImplicit, "aten::ScalarImplicit")          \
                                                                              row(kAtenSelect, "aten::select") row(                                         \
                                                                                  kAtenSetItem,                                                             \
                                                                                  "aten::_set_item") row(kAtenSlice,                                        \
                                                                                                         "aten::slice")                                     \
                                                                                  row(kAtenStr, "aten::str") row(                                           \
                                                                                      kAtenSub,                                                             \
                                                                                      "aten::sub") row(kAtenTensor, "aten::tensor")                         \
                                                                                      row(kAtenTo, "aten::to") row(                                         \
                                                                                          kAtenUnsqueeze,                                                   \
                                                                                          "aten::unsqueeze") row(kAtenValues,                               \
                                                                                                                 "aten::values")                            \
                                                                                          row(kAtenWait, "aten::wait") row(                                 \
                                                                                              kAtenWarn,                                                    \
                                                                                              "aten::warn") row(kAtenXor, "aten::__xor__")                  \
                                                                                              row(kAttrName, "name") row(                                   \
                                                                                                  kAttrValue,                                               \
                                                                                                  "value") row(kAttrTypes,                                  \
                                                                                                               "types")                                     \
                                                                                                  row(kAttrSubgraph,                                        \
                                                                                                      "Subgraph")                                           \
                                                                                                      row(kAttrBegin,                                       \
                                                                                                          "beg")                                            \
                                                                                                          row(kAttrEnd,                                     \
                                                                                                              "end")                                        \
                                                                                                              row(kAttrWarnId,                              \
                                                                                                                  "warn_id")

enum class Symbol : std::uint32_t {
#define FXTRACE_ROW(name, text) name,
  FXTRACE_SCRIPT_SYMBOLS(FXTRACE_ROW)
#undef FXTRACE_ROW
      kCountOfKnown
};

Symbol intern(std::string_view name);
std::string_view to_text(Symbol symbol);  // lives as long as the process
// "prim" of "prim::If"; empty when there is none.
std::string_view space_of(Symbol symbol);

}  // namespace fxtrace::script
