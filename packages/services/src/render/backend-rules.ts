/** Rules of all ways in which a service's instances are made. Each is in force for the claims that choose its Composition. */
import type { Rule } from "@klutch/schema";
import type { DataService, Making } from "../data-service.ts";
import { chosenName, type Generation, hasChoice } from "../generation.ts";
import { offered, toldRule } from "../plan-rules.ts";
import { telling } from "../rule-text.ts";

/**
 * The rules for a claim's spec. One that all have stands once; a claim that names no Composition, or a strange one, has the default's,
 * unless the service lets Compositions of others make it.
 */
export function rulesOfAll(generation: Generation, service: DataService): readonly Rule[] {
  const makings = [service, ...service.others].map((making) => ({
    making,
    rules: ownRules(service, making),
  }));
  const isCommon = ({ rule }: Rule): boolean =>
    makings.every(({ rules }) => rules.some((other) => other.rule === rule));
  return makings.flatMap(({ making, rules }, index) =>
    rules
      .filter((rule) => index === 0 || !isCommon(rule))
      .map((rule) => {
        const own = isCommon(rule) ? rule : onlyFor(generation, service, making, rule);
        return exceptOthers(generation, service, own);
      }),
  );
}

/** The rule as it stands in the definition of a service that lets claims name Compositions of others. */
export function exceptOthers(generation: Generation, service: DataService, rule: Rule): Rule {
  if (!service.otherCompositions) return rule;
  const own = [service, ...service.others].map(({ composition }) => `"${composition}"`).join(", ");
  const isOther = `${hasChoice(generation, "compositionRef")} && !(${chosenName(generation)} in [${own}])`;
  return { ...rule, rule: `(${isOther}) || (${rule.rule})` };
}

/** The rule as it stands in the definition, where it is not one that all have. */
export function onlyFor(
  generation: Generation,
  service: DataService,
  { composition }: Making,
  rule: Rule,
): Rule {
  if (service.others.length === 0) return rule;
  const isDefault = composition === service.composition;
  const names = isDefault ? service.others.map((other) => other.composition) : [composition];
  const chosen = names
    .map((name) => `${hasChoice(generation, "compositionRef")} && ${chosenName(generation)} == '${name}'`)
    .join(" || ");
  return { ...rule, rule: `${isDefault ? `(${chosen})` : `!(${chosen})`} || (${rule.rule})` };
}

function ownRules(service: DataService, making: Making): readonly Rule[] {
  const where = making === service ? "" : ` with ${making.composition}`;
  return [
    ...offered(service.type, making, where),
    ...making.rules.map(toldRule),
    ...making.refused.map((path) => refused(path, making)),
  ];
}

function refused(path: string, { composition }: Making): Rule {
  const [first = "", second] = path.split(".");
  const isThere = second === undefined ? `!has(self.${first})` : `!has(self.${first}) || !has(self.${path})`;
  const message = `${path} is not supported for ${composition}`;
  return telling({ rule: isThere, message, fieldPath: `.${path}` }, `remove spec.${path}`);
}
