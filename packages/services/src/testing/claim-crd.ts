/** The CRD of the claims of an XRD as app clusters get it, as far as the checks of a claim's spec depend on it. */
import { crdFromExport, exportFromCrd } from "@klutch/api";
import { claimDefinition } from "../render/claim-crd.ts";
import type { CompositeResourceDefinition } from "../xrd.ts";

/** Named like Crossplane's; of the fields that Crossplane adds those that choose the Composition. */
export function claimCrd(xrd: CompositeResourceDefinition): ReturnType<typeof crdFromExport> {
  return crdFromExport(exportFromCrd(claimDefinition(xrd)).spec);
}
