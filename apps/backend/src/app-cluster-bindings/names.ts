/** Names of what an AppClusterBinding makes. docs/reference/names.md lists them. */
import { createHash } from "node:crypto";
import { type AppClusterBinding, appClusterBindingAnnotation, appClusterBindingNameLabel } from "@klutch/api";
import { boundedName, keyOf, type KubeObject, maxLabelLength } from "@klutch/kube-core";

/** Annotation on a Secret: comma-separated namespaces whose AppClusterBindings may use it; `*` means all. */
export const allowFromAnnotation = "klutch.anynines.com/allow-from";
/** The second label of everything that an AppClusterBinding made, beside `appClusterBindingNameLabel`. */
const appClusterBindingNamespaceLabel = "klutch.anynines.com/appclusterbinding-namespace";

/** An AppClusterBinding with the names that follow from it. */
export interface Owner {
  readonly object: AppClusterBinding;
  /** `<namespace>/<name>`. */
  readonly key: string;
  /** Name of its root namespace. */
  readonly root: string;
  /** Labels on all of its objects. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export function ownerOf(object: AppClusterBinding): Owner {
  const { namespace = "", name = "" } = object.metadata;
  const key = keyOf(object);
  return {
    object,
    key,
    root: rootNamespaceName(namespace, name),
    labels: {
      [appClusterBindingNameLabel]: boundedName(name),
      [appClusterBindingNamespaceLabel]: boundedName(namespace),
    },
    annotations: { [appClusterBindingAnnotation]: key },
  };
}

/** The key of the AppClusterBinding that made the object; nothing for foreign ones. */
export function ownerKeyOf({ metadata }: KubeObject): readonly string[] {
  const key = metadata.annotations?.[appClusterBindingAnnotation];
  return key === undefined ? [] : [key];
}

/**
 * `klutch-bind-<namespace>-<name>` where this can be read in one way only: with a namespace that has no dash, a name that is a DNS
 * label, and at most 63 characters. Every other pair gets a hashed tail. That a namespace is ours is proven by its
 * annotation, never by the name alone.
 */
export function rootNamespaceName(namespace: string, name: string): string {
  const plain = `klutch-bind-${namespace}-${name}`;
  if (!namespace.includes("-") && !name.includes(".") && plain.length <= maxLabelLength) return plain;
  const digest = createHash("sha256").update(`${namespace}/${name}`).digest("hex").slice(0, 10);
  const readable = plain.replaceAll(".", "-").slice(0, maxLabelLength - digest.length - 1);
  return `${readable.replace(/-+$/, "")}-${digest}`;
}

/** Name of the konnector's Deployment in the root namespace. */
export function konnectorDeploymentName(name: string): string {
  return boundedName(`konnector-${name}`);
}

/** `appclusterbinding-<binding>-<template>-<hash of the export's name>`, at most 63 characters. */
export function exportRequestName(binding: string, template: string, exportName: string): string {
  const prefix = `appclusterbinding-${namePart(binding, "binding")}-`;
  const digest = fnv32a(exportName);
  const room = maxLabelLength - prefix.length - digest.length - 1;
  return `${prefix}${namePart(template, "export").slice(0, room)}-${digest}`;
}

function namePart(text: string, fallback: string): string {
  const part = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 24);
  return part === "" ? fallback : part;
}

/** FNV-1a with 32 bits over UTF-8, as eight hexadecimal digits. */
function fnv32a(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}
