/**
 * Says for each reason of docs/reference/conditions.md at which station a claim stands, whether that ends by itself, and who can go on. A reason of a
 * stranger's program has no row: then the operator of the control plane is the one to ask.
 */
import { isDnsSubdomain } from "@klutch/kube-core";
import type { Observed } from "./observed.ts";
import type { Remedy, State, Station } from "./explanation.ts";
import type { ObjectView } from "./view.ts";

/** The meaning of one reason. */
export interface Meaning {
  readonly station: Station;
  readonly state: State;
  readonly remedy: Remedy;
}

/** Names a claim for a command. */
export interface Named {
  readonly resource: string;
  readonly name: string;
  /** ` -n <namespace>`, or nothing. */
  readonly flag: string;
}

/** A claim that a condition is about. */
export interface Blamed extends Pick<Observed, "api" | "choosesComposition"> {
  readonly claim: Pick<Observed["claim"], "namespace" | "name">;
}

/** Returns the names of the claim for commands in its cluster. */
export function namedClaim({ api, claim }: Pick<Blamed, "api" | "claim">): Named {
  const flag = claim.namespace === undefined ? "" : ` -n ${claim.namespace}`;
  return { resource: api, name: claim.name, flag };
}

const itself: Remedy = { who: "none", next: "" };
const askTheTeam: Remedy = { who: "operator", next: "ask the operators of the control plane" };
const lookAtBrokers: Remedy = {
  who: "operator",
  next: "in the control plane: kubectl get providerconfigs.dataservices.anynines.com,clusterproviderconfigs.dataservices.m.anynines.com",
};

/** Returns the remedy of another spec. */
export const edit = ({ resource, name, flag }: Named): Remedy => ({
  who: "developer",
  next: `kubectl edit ${resource} ${name}${flag}`,
});

type Row = readonly [Station, State, (named: Named) => Remedy];

const itselfRow = (station: Station): Row => [station, "waiting", () => itself];

/** Reasons of `Ready` and `Synced` of a claim. */
const rows: Readonly<Record<string, Row>> = {
  SpecNotSent: itselfRow("sent"),
  SpecNotObserved: ["composite", "waiting", () => askIfItLasts],
  CannotCompose: ["composite", "failed", () => askTheTeam],
  NoOrganization: [
    "composite",
    "failed",
    () => ({ who: "operator", next: "in the control plane: kubectl get environmentconfigs" }),
  ],
  RegionMisconfigured: [
    "composite",
    "failed",
    () => ({
      who: "operator",
      next: "in the control plane: kubectl get providerconfigs.dataservices.anynines.com -L klutch.anynines.com/region,klutch.anynines.com/drained",
    }),
  ],
  RegionNotAvailable: [
    "composite",
    "failed",
    ({ resource, name, flag }) => ({ who: "developer", next: `kubectl delete ${resource} ${name}${flag}` }),
  ],
  Paused: ["managed", "failed", () => pausedRemedy],
  Creating: itselfRow("broker"),
  Changing: itselfRow("broker"),
  Deleting: itselfRow("broker"),
  WaitingForInstance: itselfRow("broker"),
  WaitingForBackup: itselfRow("broker"),
  WaitingForRestore: itselfRow("broker"),
  BrokerBusy: itselfRow("broker"),
  Refused: ["broker", "failed", edit],
  NoBroker: ["broker", "failed", () => lookAtBrokers],
  BrokerUnreachable: ["broker", "failed", () => ({ ...lookAtBrokers, who: "broker" })],
  RotationIncomplete: ["broker", "failed", () => ({ ...lookAtBrokers, who: "broker" })],
  Failed: ["broker", "failed", () => ({ ...lookAtBrokers, who: "broker" })],
  Lost: ["broker", "failed", () => askTheTeam],
  Deleted: ["broker", "failed", replace],
  BackupNotUsable: ["broker", "failed", replace],
  StillBound: ["broker", "waiting", listClaims],
  StillBackedUp: ["broker", "waiting", listClaims],
  StillRestoring: itselfRow("broker"),
  CreationHeld: ["sent", "failed", ({ resource }) => bindingRemedy("ProviderRestored", resource)],
  DeletionHeld: ["sent", "failed", ({ resource }) => bindingRemedy("MassDeletion", resource)],
  NameTaken: ["secret", "failed", renameSecret],
  SecretTypeRefused: ["secret", "failed", () => askTheTeam],
  TooManyObjects: ["secret", "failed", () => ({ who: "developer", next: "delete claims that no one needs" })],
};

const askIfItLasts: Remedy = {
  who: "none",
  next: "if it lasts for minutes, ask the operators of the control plane whether Crossplane and its functions run",
};

/** Removes the annotation that pauses. */
export const pausedRemedy: Remedy = {
  who: "operator",
  next: "in the control plane, when that is right: remove the annotation crossplane.io/paused",
};

