import { before, suite, test } from "node:test";
import type { KubeClient } from "@klutch/kube";
import {
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  recordsAt,
  textAt,
} from "@klutch/kube-core";
import {
  anyObject,
  crdObject,
  kubernetesObjects as objects,
  namespaceObject,
  untilServed,
  waitFor,
} from "@klutch/kube-testing";
import { compositionType } from "@klutch/services";
import { instances } from "../claim-kinds.ts";
import { Claims } from "../claims.ts";
import type { OwnSandbox } from "../own-sandbox.ts";

const roleName = "objects-of-the-causes-scenario";

/** Declares the tests of claims that Crossplane cannot make. They want PostgreSQL instances bound to app cluster A, and no provider-kubernetes. */
export function whyNothingIsMade(sandbox: OwnSandbox): void {
  suite("what a claim says when the control plane cannot make it", () => {
    let controlPlane: KubeClient;
    let claims: Claims;
    before(async () => {
      const appA = await sandbox.client("app-a");
      controlPlane = await sandbox.client("control-plane");
      await appA.create(namespaces, namespaceObject("causes"));
      claims = new Claims(appA, "causes");
    });

    const claim = (name: string, composition: string, more: object = {}): Promise<DynamicObject> =>
      claims.create(instances, name, {
        service: "a9s-postgresql13",
        plan: "postgresql-single-small",
        compositionRef: { name: composition },
        ...more,
      });
    const says = (name: string, wanted: RegExp): Promise<string> =>
      claims.says(instances, name, "Ready", wanted);
    /** Makes a Composition whose only step calls a function with an input. */
    const compose = (name: string, functionName: string, input?: object): Promise<KubeObject> =>
      controlPlane.create<KubeObject>(compositionType, {
        apiVersion: "apiextensions.crossplane.io/v1",
        kind: "Composition",
        metadata: { name },
        spec: {
          compositeTypeRef: { apiVersion: "anynines.com/v1", kind: `X${instances.kind}` },
          mode: "Pipeline",
          pipeline: [{ step: "make", functionRef: { name: functionName }, ...(input && { input }) }],
        },
      } as KubeObject);

    test("a kind that the control plane does not have", async () => {
      await claim("one", "a8s-postgresql", { expose: "Internal" });
      await says(
        "one",
        /^False CannotCompose: The platform cannot make this: .* does not have the kind Object /,
      );
    });

    test("a Composition that does not exist", async () => {
      await claim("two", "nope");
      await says("two", /^False CannotCompose: The platform cannot make this: no Composition fits.*nope/);
    });

    test("a function that is not installed, and one that fails", async () => {
      await compose("without-function", "function-absent");
      const shipped = await controlPlane.get<DynamicObject>(compositionType, { name: "a8s-postgresql" });
      const [step] = recordsAt(shipped, "spec", "pipeline");
      const nonsense = { apiVersion: "example.org/v1", kind: "Nonsense" };
      await compose("failing", textAt(step, "functionRef", "name") ?? "", nonsense);
      await claim("three", "without-function");
      await claim("four", "failing");
      await says(
        "three",
        /^False CannotCompose: The platform cannot make this: the function function-absent of step make is not/,
      );
      await says(
        "four",
        /^False CannotCompose: The platform cannot make this at present: step make of its Composition/,
      );
    });

    test("a kind on which Crossplane has no rights", async () => {
      const properties = { spec: anyObject, status: anyObject };
      const crd = crdObject(objects, { properties, hasStatus: true });
      await controlPlane.create<KubeObject>(customResourceDefinitions, crd);
      await untilServed(controlPlane, crd.metadata.name ?? "");
      await claim("five", "a8s-postgresql", { expose: "Internal" });
      await says(
        "five",
        /^False CannotCompose: Crossplane has not worked on this .* it lacks rights on a kind/,
      );
    });

    test("when the kind comes, and Crossplane may use it, the claim says no more of it", async () => {
      await controlPlane.create<KubeObject>(clusterRoles, {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: { name: roleName, labels: { "rbac.crossplane.io/aggregate-to-crossplane": "true" } },
        rules: [{ apiGroups: [objects.group], resources: [objects.plural], verbs: ["*"] }],
      } as KubeObject);
      await waitFor("the Object", async () => (await controlPlane.list(objects)).items.length > 0, {
        timeoutMs: 240_000,
      });
      await says("one", /^(?!False CannotCompose)/);
      await says("two", /^False CannotCompose/);
    });

    test("all of them can be deleted", async () => {
      await claims.delete(instances, "one", "two", "three", "four", "five");
      for (const name of ["without-function", "failing"])
        await controlPlane.delete(compositionType, { name });
      await controlPlane.delete(customResourceDefinitions, { name: `${objects.plural}.${objects.group}` });
      await controlPlane.delete(clusterRoles, { name: roleName });
    });
  });
}
