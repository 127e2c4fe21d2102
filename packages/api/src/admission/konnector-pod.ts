/**
 * Compares the Deployments that the backend writes with the konnector that it generates, in CEL: a list of what may be in a Pod and in its
 * container. Fields that are neither listed nor new, as an operator or a webhook put them there, may stay as they are.
 */
import { isRecord } from "@klutch/kube-core";
import { binderName, konnectorName } from "../names.ts";
import { podIdentity, runtimeUser } from "../pod.ts";
import {
  hookHandlers,
  mostResources,
  nodeOptionsPattern,
  overridableFields,
  overridableVariables,
  probeHandlers,
  probeSettings,
} from "./konnector-container.ts";
import { type AdmissionRule, areKept, entriesOf, listed } from "./policy.ts";

/** Replicas of the generated Deployment. */
const mostReplicas = 2;
const identity = podIdentity.filter(isRecord).map(({ name }) => String(name));
/** Applies `test` to a field unless it is absent. */
const where = (parent: string, field: string, test: string): string =>
  `(!('${field}' in ${parent}) || ${test})`;
const isEmpty = (parent: string, field: string): string =>
  where(parent, field, `size(${parent}['${field}']) == 0`);
const holds = (parent: string, field: string, value: string): string =>
  where(parent, field, `${parent}['${field}'] == ${value}`);

/** Fields of the Pod besides its containers, with the values that they may have. */
const podFields: Readonly<Record<string, string>> = {
  serviceAccountName: `pod.serviceAccountName == '${binderName}'`,
  serviceAccount: `pod.serviceAccount == '${binderName}'`,
  restartPolicy: "pod.restartPolicy == 'Always'",
  dnsPolicy: "pod.dnsPolicy == 'ClusterFirst'",
  schedulerName: "pod.schedulerName == 'default-scheduler'",
  terminationGracePeriodSeconds: "true",
  securityContext: `pod.securityContext == {'runAsNonRoot': dyn(true), 'runAsUser': dyn(${runtimeUser}), 'seccompProfile': dyn({'type': 'RuntimeDefault'})}`,
  containers: "size(pod.containers) == 1",
};

const podTest = [
  "'serviceAccountName' in pod && 'securityContext' in pod",
  `pod.all(field, (field in variables.oldPod && field != 'containers' && pod[field] == variables.oldPod[field]) || ${Object.entries(
    podFields,
  )
    .map(([field, test]) => `(field == '${field}' && ${test})`)
    .join(" || ")})`,
];

const securityTest = [
  "'allowPrivilegeEscalation' in s && s.allowPrivilegeEscalation == false",
  "'readOnlyRootFilesystem' in s && s.readOnlyRootFilesystem == true",
  `'capabilities' in s && 'drop' in s.capabilities && 'ALL' in s.capabilities.drop && ${isEmpty("s.capabilities", "add")}`,
  `s.all(field, field in ${listed(["allowPrivilegeEscalation", "readOnlyRootFilesystem", "capabilities", "privileged", "runAsNonRoot", "runAsUser", "runAsGroup", "procMount", "seccompProfile", "appArmorProfile"])})`,
  holds("s", "privileged", "false"),
  holds("s", "runAsNonRoot", "true"),
  where("s", "runAsUser", "s.runAsUser > 0"),
  holds("s", "procMount", "'Default'"),
  ...["seccompProfile", "appArmorProfile"].map((field) => holds("s", field, "{'type': 'RuntimeDefault'}")),
];

const probeTest = [
  `probe.all(field, field in ${listed([...probeHandlers, ...probeSettings])})`,
  ...["httpGet", "tcpSocket"].map((handler) => where("probe", handler, isEmpty(`probe.${handler}`, "host"))),
];
const probes = ["livenessProbe", "readinessProbe", "startupProbe"].map((name) =>
  where("c", name, `[c.${name}].all(probe, ${probeTest.join(" && ")})`),
);

