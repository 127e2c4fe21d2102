/** Builds the manifests that the plugin installs in an app cluster: namespace, account, rights and Deployment of the konnector. */
import { consumerNamespace, konnectorName } from "./names.ts";
import { httpProbe, podIdentity, restrictedContainer, runtimeUser } from "./pod.ts";
import { acceptedClaimsAnnotation, acceptedClaimsText } from "./accepted-claims.ts";
import type { AnsweredPermissionClaim } from "./kinds/permission-claim.ts";
import { bindingRoleName, crdNameOf, resourceNamed, userRoleName } from "./naming.ts";
import { apiServiceBindings } from "./resources.ts";
import { bindingRules, konnectorClusterRules, konnectorNamespaceRules, type RuleOptions } from "./rbac.ts";

/** A manifest as JSON. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
  readonly [field: string]: unknown;
}

/**
 * Environment that keeps the agent small (proof/bench/RESULTS.md): one memory pool instead of one for each thread, and freed memory goes back to
 * the system. The thresholds are glibc's defaults; setting them keeps them from growing with the largest block ever freed
 * (mallopt(3), M_MMAP_THRESHOLD).
 */
export const konnectorRuntime: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "131072",
  MALLOC_TRIM_THRESHOLD_: "131072",
  NODE_OPTIONS: "--max-semi-space-size=4",
};

/** Name of the konnector's roles that it has before anything is bound. */
const ownRole = "klutch-bind-konnector";
const rbacGroup = "rbac.authorization.k8s.io";
const account = { kind: "ServiceAccount", name: konnectorName, namespace: consumerNamespace };

/** Returns the manifests in the order in which they must be applied. `args`: flags beside those that it always has. */
export function konnectorManifests(options: {
  readonly image: string;
  readonly args?: readonly string[] | undefined;
}): readonly Manifest[] {
  const inNamespace = { namespace: consumerNamespace, labels: { app: konnectorName } };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: consumerNamespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: konnectorName, ...inNamespace } },
    ...bindingRoleManifests(ownRole, konnectorClusterRules),
    ...homeRoleManifests(ownRole, konnectorNamespaceRules),
    bindingViewerManifest,
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: konnectorName, ...inNamespace },
      spec: deploymentSpec(options),
    },
  ];
}

function deploymentSpec({
  image,
  args = [],
}: {
  readonly image: string;
  readonly args?: readonly string[] | undefined;
}): Readonly<Record<string, unknown>> {
  return {
    replicas: 2,
    selector: { matchLabels: { app: konnectorName } },
    template: {
      metadata: { labels: { app: konnectorName } },
      spec: {
        serviceAccountName: konnectorName,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: runtimeUser,
          seccompProfile: { type: "RuntimeDefault" },
        },
        containers: [
          {
            name: konnectorName,
            image,
            args: ["--lease-namespace=$(POD_NAMESPACE)", ...args],
            env: [
              ...podIdentity,
              ...Object.entries(konnectorRuntime).map(([name, value]) => ({ name, value })),
            ],
            ports: [{ name: "health", containerPort: 8080 }],
            livenessProbe: httpProbe("/healthz", 8080),
            readinessProbe: httpProbe("/readyz", 8080),
            resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
            securityContext: restrictedContainer,
          },
        ],
      },
    },
  };
}

/** Returns a role of the konnector in the whole cluster, and its binding. */
export function bindingRoleManifests(name: string, rules: readonly unknown[]): readonly Manifest[] {
  const metadata = { name, labels: { app: konnectorName } };
  return rolePair("ClusterRole", metadata, rules);
}

/** Returns a role of the konnector in its own namespace, and its binding. */
export function homeRoleManifests(name: string, rules: readonly unknown[]): readonly Manifest[] {
  const metadata = { name, namespace: consumerNamespace, labels: { app: konnectorName } };
  return rolePair("Role", metadata, rules);
}

function rolePair(
  kind: "ClusterRole" | "Role",
  metadata: Manifest["metadata"],
  rules: readonly unknown[],
): readonly Manifest[] {
  const apiVersion = `${rbacGroup}/v1`;
  const roleRef = { apiGroup: rbacGroup, kind, name: metadata.name };
  return [
    { apiVersion, kind, metadata, rules },
    { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects: [account] },
  ];
}

/**
 * Returns every role of one bound API in an app cluster: the konnector's, which records the accepted claims, its role binding, and those of
 * people.
 */
export function boundApiRoleManifests(
  resource: { readonly group?: string | undefined; readonly resource: string },
  claims: readonly AnsweredPermissionClaim[],
  options: RuleOptions = {},
): readonly Manifest[] {
  const name = crdNameOf(resource);
  const [role, ...binding] = bindingRoleManifests(
    bindingRoleName(name),
    bindingRules(resource, claims, options),
  );
  const annotations = { [acceptedClaimsAnnotation]: acceptedClaimsText(claims) };
  const recorded = role === undefined ? [] : [{ ...role, metadata: { ...role.metadata, annotations } }];
  return [...recorded, ...binding, ...userRoleManifests(name)];
}

/**
 * Returns the roles of people for one bound API. Kubernetes adds their rules to its own roles `view`, `edit` and `admin`: a person with one of
 * these in a namespace may read or change the claims there (user-facing roles with aggregation, Kubernetes documentation of RBAC).
 */
export function userRoleManifests(bindingName: string): readonly Manifest[] {
  return Object.entries(userVerbs).map(([level, verbs]) => userRole(bindingName, level, verbs));
}

function userRole(bindingName: string, level: string, verbs: readonly string[]): Manifest {
  const { resource, group } = resourceNamed(bindingName);
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind: "ClusterRole",
    metadata: {
      name: userRoleName(bindingName, level),
      labels: { app: konnectorName, [`${rbacGroup}/aggregate-to-${level}`]: "true" },
    },
    rules: [{ apiGroups: [group], resources: [resource], verbs }],
  };
}

/** Verbs that each role adds: `edit` of Kubernetes includes `view`, and `admin` includes `edit`. */
const userVerbs = {
  view: ["get", "list", "watch"],
  edit: ["create", "update", "patch", "delete", "deletecollection"],
} as const;

/** Lets people list the bound APIs and their state. A binding names the Secret with its kubeconfig, and gives no right to read it. */
const bindingViewerManifest: Manifest = userRole(
  crdNameOf({ group: apiServiceBindings.group, resource: apiServiceBindings.plural }),
  "view",
  userVerbs.view,
);
