/** Lists the attempts of a member with a good credential and another member's name. Every attempt must be refused. */
import { apiServiceExports, apiServiceNamespaces } from "@klutch/api";
import { namespaceObject, objectOfType, roleBindingObject } from "@klutch/kube-testing";
import { databases } from "./bound-fixture.ts";
import type { RawAttempt } from "./raw-request.ts";

/** Names in the attempts. */
export interface Names {
  /** Cluster namespace of the member. */
  readonly own: string;
  /** A service namespace of the member. */
  readonly ownService: string;
  readonly foreign: string;
  readonly foreignService: string;
}

/** Attempts by description. */
export type Attempts = Readonly<Record<string, RawAttempt>>;

const klutch = "/apis/klutch.anynines.com/v1alpha1/namespaces";
const core = "/api/v1/namespaces";
const objects = "/apis/example.org/v1/namespaces";

/** Attempts of every kind. */
export function forgeries(names: Names): Attempts {
  return {
    ...reads(names),
    ...lists(names),
    ...paths(names),
    ...impersonations(names),
    ...changes(names),
    ...creations(names),
    ...bodies(names),
  };
}

/** Attempts with the right names and paths: the victim itself may do all but the last. */
export function reads({ foreign, foreignService }: Names): Attempts {
  return gets({
    "a foreign Secret": `${core}/${foreignService}/secrets/precious`,
    "foreign credentials": `${core}/${foreign}/secrets`,
    "a foreign object": `${objects}/${foreignService}/databases/precious`,
    "a foreign ClusterBinding": `${klutch}/${foreign}/clusterbindings/cluster`,
    "foreign mappings": `${klutch}/${foreign}/apiservicenamespaces`,
    "foreign requests": `${klutch}/${foreign}/apiserviceexportrequests`,
    "a foreign namespace": `${core}/${foreign}`,
    "names of all tenants": core,
  });
}

function lists({ own, foreignService }: Names): Attempts {
  const everywhere = "/apis/example.org/v1/databases";
  return gets({
    "all objects": everywhere,
    "all objects by the own namespace": `${everywhere}?fieldSelector=metadata.namespace%3D${own}`,
    "all objects by a label": `${everywhere}?labelSelector=team`,
    "all objects from the cache": `${everywhere}?resourceVersion=0`,
    "all Secrets by a name": "/api/v1/secrets?fieldSelector=metadata.name%3Dprecious&limit=1",
    "a watch of everything": `${everywhere}?watch=true&timeoutSeconds=1`,
    "a watch of one foreign Secret": `${core}/${foreignService}/secrets?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dprecious`,
    "an old way to watch": `/api/v1/watch/namespaces/${foreignService}/secrets`,
  });
}

function paths({ own, ownService, foreignService }: Names): Attempts {
  const secret = `${foreignService}/secrets/precious`;
  return gets({
    "dots in a path": `${core}/${own}/../${secret}`,
    "encoded dots": `${core}/${own}/%2e%2e/${secret}`,
    "an encoded slash": `${core}/${own}/..%2f${secret}`,
    "an encoded namespace": `${core}/${own}%2f..%2f${secret}`,
    "an encoded name": `${core}/${ownService}/secrets/..%2f..%2f${secret.replaceAll("/", "%2f")}`,
    "a name that climbs in the store": `${core}/${ownService}/secrets/..%2f${foreignService}%2fprecious`,
    "two slashes": `/${core}/${secret}`,
    "two slashes inside": `${core}//${secret}`,
    "a way round by another group": `/apis/..${core}/${secret}`,
    "large letters": `/API/v1/namespaces/${secret}`,
    "a parameter in the path": `${core}/${own};${secret}`,
    "a second namespace as a query": `${core}/${ownService}/secrets/precious?namespace=${foreignService}`,
    "a proxy through the node": `${core}/${foreignService}/services/https:any:443/proxy/`,
  });
}

function impersonations({ foreign, foreignService }: Names): Attempts {
  const path = `${core}/${foreignService}/secrets/precious`;
  const as = (headers: Readonly<Record<string, string>>): RawAttempt => ({ path, headers });
  const administrators = "system:masters";
  const [asUser, asGroup] = ["impersonate-user", "impersonate-group"];
  return {
    "the other account by impersonation": as({ [asUser]: `system:serviceaccount:${foreign}:klutch-binder` }),
    "the administrator by impersonation": as({ [asUser]: "admin", [asGroup]: administrators }),
    "the group of administrators alone": as({ [asGroup]: administrators }),
    "the backend by impersonation": as({ [asUser]: "system:serviceaccount:klutch-backend:klutch-backend" }),
    "an identity of a proxy": as({ "x-remote-user": "admin", "x-remote-group": administrators }),
    "another identity in the address": { path: `${path}?as=admin&as-group=${administrators}` },
  };
}

