/** Names the operation of a request, for counting. */

/** Verbs of the Open Service Broker API; `other` is anything else, such as a question for health. */
export type OsbOperation =
  | "catalog"
  | "provision"
  | "update"
  | "deprovision"
  | "fetch_instance"
  | "bind"
  | "unbind"
  | "fetch_binding"
  | "last_operation"
  | "other";

const ofInstance: Readonly<Record<string, OsbOperation>> = {
  PUT: "provision",
  PATCH: "update",
  DELETE: "deprovision",
  GET: "fetch_instance",
};
const ofBinding: Readonly<Record<string, OsbOperation>> = {
  PUT: "bind",
  DELETE: "unbind",
  GET: "fetch_binding",
};

/** Returns the operation for a path without its query. Identifiers do not matter. */
export function operationOf(method: string, path: string): OsbOperation {
  if (path.endsWith("/v2/catalog")) return "catalog";
  const { binding, rest = "" } =
    /\/v2\/service_instances\/[^/]+(?:\/service_bindings\/(?<binding>[^/]+))?(?<rest>\/last_operation)?$/.exec(
      path,
    )?.groups ?? { rest: "unknown" };
  if (rest === "/last_operation") return "last_operation";
  if (rest !== "") return "other";
  return (binding === undefined ? ofInstance : ofBinding)[method] ?? "other";
}
