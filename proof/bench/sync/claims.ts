/** The many claims of the settled world. */
import type { Random } from "@klutch/kube";
import { inParallel } from "../harness/api.ts";
import { widget, widgets } from "../harness/widget.ts";
import { type BenchWorld, mirrorOf } from "../harness/world.ts";

/** One claim: its reference in the app cluster and the keys of both objects. */
export interface ClaimRef {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
  readonly upstream: { readonly namespace: string; readonly name: string };
  readonly upstreamKey: string;
}

const namespaceCount = 20;

/** Namespaces that `count` claims are spread over. */
export function claimNamespaces(count: number): string[] {
  return Array.from({ length: Math.min(namespaceCount, count) }, (_, index) => `team-${index}`);
}

/** The references of `count` claims, namespace by namespace. */
export function claimRefs(count: number): ClaimRef[] {
  const names = claimNamespaces(count);
  const each = Math.ceil(count / Math.max(1, names.length));
  return Array.from({ length: count }, (_, index) => {
    const namespace = names[Math.floor(index / each)] ?? "";
    return claimRef(namespace, `claim-${index}`);
  });
}

/** A reference with its keys. */
export function claimRef(namespace: string, name: string): ClaimRef {
  const upstream = { namespace: mirrorOf(namespace), name };
  return {
    namespace,
    name,
    key: `${namespace}/${name}`,
    upstream,
    upstreamKey: `${upstream.namespace}/${name}`,
  };
}

/** Makes the claims as fast as the app cluster takes them; contents are made on the way. */
export async function createClaims(
  { consumer }: BenchWorld,
  refs: readonly ClaimRef[],
  random: Random,
  bytes: number,
): Promise<void> {
  await inParallel(refs, ({ namespace, name }) =>
    consumer.api.create(widgets, widget(namespace, name, { random, bytes })),
  );
}

/** Any one of a list that is not empty. */
export function anyOf<T>(list: readonly T[], random: Random): T {
  const item = list[Math.floor(random() * list.length)];
  if (item === undefined) throw new Error("nothing to choose from");
  return item;
}
