/**
 * What an AppClusterBinding may change in the konnector's container: the fields of corev1.Container without
 * `resizePolicy`. Nothing of the Pod around it can be changed.
 * The overrides are a strategic merge patch: null removes a field, `$patch: delete` an item of a list that is merged by a key.
 */
import {
  boolean,
  integer,
  integerOrString,
  type JsonSchema,
  list,
  map,
  nullable,
  object,
  oneOf,
  type Schema,
  string,
} from "@klutch/schema";

/** JSON that the server has checked against `containerOverrides`; it is merged field by field, whatever the field. */
export type ContainerOverrides = Readonly<Record<string, unknown>>;

interface Field {
  readonly json: JsonSchema;
}
type Fields = Readonly<Record<string, Field>>;

/** An object of the patch, whose optional fields null removes. */
function part(required: Fields, optional: Fields, description?: string): Field {
  return object(required, removable(optional), { description });
}

function removable(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, nullable<unknown>(field)]));
}

/** A list that is merged by a key. Only the key is required, so that an item can be named in order to remove it. */
function keyedList(keys: Fields, optional: Fields): Field {
  const $patch = oneOf(["delete"], { description: "Removes the item from the container." });
  const [key = ""] = Object.keys(keys);
  return list(object(keys, { ...removable(optional), $patch }), {
    listType: "map",
    mapKeys: Object.keys(keys),
    description: `Merged by ${key}.`,
  });
}

const text = string();
const flag = boolean();
const count = integer({ format: "int32" });
const id = integer({ format: "int64" });
const texts = list(text);
const quantities = map(nullable(integerOrString()));

const keyOf = (description: string): Field =>
  part({ key: text }, { name: text, optional: flag }, description);
const source = (description: string): Field => part({}, { name: text, optional: flag }, description);

const env = keyedList(
  { name: text },
  {
    value: text,
    valueFrom: part(
      {},
      {
        configMapKeyRef: keyOf("A key of a ConfigMap."),
        fieldRef: part({ fieldPath: text }, { apiVersion: text }, "A field of the pod."),
        resourceFieldRef: part(
          { resource: text },
          { containerName: text, divisor: integerOrString() },
          "A resource of a container.",
        ),
        secretKeyRef: keyOf("A key of a Secret."),
      },
    ),
  },
);

const envFrom = list(
  part({}, { configMapRef: source("A ConfigMap."), prefix: text, secretRef: source("A Secret.") }),
  { description: "Replaces the whole list." },
);

const ports = keyedList(
  { containerPort: count, protocol: string({ default: "TCP" }) },
  { hostIP: text, hostPort: count, name: text },
);

const handlers: Fields = {
  exec: part({}, { command: texts }),
  httpGet: part(
    { port: integerOrString() },
    { host: text, httpHeaders: list(part({ name: text, value: text }, {})), path: text, scheme: text },
  ),
  tcpSocket: part({ port: integerOrString() }, { host: text }),
};

const probe = (description: string): Field =>
  part(
    {},
    {
      ...handlers,
      grpc: part({ port: count }, { service: text }),
      failureThreshold: count,
      initialDelaySeconds: count,
      periodSeconds: count,
      successThreshold: count,
      terminationGracePeriodSeconds: id,
      timeoutSeconds: count,
    },
    description,
  );

const hook = part({}, { ...handlers, sleep: part({ seconds: id }, {}) });

const profile = part({ type: text }, { localhostProfile: text });

const securityContext = part(
  {},
  {
    allowPrivilegeEscalation: flag,
    appArmorProfile: profile,
    capabilities: part({}, { add: texts, drop: texts }),
    privileged: flag,
    procMount: text,
    readOnlyRootFilesystem: flag,
    runAsGroup: id,
    runAsNonRoot: flag,
    runAsUser: id,
    seLinuxOptions: part({}, { level: text, role: text, type: text, user: text }),
    seccompProfile: profile,
    windowsOptions: part(
      {},
      { gmsaCredentialSpec: text, gmsaCredentialSpecName: text, hostProcess: flag, runAsUserName: text },
    ),
  },
);

const resources = part(
  {},
  {
    claims: keyedList({ name: text }, { request: text }),
    limits: quantities,
    requests: quantities,
  },
);

const volumeMounts = keyedList(
  { mountPath: text },
  {
    name: text,
    mountPropagation: text,
    readOnly: flag,
    recursiveReadOnly: text,
    subPath: text,
    subPathExpr: text,
  },
);

const volumeDevices = keyedList({ devicePath: text }, { name: text });

/** The schema of `spec.konnector.overrides`. */
export const containerOverrides: Schema<ContainerOverrides> = {
  json: part(
    {},
    {
      name: text,
      image: text,
      command: list(text, { description: "Replaces the whole list." }),
      args: list(text, { description: "Replaces the whole list." }),
      workingDir: text,
      ports,
      envFrom,
      env,
      resources,
      restartPolicy: text,
      volumeMounts,
      volumeDevices,
      livenessProbe: probe("Whether the container must be restarted."),
      readinessProbe: probe("Whether the container is ready."),
      startupProbe: probe("Whether the container has started."),
      lifecycle: part({}, { postStart: hook, preStop: hook, stopSignal: text }),
      terminationMessagePath: text,
      terminationMessagePolicy: text,
      imagePullPolicy: text,
      securityContext,
      stdin: flag,
      stdinOnce: flag,
      tty: flag,
    },
    "Fields of the agent's container, merged strategically into the generated one; null removes a field.",
  ).json,
};
