import { after, test } from "node:test";
import { isForbidden } from "@klutch/kube";
import { clusterRoles, deployments, namespaces, recordAt, recordsAt, roles } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { controlPlaneConnectorRules, konnectorManifests, restrictedContainer } from "../index.ts";
import { deployRule, offerRules } from "./offers.ts";
import { confineBackend, identity, object, ofAppCluster, podSecurity } from "./testing/backend-account.ts";
import { refused } from "./testing/refused.ts";

const confined = await confineBackend("backend-grants");
after(() => confined[Symbol.asyncDispose]());
const { admin, backend, create } = confined;
const rbac = "rbac.authorization.k8s.io";

await create(namespaces, { name: "tenant", annotations: identity, labels: podSecurity });
await create(namespaces, { name: "klutch-bind-default-one", annotations: ofAppCluster, labels: podSecurity });

const allVerbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
const exported = { apiGroups: ["anynines.com"], resources: ["postgresqlinstances"], verbs: allVerbs };
const payload = { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: allVerbs };
const events = { apiGroups: [""], resources: ["events"], verbs: ["get", "list", "watch"] };
const shared = { namespace: "tenant", name: "control-plane-connector" };

test("a role that it hands out has no wildcard and nothing that leads to other rights", async () => {
  const rules = [exported, payload, events];
  await create(clusterRoles, { name: "klutch-binder-tenant" }, { rules });
  await create(clusterRoles, { name: "klutch-binder-empty" }, { rules: [] });
  await create(clusterRoles, { name: "klutch-binder-tenant:cluster-wide" }, { rules: [exported] });
  await create(roles, shared, { rules: controlPlaneConnectorRules });
  const names = /may write only cluster roles and their bindings whose names begin with klutch-binder-/;
  await refused(create(clusterRoles, { name: "wide" }, { rules }), names);
  await refused(create(clusterRoles, { name: "klutch-binder" }, { rules }), names);
  await refused(backend.delete(clusterRoles, { name: "cluster-admin" }), names);
  await refused(backend.mergePatch(clusterRoles, { name: "cluster-admin" }, { rules: [] }), names);
  const handsOut = /may not hand out/;
  const change = (more: object): Promise<unknown> =>
    backend.mergePatch(
      clusterRoles,
      { name: "klutch-binder-tenant" },
      { rules: [exported, { ...exported, ...more }] },
    );
  const core = { apiGroups: [""], verbs: ["get"] };
  for (const more of [
    { apiGroups: ["*"] },
    { resources: ["*"] },
    { resources: ["*/status"] },
    { resources: ["postgresqlinstances/status"] },
    { verbs: ["*"] },
    { verbs: ["impersonate"] },
    { verbs: ["escalate"] },
    { verbs: ["offer"] },
    { apiGroups: ["example.org", rbac] },
    { apiGroups: ["admissionregistration.k8s.io"] },
    { apiGroups: ["apiextensions.k8s.io"] },
    { apiGroups: ["metrics.k8s.io"] },
    { apiGroups: ["apps"] },
    { apiGroups: ["batch"] },
    { apiGroups: ["klutch.anynines.com"] },
    { apiGroups: ["example-backend.klutch.anynines.com"] },
    { ...core, resources: ["pods"] },
    { ...core, resources: ["pods/exec"] },
    { ...core, resources: ["serviceaccounts"] },
    { ...core, resources: ["serviceaccounts/token"] },
    { ...core, resources: ["nodes"] },
    { ...core, resources: ["events"], verbs: ["create"] },
  ])
    await refused(change(more), handsOut);
  const urls = { rules: [{ nonResourceURLs: ["*"], verbs: ["get"] }] };
  await refused(create(clusterRoles, { name: "klutch-binder-a" }, urls), handsOut);
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] };
  await refused(create(clusterRoles, { name: "klutch-binder-b" }, { aggregationRule }), handsOut);
  const elsewhere = { namespace: "foreign", name: shared.name };
  await refused(
    create(roles, { ...shared, name: "other" }, { rules: [] }),
    /only the Role control-plane-con/,
  );
  await refused(create(roles, elsewhere, { rules: [] }), /only in namespaces of tenants/);
  for (const rule of [exported, payload, { ...events, verbs: ["update"] }])
    await refused(
      backend.mergePatch(roles, shared, { rules: [rule] }),
      /may give the Role control-plane-connector no more rights/,
    );
});

