/** Uses the database of docs/install.md from a Pod of app cluster A, which knows only the Secret of its binding, and gives it back. */
import { klutchVersion, restrictedContainer, restrictedPod } from "@klutch/api";
import { typed } from "../demo/person.ts";
import type { NodeWorld } from "./world.ts";

const words = "Hello from a Pod of app cluster A";
const name = "orders-application";
const statements = [
  "CREATE TABLE greetings (words text)",
  `INSERT INTO greetings VALUES ('${words}')`,
  "SELECT words FROM greetings",
];

/** Writes into the database, and returns what it reads from there. Throws with what the program said. */
export async function useFirstDatabase({ work, person }: NodeWorld): Promise<string> {
  const pod = podOf(`${person["REGISTRY"]}/broker:${klutchVersion}`);
  const script = `export KUBECONFIG="$APP_CLUSTER"
kubectl apply -f - <<'END'
${JSON.stringify(pod)}
END
kubectl wait pod/${name} --for=jsonpath='{.status.phase}'=Succeeded --timeout=2m || { kubectl logs ${name}; exit 1; }
kubectl logs ${name}
kubectl delete pod ${name}`;
  const printed = await typed(script, work, person);
  if (!printed.split("\n").some((line) => line.trim() === words))
    throw new Error(`the application's Pod said: ${printed}`);
  return words;
}

/** Runs PostgreSQL's own client, which the broker's image has. */
function podOf(image: string): object {
  const container = {
    name: "psql",
    image,
    command: ["/usr/lib/postgresql/15/bin/psql"],
    args: ["$(DATABASE_URL)", "--no-psqlrc", ...statements.flatMap((each) => ["--command", each])],
    env: [{ name: "DATABASE_URL", valueFrom: { secretKeyRef: { name: "orders-app-creds", key: "uri" } } }],
    securityContext: restrictedContainer,
  };
  const spec = {
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    securityContext: restrictedPod,
    containers: [container],
  };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}

/** Deletes the claims of the page: the demo starts and ends with none. */
export async function giveBack({ work, person }: NodeWorld): Promise<void> {
  const remove = 'kubectl --kubeconfig "$APP_CLUSTER" delete --timeout=5m';
  // The login first: an instance stays while it has one.
  await typed(`${remove} servicebindings/orders-app && ${remove} postgresqlinstances/orders`, work, person);
}
