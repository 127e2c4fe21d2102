/** Words for what a permission claim covers and for what crosses with it, alike for the terminal and the binding page. */
import { printable } from "@klutch/kube-core";
import type { ClaimSelector, KeyPatterns, PermissionClaim } from "./kinds/permission-claim.ts";

/** An object is covered when it fits one text of each list that is not empty. The texts are safe to print. */
export interface ClaimedObjects {
  readonly names: readonly string[];
  readonly namespaces: readonly string[];
  /** Label selector such as `app=db,tier=x`. */
  readonly labels: readonly string[];
  /** Field selector such as `type=Opaque,metadata.name!=x`, exactly as the provider wrote it. */
  readonly fields: readonly string[];
}

/** Leaves out values that restrict nothing, such as a star. */
export function claimedObjects(selector: ClaimSelector = {}): ClaimedObjects {
  const { names = [], namespaces = [], labelSelectors = [], fieldSelectors = [] } = selector;
  const labels = labelSelectors.map((wanted) =>
    Object.entries(wanted)
      .map((pair) => pair.join("="))
      .join(","),
  );
  const shown = (texts: readonly string[]): readonly string[] =>
    shortList(texts.map((text) => printable(text)));
  return {
    names: names.includes("*") ? [] : shown(names),
    namespaces: namespaces.includes("*") ? [] : shown(namespaces),
    labels: labels.includes("") ? [] : shown(labels),
    fields: shown(fieldSelectors),
  };
}

/** A person does not read more. */
const mostShown = 10;

/** The first texts of a list, and how many there are besides. */
export function shortList(texts: readonly string[]): readonly string[] {
  const rest = texts.length - mostShown;
  return rest <= 1 ? texts : [...texts.slice(0, mostShown), `${rest} more`];
}

/** Sentences about what crosses, and what may change, once a person has accepted the claim. The texts are safe to print. */
export function claimDetails(claim: PermissionClaim): readonly string[] {
  const { create, onConflict, selector, update = {}, autoDonate, autoAdopt } = claim;
  const owner = selector?.owner;
  const [fromProvider, fromConsumer] = [owner !== "Consumer", owner !== "Provider" || autoAdopt === true];
  const when = (applies: boolean | undefined, text: string): readonly string[] =>
    applies === true ? [text] : [];
  const { fields = [], preserving = [] } = update;
  return [
    ...when(create?.replaceExisting, "Objects of the same name that exist already are replaced."),
    ...when(
      onConflict?.recreateWhenConsumerSideDeleted === true && fromProvider,
      "An object that you delete is created again.",
    ),
    ...when(fields.length > 0 && fromProvider, `Only these fields are changed: ${listed(fields)}.`),
    ...when(
      fields.length > 0 && fromConsumer,
      `The provider may change these fields of your objects: ${listed(fields)}.`,
    ),
    ...when(preserving.length > 0, `These fields keep your values: ${listed(preserving)}.`),
    ...when(update.alwaysRecreate, "Objects are deleted and created again instead of being changed."),
    ...keyDetails(claim, { fromProvider, fromConsumer }),
    ...when(
      owner !== "Provider" && claim.resource === "secrets" && autoDonate !== true,
      "The contents of these secrets leave your cluster.",
    ),
  ];
}

function keyDetails(
  { read = {}, update = {} }: PermissionClaim,
  { fromProvider, fromConsumer }: { readonly fromProvider: boolean; readonly fromConsumer: boolean },
): readonly string[] {
  const about = (
    applies: boolean,
    keys: KeyPatterns | undefined,
    wordsOf: (keys: string) => string,
  ): readonly string[] =>
    !applies || keys === undefined || keys.length === 0
      ? []
      : [wordsOf(listed(keys.map(({ pattern }) => pattern)))];
  const leaves = (what: string, keys: KeyPatterns | undefined): readonly string[] =>
    keys === undefined || keys.length === 0
      ? fromConsumer
        ? [`The ${what} of your objects go to the provider, except those of Klutch and kubectl.`]
        : []
      : about(fromConsumer, keys, (list) => `These ${what} of your objects go to the provider: ${list}.`);
  return [
    ...about(
      fromProvider,
      update.labels,
      (list) => `These labels of the provider's objects come to your cluster: ${list}.`,
    ),
    ...about(
      fromProvider,
      update.annotations,
      (list) => `These annotations of the provider's objects come to your cluster: ${list}.`,
    ),
    ...leaves("labels", read.labels),
    ...leaves("annotations", read.annotations),
    ...about(
      fromConsumer,
      update.labelsOnConsumerOwnedObjects,
      (list) => `The provider may set these labels of your objects: ${list}.`,
    ),
    ...about(
      fromConsumer,
      update.annotationsOnConsumerOwnedObjects,
      (list) => `The provider may set these annotations of your objects: ${list}.`,
    ),
    ...about(
      fromProvider,
      read.labelsOnProviderOwnedObjects,
      (list) => `Labels that you set on copies of the provider's objects go to the provider: ${list}.`,
    ),
    ...about(
      fromProvider,
      read.overrideAnnotations,
      (list) => `Annotations that you set on copies of the provider's objects go to the provider: ${list}.`,
    ),
  ];
}

const listed = (texts: readonly string[]): string => shortList(texts.map((one) => printable(one))).join(", ");
