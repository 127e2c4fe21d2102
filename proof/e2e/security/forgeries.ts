/** What a member tries who has a good credential and the name of somebody else. Every one of these must be refused. */
import type { RawAttempt } from "./raw-request.ts";

/** Whose names are used. */
export interface Names {
  /** Cluster namespace of the one who tries. */
  readonly own: string;
  /** A service namespace of theirs. */
  readonly ownService: string;
  readonly foreign: string;
  readonly foreignService: string;
}

const klutch = "/apis/klutch.anynines.com/v1alpha1/namespaces";
const databases = "/apis/example.org/v1/namespaces";
const mergePatch = { "content-type": "application/merge-patch+json" };

/** Attempts by what they are. */
export function forgeries(names: Names): Readonly<Record<string, RawAttempt>> {
  return {
    ...reads(names),
    ...lists(names),
    ...paths(names),
    ...impersonations(names),
    ...writes(names),
    ...bodies(names),
  };
}

/** Those that the victim itself may do all but the last of: names and paths are right. */
export function reads({ foreign, foreignService }: Names): Readonly<Record<string, RawAttempt>> {
  return {
    "a foreign Secret": { path: `/api/v1/namespaces/${foreignService}/secrets/precious` },
    "foreign credentials": { path: `/api/v1/namespaces/${foreign}/secrets` },
    "a foreign object": { path: `${databases}/${foreignService}/databases/precious` },
    "a foreign ClusterBinding": { path: `${klutch}/${foreign}/clusterbindings/cluster` },
    "foreign mappings": { path: `${klutch}/${foreign}/apiservicenamespaces` },
    "foreign requests": { path: `${klutch}/${foreign}/apiserviceexportrequests` },
    "a foreign namespace": { path: `/api/v1/namespaces/${foreign}` },
    "names of all tenants": { path: "/api/v1/namespaces" },
  };
}

function lists({ own, foreignService }: Names): Readonly<Record<string, RawAttempt>> {
  const everywhere = "/apis/example.org/v1/databases";
  return {
    "all objects": { path: everywhere },
    "all objects by the own namespace": { path: `${everywhere}?fieldSelector=metadata.namespace%3D${own}` },
    "all objects by a label": { path: `${everywhere}?labelSelector=team` },
    "all objects from the cache": { path: `${everywhere}?resourceVersion=0` },
    "all Secrets by a name": { path: "/api/v1/secrets?fieldSelector=metadata.name%3Dprecious&limit=1" },
    "a watch of everything": { path: `${everywhere}?watch=true&timeoutSeconds=1` },
    "a watch of one foreign Secret": {
      path: `/api/v1/namespaces/${foreignService}/secrets?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dprecious`,
    },
    "an old way to watch": { path: `/api/v1/watch/namespaces/${foreignService}/secrets` },
  };
}

function paths({ own, ownService, foreignService }: Names): Readonly<Record<string, RawAttempt>> {
  const secret = `${foreignService}/secrets/precious`;
  return {
    "dots in a path": { path: `/api/v1/namespaces/${own}/../${secret}` },
    "encoded dots": { path: `/api/v1/namespaces/${own}/%2e%2e/${secret}` },
    "an encoded slash": { path: `/api/v1/namespaces/${own}/..%2f${foreignService}/secrets/precious` },
    "an encoded namespace": { path: `/api/v1/namespaces/${own}%2f..%2f${foreignService}/secrets/precious` },
    "an encoded name": {
      path: `/api/v1/namespaces/${ownService}/secrets/..%2f..%2f${foreignService}%2fsecrets%2fprecious`,
    },
    "a name that climbs in the store": {
      path: `/api/v1/namespaces/${ownService}/secrets/..%2f${foreignService}%2fprecious`,
    },
    "two slashes": { path: `//api/v1/namespaces/${secret}` },
    "two slashes inside": { path: `/api/v1/namespaces//${secret}` },
    "a way round by another group": { path: `/apis/../api/v1/namespaces/${secret}` },
    "large letters": { path: `/API/v1/namespaces/${secret}` },
    "a parameter in the path": { path: `/api/v1/namespaces/${own};${secret}` },
    "a second namespace as a query": {
      path: `/api/v1/namespaces/${ownService}/secrets/precious?namespace=${foreignService}`,
    },
    "a proxy through the node": {
      path: `/api/v1/namespaces/${foreignService}/services/https:any:443/proxy/`,
    },
  };
}

function impersonations({ foreign, foreignService }: Names): Readonly<Record<string, RawAttempt>> {
  const path = `/api/v1/namespaces/${foreignService}/secrets/precious`;
  const as = (headers: RawAttempt["headers"]): RawAttempt => ({ path, headers });
  const account = `system:serviceaccount:${foreign}:klutch-binder`;
  return {
    "the other account by impersonation": as({ "impersonate-user": account }),
    "the administrator by impersonation": as({
      "impersonate-user": "admin",
      "impersonate-group": "system:masters",
    }),
    "the group of administrators alone": as({ "impersonate-group": "system:masters" }),
    "the backend by impersonation": as({
      "impersonate-user": "system:serviceaccount:klutch-backend:klutch-backend",
    }),
    "an identity of a proxy": as({ "x-remote-user": "admin", "x-remote-group": "system:masters" }),
    "another identity in the address": { path: `${path}?as=admin&as-group=system:masters` },
  };
}

