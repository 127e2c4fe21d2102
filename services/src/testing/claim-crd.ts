/** The CRD that Crossplane derives for the claims of an XRD, as far as the checks of a claim's spec depend on it. */
import { crdFromExport, exportFromCrd } from "@klutch/api";
import type { CompositeResourceDefinition } from "../xrd.ts";

/** Named like Crossplane's; of the fields that Crossplane adds those that choose the Composition. */
export function claimCrd(xrd: CompositeResourceDefinition): ReturnType<typeof crdFromExport> {
  const { spec } = xrd;
  const text = JSON.stringify({
    group: spec["group"],
    names: spec["claimNames"],
    scope: "Namespaced",
    versions: spec["versions"],
  })
    .replaceAll('"referenceable":true', '"storage":true')
    .replace('"spec":{"type":"object","properties":{', (start) => `${start}${choice},`);
  const claimSpec: unknown = JSON.parse(text);
  return crdFromExport(exportFromCrd({ metadata: xrd.metadata, spec: claimSpec }).spec);
}

const choice: string =
  '"compositionRef":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}},' +
  '"compositionSelector":{"type":"object","required":["matchLabels"],"properties":{"matchLabels":' +
  '{"type":"object","additionalProperties":{"type":"string"}}}}';
