/** Where the credentials of a binding say that its service is reached: what the service's table says, on its way over the instance. */
import {
  connectionAnnotation,
  instanceTypeLabel,
  type ManagedServiceBinding,
  type ServiceInstance,
} from "@klutch/api";
import { type ConnectionSource, readConnectionText, serviceOfType } from "@klutch/services";

/** `connection` is undefined when nobody says it; `problem`, for people, when what is said is not understood. */
export interface KnownConnection {
  readonly connection?: readonly ConnectionSource[] | undefined;
  readonly problem?: string | undefined;
}

/**
 * From the annotation of the binding's instance, which is read as a stranger's. Instances that were composed before there was one, and those
 * whose annotation is not understood, are taken for those of the shipped service of the binding's type, if there is one.
 */
export function connectionOf(
  { metadata }: ManagedServiceBinding,
  instance: ServiceInstance | undefined,
): KnownConnection {
  const text = instance?.metadata.annotations?.[connectionAnnotation];
  const read = text === undefined ? undefined : readConnectionText(text);
  if (read !== undefined && "connection" in read) return read;
  const shipped = serviceOfType(metadata.labels?.[instanceTypeLabel] ?? "");
  return {
    connection: shipped?.connection,
    problem: read === undefined ? undefined : notUnderstood(instance, shipped?.title, read.problem),
  };
}

function notUnderstood(
  instance: ServiceInstance | undefined,
  title: string | undefined,
  problem: string,
): string {
  const instead =
    title === undefined
      ? "the connection details of the binding stay as they are"
      : `it is taken for that of ${title}`;
  return (
    `annotation ${connectionAnnotation} of ServiceInstance ${instance?.metadata.name ?? ""} is not understood, so ${instead}: ${problem}. ` +
    "Remove the annotation; the composition function writes it again"
  );
}