test("no role of its own becomes part of another one by a label", async () => {
  const own = { name: "klutch-binder-tenant" };
  for (const key of [
    "klutch.anynines.com/aggregate-to-backend",
    "rbac.authorization.k8s.io/aggregate-to-edit",
  ])
    await refused(
      backend.mergePatch(clusterRoles, own, { metadata: { labels: { [key]: "true" } } }),
      /may not label cluster roles|no labels and annotations but those of Klutch/,
    );
});

test("in the whole cluster it hands out nothing of Kubernetes, Crossplane, Klutch, GitOps and policies", async () => {
  for (const group of [
    "",
    "apps",
    "networking.k8s.io",
    "pkg.crossplane.io",
    "apiextensions.crossplane.io",
    "kubernetes.crossplane.io",
    "kubernetes.m.crossplane.io",
    "s3.aws.upbound.io",
    "klutch.anynines.com",
    "argoproj.io",
    "kustomize.toolkit.fluxcd.io",
    "kyverno.io",
    "constraints.gatekeeper.sh",
  ])
    await refused(
      create(
        clusterRoles,
        { name: "klutch-binder-c:cluster-wide" },
        { rules: [exported, { apiGroups: [group], resources: ["secrets"], verbs: ["get"] }] },
      ),
      /may not hand out rights/,
    );
});

test("it hands out rights only on kinds that an operator put on the list of offers, and deploys only images of it", async () => {
  const list = (rules: readonly object[]): Promise<unknown> =>
    admin.apply(clusterRoles, object(clusterRoles, { name: "klutch-backend-claims" }, { rules }), {
      fieldManager: "operator",
      force: true,
    });
  const own = { name: "klutch-binder-listed" };
  const offers = offerRules([
    {
      spec: {
        APIServiceSelector: { group: "anynines.com", resource: "postgresqlinstances" },
        permissionClaims: [{ resource: "secrets" }],
      },
    },
  ]);
  await list([
    ...offers,
    deployRule("example.org/konnector:v1"),
    ...["one.example.org", "two.example.org:5000", "three.example.org/"].map(deployRule),
  ]);
  const notListed =
    /only on kinds that a rule with the verb offer in the ClusterRole klutch-backend-claims names/;
  const secretsOnly = { ...payload, resources: ["secrets"] };
  await create(clusterRoles, own, { rules: [exported, secretsOnly, events] });
  await waitFor("the list to be in force", () =>
    backend
      .mergePatch(clusterRoles, own, { rules: [payload] }, { dryRun: true })
      .then(() => false, isForbidden),
  );
  for (const rule of [payload, { ...exported, resources: ["others"] }, { ...exported, apiGroups: ["a.org"] }])
    await refused(backend.mergePatch(clusterRoles, own, { rules: [rule] }), notListed);
  const place = { namespace: "klutch-bind-default-one", name: "konnector-listed" };
  const image = /only images that a rule with the verb deploy/;
  for (const evil of [
    "evil.org/konnector:v1",
    "example.org/konnector-evil:v1",
    "example.org/konnectors",
    "example.org/",
    "one.example.org:5000/any",
    "two.example.org/any",
    "two.example.org:50001/any",
    "three.example.org:5000/any",
  ])
    await refused(create(deployments, place, { spec: konnector({}, { image: evil }) }), image);
  for (const good of [
    "example.org/konnector:v2",
    "example.org/konnector",
    "example.org/konnector@sha256:00",
    "one.example.org/any:v1",
    "two.example.org:5000/any:v1",
    "three.example.org/any",
  ])
    await backend.create(deployments, object(deployments, place, { spec: konnector({}, { image: good }) }), {
      dryRun: true,
    });
  // An operator who takes a kind off the list leaves existing roles as they are, but it is not handed out again.
  await list([]);
  await waitFor("the empty list to be in force", () =>
    create(clusterRoles, { name: "klutch-binder-late" }, { rules: [exported] }).then(
      () => false,
      isForbidden,
    ),
  );
  await admin.delete(clusterRoles, { name: "klutch-backend-claims" });
});

/** Spec of the generated Deployment, with changes of Pod and container. */
function konnector(pod: object = {}, container: object = {}): object {
  const base = konnectorManifests({ image: "example.org/konnector" }).find(
    ({ kind }) => kind === "Deployment",
  );
  const spec = recordAt(base, "spec");
  const generated = recordAt(spec, "template", "spec");
  const [own] = recordsAt(generated, "containers");
  const containers = [{ ...own, ...container }];
  const whole = { ...generated, serviceAccountName: "klutch-binder", containers, ...pod };
  return { ...spec, template: { ...recordAt(spec, "template"), spec: whole } };
}

