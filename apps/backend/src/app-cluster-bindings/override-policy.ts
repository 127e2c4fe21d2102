/**
 * Restricts the overrides of an AppClusterBinding. A user who may write one is not necessarily an administrator of the provider cluster, so
 * the konnector's container keeps the confinement of the generated one: no further rights on the node, no host port, no foreign image.
 */
import { isRecord, jsonEqual, recordAt, valueAt } from "@klutch/kube-core";

type Json = Readonly<Record<string, unknown>>;

/** A value that is allowed, and in words. */
interface Rule {
  readonly accepts: (value: unknown) => boolean;
  readonly right: string;
}

const exactly = (allowed: unknown): Rule => ({
  accepts: (value) => jsonEqual(value, allowed),
  right: `only ${JSON.stringify(allowed)} is allowed`,
});
const number = (least: number, right: string): Rule => ({
  accepts: (value) => typeof value === "number" && value >= least,
  right,
});

/** Fields of the security context that may differ from the generated one, and how. Every other field may not. */
const securityRules: Readonly<Record<string, Rule>> = {
  privileged: exactly(false),
  allowPrivilegeEscalation: exactly(false),
  readOnlyRootFilesystem: exactly(true),
  runAsNonRoot: exactly(true),
  runAsUser: number(1, "only a number from 1 is allowed"),
  runAsGroup: number(0, "only a number from 0 is allowed"),
  procMount: exactly("Default"),
  seccompProfile: exactly({ type: "RuntimeDefault" }),
  appArmorProfile: exactly({ type: "RuntimeDefault" }),
};

/** Lists the faults of `container`, the result of applying overrides to `generated`; empty if it may run. */
export function overrideFaults(
  container: Json,
  generated: Json,
  allowedImagePrefixes: readonly string[],
): readonly string[] {
  return [
    ...imageFaults(container["image"], generated["image"], allowedImagePrefixes),
    ...securityFaults(recordAt(container, "securityContext"), recordAt(generated, "securityContext")),
    ...portFaults(container["ports"]),
    ...["livenessProbe", "readinessProbe", "startupProbe"].flatMap((name) =>
      hostFaults(name, recordAt(container, name)),
    ),
    ...["postStart", "preStop"].flatMap((name) =>
      hostFaults(`lifecycle.${name}`, recordAt(container, "lifecycle", name)),
    ),
  ];
}

/**
 * Returns true if the image is in the repository `prefix`, or below it: `registry.example.org/klutch` covers
 * `registry.example.org/klutch:1` and `registry.example.org/klutch/konnector@sha256:…`, but not `registry.example.org/klutch-other`.
 */
export function isImageWithin(image: string, prefix: string): boolean {
  if (!image.startsWith(prefix)) return false;
  return prefix.endsWith("/") || ["", "/", ":", "@"].includes(image.charAt(prefix.length));
}

/** The image without tag and digest. */
export function repositoryOf(image: string): string {
  const [name = ""] = image.split("@");
  const colon = name.lastIndexOf(":");
  return colon > name.lastIndexOf("/") ? name.slice(0, colon) : name;
}

function imageFaults(image: unknown, own: unknown, prefixes: readonly string[]): readonly string[] {
  if (image === own) return [];
  if (typeof image === "string" && prefixes.some((prefix) => isImageWithin(image, prefix))) return [];
  const right = `only images of ${prefixes.join(", ")} are allowed (--allowed-image-prefix of the backend)`;
  return [fault("image", image, right)];
}

function securityFaults(context: Json, generated: Json): readonly string[] {
  const names = new Set([...Object.keys(generated), ...Object.keys(context)]);
  return [...names].flatMap((name) => {
    const [value, own] = [context[name], generated[name]];
    const field = `securityContext.${name}`;
    if (name === "capabilities") return capabilityFaults(recordAt(value));
    if (jsonEqual(value, own)) return [];
    if (value === undefined) return [fault(field, value, `it must stay ${JSON.stringify(own)}`)];
    const rule = securityRules[name];
    if (rule?.accepts(value) === true) return [];
    return [fault(field, value, rule?.right ?? "this field must not be set")];
  });
}

function capabilityFaults({ add, drop }: Json): readonly string[] {
  const faults: string[] = [];
  if (!isEmpty(add)) faults.push(fault("securityContext.capabilities.add", add, "nothing may be added"));
  if (!Array.isArray(drop) || !drop.includes("ALL")) {
    faults.push(fault("securityContext.capabilities.drop", drop, 'it must contain "ALL"'));
  }
  return faults;
}

function portFaults(ports: unknown): readonly string[] {
  if (!Array.isArray(ports)) return [];
  return ports
    .filter(isRecord)
    .flatMap((port) =>
      ["hostPort", "hostIP"]
        .filter((name) => !isEmpty(port[name]))
        .map((name) =>
          fault(`ports[${String(port["containerPort"])}].${name}`, port[name], "it must not be set"),
        ),
    );
}

/** The kubelet makes these requests, from the node's network. */
function hostFaults(field: string, handler: Json): readonly string[] {
  return ["httpGet", "tcpSocket"].flatMap((kind) => {
    const host = valueAt(handler, kind, "host");
    return isEmpty(host) ? [] : [fault(`${field}.${kind}.host`, host, "it must not be set")];
  });
}

function fault(field: string, value: unknown, right: string): string {
  const said = value === undefined ? "removed" : (JSON.stringify(value) ?? "").slice(0, 200);
  return `overrides.${field} is ${said}; ${right}`;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === "" || value === 0 || jsonEqual(value, []);
}
