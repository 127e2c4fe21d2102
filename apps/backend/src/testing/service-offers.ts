/** Offers of data services as the shipped templates make them: instances of each service, and the kinds that all services share. */
import type { OfferedApi, OfferedService } from "../offered-api.ts";

/** Returns an offer. */
export function serviceOffer(
  kind: string,
  service?: OfferedService,
  more: Partial<OfferedApi> = {},
): OfferedApi {
  const resource = `${kind.toLowerCase()}s`;
  return {
    resource,
    group: "anynines.com",
    kind,
    scope: "Namespaced",
    description: "",
    fields: [],
    permissionClaims: [],
    template: { namespace: "crossplane-system", name: resource },
    service,
    ...more,
  };
}

const shared: OfferedService = { kind: "shared", types: undefined };
const plans = "The plan: postgresql-single-nano (1 server, 1Gi memory, 3Gi disk), postgresql-replica-small.";

/** PostgreSQL with everything that belongs to it. */
export const postgresql: readonly OfferedApi[] = [
  serviceOffer("Backup", shared, { fields: [{ name: "instanceRef", about: "The instance." }] }),
  serviceOffer(
    "PostgresqlInstance",
    { kind: "own", type: "postgresql", title: "PostgreSQL" },
    {
      description: "A PostgreSQL server of one's own, alone or with replicas.",
      fields: [{ name: "plan", about: plans }],
    },
  ),
  serviceOffer("Restore", shared, { fields: [{ name: "backupRef", about: "The backup." }] }),
  serviceOffer("ServiceBinding", shared, {
    fields: [{ name: "instanceRef", about: "The instance." }],
    permissionClaims: [
      {
        group: "",
        resource: "secrets",
        version: "v1",
        required: true,
        selector: { owner: "Provider", fieldSelectors: ["type=connection.crossplane.io/v1alpha1"] },
      },
    ],
  }),
];

/** A second service beside it. */
export const mariadb: OfferedApi = serviceOffer("MariadbInstance", {
  kind: "own",
  type: "mariadb",
  title: "MariaDB",
});

/** An API of no service. */
export const widgets: OfferedApi = serviceOffer("Widget", undefined, { group: "example.org" });
