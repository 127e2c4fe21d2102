/** The composites and claims of the shipped Configuration as XRDs: one for each data service, and those that all share. */
import { object, string } from "@klutch/schema";
import { readyReasonColumn, textColumn } from "./columns.ts";
import { keepsComposition } from "./composition-rules.ts";
import { compositionName, type DataService } from "./data-service.ts";
import { services } from "./list.ts";
import { toldSchema } from "./parameter-text.ts";
import { offered, toldRule } from "./plan-rules.ts";
import { telling } from "./rule-text.ts";
import { sharedXrds } from "./shared-xrds.ts";
import { acceptsIncomplete, type CompositeResourceDefinition, immutable, xrd } from "./xrd.ts";

/** Of a service's instances. */
export function instanceXrd(service: DataService): CompositeResourceDefinition {
  const { parameters, refusedParameters = [], fields = {} } = service;
  const refused = refusedParameters.map(({ name }) =>
    telling(
      {
        rule: `!has(self.parameters) || !has(self.parameters.${name})`,
        message: `parameters.${name} is not supported for ${compositionName(service)}`,
        fieldPath: `.parameters.${name}`,
      },
      "remove it",
    ),
  );
  const all = [...parameters, ...refusedParameters].map(
    ({ name, schema }) => [name, { json: toldSchema(schema.json) }] as const,
  );
  return xrd({
    kind: service.kind,
    about: service.about,
    composition: compositionName(service),
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
          description: `The offering: ${service.offerings.join(", ")}. It cannot be changed.`,
          rules: [immutable("Service")],
        }),
        plan: string({
          maxLength: 64,
          description: `The plan: ${service.plans.map((plan) => toldPlan(service, plan)).join(", ")}.`,
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
          ...offered(service.type, service),
          ...service.rules.map(toldRule),
          ...refused,
          keepsComposition(compositionName(service)),
        ],
      },
    ),
  });
}

function toldPlan({ plansAbout }: DataService, plan: string): string {
  return plansAbout[plan] ? `${plan} (${plansAbout[plan]})` : plan;
}

/** All of them. */
export const xrds: readonly CompositeResourceDefinition[] = [...services.map(instanceXrd), ...sharedXrds];
