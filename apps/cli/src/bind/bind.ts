/** `kubectl bind <url>`: log in to a provider and bind the APIs that the person chooses. */
import {
  type BindingResponse,
  clusterIdOf,
  type ClusterProof,
  crdNameOf,
  displayName,
  type LoginWish,
  printable,
} from "@klutch/api";
import { bindApis } from "./apis.ts";
import { clusterSigner, proveCluster } from "./cluster-proof.ts";
import { confirmedLogin } from "./confirm.ts";
import { requireBindable } from "../app-cluster/bindable.ts";
import { rememberLoginWay } from "../app-cluster/login-way.ts";
import { connectConsumer, connectProvider, type Consumer } from "../clusters.ts";
import { ensureNamespace } from "./consumer.ts";
import { deviceLogin, type DeviceProvider, requireDevice } from "./device.ts";
import type { CliContext } from "../context.ts";
import { plannedBase, secretAfterLogin } from "./dry-run.ts";
import { login } from "./login.ts";
import type { BindOptions } from "../options.ts";
import { formatObjects } from "../output.ts";
import { fetchProvider, type ProviderDescription } from "./provider.ts";
import { refuseControlPlane } from "./refuse-control-plane.ts";
import { checkRequests, requireAll } from "./requested.ts";
import { bindWithSession, sessionFor } from "./session-bind.ts";
import type { StoredLogin } from "./stored-logins.ts";
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
  const stored = await sessionFor(context, provider, options);
  if (options.dryRun) {
    const objects = [...(await plannedBase(context, consumer, options)), secretAfterLogin];
    const login = stored === undefined ? "log in to" : "send the session to";
    const step = tokenFile === undefined ? login : "send the access token to";
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
  const { requestTimeoutMs } = options;
  const { confirmUrl, severalApis = false } = provider;
  const wish = severalApis ? options.wish : undefined;
  if (!severalApis && options.wish.kind !== "none")
    terminal.say(
      `${who} binds one API of a login, because its backend is of an earlier release. Choose one on the page; run the command again for each other one.`,
    );
  const names = { clusterId, clusterName, who };
  const response = await answerOf(context, provider, consumer, { ...names, device, stored, wish, options });
  checkRequests(response.requests, `The answer of ${who}`);
  const kubeconfig = Buffer.from(response.kubeconfig, "base64").toString("utf8");
  const backendOrigin = new URL(provider.url).origin;
  await using remote = connectProvider(kubeconfig, who, { requestTimeoutMs, backendOrigin });
  const chosen = tokenFile === undefined ? { at: who, wish: options.wish } : undefined;
  const bindings = await bindApis(context, consumer, remote, response.requests, options, chosen);
  const loginWay = confirmUrl === undefined ? "redirect" : "confirmed";
  const way = stored === undefined ? loginWay : "session";
  await rememberLoginWay(context, consumer, bindings, tokenFile === undefined ? way : "ci");
  await showBindings(context, consumer, bindings, options);
  const bound = response.requests.flatMap(({ spec }) => spec.resources.map(crdNameOf));
  requireAll(options.wish, bound, { url, who, severalApis });
}

/** A bind at a provider that was checked. */
interface Login {
  /** The provider, if the person logs in on another device. */
  readonly device: DeviceProvider | undefined;
  /** The session of `klutch login`, if one is used. */
  readonly stored: StoredLogin | undefined;
  readonly clusterId: string;
  readonly clusterName: string | undefined;
  /** Undefined for a provider that binds one API of a login. */
  readonly wish: LoginWish | undefined;
  /** The provider as messages name it. */
  readonly who: string;
  readonly options: BindOptions;
}

/** Returns the provider's answer to an access token or a session, or to a login in the way that the person wants and the provider takes. */
async function answerOf(
  context: CliContext,
  provider: ProviderDescription,
  consumer: Consumer,
  { device, stored, clusterId, clusterName, wish, who, options }: Login,
): Promise<BindingResponse> {
  const { timeoutMs, browser, loginAs, tokenFile } = options;
  const plugin = { clusterId, clusterName, wish, timeoutMs, browser };
  const { confirmUrl } = provider;
  if (tokenFile !== undefined) {
    const apis = options.wish.kind === "apis" ? options.wish.names : [];
    return bindWithToken(context, provider, { tokenFile, clusterId, clusterName, apis });
  }
  if (stored !== undefined)
    return bindWithSession(context, provider, consumer, {
      stored,
      clusterId,
      clusterName,
      wish: options.wish,
    });
  if (device !== undefined) {
    const signer = await clusterSigner(consumer, context.signal);
    return deviceLogin(context, device, { ...plugin, wish: options.wish, signer, loginAs });
  }
  if (confirmUrl !== undefined) {
    const signer = await clusterSigner(consumer, context.signal);
    return confirmedLogin(context, { ...provider, confirmUrl }, { ...plugin, signer, loginAs });
  }
  context.terminal.say(
    `${who} cannot confirm logins, because its backend is of an earlier release. A person who sees the address below can log in at it in your place, so do not show it, and the credential passes through your browser.`,
  );
  const prove = (sessionId: string): Promise<ClusterProof | undefined> =>
    proveCluster(context, consumer, provider, { sessionId, clusterId });
  return login(context, provider, { ...plugin, prove });
}
