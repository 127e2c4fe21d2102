/** A sandbox as `npm run sandbox` starts it: real Crossplane, function, provider, broker and PostgreSQL, each a process. */
import { join } from "node:path";
import { serviceInstances } from "@klutch/api";
import { logTail } from "@klutch/engines";
import type { KubeClient } from "@klutch/kube";
import { namespaces, secrets } from "@klutch/kube-core";
import { namespaceObject } from "@klutch/kube-testing";
import { type History, recordHistory } from "../../history.ts";
import { startOwnSandbox } from "../../own-sandbox.ts";
import { Killer } from "./killer.ts";
import { type Ledger, openLedger } from "./ledger.ts";
import type { Program } from "./plan.ts";

/** Namespace of the claims. */
export const claimNamespace = "chains";

/** Holds the client, killer and records that the chains share. */
export interface Fixture extends AsyncDisposable {
  /** A client of the control plane. */
  readonly client: KubeClient;
  readonly killer: Killer;
  readonly ledger: Ledger;
  /** Every state of the Secrets of the claims. */
  readonly secrets: History;
  /** Every state of the managed resources of instances. */
  readonly instances: History;
  /** The end of the program's log. */
  log(program: Program): string;
}

const logFiles: Readonly<Record<Program, string>> = {
  "provider-anynines": "provider/provider.log",
  "function-klutch": "function.log",
  broker: "broker.log",
};

/** Starts everything in a temporary folder. */
export async function startFixture(): Promise<Fixture> {
  await using stack = new AsyncDisposableStack();
  const sandbox = stack.use(await startOwnSandbox("chains"));
  const { folder } = sandbox;
  const client = await sandbox.client("control-plane", { flowControl: false });
  await client.create(namespaces, namespaceObject(claimNamespace));
  const ledger = stack.use(await openLedger(folder));
  const history = stack.use(await recordHistory(client, secrets, claimNamespace));
  const instances = stack.use(await recordHistory(client, serviceInstances));
  return Object.assign(stack.move(), {
    client,
    killer: new Killer(sandbox.pid),
    ledger,
    secrets: history,
    instances,
    log: (program: Program) => logTail(join(folder, logFiles[program]), 30),
  });
}
