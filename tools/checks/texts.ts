/** Checks what a text may contain: names of machines and registries, citations, and the manifests of the workspaces. */
import { dirname, join } from "node:path";
import { textAt } from "@klutch/kube-core";
import type { Check, Finders } from "./check.ts";
import type { SourceFile } from "./tree.ts";

/** Patterns that no line of these files may have. */
type LineRule = Readonly<{ in: RegExp; patterns: readonly RegExp[] }>;

/** Texts that no tool has written. */
const written = /^(?!.*(?:\.png|\.sum|package-lock\.json)$)/;

/** The patterns are written so that they do not match themselves. */
export const lineRules: Readonly<Record<"hosts" | "registries" | "citations", LineRule>> = {
  hosts: {
    in: written,
    patterns: [
      /registry\.npmjs\.org|proxy\.golang\.org|deb\.debian\.org|repo1\.maven\.org|pypi\.org/,
      /\/(?:work[/]main|root[/]go|tmp[/]eng)/,
    ],
  },
  registries: {
    in: written,
    patterns: [
      /(?:public\.ecr\.aws|docker\.io|ghcr\.io|quay\.io|gcr\.io|registry\.k8s\.io|mcr\.microsoft\.com)\//,
      /xpkg\.(?:crossplane|upbound)\.io\//,
    ],
  },
  citations: {
    in: /^(?!.*\/gen\/).*\.(?:ts|mjs|md|txt|yaml)$/,
    patterns: [
      // Documents that lie elsewhere.
      /\b(?:DESIG[N]|STYL[E]|HOUS[E])\b/,
      // Sections, but not those of public standards.
      /^(?!.*(?:RFC|KEP|OSB|OpenID|OAuth|Unicode)).*\u{a7}/u,
      // Numbers of defects, issues and findings.
      /\bdefec[t]s? \d/i,
      /\b(?:later|this|next) issu[e]\b|\bissu[e] #?\d/,
      /["'`(][SB]\d{1,2}(?:(?:, | and )[SB]\d{1,2})*[):]/,
      /See the module commen[t]/,
    ],
  },
};

export const textChecks: Finders = {
  hosts: against(lineRules.hosts),
  registries: against(lineRules.registries),
  citations: against(lineRules.citations),
  pages: ({ files, paths }) =>
    missingPages(
      files((path) => lineRules.citations.in.test(path) && !path.endsWith(".test.ts")),
      paths,
    ),
  manifests: ({ files }) =>
    incompleteManifests(
      files((path) => /^(packages\/[^/]+|services|apps\/[^/]+)\/package\.json$/.test(path)),
    ),
};

/** Returns what finds the lines that break a rule. */
function against(rule: LineRule): Check["find"] {
  return ({ files }) =>
    linesAgainst(
      rule,
      files((path) => rule.in.test(path)),
    );
}

/** Lists the lines that break the rule. */
export function linesAgainst(
  { patterns }: Pick<LineRule, "patterns">,
  files: readonly SourceFile[],
): readonly string[] {
  const isBroken = (line: string): boolean => patterns.some((pattern) => pattern.test(line));
  return files.flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, index) => (isBroken(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  );
}

/** Lists the pages that are named and are not in `paths`, neither from the root nor from where they are named. */
export function missingPages(files: readonly SourceFile[], paths: ReadonlySet<string>): readonly string[] {
  const exists = (name: string, folder: string): boolean => {
    if (/^designs\/\d{4}$/.test(name)) return [...paths].some((path) => path.startsWith(`${name}-`));
    // Texts printed by this folder are written there.
    const places = folder === "tools/generate" ? ["docs", "docs/reference"] : [];
    // A reader will choose another name than the example's.
    const isExample = /(^|\/)example\.md$/.test(name);
    return isExample || [".", folder, ...places].some((base) => paths.has(join(base, name)));
  };
  const missing = files.flatMap(({ path, text }) =>
    [...text.matchAll(/(?<![\w./*:{}<>-])((?:[\w-]+\/)*[\w-]+\.md|designs\/\d{4})\b/g)]
      .filter(([name]) => !exists(name, dirname(path)))
      .map(([name]) => `${path}: ${name}`),
  );
  return [...new Set(missing)];
}

const manifestFields = { version: /^0\.1\.0$/, license: /^Apache-2\.0$/, description: /./ };

/** Lists the fields that manifests lack or that have another value than the repository's. */
export function incompleteManifests(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, text }) => {
    const manifest: unknown = JSON.parse(text);
    const wrong = Object.entries(manifestFields).filter(
      ([field, wanted]) => !wanted.test(textAt(manifest, field) ?? ""),
    );
    return wrong.map(([field]) => `${path}: ${field}`);
  });
}
