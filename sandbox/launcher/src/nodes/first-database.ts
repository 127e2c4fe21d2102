/** Uses the database of docs/install.md from a Pod of app cluster A, which knows only the Secret of its binding, and gives it back. */
import { klutchVersion } from "@klutch/api";
import { typed } from "../demo/person.ts";
import { applyAll, shippedManifests } from "../objects.ts";
import type { NodeSandbox } from "./node-sandbox.ts";

const words = "Hello from a Pod of app cluster A";
const script = `export KUBECONFIG="$APP_CLUSTER" pod=orders-application
kubectl wait "pod/$pod" --for=jsonpath='{.status.phase}'=Succeeded --timeout=2m || { kubectl logs "$pod"; exit 1; }
kubectl logs "$pod"
kubectl delete pod "$pod"`;

/** Writes into the database, and returns what it reads from there. Throws with what the program said. */
export async function useFirstDatabase({ clusters, work, person }: NodeSandbox): Promise<string> {
  const image = `${person["REGISTRY"]}/broker:${klutchVersion}`;
  await applyAll(clusters.appA.client, await shippedManifests("orders-application", { IMAGE: image }));
  const printed = await typed(script, work, person);
  if (!printed.split("\n").some((line) => line.trim() === words))
    throw new Error(`the application's Pod said: ${printed}`);
  return words;
}

/** Deletes the claims of the page: the demo starts and ends with none. */
export async function giveBack({ work, person }: NodeSandbox): Promise<void> {
  const remove = 'kubectl --kubeconfig "$APP_CLUSTER" delete --timeout=5m';
  // The login first: an instance stays while it has one.
  await typed(`${remove} servicebindings/orders-app && ${remove} postgresqlinstances/orders`, work, person);
}
