/** The people of the app cluster and the controllers of the provider, without any fault between them and their own API server. */
import { setTimeout as sleep } from "node:timers/promises";
import { serviceNamespaceName } from "@klutch/api";
import {
  type DynamicObject,
  isDeleting,
  type ObjectRef,
  secrets,
  secretText,
  textAt,
} from "@klutch/kube-core";
import { ApiError, type KubeClient, TransportError } from "@klutch/kube";
import { secretObject } from "@klutch/kube-testing";
import type { Ledger, Outcome } from "./ledger.ts";
import { type Action, isOperation, type Operation, type Plan } from "./plan.ts";
import { databaseObject, databases, tenants } from "../../security/bound-fixture.ts";

/** Holds the plan and ledger of a seed and the clients that its actions use. */
export interface Actors {
  readonly plan: Plan;
  readonly ledger: Ledger;
  readonly consumer: KubeClient;
  readonly provider: KubeClient;
  readonly say: (text: string) => void;
}

type Deed = (actors: Actors, action: Action, ref: Place) => Promise<string>;
type Place = ObjectRef & { readonly namespace: string };

/** The provider's finalizer, for deletions that take their time. */
const slowFinalizer = "faults.klutch.example/slow";
const unreachable = "not sent: the server does not answer";

/** Carries an operation out and returns its outcome as text. */
export async function operate(actors: Actors, action: Action): Promise<void> {
  const ref = actors.plan.claims[action.claim];
  const operation = isOperation(action.do) ? operations[action.do] : undefined;
  if (ref === undefined || operation === undefined) throw new Error(`no operation ${action.do}`);
  const result = await operation(actors, action, ref).catch((error: unknown) => {
    if (!(error instanceof ApiError || error instanceof TransportError)) throw error;
    return `${unreachable} (${error.message.slice(0, 80)})`;
  });
  actors.say(`${action.do} ${ref.namespace}/${ref.name}: ${result}`);
}

/** Deletes a claim as its user does. */
export async function deleteClaim(
  { ledger, consumer }: Pick<Actors, "ledger" | "consumer">,
  claim: DynamicObject,
): Promise<Outcome> {
  const incarnation = ledger.incarnationOf(claim);
  const { namespace, name = "", uid } = claim.metadata;
  const before = incarnation?.deletion;
  // Noted before it is sent: the agent may be faster than the answer.
  if (incarnation?.deletion === "none") incarnation.deletion = "sent";
  const outcome = await attempt(() =>
    consumer.delete(databases, { namespace, name }, { preconditions: { uid } }),
  );
  if (incarnation !== undefined && before !== undefined) {
    if (outcome === "acknowledged") incarnation.deletion = "acknowledged";
    if (outcome === "refused") incarnation.deletion = before;
  }
  return outcome;
}

async function attempt(send: () => Promise<unknown>): Promise<Outcome> {
  try {
    await send();
    return "acknowledged";
  } catch (error) {
    return error instanceof ApiError && error.status < 500 ? "refused" : "uncertain";
  }
}

async function create({ ledger, consumer }: Actors, place: Place): Promise<string> {
  const revision = ledger.next();
  const incarnation = ledger.open(`${place.namespace}/${place.name}`);
  const spec = { incarnation: incarnation.id, revision, list: [revision] };
  const outcome = await attempt(() =>
    consumer.create(databases, databaseObject(place.namespace, place.name, spec)),
  );
  if (outcome === "acknowledged") {
    incarnation.isCreated = true;
    incarnation.acknowledgedRevision = revision;
  }
  return `${outcome}, incarnation ${incarnation.id}`;
}

async function patchClaim(
  actors: Actors,
  place: Place,
  patch: (revision: number) => { readonly metadata?: object; readonly spec?: object },
): Promise<string> {
  const claim = await actors.consumer.find<DynamicObject>(databases, place);
  // A user who wants to change a missing claim creates it.
  if (claim === undefined) return `created instead: ${await create(actors, place)}`;
  if (isDeleting(claim)) return "is being deleted";
  const { ledger, consumer } = actors;
  const revision = ledger.next();
  const { spec, metadata } = patch(revision);
  const change = { metadata: { ...metadata, uid: claim.metadata.uid }, spec: { ...spec, revision } };
  const outcome = await attempt(() => consumer.mergePatch(databases, place, change));
  const incarnation = ledger.incarnationOf(claim);
  if (outcome === "acknowledged" && incarnation !== undefined) incarnation.acknowledgedRevision = revision;
  return `${outcome}, revision ${revision}`;
}

/** A change of the provider's object of a claim: a merge patch, and what to note once it was acknowledged. */
interface Change {
  readonly patch: { readonly metadata?: object; readonly spec?: object; readonly status?: object };
  readonly noted?: () => void;
}

