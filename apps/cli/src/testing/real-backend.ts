/** The shipped backend as a process, with a real Dex, at a control plane that offers data services by the shipped templates. */
import { apiServiceExportTemplates, binderName, binderRules } from "@klutch/api";
import {
  clusterRoles,
  customResourceDefinitions,
  type KubeObject,
  namespaces,
  type ResourceType,
} from "@klutch/kube-core";
import { dexIssuer, dexPassword, reservePorts, startDex } from "@klutch/engines";
import {
  anyObject,
  crdObject,
  namespaceObject,
  roleObject,
  startBackendProcess,
  TcpProxy,
  type TestCluster,
  waitFor,
} from "@klutch/kube-testing";
import { exportTemplatesOf, legacy } from "@klutch/services";

/** The person whom Dex knows. */
const person = {
  email: "ann@example.com",
  username: "ann",
  userID: "a3c9f5e2-0f0b-4c43-9f62-0c1f3b3f7d10",
};

/** A backend with its login. */
export interface RealBackend {
  /** The address for `kubectl bind`. */
  readonly url: string;
  /** Verified e-mail address of the person who logs in. */
  readonly person: string;
}

/** Offers these kinds of `anynines.com` by the templates of a release, and starts Dex and a backend. Everything ends with the stack. */
export async function startRealBackend(
  stack: AsyncDisposableStack,
  provider: TestCluster,
  kinds: readonly string[],
): Promise<RealBackend> {
  await offer(provider, kinds);
  const service = stack.use(await TcpProxy.start("http://127.0.0.1:1"));
  const callbackUrl = `${service.url}/callback`;
  const [port = 0] = stack.use(await reservePorts(1)).ports;
  const client = { id: "klutch", secret: "a-client-secret-of-the-tests", callbackUrl };
  stack.use(await startDex(port, provider.dataDir, { client, people: [person] }));
  const flags = [
    `--oidc-issuer-url=${dexIssuer(port)}`,
    `--oidc-issuer-client-id=${client.id}`,
    `--oidc-issuer-client-secret=${client.secret}`,
    `--oidc-callback-url=${callbackUrl}`,
    `--cookie-signing-key=${Buffer.alloc(32, 7).toString("base64")}`,
    "--lease-namespace=default",
  ];
  const backend = stack.use(await startBackendProcess(provider, { servesLogin: false, flags }));
  service.route(backend.url);
  const url = `${service.url}/export`;
  await waitFor("the backend", async () => (await fetch(url)).ok);
  return { url, person: person.email };
}

async function offer({ client }: TestCluster, kinds: readonly string[]): Promise<void> {
  await client.create(clusterRoles, roleObject({ name: binderName }, binderRules));
  await client.create(namespaces, namespaceObject("crossplane-system"));
  const serviceInstanceType = { type: "string" };
  const spec = { ...anyObject, properties: { serviceInstanceType } };
  for (const kind of kinds) {
    const plural = `${kind.toLowerCase()}s`;
    const type: ResourceType = { group: legacy.group, version: "v1", plural, kind, namespaced: true };
    const crd = crdObject(type, { properties: { spec, status: anyObject }, hasStatus: true });
    await client.create<KubeObject>(customResourceDefinitions, crd);
    const template = exportTemplatesOf(legacy).find((one) => one.spec.APIServiceSelector.resource === plural);
    if (template === undefined) throw new Error(`no template offers ${kind}`);
    await waitFor("templates to be served", () =>
      client.create<KubeObject>(apiServiceExportTemplates, { ...template }),
    );
  }
}

/** A page with its form, as the person sees it before pressing Bind. */
export interface BindPage {
  readonly html: string;
  /** Names of the APIs that are selected. */
  readonly selected: readonly string[];
}

/**
 * Plays the person and the browser: logs in at Dex, presses Bind once with the fields that `choose` returns, and follows the browser to the
 * plugin. `seen` counts logins and keeps the pages.
 */
export function personAt(
  { person: login }: RealBackend,
  seen: BindPage[],
  choose: (page: BindPage) => readonly (readonly [string, string])[],
): (url: string) => void {
  return (url) => {
    void (async () => {
      const jar = new Map<string, string>();
      const { html, url: at } = await logIn(jar, url, login);
      const boxes = [...html.matchAll(/name="api" value="([^"]*)" checked/g)];
      const page = { html, selected: boxes.map(([, name = ""]) => name) };
      seen.push(page);
      const value = (name: string): string =>
        new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? "";
      const fields = [["s", value("s")], ["csrf", value("csrf")], ...choose(page)] as const;
      await follow(jar, new URL("/bind", at).href, fields);
    })();
  };
}

/** Plays the person and the browser where nothing is chosen: logs in at Dex, and follows the browser to the plugin. `seen` gets each address. */
export function loginAt({ person: login }: RealBackend, seen: string[]): (url: string) => void {
  return (url) => {
    seen.push(url);
    void logIn(new Map(), url, login).then((last) => void seen.push(last.url));
  };
}

async function logIn(
  jar: Map<string, string>,
  url: string,
  login: string,
): Promise<{ readonly url: string; readonly html: string }> {
  const form = await follow(jar, url);
  const action = /<form[^>]* action="([^"]*)"/.exec(form.html)?.[1]?.replaceAll("&amp;", "&") ?? "";
  return follow(jar, new URL(action, form.url).href, [
    ["login", login],
    ["password", dexPassword],
  ]);
}

/** Follows redirects with the cookies of one browser; hosts of this machine have different ports, so their cookies are kept apart. */
async function follow(
  jar: Map<string, string>,
  start: string,
  form?: readonly (readonly [string, string])[],
): Promise<{ readonly url: string; readonly html: string }> {
  let url = start;
  let init: RequestInit = {};
  if (form !== undefined) {
    const fields = new URLSearchParams(form.map(([name, text]) => [name, text]));
    init = { method: "POST", body: fields };
  }
  for (let step = 0; step < 20; step++) {
    const { host } = new URL(url);
    const cookie = [...jar]
      .filter(([key]) => key.startsWith(`${host} `))
      .map(([key, text]) => `${key.slice(host.length + 1)}=${text}`);
    const response = await fetch(url, {
      ...init,
      headers: { cookie: cookie.join("; ") },
      redirect: "manual",
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const split = pair.indexOf("=");
      jar.set(`${host} ${pair.slice(0, split)}`, pair.slice(split + 1));
    }
    const location = response.headers.get("location");
    const html = await response.text();
    if (location === null) return { url, html };
    url = new URL(location, url).href;
    init = {};
  }
  throw new Error("too many redirects");
}
