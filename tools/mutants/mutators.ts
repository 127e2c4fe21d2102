/** Finds every small change that could be made to a source text, and makes one. */
import { stripTypeScriptTypes } from "node:module";
import { parse } from "@babel/parser";

/** A change of one place of a text: the characters from `start` to `end` become `text`. */
export interface Mutation {
  readonly mutator: Mutator;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The kinds of changes. */
export type Mutator = "negate" | "compare" | "logic" | "default" | "drop" | "return" | "constant" | "text";

/** A syntax node as Babel returns it; its fields depend on its type. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const operators: Readonly<Record<string, readonly [mutator: Mutator, other: string]>> = {
  "===": ["compare", "!=="],
  "!==": ["compare", "==="],
  "<": ["compare", "<="],
  "<=": ["compare", "<"],
  ">": ["compare", ">="],
  ">=": ["compare", ">"],
  "&&": ["logic", "||"],
  "||": ["logic", "&&"],
};

/** Names of constants and fields whose texts other programs read. */
const readByOthers = /reason|annotation|label|finalizer/i;

/** Returns every mutation of a TypeScript text in the order of the text, at most one of a mutator at each place. */
export function mutationsOf(source: string): readonly Mutation[] {
  const file: unknown = parse(source, { sourceType: "module", plugins: ["typescript"] }).program;
  const found = new Map<string, Mutation>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each);
    if (!isNode(value) || /^(?:Import|Export(?:All|Named)Declaration$)/.test(value.type)) {
      if (isNode(value)) visit(value["declaration"]);
      return;
    }
    for (const mutation of mutationsAt(value, source)) {
      const key = `${mutation.start} ${mutation.mutator}`;
      if (!found.has(key)) found.set(key, mutation);
    }
    for (const field of fieldsOf(value)) visit(value[field]);
  };
  visit(file);
  return [...found.values()].toSorted((left, right) => left.start - right.start);
}

/** Returns the text with the mutation made; undefined when the result is no longer TypeScript. */
export function mutate(source: string, { start, end, text }: Mutation): string | undefined {
  const mutated = source.slice(0, start) + text + source.slice(end);
  try {
    return stripTypeScriptTypes(mutated) === stripTypeScriptTypes(source) ? undefined : mutated;
  } catch {
    return undefined;
  }
}

/** Types have no behaviour, so of a node such as `value as Type` only the value counts; a key is no constant. */
function fieldsOf(node: Node): readonly string[] {
  if (node.type.startsWith("TS")) return ["expression"];
  return Object.keys(node).filter((field) => field !== "key" || node["computed"] === true);
}

function mutationsAt(node: Node, source: string): readonly Mutation[] {
  switch (node.type) {
    case "IfStatement":
    case "ConditionalExpression":
    case "WhileStatement":
      return onNode("negate", node["test"], (test) => `!(${source.slice(test.start, test.end)})`);
    case "BinaryExpression":
    case "LogicalExpression":
      return operatorSwap(node, source);
    case "ExpressionStatement":
      return isDroppable(node, source) ? onNode("drop", node, () => ";") : [];
    case "BooleanLiteral":
      return onNode("constant", node, () => String(node["value"] !== true));
    case "NumericLiteral":
      return onNode("constant", node, () => otherNumber(Number(node["value"])));
    case "ObjectProperty":
      return textSwap(node["key"], node["value"]);
    case "VariableDeclarator":
      return textSwap(node["id"], node["init"]);
    default:
      return earlyReturn(node["body"], node.type);
  }
}

function onNode(mutator: Mutator, node: unknown, textOf: (node: Node) => string): readonly Mutation[] {
  return isNode(node) ? [{ mutator, start: node.start, end: node.end, text: textOf(node) }] : [];
}

function operatorSwap(node: Node, source: string): readonly Mutation[] {
  const { left, right, operator } = node;
  if (!isNode(left) || !isNode(right) || typeof operator !== "string") return [];
  const start = source.indexOf(operator, left.end);
  if (operator === "??") {
    // The operator stays, so that neither parentheses nor a line's end behind it change their meaning.
    return [{ mutator: "default", start: node.start, end: start + operator.length, text: "null ??" }];
  }
  const [mutator, text] = operators[operator] ?? [];
  return mutator === undefined ? [] : [{ mutator, start, end: start + operator.length, text: text ?? "" }];
}

/** A call or an assignment, except for a line of the log, which no test has to notice, and `super()`. */
function isDroppable({ expression, start, end }: Node, source: string): boolean {
  const called =
    isNode(expression) && expression.type === "AwaitExpression" ? expression["argument"] : expression;
  if (!isNode(called)) return false;
  if (called.type === "AssignmentExpression") return true;
  return (
    called.type === "CallExpression" && !/^super\(|\b(?:log|logger)\??\.\w+\(/i.test(source.slice(start, end))
  );
}

function otherNumber(value: number): string {
  return String(value < 10 ? value + 1 : value * 10);
}

function textSwap(name: unknown, value: unknown): readonly Mutation[] {
  if (!isNode(name) || !isNode(value) || value.type !== "StringLiteral" || value["value"] === "") return [];
  return readByOthers.test(String(name["name"] ?? name["value"])) ? onNode("text", value, () => '""') : [];
}

/** Leaves a function before its last statement. */
function earlyReturn(body: unknown, type: string): readonly Mutation[] {
  if (!/Function|Method/.test(type) || !isNode(body) || !Array.isArray(body["body"])) return [];
  const statements: readonly unknown[] = body["body"];
  const last = statements.at(-1);
  if (statements.length < 2 || !isNode(last)) return [];
  return [{ mutator: "return", start: last.start, end: last.start, text: "return; " }];
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}
