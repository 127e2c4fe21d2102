/** People who log in at the same time, each with a browser of their own. */
import { decodeBindingResponse } from "@klutch/api";
import { dexPassword } from "@klutch/engines";
import { ScriptedBrowser } from "@klutch/launcher";
import { addressOf } from "./control-plane.ts";

/** The steps of a login, in their order. */
export const steps = ["/authorize", "Dex", "/callback", "/resources", "/bind"] as const;
type StepName = (typeof steps)[number];

/** One login that ended well. */
export interface Login {
  /** From the request of `/authorize` until the plugin has its answer. */
  readonly tookMs: number;
  readonly stepsMs: Readonly<Record<StepName, number>>;
}

/** The plugin of this person waits here; nothing listens, because the redirect has all. */
const plugin = "http://localhost:4321";

/** Logs all of them in at once, and binds the API for each. Throws when one of them gets no kubeconfig. */
export function logInAll(url: string, people: number): Promise<readonly Login[]> {
  return Promise.all(Array.from({ length: people }, (_, person) => logIn(url, person)));
}

async function logIn(url: string, person: number): Promise<Login> {
  const stepsMs = Object.fromEntries(steps.map((step) => [step, 0])) as Record<StepName, number>;
  const browser = new ScriptedBrowser({
    stopAt: plugin,
    onAnswer: ({ origin, pathname }, tookMs) => {
      const step = origin === url ? steps.find((one) => one === pathname) : "Dex";
      if (step === undefined) throw new Error(`the login came to ${pathname}`);
      stepsMs[step] += tookMs;
    },
  });
  const startedAt = performance.now();
  const query = new URLSearchParams({ s: `session-${person}`, c: `cluster-${person}`, p: "4321" });
  const form = await browser.open(`${url}/authorize?${query.toString()}`);
  const values = { login: addressOf(person), password: dexPassword };
  const page = await browser.submit(form, ['name="password"'], values);
  const answer = await browser.submit(page, ['value="databases"']);
  const tookMs = performance.now() - startedAt;
  const { kubeconfig, requests } = decodeBindingResponse(answer.url.searchParams.get("response") ?? "");
  if (kubeconfig === "" || requests.length !== 1) throw new Error(`person ${person} got no credential`);
  return { tookMs, stepsMs };
}
