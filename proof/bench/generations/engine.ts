/** Runs the engine's own functions for one claim in the order in which a status, or a restart, calls them. No server, no queue. */
import { syncerFinalizer } from "@klutch/api";
import { type DynamicObject, jsonEqual } from "@klutch/kube-core";
import {
  compareDigests,
  consumerDigest,
  defaultMetadataRule,
  type Digest,
  type DigestVerdict,
  planStatusOnly,
  providerDigest,
  reduceManagedFields,
  type StatusView,
} from "@klutch/sync";
import { workNamespace } from "../harness/fixture.ts";
import type { SentPair } from "./pairs.ts";

/** Returns the digests of both objects, as the caches keep them. */
export function digests(
  view: StatusView,
  claim: DynamicObject,
  upstream: DynamicObject,
): readonly [Digest, Digest] {
  return [consumerDigest(claim, defaultMetadataRule, view), providerDigest(upstream, view)];
}

/** Compares both objects as after a restart, when they come in lists. */
export function restart(view: StatusView, { claim, upstream }: SentPair): DigestVerdict {
  return verdictOf(...digests(view, parsed(claim), parsed(upstream)));
}

/** Handles one status, from the provider's event to the answer to our write. `shown` is the claim's digest before that. */
export function statusTrip(view: StatusView, shown: Digest, { news, answer }: SentPair): DigestVerdict {
  const event = parsed(news);
  const upstream = providerDigest(event, view);
  const provider = reduceManagedFields(event);
  const before = verdictOf(shown, upstream);
  if (before !== "statusDiffers") throw new Error(`a status differs, and is taken for ${before}`);
  const { metadata } = shown;
  const consumer = { apiVersion: event.apiVersion, kind: event.kind, metadata, status: {} };
  const ref = { namespace: workNamespace, name: metadata.name ?? "" };
  const [step] = planStatusOnly({ ref, consumer, provider, view, now: 0 }).steps;
  if (step?.do !== "writeStatus") throw new Error("a status differs, and is not written");
  const body = JSON.stringify([{ op: "add", path: "/status", value: step.status }]);
  const written = parsed(answer);
  if (body === "" || !jsonEqual(written.status, step.status)) throw new Error("another status was written");
  return verdictOf(consumerDigest(written, defaultMetadataRule, view), upstream);
}

/** The object in a server's text. */
export function parsed(text: string): DynamicObject {
  return JSON.parse(text) as DynamicObject;
}

function verdictOf(claim: Digest, upstream: Digest): DigestVerdict {
  return compareDigests(claim, upstream, undefined, undefined, syncerFinalizer);
}
