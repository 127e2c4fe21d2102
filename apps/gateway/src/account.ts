/** Asks the API server whose token a request has, so that limits count for an account, however many tokens it holds. */
import type { Clock, Transport } from "@klutch/kube";
import { jsonOf, textAt } from "@klutch/kube-core";
import { digestOf } from "./digest.ts";
import { Memory } from "./memory.ts";

/** Name under which limits count. `unauthorized`: the API server does not know the token. */
export type Account = { readonly key: string } | "unauthorized";

/** Tells the account of a request's `Authorization`; never fails. */
export type AccountOf = (authorization: string) => Promise<Account>;

/** Options of `createAccountOf`. */
export interface AccountOptions {
  /** Without credentials of its own. */
  readonly transport: Pick<Transport, "exchange">;
  readonly clock: Clock;
  /** Time for which a name is remembered; a token never changes its account. Default 3 600 000. */
  readonly keepMs?: number | undefined;
  /** Names that are kept. Default 50 000. */
  readonly most?: number | undefined;
  /** Called before each question that is put to the API server. */
  readonly onAsked?: (() => void) | undefined;
}

const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const body = JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" });
const longestAnswer = 1024 * 1024;

interface Found {
  readonly account: Account;
  /** False: the API server gave no usable answer, and the token stands for itself until it does. */
  readonly isNamed: boolean;
}

/** Returns a reader of accounts with an empty memory. It never reads a token itself, so a forged one cannot use up another account's limits. */
export function createAccountOf(options: AccountOptions): AccountOf {
  const { transport, clock, keepMs = 3_600_000, most = 50_000, onAsked } = options;
  const names = new Memory<Found>(clock, { keepMs, most }, ({ isNamed }) => isNamed);
  return async (authorization) => {
    const token = digestOf(authorization);
    const { account } = await names.get(token, async () => {
      onAsked?.();
      return await ask(transport, authorization, token);
    });
    return account;
  };
}

async function ask(
  transport: AccountOptions["transport"],
  authorization: string,
  token: string,
): Promise<Found> {
  const unnamed: Found = { account: { key: `token ${token}` }, isNamed: false };
  try {
    const headers = { authorization };
    const { status, text } = await transport.exchange({ method: "POST", path, body, headers }, longestAnswer);
    if (status === 401) return { account: "unauthorized", isNamed: false };
    const name = status === 201 || status === 200 ? usernameIn(jsonOf(text)) : undefined;
    // A digest, because a name may be as long as its issuer likes.
    return name === undefined ? unnamed : { account: { key: `account ${digestOf(name)}` }, isNamed: true };
  } catch {
    return unnamed;
  }
}

/** Reads a name; one that many callers share is none. */
function usernameIn(review: unknown): string | undefined {
  const name = textAt(review, "status", "userInfo", "username");
  return name === undefined || name === "" || name === "system:anonymous" ? undefined : name;
}
