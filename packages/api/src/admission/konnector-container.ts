/**
 * Limits of the konnector's container in control-plane mode: which fields may differ from the generated ones, and how far. The backend holds
 * an AppClusterBinding's overrides against them, and the API server every Deployment that the backend writes (`konnector-pod.ts`).
 */
import { konnectorRuntime } from "../konnector-manifests.ts";

/** Fields that overrides may change, each with rules of its own; every other one stays as it is generated. */
export const overridableFields: readonly string[] = [
  "args",
  "env",
  "image",
  "imagePullPolicy",
  "lifecycle",
  "livenessProbe",
  "ports",
  "readinessProbe",
  "resources",
  "securityContext",
  "startupProbe",
  "terminationMessagePath",
  "terminationMessagePolicy",
];

/** Variables that overrides may set: none of them loads code or reroutes a connection. */
export const overridableVariables: readonly string[] = [
  ...Object.keys(konnectorRuntime),
  "GOGC",
  "GOMAXPROCS",
  "GOMEMLIMIT",
  "LANG",
  "TZ",
  "UV_THREADPOOL_SIZE",
];

/** Pattern of the variable NODE_OPTIONS: sizes of the heap, and no option that loads code. */
export const nodeOptionsPattern = "^(--max-(old|semi)-space-size=[0-9]+ ?)*$";

/** Pattern of an image after the repository that it must be in: nothing, a part below it, a tag or a digest, and no port of a host. */
export const afterRepositoryPattern = "^($|[/@]|:[^/]*$)";

/** The most of each resource that a konnector may ask for and use, as quantities. Others, such as GPUs, it may not have. */
export const mostResources: Readonly<Record<string, string>> = {
  cpu: "4",
  "ephemeral-storage": "8Gi",
  memory: "8Gi",
};

/** Ways in which a probe may ask the container; `exec` would run a program. */
export const probeHandlers: readonly string[] = ["grpc", "httpGet", "tcpSocket"];
/** Actions of a hook. */
export const hookHandlers: readonly string[] = ["sleep"];
/** Settings of a probe beside its handler. */
export const probeSettings: readonly string[] = [
  "failureThreshold",
  "initialDelaySeconds",
  "periodSeconds",
  "successThreshold",
  "terminationGracePeriodSeconds",
  "timeoutSeconds",
];
