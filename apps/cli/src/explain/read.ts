/** Reads the claim and everything about it in its own cluster, with the caller's rights only: a part that they do not show is left out. */
import { apiServiceExports, consumerNamespace, crdNameOf, plainText } from "@klutch/api";
import { discoverResource, type KubeClient } from "@klutch/kube";
import {
  type DynamicObject,
  events,
  type Lease,
  leases,
  type ObjectRef,
  type ResourceType,
  secrets,
  textAt,
} from "@klutch/kube-core";
import {
  choosesComposition,
  type Looked,
  type ObjectView,
  type Observed,
  secretNameOf,
  viewOf,
  type Warning,
} from "@klutch/overview";
import { findBinding } from "../app-cluster/bound-resource.ts";
import { type Consumer, ifAllowed } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";

/** The claim as it was read. */
export interface ReadClaim {
  readonly type: ResourceType;
  readonly object: DynamicObject;
  readonly observed: Observed;
}

/** Reads it. Throws `CliError` if it does not exist, and the server's refusal if the caller may not read it. */
export async function readClaim(
  context: CliContext,
  consumer: Consumer,
  type: ResourceType,
  ref: ObjectRef,
): Promise<ReadClaim> {
  const { signal } = context;
  const { client } = consumer;
  const api = crdNameOf({ group: type.group, resource: type.plural });
  const object = await client.find<DynamicObject>(type, ref, { signal });
  if (object === undefined) {
    const place = ref.namespace === undefined ? "" : ` in namespace ${ref.namespace}; -n chooses another`;
    throw new CliError("Usage", `There is no ${type.kind} ${ref.name}${place}.`);
  }
  const claim = viewOf(object);
  const isAbove = !claim.isHeld && (await servesExports(client, signal));
  const known = {
    claim,
    api,
    plural: type.plural,
    choosesComposition: choosesComposition(object),
    above: undefined,
  };
  if (isAbove) {
    const nothing = {
      binding: undefined,
      agent: "unknown",
      secret: "unknown",
      warnings: [],
      usualMs: undefined,
    } as const;
    return { type, object, observed: { ...known, from: "control plane", ...nothing } };
  }
  const [binding, agent, warnings, secret, usualMs] = await Promise.all([
    readBinding(consumer, api, signal),
    readAgent(context, client),
    readWarnings(client, object, signal),
    readSecret(client, claim, signal),
    readUsual(client, type, claim, signal),
  ]);
  return {
    type,
    object,
    observed: { ...known, from: "app cluster", binding, agent, warnings, secret, usualMs },
  };
}

async function servesExports(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  const { group, plural } = apiServiceExports;
  return (await discoverResource(client, { group, plural }, { signal })) !== undefined;
}

async function readBinding(consumer: Consumer, api: string, signal: AbortSignal): Promise<Looked> {
  const found = await ifAllowed(() => findBinding(consumer, api, signal));
  if (found === undefined) return "forbidden";
  return found.binding === undefined ? "missing" : { found: viewOf({ ...found.binding }) };
}

/** Between two looks at a lease: a konnector renews it every few seconds. */
const secondLookMs = 4_000;

/** A lease that looks old may be of a cluster whose clock is behind, so what counts is whether it is renewed. */
async function readAgent({ signal, clock }: CliContext, client: KubeClient): Promise<Observed["agent"]> {
  const ref = { namespace: consumerNamespace, name: consumerNamespace };
  const look = () => ifAllowed(() => client.find<Lease>(leases, ref, { signal }));
  const first = await look();
  if (first === undefined) return "unknown";
  const { renewTime, holderIdentity = "", leaseDurationSeconds = 15 } = first.spec ?? {};
  if (renewTime === undefined || holderIdentity === "") return "silent";
  const ageMs = clock.now() - Date.parse(renewTime);
  if (ageMs >= 0 && ageMs <= leaseDurationSeconds * 1_000) return "works";
  await clock.sleep(secondLookMs, { signal });
  return (await look())?.spec?.renewTime === renewTime ? "silent" : "works";
}

const mostWarnings = 20;

async function readWarnings(
  client: KubeClient,
  { metadata }: DynamicObject,
  signal: AbortSignal,
): Promise<readonly Warning[]> {
  const { namespace = "default", uid = "" } = metadata;
  const fieldSelector = `involvedObject.uid=${uid},type=Warning`;
  const page = await ifAllowed(() =>
    client.list<DynamicObject>(events, { namespace, fieldSelector, limit: 500, signal }),
  );
  const timeOf = (event: DynamicObject): string =>
    textAt(event, "lastTimestamp") ?? textAt(event, "eventTime") ?? event.metadata.creationTimestamp ?? "";
  return (page?.items ?? [])
    .toSorted((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1))
    .slice(0, mostWarnings)
    .map((event) => ({
      reason: plainText(textAt(event, "reason") ?? "", 100),
      message: plainText(textAt(event, "message") ?? "", 600),
    }));
}

/** Asks for metadata only: no credential is read. */
async function readSecret(
  client: KubeClient,
  claim: ObjectView,
  signal: AbortSignal,
): Promise<Observed["secret"]> {
  const { namespace } = claim;
  const name = secretNameOf(claim);
  if (name === undefined || namespace === undefined) return "unknown";
  const fieldSelector = `metadata.name=${name}`;
  const page = await ifAllowed(() =>
    client.list(secrets, { namespace, fieldSelector, metadataOnly: true, signal }),
  );
  if (page === undefined) return "unknown";
  return page.items.length > 0 ? "present" : "missing";
}

const mostOthers = 100;
/** Fewer tell nothing about the usual time. */
const leastOthers = 2;

/** Both times are of one clock, the provider's. */
async function readUsual(
  client: KubeClient,
  type: ResourceType,
  { namespace, name }: ObjectView,
  signal: AbortSignal,
): Promise<number | undefined> {
  const page = await ifAllowed(() =>
    client.list<DynamicObject>(type, { namespace, limit: mostOthers, signal }),
  );
  const times = (page?.items ?? [])
    .filter(({ metadata }) => metadata.name !== name)
    .flatMap((other) => {
      const { createdAt, provisionedAt } = viewOf(other).managed ?? {};
      const tookMs = Date.parse(provisionedAt ?? "") - Date.parse(createdAt ?? "");
      return tookMs >= 0 ? [tookMs] : [];
    })
    .toSorted((one, other) => one - other);
  return times.length < leastOthers ? undefined : times[Math.floor(times.length / 2)];
}
