/** Says what stands against removing Klutch from an app cluster, before anything is changed. No I/O. */
import { type APIServiceBinding, consumerNamespace, printable } from "@klutch/api";
import { findCondition, isTrue } from "@klutch/kube-core";
import { hasLiveKonnector, type Home, namesOf, needsKonnector } from "../app-cluster/home.ts";
import { counted, named } from "../findings.ts";
import { type BlockedClaim, blockedClaims } from "./order.ts";
import type { Survey } from "./survey.ts";

/** Everything that was read before the first change. */
export interface Found extends Survey {
  /** All APIServiceBindings of the cluster. */
  readonly bindings: readonly APIServiceBinding[];
  readonly home: Home;
}

/** The part of the flags that decides. */
export interface Wanted {
  readonly delete: boolean;
  readonly keepKonnector: boolean;
}

/** Returns a sentence for each obstacle, with what to do; empty if the command may begin. */
export function obstaclesOf(found: Found, wanted: Wanted): readonly string[] {
  return [
    ...strangers(found),
    ...silentKonnector(found),
    ...withoutFinalizer(found, wanted),
    ...heldDeletions(found),
    ...unreachable(found),
    ...blocked(found, wanted),
    ...insideNamespace(found, wanted),
  ];
}

/** Returns true for a binding that the konnector of klutch-bind serves; those of version 1.5 have no namespace. */
export function isOfThisCluster({ metadata }: APIServiceBinding): boolean {
  return metadata.namespace === undefined || metadata.namespace === consumerNamespace;
}

function strangers({ bindings }: Found): readonly string[] {
  const others = bindings.filter((binding) => !isOfThisCluster(binding));
  if (others.length === 0) return [];
  return [
    `${named(others.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`))}: not in namespace ${consumerNamespace}. This looks like a control plane; pass the kubeconfig of the app cluster. To unbind one of these, name it: klutch unbind <api>.`,
  ];
}

function silentKonnector({ bindings, home }: Found): readonly string[] {
  const waiting = bindings.filter((binding) => isOfThisCluster(binding) && needsKonnector(binding));
  if (waiting.length === 0 || hasLiveKonnector(home)) return [];
  const names = namesOf(waiting);
  const letGo =
    "klutch hand-back lets the bindings go without it: claims and databases stay, and claims keep a finalizer that klutch doctor shows how to remove. Then run klutch unbind --all again.";
  if (home.namespace === "terminating")
    return [
      `Namespace ${consumerNamespace} is being deleted, and no konnector works that could unbind ${names}. A konnector cannot be installed there again. ${letGo}`,
    ];
  return [
    `No konnector works that could unbind ${names}. klutch doctor says why. Start the konnector, and run the command again. If that is impossible: ${letGo}`,
  ];
}

function withoutFinalizer({ bindings }: Found, wanted: Wanted): readonly string[] {
  const names = namesOf(bindings.filter((one) => isOfThisCluster(one) && !needsKonnector(one)));
  if (!wanted.delete || names === "") return [];
  return [
    `No konnector that can unbind serves ${names}, so --delete would delete nothing in the control plane. Start or upgrade the konnector (klutch doctor shows its state), or run the command without --delete.`,
  ];
}

function heldDeletions(found: Found): readonly string[] {
  return served(found)
    .filter(({ status }) => isTrue(status?.conditions, "DeletionHeld"))
    .map(({ metadata: { name = "" }, status }) => {
      const { reason, message = "" } = findCondition(status?.conditions, "DeletionHeld") ?? {};
      const command = reason === "NamespaceDeletion" ? "run the command above" : `klutch release ${name}`;
      return `The konnector holds back deletions of ${name} (${printable(message)}). Decide first. To delete: ${command}. To keep the databases: klutch unbind ${name}.`;
    });
}

function unreachable(found: Found): readonly string[] {
  return served(found)
    .map(({ metadata: { name = "" }, status }) => ({
      name,
      condition: findCondition(status?.conditions, "Connected"),
    }))
    .filter(({ condition }) => condition?.status === "False")
    .map(
      ({ name, condition }) =>
        `The konnector cannot work with the control plane of ${name}: ${printable(`${condition?.reason ?? "Connected False"}: ${condition?.message ?? ""}`)}. Repair that first. If the control plane is gone for good: kubectl annotate -n ${consumerNamespace} apiservicebinding ${name} klutch.anynines.com/unbind-policy=Abandon, then kubectl delete -n ${consumerNamespace} apiservicebinding ${name}.`,
    );
}

/** Finds none with `--delete`, because the users go first, and none without a konnector, because no deletion could be finished then. */
function blocked({ claims, home }: Found, wanted: Wanted): readonly string[] {
  if (wanted.delete || !hasLiveKonnector(home)) return [];
  return blockedClaims(claims).map(
    (one) => `${sentenceOf(one)} Wait until both are gone, and run the command again.`,
  );
}

/** Words that a claim cannot be deleted, with what to do. */
export function sentenceOf({ claim, users }: BlockedClaim, state = "is being deleted"): string {
  const [use, those, their] =
    users.length === 1 ? ["uses", "that claim", "its"] : ["use", "those claims", "their"];
  return `${claim} ${state} and cannot go, because ${named(users)} still ${use} it. Delete ${those} while ${their} API is bound.`;
}

function insideNamespace({ claims }: Found, wanted: Wanted): readonly string[] {
  const inside = claims.filter(({ namespace }) => namespace === consumerNamespace);
  if (wanted.keepKonnector || inside.length === 0) return [];
  return [
    `Namespace ${consumerNamespace} holds ${counted(inside.length, "claim")}, which would go with it: ${named(inside.map(({ api, name }) => `${api} ${name}`))}. Move ${inside.length === 1 ? "it" : "them"} to another namespace, or pass --keep-konnector.`,
  ];
}

/** Returns the bindings that a living konnector will have to unbind and that are not being deleted yet. Other conditions are stale. */
function served({ bindings, home }: Found): readonly APIServiceBinding[] {
  if (!hasLiveKonnector(home)) return [];
  return bindings.filter(
    (one) => isOfThisCluster(one) && needsKonnector(one) && one.metadata.deletionTimestamp === undefined,
  );
}
