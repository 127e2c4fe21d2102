/**
 * Lists the fields that an AppClusterBinding may override in the konnector's container: those of corev1.Container without
 * `resizePolicy`. No field of the Pod around it can be changed.
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

const text = (description: string): Field => string({ description });
const flag = (description: string): Field => boolean({ description });
const count = (description: string): Field => integer({ format: "int32", description });
const id = (description: string): Field => integer({ format: "int64", description });
const texts = (description: string): Field => list(string(), { description });
const quantities = (description: string): Field => map(nullable(integerOrString()), { description });
const portOf = (description: string): Field => integerOrString({ description });

/** A name of a ConfigMap or Secret, and whether it may be missing. */
const objectNamed = (what: string): Fields => ({
  name: text(`Name of the ${what}.`),
  optional: flag(`Whether the ${what} or its key may be missing. Default false.`),
});
const keyOf = (what: string): Field =>
  part({ key: text(`Key of the ${what}.`) }, objectNamed(what), `A key of a ${what}.`);
const source = (what: string): Field => part({}, objectNamed(what), `A ${what}.`);

const env = keyedList(
  { name: text("Name of the variable.") },
  {
    value: text("Its value. $(NAME) stands for a variable before it."),
    valueFrom: part(
      {},
      {
        configMapKeyRef: keyOf("ConfigMap"),
        fieldRef: part(
          { fieldPath: text("Path of the field, such as metadata.name.") },
          { apiVersion: text("Version of the pod that the path is of. Default v1.") },
          "A field of the pod.",
        ),
        resourceFieldRef: part(
          { resource: text("The resource, such as limits.memory.") },
          {
            containerName: text("Name of the container. Default: this one."),
            divisor: integerOrString({ description: "Unit of the value, such as 1Mi. Default 1." }),
          },
          "A resource of a container.",
        ),
        secretKeyRef: keyOf("Secret"),
      },
      "Where the value comes from instead.",
    ),
  },
);

const envFrom = list(
  part(
    {},
    {
      configMapRef: source("ConfigMap"),
      prefix: text("Text that is put before each name."),
      secretRef: source("Secret"),
    },
  ),
  { description: "Objects whose keys become variables. Replaces the whole list." },
);

const ports = keyedList(
  {
    containerPort: count("Port of the container."),
    protocol: string({ default: "TCP", description: "TCP, UDP or SCTP." }),
  },
  {
    hostIP: text("Address of the node that the port is bound to."),
    hostPort: count("Port of the node."),
    name: text("Name of the port, unique in the pod."),
  },
);

const handlers: Fields = {
  exec: part(
    {},
    { command: texts("The program and its arguments; no shell.") },
    "Runs a program in the container.",
  ),
  httpGet: part(
    { port: portOf("Number or name of the port.") },
    {
      host: text("Host that is asked. Default: the pod's address."),
      httpHeaders: list(part({ name: text("Name of the header."), value: text("Its value.") }, {}), {
        description: "Headers that are sent.",
      }),
      path: text("Path that is asked for."),
      scheme: text("HTTP or HTTPS. Default HTTP."),
    },
    "Sends a request by HTTP.",
  ),
  tcpSocket: part(
    { port: portOf("Number or name of the port.") },
    { host: text("Host that is connected to. Default: the pod's address.") },
    "Opens a TCP connection.",
  ),
};

const probe = (description: string): Field =>
  part(
    {},
    {
      ...handlers,
      grpc: part(
        { port: count("Number of the port.") },
        { service: text("Name of the service that is asked about.") },
        "Asks the gRPC health service.",
      ),
      failureThreshold: count("Number of consecutive failures that count as one. Default 3."),
      initialDelaySeconds: count("Seconds after the start before the first probe. Default 0."),
      periodSeconds: count("Seconds between two probes. Default 10."),
      successThreshold: count(
        "Number of consecutive successes, after a failure, that count as one. Default 1.",
      ),
      terminationGracePeriodSeconds: id("Seconds to end in after a failure. Default: the pod's."),
      timeoutSeconds: count("Seconds that a probe may take. Default 1."),
    },
    description,
  );

const hook = (description: string): Field =>
  part({}, { ...handlers, sleep: part({ seconds: id("How many seconds.") }, {}, "Waits.") }, description);

