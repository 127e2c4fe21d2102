/** What the broker offers (OSB 2.17 "Catalog Management"). */
import { createHash } from "node:crypto";

/** A plan of the offering. */
export interface Plan {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly free: boolean;
  /** Sessions at the same time; all that plan sizes mean in one shared server, besides temporary files. */
  readonly connectionLimit: number;
  /** Temporary files of one session, in kilobytes: the disk is everybody's. */
  readonly temporaryFilesKb: number;
}

/** Identifiers that never change, made from names. */
function stableId(name: string): string {
  const hex = createHash("sha256").update(`klutch-broker/${name}`).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    "-",
  );
}

const sizes: readonly (readonly [string, number])[] = [
  ["single-nano", 10],
  ["single-small", 20],
  ["single-big", 40],
  ["replica-small", 20],
  ["replica-big", 40],
];

/** The offering's name; a9s brokers append a number to it. */
export const serviceName = "a9s-postgresql17";
export const serviceId: string = stableId(serviceName);

export const plans: readonly Plan[] = sizes.map(([size, connectionLimit]) => ({
  id: stableId(`${serviceName}/${size}`),
  name: `postgresql-${size}`,
  description: `A PostgreSQL database with up to ${connectionLimit} sessions.`,
  free: true,
  connectionLimit,
  temporaryFilesKb: connectionLimit * 100 * 1024,
}));

export function findPlan(id: unknown): Plan | undefined {
  return plans.find((plan) => plan.id === id);
}

/** Body of `GET /v2/catalog`. */
export const catalog: object = {
  services: [
    {
      id: serviceId,
      name: serviceName,
      description: "PostgreSQL databases, each with its own owner, in one server.",
      bindable: true,
      instances_retrievable: true,
      bindings_retrievable: true,
      plan_updateable: true,
      allow_context_updates: false,
      metadata: { displayName: "PostgreSQL 17" },
      tags: ["postgresql", "sql"],
      plans: plans.map(({ id, name, description, free }) => ({
        id,
        name,
        description,
        free,
        maximum_polling_duration: 600,
      })),
    },
  ],
};
