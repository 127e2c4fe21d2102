/** Reads the claims of bound APIs, as far as removing Klutch has to know them. */
import type { APIServiceBinding } from "@klutch/api";
import { isNotFound, resourceTypeOf } from "@klutch/kube";
import {
  customResourceDefinitions,
  type DynamicObject,
  isDeleting,
  recordAt,
  textAt,
} from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import { type ApiShape, shapeOf, type SurveyedClaim } from "./order.ts";

/** The bound APIs with their claims. */
export interface Survey {
  /** One for each binding; without kind and references if its CRD does not exist. */
  readonly shapes: readonly ApiShape[];
  readonly claims: readonly SurveyedClaim[];
}

/** Reads every claim of the bound APIs, page by page. */
export async function survey(
  { client }: Consumer,
  bindings: readonly APIServiceBinding[],
  signal: AbortSignal,
): Promise<Survey> {
  const shapes: ApiShape[] = [];
  const claims: SurveyedClaim[] = [];
  for (const { metadata } of bindings) {
    const { name = "" } = metadata;
    const crd = await client.find<DynamicObject>(customResourceDefinitions, { name }, { signal });
    const shape = crd === undefined ? { name, kind: "", references: [] } : shapeOf(crd);
    shapes.push(shape);
    const type = crd === undefined ? undefined : resourceTypeOf(crd);
    if (type === undefined) continue;
    try {
      for await (const claim of client.listAll<DynamicObject>(type, { signal }))
        claims.push(surveyed(shape, claim));
    } catch (error) {
      // The API server no longer serves a kind whose definition is being deleted.
      if (!isNotFound(error)) throw error;
    }
  }
  return { shapes, claims };
}

function surveyed({ name: api, kind }: ApiShape, claim: DynamicObject): SurveyedClaim {
  const { namespace, name = "" } = claim.metadata;
  const spec = recordAt(claim, "spec");
  const fields: Record<string, string> = {};
  for (const field of Object.keys(spec)) {
    const text = textAt(spec, field) ?? textAt(spec, field, "name");
    if (text !== undefined) fields[field] = text;
  }
  return { api, kind, namespace, name, isDeleting: isDeleting(claim), fields };
}
