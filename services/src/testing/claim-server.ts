/** A real API server that serves the claims, for tests of what it accepts and refuses. */
import assert from "node:assert/strict";
import { after } from "node:test";
import type { KubeClient } from "@klutch/kube";
import {
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  type ResourceType,
} from "@klutch/kube-core";
import { startCluster, waitFor } from "@klutch/kube-testing";
import { xrds } from "../xrds.ts";
import type { CompositeResourceDefinition } from "../xrd.ts";
import { claimCrd } from "./claim-crd.ts";

/** A claim's spec, a word on it, and the message it is refused with; undefined: it is accepted. */
export type ClaimCase = readonly [what: string, spec: object, message: RegExp | undefined];

/** A claim's spec before and after a change. */
export type ChangeCase = readonly [what: string, before: object, change: object, message: RegExp | undefined];

/** What tests do with the server. */
export interface ClaimServer {
  readonly client: KubeClient;
  /** In the namespace `a`. */
  create(type: ResourceType, name: string, spec: object): Promise<DynamicObject>;
  /** Makes the claim; throws unless it is accepted, or refused with the message. */
  claim(type: ResourceType, name: string, spec: object, message: RegExp | undefined): Promise<void>;
  /** Makes a claim and changes it; throws unless the change is accepted, or refused with the message. */
  change(type: ResourceType, name: string, change: ChangeCase): Promise<void>;
}

/** Starts it with the shipped kinds and `more`; it ends with the test file. */
export async function startClaimServer(
  name: string,
  more: readonly CompositeResourceDefinition[] = [],
): Promise<ClaimServer> {
  const cluster = await startCluster({ name });
  after(() => cluster[Symbol.asyncDispose]());
  const { client } = cluster;
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } });
  for (const crd of [...xrds, ...more].map(claimCrd))
    await client.create<KubeObject>(customResourceDefinitions, crd);
  const create: ClaimServer["create"] = async (type, claimName, spec) => {
    // The first requests to fresh CRDs may still be answered with 404.
    await waitFor(`${type.plural} to be served`, async () => (await client.list(type)) !== undefined);
    return client.create<DynamicObject>(type, {
      apiVersion: `${type.group}/${type.version}`,
      kind: type.kind,
      metadata: { name: claimName, namespace: "a" },
      spec,
    });
  };
  return {
    client,
    create,
    claim: (type, claimName, spec, message) => meets(create(type, claimName, spec), message),
    async change(type, claimName, [, before, change, message]) {
      await create(type, claimName, before);
      await meets(client.mergePatch(type, { namespace: "a", name: claimName }, { spec: change }), message);
    },
  };
}

/** For the names of tests. */
export function verdict(message: RegExp | undefined): string {
  return message === undefined ? "accepted" : "refused";
}

async function meets(request: Promise<unknown>, message: RegExp | undefined): Promise<void> {
  if (message === undefined) await request;
  else await assert.rejects(request, message);
}
