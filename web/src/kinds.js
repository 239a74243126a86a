// The kind of an item, for its colour, by words in the names of modules and operators.

import { Kind, Op, shortType } from "./data.js";

// The first rule that matches counts.
const rules = [
  ["linear", /^Conv1D$/], // GPT-2's: a matrix product
  ["convolution", /conv/i],
  ["attention", /attention|attn|scaled_dot/i],
  ["embedding", /embed/i],
  ["normalisation", /norm/i],
  ["recurrent", /lstm|gru|rnn/i],
  ["pooling", /pool|interpolate|upsample|grid_sample/i],
  ["linear", /linear|matmul|addmm|bmm|^mm$|einsum|^dot$|baddbmm/i],
  ["activation", /relu|gelu|silu|sigmoid|tanh|softmax|softplus|swish|mish|glu$|elu$|activation|dropout/i],
  [
    "shape",
    /view|reshape|permute|transpose|flatten|expand|squeeze|^cat$|concat|stack|split|chunk|slice|select|index|gather|roll|pad$|clone|contiguous|^to$|_to_|^t$|repeat|narrow|unbind|getitem|copy|identity|alias|detach|arange|zeros|ones|full|masked_fill|tril|triu|flip|scatter|where/i,
  ],
  [
    "arithmetic",
    /add|sub|mul|div|pow|sqrt|exp|log|sum|mean|neg|abs|max|min|clamp|sin|cos|var|std|^(lt|le|gt|ge|eq|ne)$|and|or$|not|cum|sort|topk|round|floor|ceil|erf|norm/i,
  ],
];

export const kinds = [
  "input",
  "convolution",
  "linear",
  "attention",
  "recurrent",
  "embedding",
  "normalisation",
  "activation",
  "pooling",
  "shape",
  "arithmetic",
  "control",
  "module",
  "other",
];

// A user's own words may mean anything in a module's name: T5Stack is not a stack.
const operatorsOnly = new Set(["shape", "arithmetic"]);

const known = new Map(); // cache, by words

function kindOfOperator(name) {
  let kind = known.get(name);
  if (!kind) known.set(name, (kind = rules.find(([, pattern]) => pattern.test(name))?.[0] ?? "other"));
  return kind;
}

function kindOfModule(type) {
  let kind = known.get("module " + type);
  if (!kind) {
    const isOfTorch = type.startsWith("torch.");
    const rule = rules.find(
      ([name, pattern]) => (isOfTorch || !operatorsOnly.has(name)) && pattern.test(shortType(type)),
    );
    known.set("module " + type, (kind = rule?.[0] ?? "module"));
  }
  return kind;
}

export function kindOf(data, i) {
  switch (data.kinds[i]) {
    case Kind.operator:
    case Kind.body:
      return "control";
    case Kind.repeats:
    case Kind.period:
    case Kind.part: {
      const like = data.like(i);
      if (like >= 0) return kindOf(data, like);
      return data.kinds[i] === Kind.repeats ? kindOf(data, data.firstMember(i)) : "module";
    }
    case Kind.graph:
    case Kind.module:
      return kindOfModule(data.text("type", i));
  }
  switch (data.ops[i]) {
    case Op.placeholder:
    case Op.output:
    case Op.getAttr:
      return "input";
    case Op.callModule:
      return kindOfModule(data.text("type", i));
  }
  const target = data.text("target", i);
  if (target.startsWith("higher_order")) return "control";
  return kindOfOperator(data.text("title", i));
}