function replace({ resource, name, flag }: Named): Remedy {
  return { who: "developer", next: `kubectl delete ${resource} ${name}${flag}, and create another` };
}

function listClaims({ flag }: Named): Remedy {
  return { who: "developer", next: `kubectl get claim${flag}, and delete those that the cause names` };
}

function renameSecret({ flag }: Named): Remedy {
  return { who: "developer", next: `kubectl get secrets${flag}, and rename or delete the one in the cause` };
}

/** Returns `kubectl describe …` for an object; undefined where its names, which come from a server, are none. */
export function describingCommand({ kind, group, name, namespace }: ObjectView): string | undefined {
  const resource = `${kind.toLowerCase()}.${group}`;
  const flag = namespace === undefined ? "" : ` -n ${namespace}`;
  return [resource, name, namespace ?? name].every(isDnsSubdomain)
    ? `kubectl describe ${resource} ${name}${flag}`
    : undefined;
}

/** Reasons of Crossplane, which say no more than the status. */
const general: ReadonlySet<string> = new Set(["Available", "Unavailable", "Waiting", "ReconcileError"]);

/** Returns true for a reason of `Ready` that Klutch or Crossplane gives. */
export function isOfKlutch(reason: string): boolean {
  return Object.hasOwn(rows, reason) || general.has(reason);
}

/** Returns true for a reason of the konnector that is about its own work: sending the claim, or its Secret. */
export function isOfAgent(reason: string): boolean {
  const station = Object.hasOwn(rows, reason) ? rows[reason]?.[0] : undefined;
  return station === "sent" || station === "secret";
}

/** Returns the meaning of a claim's condition that is not True. */
export function meaningOf(
  { reason, message }: { readonly reason: string; readonly message: string },
  observed: Blamed,
): Meaning {
  const named = namedClaim(observed);
  const [station, state, remedy] = Object.hasOwn(rows, reason) ? (rows[reason] ?? stranger) : stranger;
  const usual = { station, state, remedy: remedy(named) };
  if (reason === "CannotCompose" && observed.choosesComposition && /\bcompositionRef\b/.test(message))
    return { ...usual, remedy: edit(named) };
  const space = `namespace/${observed.claim.namespace}`;
  if (reason === "DeletionHeld" && message.includes(`klutch release ${space}`))
    return { ...usual, remedy: bindingRemedy("MassDeletion", space) };
  // The function says itself whether another spec helps.
  if (reason === "Failed" && /change the claim's spec/.test(message))
    return { ...usual, remedy: edit(named) };
  if (reason === "WaitingForInstance" && /\bno instance\b/.test(message))
    return { ...usual, remedy: listInstances(named) };
  return usual;
}

const stranger: Row = ["composite", "waiting", () => askIfItLasts];

function listInstances({ flag }: Named): Remedy {
  return { who: "developer", next: `create the instance, or name one of: kubectl get claim${flag}` };
}

/** Warnings of a konnector by which a spec that is not sent can be told apart. */
const warningRows: Readonly<Record<string, (named: Named) => Remedy>> = {
  LimitReached: listToDelete,
  NotOffered: () => askTheTeam,
  NamespaceRefused: () => askTheTeam,
  SyncRefused: edit,
  NameTaken: ({ resource }) => ({ who: "developer", next: `create the ${resource} under another name` }),
};

function listToDelete({ resource }: Named): Remedy {
  return {
    who: "developer",
    next: `kubectl get ${resource} -A, and delete one that no one needs; or ask the person in the cause`,
  };
}

/** Returns the remedy for a Warning that stops a spec in the app cluster; undefined for another one. */
export function stoppingRemedy(reason: string, named: Named): Remedy | undefined {
  return Object.hasOwn(warningRows, reason) ? warningRows[reason]?.(named) : undefined;
}

/** Remedies for a binding that is not well. */
export function bindingRemedy(reason: string, api: string): Remedy {
  switch (reason) {
    case "ProviderUnreachable":
    case "InformerSyncTimeout":
      return { who: "operator", next: "repair the network between the clusters; then it goes on by itself" };
    case "CredentialRefused":
    case "Unauthorized":
    case "KubeconfigSecretNotFound":
    case "KubeconfigSecretInvalid":
      return { who: "operator", next: "if the access was not revoked on purpose: kubectl bind" };
    case "BreakingSchemaChange":
    case "MassDeletion":
    case "ProviderRestored":
      return { who: "operator", next: `when that is right: klutch release ${api}` };
    case "Forbidden":
      return { who: "operator", next: "klutch doctor --fix" };
    case "NotOffered":
    case "Revoked":
    case "APIServiceExportNotFound":
    case "APIServiceExportInvalid":
      return askTheTeam;
    default:
      return { who: "operator", next: "klutch doctor" };
  }
}
