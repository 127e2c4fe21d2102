/** Cases of docs/explain.md: objects as servers store them, with the words that konnector, backend, function and provider write. */
import { type Observed, viewOf } from "@klutch/overview";
import {
  type Row,
  api,
  conditions,
  claimOf,
  bindingView,
  seen,
  creating,
  provisioned,
  good,
  bad,
  notSent,
  certificate,
  compositeOf,
  composedWell,
  managedOf,
  config,
  above,
  warning,
  object,
} from "./objects.ts";

/** One case. */
export interface Case {
  readonly title: string;
  readonly observed: Observed;
}

const limit = "this cluster may have 3 postgresqlinstances, has 3; ask ann@example.org";
const waiting: readonly Row[] = [
  ["Synced", "True", "ReconcileSuccess"],
  ["Ready", "False", "Waiting", "Claim is waiting for composite resource to become Ready"],
];
const unreachable =
  "the broker https://broker.example.org does not answer (ECONNREFUSED); it is retried automatically, and nothing in the claim has to change";
const noSelection = "cannot select Composition: no compatible Compositions found";
const credentials = {
  managed: { ...provisioned.managed, credentials: { name: "db-creds", keys: ["password"] } },
};

const inSync: readonly Row[] = [
  ["Synced", "True", "ReconcileSuccess"],
  ["Ready", "True", "Available"],
];

