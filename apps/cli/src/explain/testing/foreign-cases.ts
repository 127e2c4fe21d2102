/** Cases of docs/explain.md with managed resources of another provider, whose claims say no more than that they wait, and with another operator. */
import { type Composed, viewOf } from "@klutch/overview";
import {
  above,
  certificate,
  notSent,
  warning,
  type Case,
  claimOf,
  composedWell,
  compositeOf,
  managedOf,
  object,
  type Row,
  seen,
  waiting,
} from "./objects.ts";

/** The cases, in the page's order. */
export const foreignCases: readonly Case[] = [
  {
    title: "A managed resource of another provider is not ready",
    observed: seen(claimOf(waiting), {
      above: above(compositeOf(composedWell), [
        foreign([
          ["Synced", "True", "ReconcileSuccess"],
          ["Ready", "False", ""],
        ]),
      ]),
    }),
  },
  {
    title: "A managed resource of another provider never says that it is ready",
    observed: seen(claimOf(waiting), {
      above: above(compositeOf(composedWell), [foreign([["Synced", "True", "ReconcileSuccess"]])]),
    }),
  },
  {
    title: "Another provider fails",
    observed: seen(claimOf(waiting), {
      above: above(compositeOf(composedWell), [
        foreign([["Synced", "False", "ReconcileError", "create failed: there is no region mars"]]),
      ]),
    }),
  },
  {
    title: "An operator of strangers has not finished",
    observed: certificate([
      ["Ready", "False", "DoesNotExist", "Issuing certificate as Secret does not exist"],
      ["Issuing", "False", "Failed", "The certificate request has failed to complete and will be retried"],
    ]),
  },
  {
    title: "A controller of AWS wants another spec",
    observed: certificate([
      ["Ready", "False", "ResourceSynced", "Resource not synced; ACK.Terminal: Resource already exists"],
      ["ACK.ResourceSynced", "False", "", "Resource not synced"],
      ["ACK.Terminal", "True", "", "Resource already exists"],
    ]),
  },
  {
    title: "An operator without Ready does not know yet",
    observed: certificate([["Available", "Unknown", "Asking", "the region has not answered"]]),
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

/** A managed resource of a provider that is not ours. */
function foreign(rows: readonly Row[]): Composed {
  const view = viewOf(object("nop.crossplane.io/v1alpha1", "ClusterNopResource", "db-x7k2p-abcde", rows));
  return { ...managedOf([]), ref: "ClusterNopResource/db-x7k2p-abcde", object: { found: view } };
}
