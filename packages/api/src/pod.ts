/** Parts that the Pods of our programs have alike. */

/** Security context of every container: it gains no rights and writes only to its volumes. */
export const restrictedContainer: Readonly<Record<string, unknown>> = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};

/** User and group of all our images; usual nodes do not use this number. */
export const runtimeUser = 65_532;

/** Security context of the Pods of our images: they run as this user only. */
export const restrictedPod: Readonly<Record<string, unknown>> = {
  runAsNonRoot: true,
  runAsUser: runtimeUser,
  runAsGroup: runtimeUser,
  seccompProfile: { type: "RuntimeDefault" },
};

/** The variables by which a program knows its Pod, for the lease and for Events. */
export const podIdentity: readonly unknown[] = [
  fromField("POD_NAME", "metadata.name"),
  fromField("POD_NAMESPACE", "metadata.namespace"),
];

/** A variable with the address of the Pod's node, at which node ports answer. */
export function nodeAddress(name: string): unknown {
  return fromField(name, "status.hostIP");
}

function fromField(name: string, fieldPath: string): unknown {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

/** A probe by HTTP; the port is a number, or a name of one of the container's. */
export function httpProbe(path: string, port: number | string, periodSeconds = 10): unknown {
  return { httpGet: { path, port }, periodSeconds, timeoutSeconds: 5 };
}
