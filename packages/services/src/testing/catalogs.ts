/** Catalogs for tests, written after the examples of the specification (OSB 2.17 "Catalog Management"). */

type Json = Readonly<Record<string, unknown>>;

/** The specification's example: a service with one plan of three schemas. */
export const specified: Json = {
  services: [
    {
      name: "fake-service",
      id: "acb56d7c-XXXX-XXXX-XXXX-feb140a59a66",
      description: "A fake service.",
      tags: ["no-sql", "relational"],
      requires: ["route_forwarding"],
      bindable: true,
      instances_retrievable: true,
      bindings_retrievable: true,
      allow_context_updates: true,
      metadata: { provider: { name: "The name" }, displayName: "The Fake Service Broker" },
      plan_updateable: true,
      plans: [
        {
          name: "fake-plan-1",
          id: "d3031751-XXXX-XXXX-XXXX-a42377d3320e",
          description: "Shared fake Server, 5tb persistent disk, 40 max concurrent connections",
          free: false,
          metadata: { max_storage_tb: 5, costs: [{ amount: { usd: 99 }, unit: "MONTHLY" }] },
          maximum_polling_duration: 3600,
          schemas: {
            service_instance: {
              create: { parameters: billing("create the service instance") },
              update: { parameters: billing("update the service instance") },
            },
            service_binding: { create: { parameters: billing("bind") } },
          },
        },
        {
          name: "fake-plan-2",
          id: "0f4008b5-XXXX-XXXX-XXXX-dace631cd648",
          description: "Shared fake Server, 5tb persistent disk, 40 max concurrent connections. 100 async",
          free: false,
        },
      ],
    },
  ],
};

function billing(purpose: string): Json {
  return {
    $schema: "http://json-schema.org/draft-06/schema#",
    type: "object",
    properties: {
      "billing-account": {
        description: `Billing account number used to charge use of shared fake server, to ${purpose}.`,
        type: "string",
      },
    },
  };
}

/** A service with one plan whose parameters of create have this schema. */
export function catalogWith(parameters: unknown, more: Json = {}, plan: Json = {}): Json {
  const schemas = { service_instance: { create: { parameters } } };
  return {
    services: [
      {
        name: "strange",
        id: "1",
        description: "A service of a stranger.",
        bindable: true,
        plan_updateable: true,
        plans: [{ id: "p1", name: "one", description: "The one plan.", schemas, ...plan }],
        ...more,
      },
    ],
  };
}
