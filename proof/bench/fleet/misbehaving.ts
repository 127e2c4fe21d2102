/** A tenant that misbehaves, in a process of its own, so that its work is not the measuring process's. Both ends are this file. */
import { fork } from "node:child_process";
import { apiServiceNamespaces, serviceNamespaceName } from "@klutch/api";
import { parseForeignKubeconfig } from "@klutch/kube";
import { textAt } from "@klutch/kube-core";
import {
  type MisbehavingClient,
  objectOfType,
  openStreams,
  requestInLoops,
  waitFor,
} from "@klutch/kube-testing";
import { askChild, decodeMessage, endChild } from "../harness/child-process.ts";
import { workNamespace } from "./app-cluster.ts";
import type { FleetControlPlane } from "./control-plane.ts";
import { claimOf, timedKind } from "./kinds.ts";

/** A tenant at its work. Disposing it ends its process and so its connections. */
export interface Misbehaving extends AsyncDisposable {
  /** Answers to its watches: `200: 2000, 429: 8000`. */
  readonly answers: string;
  /** Ends its loops; resolves to the answers that they got. */
  end(): Promise<{ readonly lists: string; readonly writes: string }>;
}

/** Orders to the process: the first begins, the second ends the loops. */
type Order =
  | { readonly client: MisbehavingClient; readonly collection: string; readonly watches: number }
  | { readonly ends: true };

const tenant = "misbehaving";
const [listLoops, writeLoops] = [50, 2];
/** More of them would only be stored. */
const largeObjects = 8;
const largeText = "x".repeat(1024 * 1024);

/** Binds a tenant without an agent, and starts its process; resolves when all of its watches are answered. */
export async function startMisbehaving(
  controlPlane: FleetControlPlane,
  watches: number,
): Promise<Misbehaving> {
  const { client } = controlPlane.cluster;
  const { auth, server, ca } = parseForeignKubeconfig(await controlPlane.bind(tenant));
  if (auth.kind !== "token") throw new Error("tenants have tokens");
  const ref = { namespace: tenant, name: workNamespace(0) };
  await client.create(apiServiceNamespaces, objectOfType(apiServiceNamespaces, ref, { spec: {} }));
  const namespace = serviceNamespaceName(tenant, ref.name);
  await waitFor("the namespace of the misbehaving tenant", async () => {
    const found = await client.find(apiServiceNamespaces, ref);
    return textAt(found, "status", "namespace") === namespace;
  });
  const { group, version, plural } = timedKind.type;
  const child = fork(import.meta.filename, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const order: Order = {
    client: { server, ca, token: auth.token.reveal() },
    collection: `/apis/${group}/${version}/namespaces/${namespace}/${plural}`,
    watches,
  };
  const { answers } = await askChild<{ readonly answers: string }>(child, order);
  return {
    answers,
    end: () => askChild(child, { ends: true } satisfies Order),
    [Symbol.asyncDispose]: () => endChild(child),
  };
}

/** Returns statuses with how often each came. */
export function countsText(counts: ReadonlyMap<number, number>): string {
  return [...counts]
    .toSorted(([one], [other]) => one - other)
    .map(([status, count]) => `${status === 0 ? "none" : status}: ${count}`)
    .join(", ");
}

function obey(): void {
  const stop = new AbortController();
  let loops: readonly Promise<ReadonlyMap<number, number>>[] = [];
  const begin = async ({
    client,
    collection,
    watches,
  }: Extract<Order, { client: unknown }>): Promise<object> => {
    const opened = await openStreams(client, `${collection}?watch=1&resourceVersion=0`, watches);
    const { signal } = stop;
    const object = (number: number): string => {
      const claim = claimOf(timedKind, "", `large-${number % largeObjects}`);
      const { name } = claim.metadata;
      return JSON.stringify({ ...claim, metadata: { name }, spec: { largeText } });
    };
    loops = [
      requestInLoops(client, { path: `${collection}?resourceVersion=0`, loops: listLoops, signal }),
      requestInLoops(client, { path: collection, body: object, loops: writeLoops, signal }),
    ];
    const counts = new Map<number, number>();
    for (const { status } of opened.heads) counts.set(status, (counts.get(status) ?? 0) + 1);
    return { answers: countsText(counts) };
  };
  const end = async (): Promise<object> => {
    stop.abort();
    const [lists, writes] = (await Promise.all(loops)).map(countsText);
    return { lists, writes };
  };
  process.on("message", (message) => {
    const order = decodeMessage<Order>(message);
    void ("ends" in order ? end() : begin(order)).then((answer) => process.send?.(answer));
  });
  process.on("disconnect", () => process.exit(0));
}

if (import.meta.main) obey();
