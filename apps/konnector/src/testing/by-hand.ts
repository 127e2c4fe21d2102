/**
 * Two API servers with all that a konnector needs between them, to work on it by hand: the API `widgets` is exported and bound, namespaces
 * are answered as a backend does it, and no konnector runs. Prints how to run one. Ctrl-C ends and removes everything.
 *
 *     node_modules/.bin/node apps/konnector/src/testing/by-hand.ts
 */
import { once } from "node:events";
import { rm, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiServiceBindingCrd } from "@klutch/api";
import { formatKubeconfig } from "@klutch/kube";
import { exportCrd, installCrd, prepareTenant, tenantNamespace } from "./provider-side.ts";
import { agentConfig, bindApi, startFixture, testApi } from "./fixture.ts";

const widgets = testApi("widgets", "Widget");
await using fixture = await startFixture();
const { consumer, provider } = fixture;
await installCrd(provider, widgets.crd);
await installCrd(consumer, apiServiceBindingCrd);
const tenantKubeconfig = await prepareTenant(provider, ["widgets", "widgets/status"]);
await exportCrd(provider, widgets.crd);
await bindApi(fixture, widgets.name, tenantKubeconfig);

const folder = await mkdtemp(join(tmpdir(), "klutch-by-hand-"));
await using stack = new AsyncDisposableStack();
stack.defer(() => rm(folder, { recursive: true, force: true }));
const files = {
  agent: formatKubeconfig(await agentConfig(consumer)),
  consumer: consumer.kubeconfig,
  provider: provider.kubeconfig,
};
for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o600 });
await writeFile(
  join(folder, "widget.yaml"),
  "apiVersion: test.klutch.example/v1\nkind: Widget\nmetadata: {namespace: app, name: one}\nspec: {size: 3}\n",
);

process.stdout.write(`
Run the konnector, in another terminal (--inspect-brk before its path stops it for a debugger):

    POD_NAME=me KUBECONFIG=${join(folder, "agent")} node_modules/.bin/node apps/konnector/src/main.ts \\
      --lease-namespace=klutch-bind --log-level=debug --probe-host=127.0.0.1

Make a claim, and look at it on both sides:

    kubectl --kubeconfig ${join(folder, "consumer")} apply -f ${join(folder, "widget.yaml")}
    kubectl --kubeconfig ${join(folder, "provider")} get widgets -n ${tenantNamespace}-app one -o yaml
    kubectl --kubeconfig ${join(folder, "consumer")} get apiservicebindings -A

Metrics and health: curl 127.0.0.1:8080/metrics 127.0.0.1:8080/readyz. Ctrl-C here ends everything.
`);
await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
