/** Words which objects a permission claim covers, alike for the terminal and the binding page. */
import { printable } from "@klutch/kube-core";
import type { ClaimSelector } from "./kinds/permission-claim.ts";

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
  const shown = (texts: readonly string[]): readonly string[] => texts.map((text) => printable(text));
  return {
    names: names.includes("*") ? [] : shown(names),
    namespaces: namespaces.includes("*") ? [] : shown(namespaces),
    labels: labels.includes("") ? [] : shown(labels),
    fields: shown(fieldSelectors),
  };
}
