/**
 * A real API server that serves the claims of both generations, for tests of what it accepts and refuses. What a test asks of a legacy claim is
 * asked of a claim of v2 besides, which must be answered in the same words.
 */
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
import { leaseCluster, namespaceObject, waitFor } from "@klutch/kube-testing";
import { claimResource } from "../data-service.ts";
import { specIn } from "../examples.ts";
import { type Generation, generations } from "../generation.ts";
import { xrdsOf } from "../xrds.ts";
import type { CompositeResourceDefinition } from "../xrd.ts";
import { claimCrd } from "./claim-crd.ts";

/** A claim's spec, a word on it, and the message it is refused with; undefined: it is accepted. */
export type ClaimCase = readonly [what: string, spec: object, message: RegExp | undefined];

/** A claim's spec before and after a change. */
export type ChangeCase = readonly [what: string, before: object, change: object, message: RegExp | undefined];

type Spec = Readonly<Record<string, unknown>>;
interface Options {
  /** True to write nothing. */
  readonly dryRun?: boolean | undefined;
}

/** Actions of the tests on the server. Types and specs are those of legacy claims; each action repeats the same for a v2 claim. */
export interface ClaimServer {
  readonly client: KubeClient;
  /** Creates it; rejects if it is refused, and if the generations differ. */
  create(type: ResourceType, name: string, spec: object, options?: Options): Promise<void>;
  /** A merge patch of the spec, otherwise as `create`. */
  patch(type: ResourceType, name: string, spec: object, options?: Options): Promise<void>;
  /** Makes the claim; throws unless it is accepted, or refused with the message. */
  claim(type: ResourceType, name: string, spec: object, message: RegExp | undefined): Promise<void>;
  /** Makes a claim and changes it; throws unless the change is accepted, or refused with the message. */
  change(type: ResourceType, name: string, change: ChangeCase): Promise<void>;
}

/** The server of this process, once its first file needs one. Test files of one process share it: its kinds take seconds to come up. */
let starting: Promise<KubeClient> | undefined;

async function startServer(): Promise<KubeClient> {
  const cluster = await leaseCluster({ name: "claims" });
  after(() => cluster[Symbol.asyncDispose]());
  await createKinds(cluster.client, generations.flatMap(xrdsOf));
  return cluster.client;
}

async function createKinds(client: KubeClient, xrds: readonly CompositeResourceDefinition[]): Promise<void> {
  for (const crd of xrds.map(claimCrd)) await client.create<KubeObject>(customResourceDefinitions, crd);
}

/** Starts it with the shipped kinds and `more`; it ends with the process. Claims are made in the namespace, which no other file may name. */
export async function startClaimServer(
  namespace: string,
  more: readonly CompositeResourceDefinition[] = [],
): Promise<ClaimServer> {
  const client = await (starting ??= startServer());
  await client.create(namespaces, namespaceObject(namespace));
  await createKinds(client, more);
  const create: ClaimServer["create"] = (legacyType, claimName, spec, options = {}) =>
    inBoth(async (generation) => {
      const type = claimResource(legacyType.kind, generation);
      // The first requests to fresh CRDs may still be answered with 404.
      await waitFor(`${type.plural} to be served`, async () => (await client.list(type)) !== undefined);
      const claim = {
        apiVersion: `${type.group}/${type.version}`,
        kind: type.kind,
        metadata: { name: claimName, namespace },
        spec: specIn(generation, record(spec)),
      };
      await client.create<DynamicObject>(type, claim, options);
    });
  const patch: ClaimServer["patch"] = (type, claimName, spec, options = {}) =>
    inBoth((generation) => {
      const body = { spec: specIn(generation, record(spec)) };
      const ref = { namespace, name: claimName };
      return client.mergePatch(claimResource(type.kind, generation), ref, body, options);
    });
  return {
    client,
    create,
    patch,
    claim: (type, claimName, spec, message) => meets(create(type, claimName, spec), message),
    async change(type, claimName, [, before, change, message]) {
      await create(type, claimName, before);
      await meets(patch(type, claimName, change), message);
    },
  };
}

/** Words an expectation for the names of tests. */
export function verdict(message: RegExp | undefined): string {
  return message === undefined ? "accepted" : "refused";
}

/** Throws what a legacy claim is refused with, and when a claim of v2 is not answered alike. */
async function inBoth(ask: (generation: Generation) => Promise<unknown>): Promise<void> {
  const [legacyAnswer, answer] = await Promise.allSettled(generations.map(ask));
  const words = (settled: typeof answer): string =>
    settled?.status === "rejected" ? String(settled.reason) : "accepted";
  assert.equal(asLegacy(words(answer)), words(legacyAnswer));
  if (legacyAnswer?.status === "rejected") throw legacyAnswer.reason;
}

/** A text about a claim of v2, as it would be about a legacy one. */
function asLegacy(text: string): string {
  return text
    .replaceAll("-namespaced", "")
    .replaceAll("s.m.anynines.com", "s.anynines.com")
    .replaceAll(".m.anynines.com", ".anynines.com")
    .replaceAll("spec.crossplane.", "spec.");
}

const record = (spec: object): Spec => ({ ...spec });

async function meets(request: Promise<unknown>, message: RegExp | undefined): Promise<void> {
  if (message === undefined) await request;
  else await assert.rejects(request, message);
}