function changes({ own, ownService, foreign, foreignService }: Names): Attempts {
  const precious = `${objects}/${foreignService}/databases/precious`;
  const forged = { metadata: { annotations: identityOf(foreign) } };
  return {
    "the end of a foreign object": { method: "DELETE", path: precious },
    "a collection that is deleted elsewhere": {
      method: "DELETE",
      path: `${objects}/${foreignService}/databases?fieldSelector=metadata.namespace%3D${ownService}`,
    },
    "a change of a foreign object": patch(precious, forged),
    "a heartbeat for somebody else": patch(`${klutch}/${foreign}/clusterbindings/cluster/status`, {
      status: { lastHeartbeatTime: "2026-01-01T00:00:00Z" },
    }),
    "another credential for the own ClusterBinding": patch(`${klutch}/${own}/clusterbindings/cluster`, {
      spec: { kubeconfigSecretRef: { name: "other", key: "kubeconfig" } },
    }),
    "an answer that the own mapping got": patch(`${klutch}/${own}/apiservicenamespaces/team/status`, {
      status: { namespace: foreignService },
    }),
    "the identity of the own namespace": patch(`${core}/${own}`, forged),
    "the owner of the own service namespace": patch(`${core}/${ownService}`, forged),
    "the owner of a foreign namespace": patch(`${core}/${foreignService}`, {
      metadata: { annotations: { "klutch.anynines.com/api-service-namespace": `${own}/team` } },
    }),
  };
}

function creations({ own, foreign, foreignService }: Names): Attempts {
  const account = "serviceaccounts/klutch-binder/token";
  const token = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata: {}, spec: {} };
  const administrator = roleBindingObject(
    { namespace: own, name: "administrator" },
    { kind: "ClusterRole", name: "cluster-admin" },
    { namespace: own, name: "klutch-binder" },
  );
  return {
    "an object in a foreign namespace": post(
      `${objects}/${foreignService}/databases`,
      database({ name: "planted" }),
    ),
    "a mapping of a foreign tenant": post(
      `${klutch}/${foreign}/apiservicenamespaces`,
      mapping({ name: "planted" }),
    ),
    "a namespace of one's own making": post(core, namespaceObject(`${own}-made`, identityOf(foreign))),
    "an export of one's own making": post(
      `${klutch}/${own}/apiserviceexports`,
      objectOfType(apiServiceExports, { name: "secrets" }),
    ),
    "rights of one's own making": post(
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${own}/rolebindings`,
      administrator,
    ),
    "a token of the other account": post(`${core}/${foreign}/${account}`, token),
    "a longer token of the own account": post(`${core}/${own}/${account}`, token),
  };
}

/** Attempts whose path names one place and whose body another. */
function bodies({ own, ownService, foreign, foreignService }: Names): Attempts {
  const smuggled = (namespace: string): object => ({ name: "smuggled", namespace });
  const ofOwn = `${objects}/${ownService}/databases`;
  const mappings = `${klutch}/${own}/apiservicenamespaces`;
  return {
    "a foreign namespace in the body": post(ofOwn, database(smuggled(foreignService))),
    "a foreign namespace in an apply": patch(
      `${ofOwn}/smuggled?fieldManager=x&force=true`,
      database(smuggled(foreignService)),
      "application/apply-patch+yaml",
    ),
    "a mapping with a foreign namespace in the body": post(mappings, mapping(smuggled(foreign))),
    "a mapping whose name is a path": post(mappings, mapping({ name: `../${foreign}/team` })),
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

function gets(byName: Readonly<Record<string, string>>): Attempts {
  return Object.fromEntries(Object.entries(byName).map(([what, path]) => [what, { path }]));
}

function post(path: string, body: object): RawAttempt {
  return { method: "POST", path, body };
}

function patch(path: string, body: object, type = "application/merge-patch+json"): RawAttempt {
  return { method: "PATCH", path, headers: { "content-type": type }, body };
}

const database = (metadata: object): object => objectOfType(databases, metadata, { spec: {} });
const mapping = (metadata: object): object => objectOfType(apiServiceNamespaces, metadata, { spec: {} });