/** Changes the provider's object of a claim, which must still be the object that was read. */
function onUpstream(change: (upstream: DynamicObject, ledger: Ledger) => Change | undefined): Deed {
  return async ({ provider, ledger }, _action, { namespace, name }) => {
    const ref = { namespace: serviceNamespaceName(tenants.a, namespace), name };
    const upstream = await provider.find<DynamicObject>(databases, ref);
    if (upstream === undefined) return "nothing on the provider";
    const wanted = change(upstream, ledger);
    if (wanted === undefined) return "nothing to do";
    const { patch, noted } = wanted;
    const own = { ...patch, metadata: { uid: upstream.metadata.uid, ...patch.metadata } };
    const options = patch.status === undefined ? {} : ({ subresource: "status" } as const);
    const outcome = await attempt(() => provider.mergePatch(databases, ref, own, options));
    if (outcome === "acknowledged") noted?.();
    return outcome;
  };
}

const operations: Readonly<Record<Operation, Deed>> = {
  async create(actors, _action, place) {
    const found = await actors.consumer.find(databases, place);
    return found === undefined ? create(actors, place) : "is there already";
  },
  edit: (actors, { dice }, place) =>
    patchClaim(actors, place, (revision) => ({
      // A field that comes and goes, and a list that changes.
      spec: {
        extra: dice < 0.4 ? null : { deep: revision },
        list: dice < 0.5 ? [revision] : [1, 2, revision],
      },
    })),
  label: (actors, { dice }, place) =>
    patchClaim(actors, place, (revision) => ({
      metadata: { labels: { colour: dice < 0.4 ? null : `c${revision}` } },
    })),
  async delete(actors, _action, place) {
    const claim = await actors.consumer.find<DynamicObject>(databases, place);
    return claim === undefined ? "no such claim" : deleteClaim(actors, claim);
  },
  async recreate(actors, _action, place) {
    const claim = await actors.consumer.find<DynamicObject>(databases, place);
    if (claim !== undefined) await deleteClaim(actors, claim);
    for (let attempt = 0; attempt < 15; attempt++) {
      if ((await actors.consumer.find(databases, place)) === undefined) return create(actors, place);
      await sleep(100);
    }
    return "deleted, and it is still there";
  },
  status: onUpstream((_upstream, ledger) => {
    const counter = ledger.next();
    return { patch: { status: { counter, phase: `phase-${counter % 3}` } } };
  }),
  lateInit: onUpstream((upstream, ledger) => {
    const { uid = "" } = upstream.metadata;
    if (textAt(upstream, "spec", "late") !== undefined) return undefined;
    const late = `late-${ledger.next()}`;
    return { patch: { spec: { late } }, noted: () => ledger.lateInitialised.set(uid, late) };
  }),
  slow: onUpstream((upstream) => {
    const { resourceVersion, finalizers = [] } = upstream.metadata;
    if (finalizers.includes(slowFinalizer) || isDeleting(upstream)) return undefined;
    return { patch: { metadata: { resourceVersion, finalizers: [...finalizers, slowFinalizer] } } };
  }),
  async finish({ provider }) {
    return `${await finishDeletions(provider)} finished`;
  },
  async secret({ ledger, provider }, { dice }, place) {
    const { key, ref } = secretOf(place);
    const found = await provider.find<DynamicObject>(secrets, ref);
    const version = ledger.next();
    const texts = { version: String(version), ...(dice < 0.5 ? { [`key-${version}`]: "x" } : {}) };
    const object = secretObject(ref.namespace, ref.name, texts);
    const { resourceVersion } = found?.metadata ?? {};
    const outcome = await attempt(() =>
      found === undefined
        ? provider.create(secrets, object)
        : provider.replace(secrets, { ...object, metadata: { ...object.metadata, resourceVersion } }),
    );
    if (outcome === "acknowledged") ledger.secretVersions.set(key, version);
    // It may be gone, or there again.
    if (outcome === "uncertain" && ledger.secretVersions.get(key) === undefined)
      ledger.secretVersions.delete(key);
    return `${outcome}, version ${version}`;
  },
  async dropSecret({ ledger, provider }, _action, place) {
    const { key, ref } = secretOf(place);
    const outcome = await attempt(() => provider.delete(secrets, ref));
    if (outcome === "acknowledged") ledger.secretVersions.set(key, undefined);
    if (outcome === "uncertain") ledger.secretVersions.delete(key);
    return outcome;
  },
};

/** The Secret beside a claim: its key in the ledger, and where the provider has it. */
function secretOf({ namespace, name: claim }: Place): { readonly key: string; readonly ref: Place } {
  const name = `creds-${claim}`;
  const ref = { namespace: serviceNamespaceName(tenants.a, namespace), name };
  return { key: `${namespace}/${name}`, ref };
}

/** Lets the slow deletions of the provider end. Gives back how many did. */
export async function finishDeletions(provider: KubeClient): Promise<number> {
  const { items } = await provider.list<DynamicObject>(databases);
  const waiting = items.filter(
    (object) => isDeleting(object) && object.metadata.finalizers?.includes(slowFinalizer),
  );
  for (const { metadata } of waiting) {
    const { namespace, name = "", resourceVersion, uid, finalizers = [] } = metadata;
    const left = finalizers.filter((one) => one !== slowFinalizer);
    const patch = { metadata: { uid, resourceVersion, finalizers: left } };
    await attempt(() => provider.mergePatch(databases, { namespace, name }, patch));
  }
  return waiting.length;
}

/** The version that a Secret of the provider, or its copy, holds. */
export function versionOf(object: DynamicObject): number {
  return Number(secretText(object, "version"));
}