const hooks = where(
  "c",
  "lifecycle",
  `c.lifecycle.all(hook, hook == 'stopSignal' || c.lifecycle[hook].all(handler, handler in ${listed(hookHandlers)}))`,
);

const portTest = where(
  "c",
  "ports",
  `c.ports.all(port, ${holds("port", "hostPort", "0")} && ${isEmpty("port", "hostIP")})`,
);

const envTest = where(
  "c",
  "env",
  `c.env.all(one, one.name in ${listed([...new Set([...identity, ...overridableVariables])])} && ` +
    `${where("one", "valueFrom", "one.valueFrom.all(source, source in ['fieldRef', 'resourceFieldRef'])")} && ` +
    `(one.name != 'NODE_OPTIONS' || ${where("one", "value", `one.value.matches('${nodeOptionsPattern}')`)}))`,
);

const amountTest = Object.entries(mostResources)
  .map(
    ([name, most]) =>
      `(name == '${name}' && quantity(string(amounts[name])).compareTo(quantity('${most}')) <= 0)`,
  )
  .join(" || ");
const resourcesTest =
  "'resources' in c && 'limits' in c.resources && 'memory' in c.resources.limits && " +
  `c.resources.all(kind, kind in ['limits', 'requests'] && [c.resources[kind]].all(amounts, amounts.all(name, ${amountTest})))`;

const containerTests: Readonly<Record<string, readonly string[]>> = {
  "other fields of the container than overrides may change": [
    `c.name == '${konnectorName}'`,
    `c.all(field, field == 'name' || field in ${listed(overridableFields)})`,
  ],
  "other variables than overrides may set": [envTest],
  "resources without bounds": [resourcesTest],
  "ports of the node, programs in probes, or hooks": [portTest, ...probes, hooks],
  "other rights of its container": [
    `'securityContext' in c && [c.securityContext].all(s, ${securityTest.join(" && ")})`,
  ],
};

/** Variables of the rules, for a policy that has `isDeployment`, `isRemoval`, `isCreation` and `named`. */
export const konnectorPodVariables: Readonly<Record<string, string>> = {
  pod: "object.spec.template.spec",
  oldPod: "variables.isCreation ? {} : oldObject.spec.template.spec",
  template: "object.spec.template",
  oldTemplate: "variables.isCreation ? {'metadata': {}} : oldObject.spec.template",
  podLabels: entriesOf("variables.template", "labels"),
  podAnnotations: entriesOf("variables.template", "annotations"),
  oldPodLabels: entriesOf("variables.oldTemplate", "labels"),
  oldPodAnnotations: entriesOf("variables.oldTemplate", "annotations"),
  isRollout: "variables.isDeployment && !variables.isRemoval",
};

/** Refuses Deployments that are no konnector, each deviation in its own words. */
export const konnectorPodRules: readonly AdmissionRule[] = [
  {
    expression: `!variables.isRollout || (variables.named.startsWith('${konnectorName}-') && [variables.pod].all(pod, ${podTest.join(" && ")}))`,
    message: "the backend may deploy only konnectors, and only with the Pod that it generates",
  },
  {
    expression: `!variables.isRollout || !has(object.spec.replicas) || object.spec.replicas <= ${mostReplicas} || (!variables.isCreation && object.spec.replicas == oldObject.spec.replicas)`,
    message: `the backend may deploy at most ${mostReplicas} replicas of a konnector`,
  },
  {
    expression: `!variables.isRollout || (${areKept("variables.podLabels", "variables.oldPodLabels", ["app"])} && ${areKept("variables.podAnnotations", "variables.oldPodAnnotations")})`,
    message: "the backend may deploy no konnector with labels and annotations for others in its Pod",
  },
  ...Object.entries(containerTests).map(([what, tests]) => ({
    expression: `!variables.isRollout || variables.pod.containers.all(c, ${tests.join(" && ")})`,
    message: `the backend may deploy no konnector with ${what}`,
  })),
];
