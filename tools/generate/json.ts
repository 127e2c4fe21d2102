/** Reading JSON whose shape our own printers guarantee. */
import { textAt } from "@klutch/kube-core";

export type Json = Readonly<Record<string, unknown>>;

/** The text at the path as it stands on a page; nothing where there is none. */
export function printed(value: unknown, ...path: readonly string[]): string {
  return textAt(value, ...path) ?? "";
}
