/**
 * Admission policies in app clusters that act on the creation of claims, one for each bound API. The API's APIServiceBinding is the parameter: a
 * policy does nothing unless one of this name is in force.
 */
import { isDnsSubdomain } from "@klutch/kube-core";
import type { Manifest } from "../konnector-manifests.ts";
import { bindGroup, consumerNamespace, konnectorName } from "../names.ts";
import { resourceNamed } from "../naming.ts";

const group = "admissionregistration.k8s.io";

/** The part of an object by which a policy of Klutch is known. */
interface Named {
  readonly metadata: {
    readonly name?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
  };
}

/** One sort of such policies. */
export interface ApiPolicy {
  /** Returns the name of the policy, and of its binding, for the API with this name. */
  readonly nameOf: (api: string) => string;
  /** Returns the API of a policy or policy binding that Klutch wrote; undefined for any other. */
  readonly apiOf: (object: Named) => string | undefined;
  /**
   * Returns the policy and its binding; none for an API whose name leaves no room for theirs. Throws a RangeError for a name that no
   * API has.
   */
  readonly manifestsOf: (api: string) => readonly Manifest[];
  /** Returns the same for a template, whose placeholders are no names. */
  readonly templateOf: (api: string, resource: string, apiGroup: string) => readonly Manifest[];
}

/** Creates a sort whose names begin with `prefix`. `policy` and `binding` return further fields of both specs. */
export function apiPolicy(sort: {
  readonly prefix: string;
  readonly kind: "MutatingAdmissionPolicy" | "ValidatingAdmissionPolicy";
  readonly policy: (resource: string) => object;
  readonly binding: object;
}): ApiPolicy {
  const { prefix, kind, policy, binding } = sort;
  const nameOf: ApiPolicy["nameOf"] = (api) => `${prefix}${api}`;
  const templateOf: ApiPolicy["templateOf"] = (api, resource, apiGroup) => {
    const metadata = { name: nameOf(api), labels: { app: konnectorName } };
    const rule = { apiGroups: [apiGroup], apiVersions: ["*"], operations: ["CREATE"] };
    const resourceRules = [{ ...rule, resources: [resource], scope: "*" }];
    return [
      {
        apiVersion: `${group}/v1`,
        kind,
        metadata,
        spec: {
          failurePolicy: "Ignore",
          paramKind: { apiVersion: `${bindGroup}/v1alpha1`, kind: "APIServiceBinding" },
          matchConstraints: { matchPolicy: "Equivalent", resourceRules },
          ...policy(resource),
        },
      },
      {
        apiVersion: `${group}/v1`,
        kind: `${kind}Binding`,
        metadata,
        spec: {
          policyName: metadata.name,
          paramRef: { name: api, namespace: consumerNamespace, parameterNotFoundAction: "Allow" },
          ...binding,
        },
      },
    ];
  };
  return {
    nameOf,
    apiOf: ({ metadata: { name = "", labels } }) =>
      name.startsWith(prefix) && labels?.["app"] === konnectorName ? name.slice(prefix.length) : undefined,
    manifestsOf(api) {
      if (!isDnsSubdomain(api)) throw new RangeError(`${JSON.stringify(api)} is no name of an API`);
      const resource = resourceNamed(api);
      return isDnsSubdomain(nameOf(api)) ? templateOf(api, resource.resource, resource.group) : [];
    },
    templateOf,
  };
}
