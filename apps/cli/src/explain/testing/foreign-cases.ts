/** Cases of docs/explain.md with managed resources of another provider, whose claims say no more than that they wait. */
import { type Composed, viewOf } from "@klutch/overview";
import {
  above,
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
];

/** A managed resource of a provider that is not ours. */
function foreign(rows: readonly Row[]): Composed {
  const view = viewOf(object("nop.crossplane.io/v1alpha1", "ClusterNopResource", "db-x7k2p-abcde", rows));
  return { ...managedOf([]), ref: "ClusterNopResource/db-x7k2p-abcde", object: { found: view } };
}