function writes(names: Names): Readonly<Record<string, RawAttempt>> {
  const { own, ownService, foreign, foreignService } = names;
  const patch = (path: string, body: unknown): RawAttempt => ({
    method: "PATCH",
    path,
    headers: mergePatch,
    body,
  });
  const forged = { metadata: { annotations: identityOf(foreign) } };
  const account = "serviceaccounts/klutch-binder/token";
  const token = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const post = (path: string, body: unknown): RawAttempt => ({ method: "POST", path, body });
  const status = { status: { namespace: foreignService } };
  return {
    "an object in a foreign namespace": post(`${databases}/${foreignService}/databases`, database("planted")),
    "the end of a foreign object": {
      method: "DELETE",
      path: `${databases}/${foreignService}/databases/precious`,
    },
    "a change of a foreign object": patch(`${databases}/${foreignService}/databases/precious`, forged),
    "a mapping of a foreign tenant": post(`${klutch}/${foreign}/apiservicenamespaces`, mapping("planted")),
    "a heartbeat for somebody else": patch(`${klutch}/${foreign}/clusterbindings/cluster/status`, {
      status: { lastHeartbeatTime: "2026-01-01T00:00:00Z" },
    }),
    "another credential for the own ClusterBinding": patch(`${klutch}/${own}/clusterbindings/cluster`, {
      spec: { kubeconfigSecretRef: { name: "other", key: "kubeconfig" } },
    }),
    "an answer that the own mapping got": patch(`${klutch}/${own}/apiservicenamespaces/team/status`, status),
    "the identity of the own namespace": patch(`/api/v1/namespaces/${own}`, forged),
    "the owner of the own service namespace": patch(`/api/v1/namespaces/${ownService}`, forged),
    "the owner of a foreign namespace": patch(`/api/v1/namespaces/${foreignService}`, {
      metadata: { annotations: { "klutch.anynines.com/api-service-namespace": `${own}/team` } },
    }),
    "a namespace of one's own making": post("/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: `${own}-made`, annotations: identityOf(foreign) },
    }),
    "an export of one's own making": post(`${klutch}/${own}/apiserviceexports`, {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "APIServiceExport",
      metadata: { name: "secrets" },
    }),
    "rights of one's own making": post(
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${own}/rolebindings`,
      administrator(own),
    ),
    "a token of the other account": post(`/api/v1/namespaces/${foreign}/${account}`, token),
    "a longer token of the own account": post(`/api/v1/namespaces/${own}/${account}`, token),
  };
}

/** The path says one place, the body another. */
function bodies({ own, ownService, foreign, foreignService }: Names): Readonly<Record<string, RawAttempt>> {
  const object = (namespace: string): object => ({
    ...database("smuggled"),
    metadata: { name: "smuggled", namespace },
  });
  const apply = { "content-type": "application/apply-patch+yaml" };
  return {
    "a foreign namespace in the body": {
      method: "POST",
      path: `${databases}/${ownService}/databases`,
      body: object(foreignService),
    },
    "a foreign namespace in an apply": {
      method: "PATCH",
      path: `${databases}/${ownService}/databases/smuggled?fieldManager=x&force=true`,
      headers: apply,
      body: object(foreignService),
    },
    "a mapping with a foreign namespace in the body": {
      method: "POST",
      path: `${klutch}/${own}/apiservicenamespaces`,
      body: { ...mapping("smuggled"), metadata: { name: "smuggled", namespace: foreign } },
    },
    "a mapping whose name is a path": {
      method: "POST",
      path: `${klutch}/${own}/apiservicenamespaces`,
      body: mapping(`../${foreign}/team`),
    },
    "a collection that is deleted elsewhere": {
      method: "DELETE",
      path: `${databases}/${foreignService}/databases?fieldSelector=metadata.namespace%3D${ownService}`,
    },
  };
}

/** Everything that Klutch writes on namespaces and objects of a tenant, with the name of another. */
export function identityOf(tenant: string): Readonly<Record<string, string>> {
  return {
    "klutch.anynines.com/cluster-namespace": tenant,
    "klutch.anynines.com/api-service-namespace": `${tenant}/team`,
    "example-backend.klutch.anynines.com/identity": `person-of-${tenant}#${tenant}`,
  };
}

function database(name: string): object {
  return { apiVersion: "example.org/v1", kind: "Database", metadata: { name }, spec: {} };
}

function mapping(name: string): object {
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceNamespace",
    metadata: { name },
    spec: {},
  };
}

function administrator(own: string): object {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "administrator" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "klutch-binder", namespace: own }],
  };
}
