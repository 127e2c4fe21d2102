/** The server's refusals, with the status, reason and wording of the real one. */
import { ApiError } from "@klutch/kube";
import type { ResourceType } from "@klutch/kube-core";

/** Names a resource in errors. */
type Named = { readonly type: ResourceType };

const named = (resource: Named, name: string): string => {
  const { plural, group } = resource.type;
  return `${group === "" ? plural : `${plural}.${group}`} ${JSON.stringify(name)}`;
};

/** 404 of one object. */
export function notFound(resource: Named, name: string): ApiError {
  return new ApiError({ status: 404, reason: "NotFound", message: `${named(resource, name)} not found` });
}

/** 404 of a path that nothing serves: plain text, hence without a reason; but a custom resource's missing subresource has one. */
export function notServed(reason: "" | "NotFound" = ""): ApiError {
  return new ApiError({ status: 404, reason, message: "404 page not found" });
}

/** 409: the name is taken. */
export function alreadyExists(resource: Named, name: string, isDeleting: boolean): ApiError {
  const message = `${isDeleting ? "object is being deleted: " : ""}${named(resource, name)} already exists`;
  return new ApiError({ status: 409, reason: "AlreadyExists", message });
}

/** 409 for any other reason. */
export function conflict(message: string, details?: unknown): ApiError {
  return new ApiError({ status: 409, reason: "Conflict", message, details });
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
  return new ApiError({ status: 422, reason: "Invalid", message: `${subject} is invalid: ${list}` });
}

/** 422 of a JSON patch that cannot be carried out. */
export function unprocessable(why: string): ApiError {
  const message = `the server rejected our request due to an error in our request: ${why}`;
  return new ApiError({ status: 422, reason: "Invalid", message });
}

/** 400. */
export function badRequest(message: string): ApiError {
  return new ApiError({ status: 400, reason: "BadRequest", message });
}

/** 403. */
export function forbidden(resource: Named, name: string, why: string): ApiError {
  return new ApiError({
    status: 403,
    reason: "Forbidden",
    message: `${named(resource, name)} is forbidden: ${why}`,
  });
}

/** 410: the history does not reach back so far. */
export function expired(message: string): ApiError {
  return new ApiError({ status: 410, reason: "Expired", message });
}

/** 500 of an error that the server does not classify. */
export function internal(message: string): ApiError {
  return new ApiError({ status: 500, reason: "", message });
}
