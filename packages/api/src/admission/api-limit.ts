/**
 * The limit of a bound API, told at `kubectl apply`: a ValidatingAdmissionPolicy for each bound API refuses new claims while the APIServiceBinding
 * shows as many as the provider allows (designs/0025-limits-in-the-app-cluster.md). The provider's quota is what holds; this is where people read of it.
 */
import { consumerNamespace, konnectorName } from "../names.ts";
import { type ApiPolicy, apiPolicy } from "./api-policy.ts";

/** The konnector makes claims for objects that the provider has already: they count there. */
const isPerson = `request.userInfo.username != 'system:serviceaccount:${consumerNamespace}:${konnectorName}'`;
/** `params` is the APIServiceBinding. */
const limit = "params.status.limit";
const isLimited = `!has(params.metadata.deletionTimestamp) && has(params.status) && has(${limit}) && has(${limit}.max) && has(${limit}.used)`;
const contact = `(has(${limit}.contact) && ${limit}.contact != '' ? '; ask ' + ${limit}.contact : '')`;

/** The policies. They refuse nothing unless the APIServiceBinding shows a limit that is reached. */
export const apiLimit: ApiPolicy = apiPolicy({
  prefix: "klutch-limit.",
  kind: "ValidatingAdmissionPolicy",
  policy: (resource) => ({
    matchConditions: [{ name: "person", expression: isPerson }],
    validations: [
      {
        expression: `!(${isLimited}) || ${limit}.used < ${limit}.max`,
        // For a text with which the expression below is refused, as one with line breaks is.
        message: `this cluster may have no more ${resource}`,
        messageExpression: `'this cluster may have ' + string(${limit}.max) + ' ${resource}, has ' + string(${limit}.used) + ${contact}`,
        reason: "Forbidden",
      },
    ],
  }),
  binding: { validationActions: ["Deny"] },
});
