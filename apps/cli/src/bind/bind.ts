/** `kubectl bind <url>`: log in to a provider and bind the APIs that the person chooses. */
import {
  type BindingResponse,
  clusterIdOf,
  type ClusterProof,
  crdNameOf,
  displayName,
  printable,
} from "@klutch/api";
import { bindApis } from "./apis.ts";
import { clusterSigner, proveCluster } from "./cluster-proof.ts";
import { confirmedLogin } from "./confirm.ts";
import { requireBindable } from "../app-cluster/bindable.ts";
import { rememberLoginWay } from "../app-cluster/login-way.ts";
import { connectConsumer, connectProvider } from "../clusters.ts";
import { ensureNamespace } from "./consumer.ts";
import { deviceLogin, requireDevice } from "./device.ts";
import type { CliContext } from "../context.ts";
import { plannedBase, secretAfterLogin } from "./dry-run.ts";
import { login } from "./login.ts";
import type { BindOptions } from "../options.ts";
import { formatObjects } from "../output.ts";
import { fetchProvider } from "./provider.ts";
import { refuseControlPlane } from "./refuse-control-plane.ts";
import { checkRequests, requireAll } from "./requested.ts";
import { showBindings } from "./show-bindings.ts";
import { bindWithToken } from "./token-bind.ts";

/** Runs the command. The provider is checked before anything is written anywhere. */
export async function bind(context: CliContext, url: string, options: BindOptions): Promise<void> {
  const { terminal } = context;
  const provider = await fetchProvider(url, context.signal, options.allowAuthorizeUrl);
  const device = options.device ? requireDevice(provider) : undefined;
  await using consumer = await connectConsumer(options);
  terminal.say(`App cluster: ${consumer.place}.`);
  await refuseControlPlane(consumer, provider, context.signal);
  await requireBindable(context, consumer);
  const clusterName = options.clusterName ?? displayName(consumer.name);
  if (clusterName !== undefined)
    terminal.say(`The provider sees this cluster as ${clusterName}; --cluster-name changes that.`);
  const { tokenFile } = options;
  if (options.dryRun) {
    const objects = [...(await plannedBase(context, consumer, options)), secretAfterLogin];
    const step = tokenFile === undefined ? "log in to" : "send the access token to";
    terminal.say(
      `A real run would ${step} provider ${printable(provider.prettyName)} (${printable(provider.version)}) at ${provider.loginUrl.origin}.`,
    );
    const chosen = tokenFile === undefined ? "the APIs that you choose there" : "the APIs that you named";
    terminal.say(
      `After the login it would ask about ${chosen}. Then it would write a ClusterRole, a ClusterRoleBinding and an APIServiceBinding for each.`,
    );
    terminal.say(
      "Dry run: stopped before the login, which already creates a tenant at the provider. Nothing was changed.",
    );
    terminal.out(formatObjects(objects, options.output ?? "yaml", options));
    return;
  }
  const clusterId = clusterIdOf(await ensureNamespace(context, consumer));
  const who = printable(provider.prettyName || url);
  const { timeoutMs, browser, requestTimeoutMs, loginAs } = options;
  const { severalApis = false } = provider;
  const wish = severalApis ? options.wish : undefined;
  if (!severalApis && options.wish.kind !== "none")
    terminal.say(
      `${who} binds one API of a login, because its backend is of an earlier release. Choose one on the page; run the command again for each other one.`,
    );
  const plugin = { clusterId, clusterName, wish, timeoutMs, browser };
  const { confirmUrl } = provider;
  let response: BindingResponse;
  if (tokenFile !== undefined) {
    const apis = options.wish.kind === "apis" ? options.wish.names : [];
    response = await bindWithToken(context, provider, { tokenFile, clusterId, clusterName, apis });
  } else if (device !== undefined) {
    const signer = await clusterSigner(consumer, context.signal);
    response = await deviceLogin(context, device, { ...plugin, wish: options.wish, signer, loginAs });
  } else if (confirmUrl === undefined) {
    terminal.say(
      `${who} cannot confirm logins, because its backend is of an earlier release. A person who sees the address below can log in at it in your place, so do not show it, and the credential passes through your browser.`,
    );
    const prove = (sessionId: string): Promise<ClusterProof | undefined> =>
      proveCluster(context, consumer, provider, { sessionId, clusterId });
    response = await login(context, provider, { ...plugin, prove });
  } else {
    const signer = await clusterSigner(consumer, context.signal);
    response = await confirmedLogin(context, { ...provider, confirmUrl }, { ...plugin, signer, loginAs });
  }
  checkRequests(response.requests, `The answer of ${who}`);
  const kubeconfig = Buffer.from(response.kubeconfig, "base64").toString("utf8");
  const backendOrigin = new URL(provider.url).origin;
  await using remote = connectProvider(kubeconfig, who, { requestTimeoutMs, backendOrigin });
  const chosen = tokenFile === undefined ? { at: who, wish: options.wish } : undefined;
  const bindings = await bindApis(context, consumer, remote, response.requests, options, chosen);
  const loginWay = confirmUrl === undefined ? "redirect" : "confirmed";
  await rememberLoginWay(context, consumer, bindings, tokenFile === undefined ? loginWay : "ci");
  await showBindings(context, consumer, bindings, options);
  const names = response.requests.flatMap(({ spec }) => spec.resources.map(crdNameOf));
  requireAll(options.wish, names, { url, who, severalApis });
}