const profile = (what: string): Field =>
  part(
    { type: text("Localhost, RuntimeDefault or Unconfined.") },
    { localhostProfile: text("Name of the profile on the node, for the type Localhost.") },
    `The ${what} profile.`,
  );

const securityContext = part(
  {},
  {
    allowPrivilegeEscalation: flag("Whether a process may get more rights than its parent has."),
    appArmorProfile: profile("AppArmor"),
    capabilities: part(
      {},
      { add: texts("Capabilities that are added."), drop: texts("Capabilities that are taken away.") },
      "Capabilities of Linux.",
    ),
    privileged: flag("Whether the container has the rights of root on the node."),
    procMount: text("How /proc is mounted: Default or Unmasked."),
    readOnlyRootFilesystem: flag("Whether the root file system cannot be written."),
    runAsGroup: id("Id of the group of its processes."),
    runAsNonRoot: flag("Whether the container must not run as root."),
    runAsUser: id("Id of the user of its processes."),
    seLinuxOptions: part(
      {},
      {
        level: text("Level of the label."),
        role: text("Role of the label."),
        type: text("Type of the label."),
        user: text("User of the label."),
      },
      "The SELinux label.",
    ),
    seccompProfile: profile("seccomp"),
    windowsOptions: part(
      {},
      {
        gmsaCredentialSpec: text("Content of the GMSA credential specification."),
        gmsaCredentialSpecName: text("Name of the GMSA credential specification."),
        hostProcess: flag("Whether it runs as a process of the node."),
        runAsUserName: text("Name of the user of its processes."),
      },
      "For nodes with Windows.",
    ),
  },
  "Rights of the container.",
);

const resources = part(
  {},
  {
    claims: keyedList(
      { name: text("Name of the pod's resource claim.") },
      { request: text("Which request of the claim. Default: all.") },
    ),
    limits: quantities("What the container may use at most, such as cpu or memory."),
    requests: quantities("What the container is given at least, such as cpu or memory."),
  },
  "Computing resources.",
);

const volumeMounts = keyedList(
  { mountPath: text("Where the volume is mounted.") },
  {
    name: text("Name of the pod's volume."),
    mountPropagation: text("How later mounts show: None, HostToContainer or Bidirectional."),
    readOnly: flag("Whether the volume cannot be written. Default false."),
    recursiveReadOnly: text(
      "Whether mounts inside it cannot be written either: Disabled, IfPossible or Enabled.",
    ),
    subPath: text("Path inside the volume that is mounted. Default: its root."),
    subPathExpr: text("As subPath, with $(NAME) for variables of the container."),
  },
);

const volumeDevices = keyedList(
  { devicePath: text("Path of the device in the container.") },
  { name: text("Name of the pod's volume claim.") },
);

/** The schema of `spec.konnector.overrides`. */
export const containerOverrides: Schema<ContainerOverrides> = {
  json: part(
    {},
    {
      name: text("Name of the container."),
      image: text("Image of the container. It must be of a repository that the backend allows."),
      command: texts("The program. Replaces the whole list."),
      args: texts("Its arguments. Replaces the whole list."),
      workingDir: text("Working directory. Default: the image's."),
      ports,
      envFrom,
      env,
      resources,
      restartPolicy: text(
        "Whether the container is started again: Always, OnFailure or Never. Default: the pod's.",
      ),
      volumeMounts,
      volumeDevices,
      livenessProbe: probe("Whether the container must be restarted."),
      readinessProbe: probe("Whether the container is ready."),
      startupProbe: probe("Whether the container has started."),
      lifecycle: part(
        {},
        {
          postStart: hook("Is done right after the start."),
          preStop: hook("Is done before the container is stopped."),
          stopSignal: text("Signal that stops it, such as SIGTERM. Default: the image's."),
        },
        "Actions at its start and end.",
      ),
      terminationMessagePath: text("File in which the container leaves its last words."),
      terminationMessagePolicy: text(
        "File, or FallbackToLogsOnError: the end of the log when the file is empty.",
      ),
      imagePullPolicy: text("When the image is pulled: Always, IfNotPresent or Never."),
      securityContext,
      stdin: flag("Whether standard input stays open. Default false."),
      stdinOnce: flag("Whether standard input is closed after the first client. Default false."),
      tty: flag("Whether the container has a terminal. Default false."),
    },
    "Fields of the agent's container, merged strategically into the generated one; null removes a field.",
  ).json,
};
