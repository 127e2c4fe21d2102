/** Finds the types and reasons of conditions and the reasons of events where programs make them, and in pages that explain them. */
import { codeWords, tableRows } from "../generate/page.ts";
import type { SourceFile } from "./tree.ts";

/** A word in quotes, or the constant that holds it. */
const word = String.raw`("\w+"|[a-z]\w*)`;
/** Code around words of conditions and events. */
const patterns: readonly RegExp[] = [
  new RegExp(String.raw`\bfalseCondition\(\s*${word},\s*${word}`, "g"),
  new RegExp(String.raw`\balarmCondition\(\s*${word},\s*${word}`, "g"),
  new RegExp(String.raw`\btrueCondition\(\s*${word}`, "g"),
  new RegExp(String.raw`\b(?:notReady|notHealthy|refuse)\(\s*("[A-Z]\w+")`, "g"),
  /\.(?:record|recordRoutine|recordWarning)\(\s*[^"]*?,\s*(?:"(?:Normal|Warning)",\s*)?("(?!Normal|Warning)[A-Z]\w+")/g,
  /\.recordWarning\([^",]*,\s*([a-z]\w*),/g,
  new RegExp(String.raw`\[\s*"(?:Normal|Warning|True|False|Unknown)",\s*("\w+")`, "g"),
  new RegExp(String.raw`\breport\.run\(\s*${word},\s*("\w+")`, "g"),
  new RegExp(String.raw`\bnotice\([^"]*,\s*("\w+")\)`, "g"),
];
/** Code around the fields of a condition, in parts that make conditions only. */
const fieldPatterns: readonly RegExp[] = [
  new RegExp(String.raw`\btype(?:: ${word})?,\s*status\b`, "g"),
  /\b\w*[rR]eason(?::| =| \?\?) ("[A-Z]\w+")/g,
  /\bconst type = ("[A-Z]\w+")/g,
];
/** Statements of which every word in quotes is a reason. */
const statements: readonly RegExp[] = [
  /\btype (?:\w*Reason|Progress) =[^;]*;/g,
  /\bconst (?:\w*R|r)eason =[^;]*;/g,
  /\bconst \w+Reasons =[^;]*;/g,
];

/** Files in which a field `reason` is one of a condition. */
const makingConditions =
  /^(?:apps\/(?:konnector|backend|provider-anynines|function-klutch)|sandbox\/a8s-operator|packages\/(?:crossplane|sync))\//;

/** Types and reasons, each once, in order. */
export function reasonsIn(files: readonly SourceFile[]): readonly string[] {
  return [...new Set(files.flatMap((file) => wordsOf(file)))].toSorted();
}

function wordsOf({ path, text }: SourceFile): readonly string[] {
  const fields = makingConditions.test(path);
  const around = [...patterns, ...(fields ? fieldPatterns : [])].flatMap((pattern) =>
    [...text.matchAll(pattern)].flatMap((match) =>
      match.slice(1).flatMap((found) => valueOf(found, text) ?? []),
    ),
  );
  const stated = fields ? statements.flatMap((pattern) => text.match(pattern) ?? []) : [];
  const within = stated.flatMap((statement) =>
    [...statement.matchAll(/"(?!True"|False")([A-Z]\w+)"/g)].map(([, found = ""]) => found),
  );
  return [...around, ...within];
}

/** A word in quotes is itself; a name is what a constant of the file holds, or nothing. */
function valueOf(found: string | undefined, text: string): string | undefined {
  if (found === undefined || found.startsWith('"')) return found?.slice(1, -1);
  return new RegExp(String.raw`\bconst ${found}(?:: string)? = "([A-Z]\w+)";`).exec(text)?.[1];
}

/** Words in code of the first cell of each row of a page's tables: what the row explains. */
export function explainedIn(page: string): ReadonlySet<string> {
  const words = tableRows(page).flatMap(([first = ""]) => codeWords(first));
  return new Set(words.filter((found) => /^\w+$/.test(found)));
}
