/** The server's refusals, with the status, reason and wording of the real one. */
import { ApiError } from "@klutch/kube";
import type { ResourceType } from "@klutch/kube-core";

/** Names a resource in errors. */
type Named = { readonly type: ResourceType };
type Refusal = (message: string, details?: unknown) => ApiError;

const named = (resource: Named, name: string): string => {
  const { plural, group } = resource.type;
  return `${group === "" ? plural : `${plural}.${group}`} ${JSON.stringify(name)}`;
};

/** An answer of this status and reason, for a message. */
const refusal =
  (status: number, reason: string): Refusal =>
  (message, details) =>
    new ApiError({ status, reason, message, details });

/** 400. */
export const badRequest: Refusal = refusal(400, "BadRequest");
/** 409 for any reason but that a name is taken. */
export const conflict: Refusal = refusal(409, "Conflict");
/** 410: the history does not reach back so far. */
export const expired: Refusal = refusal(410, "Expired");
/** 500 of an error that the server does not classify. */
export const internal: Refusal = refusal(500, "");

/** 404 of one object. */
export function notFound(resource: Named, name: string): ApiError {
  return refusal(404, "NotFound")(`${named(resource, name)} not found`);
}

/** 404 of a path that nothing serves: plain text, hence without a reason; but a custom resource's missing subresource has one. */
export function notServed(reason: "" | "NotFound" = ""): ApiError {
  return refusal(404, reason)("404 page not found");
}

/** 409: the name is taken. */
export function alreadyExists(resource: Named, name: string, isDeleting: boolean): ApiError {
  const message = `${isDeleting ? "object is being deleted: " : ""}${named(resource, name)} already exists`;
  return refusal(409, "AlreadyExists")(message);
}

/** 409: something about the live object is not as the caller supposed. */
export function unfulfilled(resource: Named, name: string, why: string): ApiError {
  return conflict(`Operation cannot be fulfilled on ${named(resource, name)}: ${why}`);
}

/** 409: the object was changed since it was read. */
export function modified(resource: Named, name: string): ApiError {
  const advice = "please apply your changes to the latest version and try again";
  return unfulfilled(resource, name, `the object has been modified; ${advice}`);
}

/** 422. */
export function invalid(resource: Named, name: string, problems: readonly string[]): ApiError {
  const { kind, group } = resource.type;
  const subject = `${group === "" ? kind : `${kind}.${group}`} ${JSON.stringify(name)}`;
  const list = problems.length === 1 ? problems[0] : `[${problems.join(", ")}]`;
  return refusal(422, "Invalid")(`${subject} is invalid: ${list}`);
}

/** 422 of a JSON patch that cannot be carried out. */
export function unprocessable(why: string): ApiError {
  return refusal(422, "Invalid")(`the server rejected our request due to an error in our request: ${why}`);
}

/** 403. */
export function forbidden(resource: Named, name: string, why: string): ApiError {
  return refusal(403, "Forbidden")(`${named(resource, name)} is forbidden: ${why}`);
}