/** All cases, in the page's order. */
export const cases: readonly Case[] = [
  { title: "All is well", observed: seen(claimOf(good, credentials), { secret: "present" }) },
  {
    title: "It is being created, and others of its kind tell how long that takes",
    observed: seen(
      claimOf(
        [
          ["Ready", "False", "Creating", "create in progress; usually ready within 15 m"],
          ["Synced", "True", "ReconcileSuccess"],
        ],
        creating,
      ),
      {
        usualMs: 238_000,
      },
    ),
  },
  {
    title: "A parameter is wrong",
    observed: seen(
      claimOf(
        bad(
          "Refused",
          "create failed: InvalidParameters: parameters.wal_level_logical is not supported by this broker; change spec.parameters.walLevelLogical",
        ),
        creating,
      ),
    ),
  },
  {
    title: "No broker serves the type",
    observed: seen(
      claimOf(bad("NoBroker", "no broker here serves this type; ask the operators of the control plane"), {
        managed: { conditions: [] },
      }),
    ),
  },
  {
    title: "The broker is down, seen by a developer",
    observed: seen(claimOf(bad("BrokerUnreachable", unreachable), creating)),
  },
  {
    title: "The broker is down, seen with the control plane",
    observed: seen(claimOf(bad("BrokerUnreachable", unreachable), creating), {
      above: above(compositeOf(composedWell), [
        managedOf(
          [
            [
              "Synced",
              "False",
              "BrokerUnreachable",
              "the broker https://broker.example.org does not answer (ECONNREFUSED)",
            ],
            ["Ready", "False", "Creating"],
          ],
          { config: config([["Healthy", "False", "BrokerUnreachable", "no answer within ten seconds"]]) },
        ),
      ]),
    }),
  },
  {
    title: "The quota is used up",
    observed: seen(claimOf(notSent(limit)), { warnings: warning("LimitReached", limit) }),
  },
  {
    title: "A change of the schema is held",
    observed: seen(claimOf(good, provisioned), {
      binding: bindingView([
        [
          "SchemaInSync",
          "False",
          "BreakingSchemaChange",
          "the new schema does not fit 2 claims: shop/db, shop/cache",
        ],
      ]),
    }),
  },
  {
    title: "It is being deleted, and a binding holds it",
    observed: seen(claimOf(good, provisioned, { deletionTimestamp: "2026-11-28T11:00:00Z" }), {
      warnings: warning(
        "StillBound",
        "on the provider: delete failed: the instance is still bound by reader; delete these ServiceBindings first",
      ),
    }),
  },
  {
    title: "Its deletion is held, because it is one of many",
    observed: seen(
      claimOf(
        [
          [
            "Ready",
            "False",
            "DeletionHeld",
            `its deletion is held, because it looks like an accident: 5 of 6 claims were deleted within a minute. When that is right: klutch release ${api}`,
          ],
        ],
        provisioned,
        { deletionTimestamp: "2026-11-28T11:00:00Z" },
      ),
    ),
  },
  {
    title: "No Composition fits, seen by a developer",
    observed: seen(
      claimOf(
        bad(
          "CannotCompose",
          `The platform cannot make this: no Composition fits. If the claim names one (compositionRef), correct the name; else ask the platform team. Crossplane says: ${noSelection}`,
        ),
      ),
    ),
  },
  {
    title: "The selector matches no Composition, seen with the control plane",
    observed: seen(claimOf(waiting), {
      above: above(compositeOf([["Synced", "False", "ReconcileError", noSelection]])),
    }),
  },
  {
    title: "The composite is paused",
    observed: seen(claimOf(waiting, creating), {
      above: above(
        compositeOf([["Synced", "False", "ReconcilePaused"]], {
          annotations: { "crossplane.io/paused": "true" },
        }),
      ),
    }),
  },
  {
    title: "A function fails",
    observed: seen(claimOf(waiting), {
      above: above(
        compositeOf([
          [
            "Synced",
            "False",
            "ReconcileError",
            'cannot compose resources: pipeline step "compose" returned a fatal result: the composite has no plan',
          ],
        ]),
      ),
    }),
  },
  {
    title: "A provider's kind is missing in the control plane",
    observed: seen(claimOf(waiting), {
      above: above(
        compositeOf([
          [
            "Synced",
            "False",
            "ReconcileError",
            'cannot compose resources: cannot get composed resource: no matches for kind "Object" in version "kubernetes.crossplane.io/v1alpha2"',
          ],
        ]),
      ),
    }),
  },
  {
    title: "A provider's kind is there, and the provider is not",
    observed: seen(claimOf(waiting), { above: above(compositeOf(composedWell), [managedOf([])]) }),
  },
  {
    title: "Crossplane lacks rights",
    observed: seen(claimOf(waiting), {
      above: above(
        compositeOf([
          [
            "Synced",
            "False",
            "ReconcileError",
            'cannot compose resources: objects.kubernetes.crossplane.io is forbidden: User cannot create resource "objects"',
          ],
        ]),
      ),
    }),
  },
  {
    title: "A developer without any right but on the claim",
    observed: seen(
      claimOf(
        bad("NoOrganization", "no EnvironmentConfig gives a valid organisation and space for this namespace"),
      ),
      {
        binding: "forbidden",
        agent: "unknown",
      },
    ),
  },
  {
    title: "No konnector works, and the claim is new",
    observed: seen(
      claimOf(
        [
          [
            "Ready",
            "Unknown",
            "SpecNotSent",
            "no konnector has looked at this claim yet",
            "1970-01-01T00:00:00Z",
          ],
        ],
        { observedGeneration: -1 },
        { finalizers: [] },
      ),
      { agent: "silent" },
    ),
  },
  {
    title: "No konnector works, and the claim was edited",
    observed: seen(claimOf(good, { ...provisioned, observedGeneration: 1 }, { generation: 2 }), {
      agent: "silent",
    }),
  },
  {
    title: "The control plane refuses the credential",
    observed: seen(
      claimOf(notSent("the provider refuses the credential of this cluster since 2026-11-28T08:00:00Z")),
      {
        binding: bindingView([["Heartbeating", "False", "CredentialRefused", "the provider answers 401"]]),
      },
    ),
  },
  {
    title: "The Secret's name is taken",
    observed: seen(
      claimOf(
        [
          [
            "Ready",
            "False",
            "NameTaken",
            "Secret db-creds exists and is not Klutch's, so the credentials are not in it. Rename or delete it.",
          ],
        ],
        credentials,
      ),
      { secret: "present" },
    ),
  },
  {
    title: "One of two managed resources failed",
    observed: seen(claimOf(waiting), {
      above: above(compositeOf(composedWell), [
        managedOf(
          [
            ["Synced", "True", "ReconcileSuccess"],
            ["Ready", "False", "Creating"],
          ],
          { operation: "task-17" },
        ),
        managedOf(
          [
            [
              "Synced",
              "False",
              "ReconcileError",
              "observe failed: the Secret of the ProviderConfig is missing",
            ],
          ],
          {},
          "db-x7k2p-fghij",
        ),
      ]),
    }),
  },
  {
    title: "The clock of the control plane is five hours behind",
    observed: seen(
      claimOf(
        good.map(([type, status, reason]) => [type, status, reason, "", "2026-11-28T04:04:01Z"] as const),
        {
          managed: {
            state: "provisioned",
            createdAt: "2026-11-28T04:00:02Z",
            provisionedAt: "2026-11-28T04:04:00Z",
          },
        },
      ),
    ),
  },
  {
    title: "Only the managed resource's conditions say it",
    observed: seen(
      claimOf(waiting, {
        managed: {
          ...creating.managed,
          conditions: conditions([["Synced", "False", "NoBroker", "no ProviderConfig postgresql-broker"]]),
        },
      }),
    ),
  },
  {
    title: "The provider has not looked at the new spec of the managed resource",
    observed: seen(claimOf(waiting), {
      above: above(compositeOf(composedWell), [
        {
          ...managedOf([]),
          object: {
            found: viewOf(
              object("dataservices.anynines.com/v1", "ServiceInstance", "db-x7k2p-abcde", inSync, {
                generation: 2,
              }),
            ),
          },
        },
      ]),
    }),
  },
  {
    title: "It is deleted above, and the konnector has not let it go",
    observed: seen(claimOf(good, provisioned, { deletionTimestamp: "2026-11-28T11:00:00Z" }), {
      above: { ...above(undefined), upstream: "missing", holdsSpec: undefined },
    }),
  },
  {
    title: "The control plane has an earlier spec",
    observed: seen(claimOf(good, provisioned), {
      above: {
        ...above(compositeOf(composedWell), [
          managedOf([
            ["Synced", "True", "ReconcileSuccess"],
            ["Ready", "True", "Available"],
          ]),
        ]),
        holdsSpec: false,
      },
    }),
  },
  { title: "A composition of strangers", observed: seen(claimOf(waiting)) },
  {
    title: "An operator of strangers has not finished",
    observed: certificate([
      ["Ready", "False", "DoesNotExist", "Issuing certificate as Secret does not exist"],
      ["Issuing", "False", "Failed", "The certificate request has failed to complete and will be retried"],
    ]),
  },
  {
    title: "A policy of the control plane refuses it",
    observed: {
      ...certificate(notSent("the provider has not taken this change yet; it is tried again")),
      warnings: warning(
        "SyncRefused",
        'the provider refused the object: certificates.cert-manager.io "shop" is forbidden: denied request: spec.isCA must not be true. It is tried again. Change the object, or ask the provider.',
      ),
    },
  },
];
