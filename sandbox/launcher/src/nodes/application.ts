/** Runs an application in a Pod of app cluster A, which knows only the Secret of its binding. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { klutchVersion, restrictedContainer, restrictedPod } from "@klutch/api";
import { type DynamicObject, pods, textAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import type { NodeWorld } from "./world.ts";

const run = promisify(execFile);
const ref = { namespace: "default", name: "orders-application" };
const words = "Hello from a Pod of app cluster A";

/** Writes into the database of the page's claims, and gives back what it reads from there. Throws with what the program said. */
export async function useFirstDatabase({ clusters, cli, person }: NodeWorld): Promise<string> {
  const { client } = clusters.appA;
  await client.create<DynamicObject>(pods, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: ref,
    spec: podSpec(`${person["REGISTRY"]}/broker:${klutchVersion}`),
  });
  const ended = async (): Promise<string | undefined> => {
    const phase = textAt(await client.get<DynamicObject>(pods, ref), "status", "phase");
    return phase === "Succeeded" || phase === "Failed" ? phase : undefined;
  };
  const phase = await waitFor("the application's Pod to end", ended, { timeoutMs: 120_000 });
  const args = ["--kubeconfig", cli.kubeconfigs.appA, "--namespace", ref.namespace, "logs", ref.name];
  const { stdout } = await run(join(cli.bin, "kubectl"), args);
  if (phase !== "Succeeded" || !stdout.includes(words))
    throw new Error(`the application's Pod ended as ${phase} and said: ${stdout}`);
  await client.delete(pods, ref);
  return words;
}

/** The broker's image has PostgreSQL's own client. */
function podSpec(image: string): object {
  const statements = [
    "CREATE TABLE greetings (words text)",
    `INSERT INTO greetings VALUES ('${words}')`,
    "SELECT words FROM greetings",
  ];
  return {
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    securityContext: restrictedPod,
    containers: [
      {
        name: "psql",
        image,
        command: ["/usr/lib/postgresql/15/bin/psql"],
        args: ["$(DATABASE_URL)", "--no-psqlrc", ...statements.flatMap((each) => ["--command", each])],
        env: [
          {
            name: "DATABASE_URL",
            valueFrom: { secretKeyRef: { name: "orders-app-creds", key: "uri" } },
          },
        ],
        securityContext: restrictedContainer,
      },
    ],
  };
}