test("a Deployment is the generated konnector, and deviates only where overrides may", async () => {
  const place = { namespace: "klutch-bind-default-one", name: "konnector-one" };
  await create(deployments, place, { spec: konnector() });
  const labels = { "klutch.anynines.com/appclusterbinding-name": "one" };
  await backend.mergePatch(deployments, place, { metadata: { labels } });
  const tried = (spec: object): Promise<unknown> =>
    backend.create(deployments, object(deployments, { ...place, name: "konnector-two" }, { spec }), {
      dryRun: true,
    });
  const limits = { memory: "8Gi", cpu: "4", "ephemeral-storage": "1Gi" };
  for (const good of [
    konnector({}, { resources: { limits, requests: { memory: "1Gi" } }, imagePullPolicy: "Always" }),
    konnector({}, { args: ["--v=4"], env: [{ name: "NODE_OPTIONS", value: "--max-old-space-size=900" }] }),
    konnector({}, { securityContext: { ...restrictedContainer, runAsUser: 7, privileged: false } }),
    konnector({}, { lifecycle: { preStop: { sleep: { seconds: 3 } } }, terminationMessagePolicy: "File" }),
  ])
    await tried(good);
  const reason = /may deploy/;
  const caps = { drop: ["ALL"], add: ["NET_ADMIN"] };
  for (const bad of [
    konnector({ hostNetwork: true }),
    konnector({ hostPID: true }),
    konnector({ shareProcessNamespace: true }),
    konnector({ serviceAccountName: "default" }),
    konnector({ automountServiceAccountToken: false }),
    konnector({ volumes: [{ name: "v", hostPath: { path: "/" } }] }),
    konnector({ volumes: [{ name: "v", secret: { secretName: "other" } }] }),
    konnector({ tolerations: [{ operator: "Exists" }] }),
    konnector({ priorityClassName: "system-node-critical" }),
    konnector({ runtimeClassName: "other" }),
    konnector({ securityContext: {} }),
    konnector({ initContainers: [{ name: "i", image: "i" }] }),
    konnector({}, { name: "other" }),
    konnector({}, { command: ["sh"] }),
    konnector(
      {},
      { securityContext: { ...restrictedContainer, allowPrivilegeEscalation: true, privileged: true } },
    ),
    konnector({}, { securityContext: { ...restrictedContainer, capabilities: caps } }),
    konnector({}, { securityContext: { ...restrictedContainer, runAsUser: 0 } }),
    konnector({}, { securityContext: { ...restrictedContainer, seccompProfile: { type: "Unconfined" } } }),
    konnector({}, { env: [{ name: "LD_PRELOAD", value: "x" }] }),
    konnector({}, { env: [{ name: "NODE_OPTIONS", value: "--import=x" }] }),
    konnector({}, { envFrom: [{ secretRef: { name: "s" } }] }),
    konnector({}, { ports: [{ containerPort: 8080, hostPort: 80 }] }),
    konnector({}, { livenessProbe: { exec: { command: ["sh"] } } }),
    konnector({}, { readinessProbe: { httpGet: { port: 80, host: "169.254.169.254" } } }),
    konnector({}, { lifecycle: { postStart: { exec: { command: ["sh"] } } } }),
    konnector({}, { resources: { limits: { memory: "9Gi" } } }),
    konnector({}, { resources: { limits: { memory: "1Gi", "nvidia.com/gpu": "1" } } }),
    konnector({}, { resources: {} }),
  ])
    await refused(tried(bad), reason);
  await refused(create(deployments, { ...place, name: "miner" }, { spec: konnector() }), reason);
  await refused(
    create(deployments, { ...place, namespace: "foreign" }, { spec: konnector() }),
    /only in namespaces of tenants/,
  );
  // What an operator or a webhook added to the Pod stays, and does not stop the backend.
  const theirs = { spec: { template: { spec: { nodeSelector: { pool: "konnectors" } } } } };
  await admin.mergePatch(deployments, place, theirs);
  await backend.mergePatch(deployments, place, { spec: { replicas: 1 } });
  await refused(backend.mergePatch(deployments, place, { spec: { replicas: 100 } }), /at most 2 replicas/);
  await refused(
    backend.mergePatch(deployments, place, {
      spec: { template: { spec: { nodeSelector: { pool: "other" } } } },
    }),
    reason,
  );
  await backend.delete(deployments, place);
});
