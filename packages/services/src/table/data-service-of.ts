/** Converts a table to the form that is printed and composed. */
import type { DataService, Making } from "../data-service.ts";
import { rulesOf } from "../render/rules.ts";
import { monthlyMoney, monthText } from "../prices/monthly-price.ts";
import { regionField } from "../region-field.ts";
import type { Backend, Plan, ServiceTable, Target } from "./service-table.ts";

/** The service that a table describes. */
export function dataServiceOf(table: ServiceTable): DataService {
  const backend = defaultBackend(table);
  const own = makingOf(table, backend);
  const names = own.parameters.map(({ name }) => name);
  return {
    ...own,
    type: table.type,
    title: table.title,
    about: table.about,
    kind: table.kind,
    parametersAbout: table.parametersAbout,
    // The default's parameters come first; those of other backends stand behind them.
    parameterSchemas: [
      ...table.parameters.filter(({ name }) => names.includes(name)),
      ...table.parameters.filter(({ name }) => !names.includes(name)),
    ].map(({ name, schema: json }) => ({ name, json })),
    takesRegion: takesRegion(table),
    fields: {
      ...(takesRegion(table) ? { region: regionField } : {}),
      ...Object.fromEntries(table.fields.map(({ name, schema }) => [name, { json: schema }])),
    },
    otherCompositions: table.otherCompositions,
    hasBackups: table.backups,
    others: table.backends.filter((one) => one !== backend).map((one) => makingOf(table, one)),
    ...(table.columns.length === 0
      ? {}
      : {
          columns: table.columns.map(({ name, type, path: jsonPath, wide }) => ({
            name,
            type,
            jsonPath,
            ...(wide === true ? { priority: 1 } : {}),
          })),
        }),
    credentialKeys: table.credentials.keys,
    connection: table.credentials.connection ?? [],
    examples: table.examples,
  };
}

/** A table's own field of this name is another thing; objects in the cluster have no broker. */
function takesRegion({ backends, fields }: ServiceTable): boolean {
  return backends.some(({ broker }) => broker !== undefined) && !fields.some(({ name }) => name === "region");
}

/** A backend of a table as what claims see of it. */
export function makingOf(table: ServiceTable, backend: Backend): Making {
  const { name, services, plans, takes, object } = backend;
  const targetAt = (to: Readonly<Record<string, Target>>): Target | undefined => to[name];
  const refusedFields = table.fields.filter(({ backends }) => backends?.includes(name) === false);
  return {
    backend: name,
    composition: `${name}-${table.type}`,
    offerings: services,
    plans: plans.filter(({ retired }) => retired !== true).map((plan) => plan.name),
    retiredPlans: plans.filter(({ retired }) => retired === true).map((plan) => plan.name),
    plansAbout: Object.fromEntries(plans.map((plan) => [plan.name, aboutOf(plan)])),
    prices: Object.fromEntries(
      plans.flatMap((plan) => (plan.price === undefined ? [] : [[plan.name, plan.price]])),
    ),
    rules: rulesOf(table, backend),
    parameters: table.parameters.flatMap(({ name: parameter, to }) => {
      const target = targetAt(to);
      return target === undefined ? [] : [{ name: parameter, brokerKey: target.key, as: target.as }];
    }),
    refused: [
      ...(takesRegion(table) && backend.broker === undefined ? ["region"] : []),
      ...refusedFields.map((field) => field.name),
      ...table.parameters
        .filter(({ to }) => targetAt(to) === undefined)
        .map((parameter) => `parameters.${parameter.name}`),
    ],
    takes,
    object,
  };
}

/** Purpose and price, as far as the table tells them. */
function aboutOf({ about, price }: Plan): string {
  return [about, price === undefined ? undefined : monthText(monthlyMoney(price))]
    .filter((text) => text !== undefined)
    .join("; ");
}

function defaultBackend({ type, backends }: ServiceTable): Backend {
  const found = backends.find((backend) => backend.default === true);
  if (found === undefined) throw new TypeError(`the table of ${type} has no default backend`);
  return found;
}
