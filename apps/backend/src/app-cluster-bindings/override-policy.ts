/**
 * Restricts the overrides of an AppClusterBinding by a list of the fields that may change, and how far. A user who may write one is not necessarily
 * an administrator of the provider cluster, so the container keeps its program, its place and its confinement: a konnector of an allowed
 * image with other sizes, probes and flags. The API server holds Deployments of the backend against the same lists.
 */
import {
  afterRepositoryPattern,
  hookHandlers,
  mostResources,
  nodeOptionsPattern,
  overridableFields,
  overridableVariables,
  probeHandlers,
  probeSettings,
} from "@klutch/api";
import {
  contains,
  isRecord,
  jsonEqual,
  parseQuantity,
  recordAt,
  recordsAt,
  valueAt,
} from "@klutch/kube-core";

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
    ...fieldFaults(container, generated),
    ...imageFaults(container["image"], generated["image"], allowedImagePrefixes),
    ...securityFaults(recordAt(container, "securityContext"), recordAt(generated, "securityContext")),
    ...variableFaults(recordsAt(container, "env"), recordsAt(generated, "env")),
    ...resourceFaults(recordAt(container, "resources"), recordAt(generated, "resources")),
    ...portFaults(recordsAt(container, "ports")),
    ...["livenessProbe", "readinessProbe", "startupProbe"].flatMap((name) =>
      probeFaults(name, recordAt(container, name)),
    ),
    ...hookFaults(recordAt(container, "lifecycle")),
  ];
}

/**
 * Returns true if the image is in the repository `prefix`, or below it: `registry.example.org/klutch` covers
 * `registry.example.org/klutch:1` and `registry.example.org/klutch/konnector@sha256:…`, but not `registry.example.org/klutch-other`. A prefix that is
 * only a host covers no other port of that host.
 */
export function isImageWithin(image: string, prefix: string): boolean {
  if (!image.startsWith(prefix)) return false;
  return prefix.endsWith("/") || new RegExp(afterRepositoryPattern).test(image.slice(prefix.length));
}

/** The image without tag and digest. */
export function repositoryOf(image: string): string {
  const [name = ""] = image.split("@");
  const colon = name.lastIndexOf(":");
  return colon > name.lastIndexOf("/") ? name.slice(0, colon) : name;
}

/** Fields that no rule below knows must stay as they are generated; what the API server would store as nothing is nothing. */
function fieldFaults(container: Json, generated: Json): readonly string[] {
  const right = `only ${overridableFields.join(", ")} may be changed`;
  return [...new Set([...Object.keys(container), ...Object.keys(generated)])]
    .filter((name) => !overridableFields.includes(name))
    .filter((name) => !jsonEqual(container[name], generated[name]))
    .filter((name) => !(isEmpty(container[name]) && isEmpty(generated[name])))
    .map((name) => fault(name, container[name], right));
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

/** Variables of the list load no code and reroute no connection. Values are not shown: that of a proxy may hold a password. */
function variableFaults(env: readonly Json[], generated: readonly Json[]): readonly string[] {
  return env
    .filter((variable) => !generated.some((own) => contains(variable, own)))
    .flatMap(({ name, value = "", valueFrom }) => {
      const field = `overrides.env[${String(name)}]`;
      if (!overridableVariables.includes(String(name)))
        return [`${field} is set; only ${overridableVariables.join(", ")} may be set`];
      if (valueFrom !== undefined) return [`${field}.valueFrom is set; only a value is allowed`];
      if (name !== "NODE_OPTIONS" || new RegExp(nodeOptionsPattern).test(String(value))) return [];
      return [
        fault(`env[${name}]`, value, "only --max-old-space-size and --max-semi-space-size are allowed"),
      ];
    });
}

function resourceFaults(resources: Json, generated: Json): readonly string[] {
  const bounds = Object.entries(mostResources).map(([name, most]) => `${name} up to ${most}`);
  const right = `only ${bounds.join(", ")} are allowed`;
  const beyond = ["limits", "requests"].flatMap((kind) =>
    Object.entries(recordAt(resources, kind))
      .filter(([name, amount]) => !isWithin(amount, mostResources[name]))
      .map(([name, amount]) => fault(`resources.${kind}.${name}`, amount, right)),
  );
  const others = Object.keys(resources)
    .filter((name) => !["limits", "requests"].includes(name) && !isEmpty(resources[name]))
    .map((name) => fault(`resources.${name}`, resources[name], "this field must not be set"));
  const memory = valueAt(resources, "limits", "memory");
  const usual = JSON.stringify(valueAt(generated, "limits", "memory"));
  const unlimited =
    memory === undefined
      ? [fault("resources.limits.memory", memory, `there must be one; ${usual} is usual`)]
      : [];
  return [...beyond, ...others, ...unlimited];
}

function isWithin(amount: unknown, most: string | undefined): boolean {
  const [asked, bound] = [parseQuantity(amount), parseQuantity(most)];
  return asked !== undefined && bound !== undefined && asked <= bound;
}

function portFaults(ports: readonly Json[]): readonly string[] {
  return ports.flatMap((port) =>
    ["hostPort", "hostIP"]
      .filter((name) => !isEmpty(port[name]))
      .map((name) =>
        fault(`ports[${String(port["containerPort"])}].${name}`, port[name], "it must not be set"),
      ),
  );
}

/** The kubelet makes the requests of probes, from the node's network, and `exec` runs a program. */
function probeFaults(name: string, probe: Json): readonly string[] {
  const hosts = ["httpGet", "tcpSocket"]
    .map((kind) => [`${kind}.host`, valueAt(probe, kind, "host")] as const)
    .filter(([, host]) => !isEmpty(host))
    .map(([field, host]) => fault(`${name}.${field}`, host, "it must not be set"));
  return [...hosts, ...unknownFaults(name, probe, [...probeHandlers, ...probeSettings])];
}

function hookFaults(lifecycle: Json): readonly string[] {
  return Object.entries(lifecycle)
    .filter(([name]) => name !== "stopSignal")
    .flatMap(([name, hook]) => unknownFaults(`lifecycle.${name}`, recordAt(hook), hookHandlers));
}

function unknownFaults(parent: string, value: Json, known: readonly string[]): readonly string[] {
  return Object.keys(value)
    .filter((name) => !known.includes(name))
    .map((name) => fault(`${parent}.${name}`, value[name], `only ${known.join(", ")} are allowed`));
}

function fault(field: string, value: unknown, right: string): string {
  const said = value === undefined ? "removed" : (JSON.stringify(value) ?? "").slice(0, 200);
  return `overrides.${field} is ${said}; ${right}`;
}

function isEmpty(value: unknown): boolean {
  const isBare = (isRecord(value) || Array.isArray(value)) && Object.keys(value).length === 0;
  return isBare || [undefined, null, "", 0, false].some((empty) => value === empty);
}
