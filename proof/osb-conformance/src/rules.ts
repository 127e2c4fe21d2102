/** Reads the rules that are checked from rules.json: by section of the OSB 2.17 specification, in the order of the report. */
import sections from "./rules.json" with { type: "json" };

/** A rule of the specification. `SHOULD` stands for RECOMMENDED, too. */
export interface Rule {
  readonly section: string;
  readonly level: "MUST" | "SHOULD";
  /** The behaviour of a broker that keeps the rule. */
  readonly text: string;
}

type Sections = typeof sections;
/** Name of a rule. */
export type RuleId = { [Section in keyof Sections]: keyof Sections[Section] }[keyof Sections];

function isRuleId(id: string): id is RuleId {
  return Object.values(sections).some((texts) => Object.hasOwn(texts, id));
}

/** All rules in the order of the report. */
export const rules: readonly (Rule & { readonly id: RuleId })[] = Object.entries(sections).flatMap(
  ([section, own]) =>
    Object.entries(own).flatMap(([id, { level, text }]) => {
      if (!isRuleId(id)) return [];
      return [{ id, section, level: level === "SHOULD" ? ("SHOULD" as const) : ("MUST" as const), text }];
    }),
);

/** The names of all rules. */
export const ruleIds: readonly RuleId[] = rules.map(({ id }) => id);
