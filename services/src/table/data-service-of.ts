/** A table as what is printed and composed today: its default backend. */
import type { DataService } from "../data-service.ts";
import { rulesOf } from "../render/rules.ts";
import type { Backend, Parameter, ServiceTable } from "./service-table.ts";

/** The service that a table describes. */
export function dataServiceOf(table: ServiceTable): DataService {
  const backend = defaultBackend(table);
  const has = ({ to }: Parameter): boolean => to[backend.name] !== undefined;
  return {
    type: table.type,
    title: table.title,
    about: table.about,
    kind: table.kind,
    offerings: backend.services,
    plans: backend.plans.map(({ name }) => name),
    plansAbout: Object.fromEntries(backend.plans.map(({ name, about = "" }) => [name, about])),
    rules: rulesOf(table, backend),
    parametersAbout: table.parametersAbout,
    parameters: table.parameters.filter(has).map(({ name, schema, to }) => ({
      name,
      brokerKey: to[backend.name]?.key ?? name,
      as: to[backend.name]?.as,
      schema: { json: schema },
    })),
    refusedParameters: table.parameters
      .filter((parameter) => !has(parameter))
      .map(({ name, schema }) => ({ name, schema: { json: schema } })),
    fields: Object.fromEntries(table.fields.map(({ name, schema }) => [name, { json: schema }])),
    takes: backend.takes,
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

function defaultBackend({ type, backends }: ServiceTable): Backend {
  const found = backends.find((backend) => backend.default === true);
  if (found === undefined) throw new TypeError(`the table of ${type} has no default backend`);
  return found;
}
