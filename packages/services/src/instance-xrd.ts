/** The XRD of a data service: the composite and claim of its instances. */
import { object, string } from "@klutch/schema";
import { readyReasonColumn, textColumn } from "./columns.ts";
import { keepsComposition } from "./composition-rules.ts";
import { type DataService, type Making, serviceIn } from "./data-service.ts";
import type { Generation } from "./generation.ts";
import { toldSchema } from "./parameter-text.ts";
import { regionStays } from "./region-field.ts";
import { rulesOfAll } from "./render/backend-rules.ts";
import { acceptsIncomplete, type CompositeResourceDefinition, immutable, xrd } from "./xrd.ts";

/** Returns the XRD of a service's instances. */
export function instanceXrd(generation: Generation, of: DataService): CompositeResourceDefinition {
  const service = serviceIn(generation, of);
  const { fields = {}, composition } = service;
  const ways = [service, ...service.others];
  const all = service.parameterSchemas.map(({ name, json }) => [name, { json: toldSchema(json) }] as const);
  return xrd(generation, {
    kind: service.kind,
    about: service.about,
    composition: of.composition,
    compositeDeletePolicy: "Foreground",
    columns: [
      ...(service.columns ?? []),
      textColumn("Service", ".spec.service"),
      textColumn("Plan", ".spec.plan"),
      readyReasonColumn,
    ],
    spec: object(
      {
        service: string({
          maxLength: 64,
          description: `The offering: ${listed(ways, ({ offerings }) => offerings)}. It cannot be changed.`,
          rules: [immutable("Service")],
        }),
        plan: string({
          maxLength: 64,
          description: `The plan: ${listed(ways, toldPlans)}.`,
        }),
      },
      {
        acceptsIncomplete,
        parameters: object({}, Object.fromEntries(all), { description: service.parametersAbout }),
        ...fields,
      },
      {
        description: `The ${service.title} instance that is wanted.`,
        rules: [
          ...rulesOfAll(generation, service),
          ...(service.takesRegion ? [regionStays] : []),
          keepsComposition(generation, composition),
        ],
      },
    ),
  });
}

/** The default's without a word. */
function listed(ways: readonly Making[], namesOf: (way: Making) => readonly string[]): string {
  const [first = "", ...others] = ways.map((way) => namesOf(way).join(", "));
  const more = others.map((list, index) => `; with ${ways[index + 1]?.composition ?? ""}: ${list}`);
  return `${first}${more.join("")}`;
}

function toldPlans({ plans, plansAbout }: Making): readonly string[] {
  return plans.map((plan) => (plansAbout[plan] ? `${plan} (${plansAbout[plan]})` : plan));
}
