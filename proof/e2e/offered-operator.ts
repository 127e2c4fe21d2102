/** An operator of strangers, offered by the blocks of a page: a bound fixture with kubectl on both sides, and `klutch explain`. */
import { execFile } from "node:child_process";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { apiServiceExportRequests, apiServiceExportTemplates, crdNameOf } from "@klutch/api";
import { formatYaml } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  isTrue,
  type NewCondition,
  type ObjectRef,
  type ResourceType,
} from "@klutch/kube-core";
import { type Kubectl, leaseCluster, objectOfType, startKubectl, waitFor } from "@klutch/kube-testing";
import { type BoundFixture, startBoundFixture, tenantKubeconfig, tenants } from "./security/bound-fixture.ts";

/** Holds the clusters, and does with them what people do. */
export interface OfferedOperator extends AsyncDisposable {
  readonly fixture: BoundFixture;
  readonly inAppCluster: Kubectl;
  readonly inControlPlane: Kubectl;
  /** Flags of `klutch explain` for a person who reads both clusters. */
  readonly withAbove: readonly string[];
  /** Returns the one block of YAML below a heading of the page. */
  readonly blockOf: (heading: string) => string;
  /** Applies text as an operator does; gives back what kubectl printed. */
  readonly apply: (kubectl: Kubectl, name: string, text: string) => Promise<string>;
  /** Waits until the template offers the kind, and binds it for tenant A. */
  readonly bind: (type: ResourceType, template: ObjectRef) => Promise<void>;
  /** Runs `klutch explain` for an object in namespace default, and keeps its text with the test's result. */
  readonly explained: (t: TestContext, object: string, ...more: readonly string[]) => Promise<string>;
  /** Returns the condition `Ready` of an object in namespace default of the app cluster. */
  readonly readyOf: (type: ResourceType, name: string) => Promise<NewCondition | undefined>;
}

/** Starts both clusters and the backend; `page` is below `docs`. */
export async function startOfferedOperator(page: string): Promise<OfferedOperator> {
  await using stack = new AsyncDisposableStack();
  const fixture = stack.use(await startBoundFixture(leaseCluster));
  const { appCluster, controlPlane } = fixture;
  const [inAppCluster, inControlPlane] = [
    await startKubectl(stack, appCluster),
    await startKubectl(stack, controlPlane),
  ];
  const inFolder = (name: string): string => join(appCluster.dataDir, name);
  await symlink(resolve(import.meta.dirname, "../../apps/cli/src/main.ts"), inFolder("klutch"));
  await writeFile(inFolder("app.kubeconfig"), appCluster.kubeconfig, { mode: 0o600 });
  await writeFile(inFolder("above.kubeconfig"), controlPlane.kubeconfig, { mode: 0o600 });
  const text = await readFile(resolve(import.meta.dirname, "../../docs", page), "utf8");
  return Object.assign(stack.move(), {
    fixture,
    inAppCluster,
    inControlPlane,
    withAbove: ["--control-plane-kubeconfig", inFolder("above.kubeconfig")],
    blockOf: (heading: string) => blockIn(page, text, heading),
    async apply(kubectl: Kubectl, name: string, manifests: string) {
      await writeFile(inFolder(`${name}.yaml`), manifests);
      return await kubectl("apply", "-f", inFolder(`${name}.yaml`));
    },
    async bind(type: ResourceType, template: ObjectRef) {
      await waitFor("the API to be offered", async () =>
        isTrue(
          conditionsOf(await controlPlane.client.get<DynamicObject>(apiServiceExportTemplates, template)),
          "Offered",
        ),
      );
      const name = crdNameOf({ group: type.group, resource: type.plural });
      const spec = { resources: [{ group: type.group, resource: type.plural }] };
      await writeFile(
        inFolder("request.yaml"),
        formatYaml(objectOfType(apiServiceExportRequests, { name }, { spec })),
      );
      const remote = inFolder("tenant.kubeconfig");
      await writeFile(remote, await tenantKubeconfig(controlPlane, tenants.a), { mode: 0o600 });
      const flags = ["--accept-permissions", "--skip-konnector"];
      const of = ["--remote-kubeconfig", remote, "-f", inFolder("request.yaml")];
      await fixture.kubectlBind("apiservice", ...of, ...flags);
      await waitFor("the kind to be served", () => appCluster.client.list(type));
    },
    explained: (t: TestContext, object: string, ...more: readonly string[]) =>
      explain(t, inFolder, [object, "-n", "default", ...more]),
    async readyOf(type: ResourceType, name: string) {
      const found = await appCluster.client.get<DynamicObject>(type, { namespace: "default", name });
      return findCondition(conditionsOf(found), "Ready");
    },
  });
}

function blockIn(page: string, text: string, heading: string): string {
  const [, section = ""] = text.split(`\n## ${heading}\n`);
  const [, block] = /^```yaml\n([^]*?)^```$/m.exec(section.split("\n## ")[0] ?? "") ?? [];
  if (block === undefined) throw new Error(`docs/${page} has no block below ${heading}`);
  return block;
}

async function explain(
  t: TestContext,
  inFolder: (name: string) => string,
  args: readonly string[],
): Promise<string> {
  const env = { KUBECONFIG: inFolder("app.kubeconfig") };
  const text = await new Promise<string>((done) => {
    const child = execFile(
      process.execPath,
      [inFolder("klutch"), "explain", ...args],
      { env },
      (_, out, err) => done(`${child.exitCode} ${out}${err}`),
    );
  });
  t.diagnostic(text);
  return text;
}
