/** Rules in CEL for what plans have in common and what not. */
import type { OfferedPlan } from "./offered-service.ts";

/** A rule of a table's backend. */
export interface CelRule {
  readonly cel?: { readonly expression: string };
  readonly immutable?: { readonly field: string };
  readonly message: string;
}

interface Named {
  readonly name: string;
}

const isSet = ({ name }: Named, of = "self"): string =>
  `has(${of}.parameters) && has(${of}.parameters.${name})`;

function isPlan(plans: readonly string[], of = "self"): string {
  return `${of}.plan in [${plans.map((plan) => `"${plan}"`).join(", ")}]`;
}

/** The expression, for some of all plans only. */
function forPlans(
  some: readonly string[],
  all: readonly OfferedPlan[],
  expression: string,
  of?: string,
): string {
  return some.length === all.length ? expression : `!(${isPlan(some, of)}) || (${expression})`;
}

/** Keeps the plan of instances whose plan the broker cannot change. */
export function changeRule(plans: readonly OfferedPlan[]): readonly CelRule[] {
  const fixed = plans.filter(({ updateable }) => !updateable).map(({ name }) => name);
  if (fixed.length === 0) return [];
  const message = "The broker cannot change the plan of an instance";
  if (fixed.length === plans.length) return [{ immutable: { field: "plan" }, message }];
  const expression = `self.plan == oldSelf.plan || !(${isPlan(fixed, "oldSelf")})`;
  return [{ cel: { expression }, message: `${message} with this plan` }];
}

/** Demands a parameter. */
export function requiredRule(
  parameter: Named,
  plans: readonly string[],
  all: readonly OfferedPlan[],
): readonly CelRule[] {
  if (plans.length === 0) return [];
  const expression = forPlans(plans, all, isSet(parameter));
  return [{ cel: { expression }, message: `parameters.${parameter.name} is required` }];
}

/** Refuses a parameter with plans that do not have it. */
export function onlyFor(
  parameter: Named,
  refusing: readonly string[],
  all: readonly OfferedPlan[],
): readonly CelRule[] {
  if (refusing.length === 0) return [];
  const expression = forPlans(refusing, all, `!(${isSet(parameter)})`);
  return [{ cel: { expression }, message: `parameters.${parameter.name} is not supported with this plan` }];
}

/** Keeps a parameter as it was created. */
export function unchangedRule(
  parameter: Named,
  refusing: readonly string[],
  all: readonly OfferedPlan[],
): readonly CelRule[] {
  if (refusing.length === 0) return [];
  const { name } = parameter;
  const [now, before] = [`(${isSet(parameter)})`, `(${isSet(parameter, "oldSelf")})`];
  const same = `self.parameters.${name} == oldSelf.parameters.${name}`;
  const expression = forPlans(refusing, all, `${now} == ${before} && (!${now} || ${same})`, "oldSelf");
  return [{ cel: { expression }, message: `parameters.${name} cannot be changed after creation` }];
}
