/** Runs the GitOps tools' own code with the shipped health checks, and returns how each tool judges a claim. */
import { spawnSync } from "node:child_process";
import { resolveEngine } from "@klutch/engines";
import * as schema from "@klutch/schema";
import { argoHealth, fluxHealth } from "@klutch/services";

/** The answer of one tool. The status is empty if the tool fails or has no answer. */
export interface Verdict {
  readonly status: string;
  readonly message: string;
  /** Empty, unless it failed. */
  readonly error: string;
}

/** The answers of all tools for one object. */
export interface Verdicts {
  /** InProgress, Failed, Current, Terminating. */
  readonly kstatus: Verdict;
  /** Progressing, Healthy, Degraded, Suspended. */
  readonly argo: Verdict;
  /** InProgress, Failed, Current. */
  readonly flux: Verdict;
}

const verdict = schema.object(
  { status: schema.string() },
  { message: schema.string(), error: schema.string() },
);
const answer = schema.list(schema.object({ kstatus: verdict, argo: verdict, flux: verdict }));

const argoPrefix = "resource.customizations.health.";

/** Script by `<group>/<Kind>`, as Argo CD reads its ConfigMap. */
const argo = Object.fromEntries(
  Object.entries(argoHealth().data).map(([key, script]) => [
    key.slice(argoPrefix.length).replace("_", "/"),
    script,
  ]),
);

/** One answer for each object, in their order. Throws when the program cannot read the question, as when Flux refuses an expression. */
export async function judge(objects: readonly object[]): Promise<readonly Verdicts[]> {
  const input = JSON.stringify({ argo, flux: fluxHealth().spec.healthCheckExprs, objects });
  const options = { input, encoding: "utf8", maxBuffer: Number.POSITIVE_INFINITY } as const;
  const { status, stdout, stderr } = spawnSync(await resolveEngine("judges"), [], options);
  if (status !== 0) throw new Error(`the judges ended with ${status}: ${stderr}`);
  const decoded: unknown = JSON.parse(stdout);
  if (!schema.accepts(answer, decoded)) throw new TypeError(`the judges said ${stdout.slice(0, 500)}`);
  return decoded.map(({ kstatus, argo: argoSays, flux }) => ({
    kstatus: whole(kstatus),
    argo: whole(argoSays),
    flux: whole(flux),
  }));
}

interface Said {
  readonly status: string;
  readonly message?: string | undefined;
  readonly error?: string | undefined;
}

function whole({ status, message = "", error = "" }: Said): Verdict {
  return { status, message, error };
}
