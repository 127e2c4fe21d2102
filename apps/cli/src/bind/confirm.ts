/**
 * A login that is confirmed without the browser. The browser brings only an offer, sealed for this run: who logged in, and which tenant
 * that leads to. The person says whether that is right, this machine signs it with the app cluster's key, and the credential comes as the
 * answer to that request. Seeing the login's address is of no use to others.
 */
import {
  type AnswerKey,
  type BindingResponse,
  confirmationText,
  confirmChallengeUrl,
  type LoginOffer,
  newAnswerKey,
  openBinding,
  openOffer,
  printable,
  type SessionPerson,
  WireError,
} from "@klutch/api";
import { isRecord } from "@klutch/kube-core";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import { postJson } from "../http.ts";
import { type AnswerReader, startCallbackServer } from "./callback-server.ts";
import type { ClusterSigner } from "./cluster-proof.ts";
import { answerFromBrowser, type LoginOptions, loginUrlOf, newSessionId, refused, usable } from "./login.ts";
import { ask } from "../app-cluster/permission-claims.ts";
import type { ProviderDescription } from "./provider.ts";

/** Options of a login that is confirmed. */
export interface ConfirmOptions extends LoginOptions {
  readonly signer: ClusterSigner;
  /** Subject or verified e-mail address of the person as whom the login must be; then no question is asked. */
  readonly loginAs: string | undefined;
}

/** A provider that takes confirmations. */
export type ConfirmingProvider = ProviderDescription & { readonly confirmUrl: string };

/** Lets the person log in, choose an API and confirm; resolves to the provider's answer. */
export async function confirmedLogin(
  context: CliContext,
  provider: ConfirmingProvider,
  options: ConfirmOptions,
): Promise<BindingResponse> {
  const { clusterId, clusterName, wish, signer } = options;
  const key = await newAnswerKey();
  const sessionId = newSessionId();
  await using callback = await startCallbackServer(offerReader(key, sessionId));
  const { port } = callback;
  const keys = { answerKey: key.publicKey, clusterKey: signer.publicKey };
  const url = loginUrlOf(provider, { port, sessionId, clusterId, clusterName, wish, keys });
  const offer = await answerFromBrowser(context, provider, url, callback, options);
  const redirectUrl = `http://localhost:${port}/callback`;
  return await finishLogin(context, provider, { ...options, key, offer, redirectUrl });
}

/** A login whose offer has come. */
export interface OfferedLogin extends Pick<ConfirmOptions, "clusterId" | "signer" | "loginAs"> {
  readonly key: AnswerKey;
  readonly offer: LoginOffer;
  /** The one that the backend sealed into the ticket. */
  readonly redirectUrl: string;
}

/** Asks the person whether the offer is right, signs, and gets the provider's answer. */
export async function finishLogin(
  context: CliContext,
  provider: ConfirmingProvider,
  { clusterId, signer, loginAs, key, offer, redirectUrl }: OfferedLogin,
): Promise<BindingResponse> {
  const meaning = tenantText(offer, printable(provider.prettyName || provider.url));
  await askWho(context, offer, { loginAs, meaning, end: nothingChanged });
  const { sessionId, issuer, subject, nonce, ticket } = offer;
  const challenge = await fetchChallenge(context, confirmChallengeUrl(provider.confirmUrl));
  const signature = signer.sign(
    confirmationText({
      url: provider.confirmUrl,
      challenge,
      sessionId,
      clusterId,
      redirectUrl,
      answerKey: key.publicKey,
      issuer,
      subject,
      nonce,
    }),
  );
  const sealed = await sendConfirmation(context, provider, { ticket, challenge, signature });
  return checkedResponse(key, sealed, { sessionId, id: `${issuer}/${subject}` });
}

function offerReader(key: AnswerKey, sessionId: string): AnswerReader<LoginOffer> {
  return {
    describe: () => "this login",
    async judge(query) {
      const sealed = query.get("offer");
      if (sealed === null || sealed === "") return { kind: "foreign", problem: "it carries no offer" };
      try {
        const answer = await openOffer(key, sealed);
        return answer.sessionId === sessionId
          ? { kind: "accepted", answer }
          : { kind: "foreign", problem: "it has another session id" };
      } catch (cause) {
        // Anybody can seal for this key, which stands in the address: a malformed offer must not end the waiting either.
        if (!(cause instanceof WireError)) throw cause;
        return { kind: "foreign", problem: cause.message };
      }
    },
  };
}

/** Asks whether the person of a login is the one at this machine. Rejects with `CliError`, whose words end with `end`. */
export async function askWho(
  context: CliContext,
  { subject, issuer, displayName, verifiedEmail }: Omit<SessionPerson, "user">,
  about: {
    /** Answers the question: a subject or a verified e-mail address. */
    readonly loginAs: string | undefined;
    /** Sentence that says what a yes leads to. */
    readonly meaning: string;
    readonly end: string;
  },
): Promise<void> {
  const { terminal } = context;
  const { loginAs, meaning, end } = about;
  const person = printable(displayName === undefined ? subject : `${displayName} (subject ${subject})`);
  terminal.say(`You are logged in as ${person}, says ${printable(issuer)}.`);
  terminal.say(meaning);
  if (isPerson({ subject, verifiedEmail }, loginAs)) {
    terminal.say("Accepted by --login-as.");
    return;
  }
  if (loginAs !== undefined)
    throw new CliError(
      "Login",
      `The login is as ${person}, and --login-as asks for ${printable(loginAs)}. Log in as that person. ${end}`,
    );
  if (await ask(context, "Is that you, and do you want to continue?", false)) return;
  throw new CliError(
    "Login",
    `The login as ${person} was not accepted. In a script, name the person who logs in with --login-as. ${end}`,
  );
}

/** Returns true if `--login-as` names the person: by what no one can choose for themselves. */
export function isPerson(
  { subject, verifiedEmail }: Pick<SessionPerson, "subject" | "verifiedEmail">,
  loginAs: string | undefined,
): boolean {
  return loginAs !== undefined && (loginAs === subject || loginAs === verifiedEmail);
}

function tenantText({ tenant }: LoginOffer, provider: string): string {
  const name = printable(tenant.name);
  switch (tenant.relation) {
    case "founds":
      return `If you continue, ${provider} makes tenant ${name} for this app cluster, and that person becomes its first member.`;
    case "joins":
      return `If you continue, that person becomes a member of tenant ${name} at ${provider}, with access to all that this app cluster has there.`;
    case "member":
      return `That person is a member of tenant ${name} at ${provider}, and this app cluster uses that tenant if you continue.`;
  }
}

async function fetchChallenge(context: CliContext, url: string): Promise<string> {
  const { status, body } = await postJson(context, url, {});
  const challenge = status === 200 && isRecord(body) ? body["challenge"] : undefined;
  if (typeof challenge === "string" && challenge !== "") return challenge;
  throw new CliError(
    "Login",
    `${url} gave no challenge to sign (HTTP ${status}). Run the command again; if it fails again, ask the provider's operator. ${nothingChanged}`,
  );
}

async function sendConfirmation(
  context: CliContext,
  { confirmUrl }: ConfirmingProvider,
  confirmation: object,
): Promise<string> {
  const given = await postJson(context, confirmUrl, confirmation);
  const answer = isRecord(given.body) ? given.body["answer"] : undefined;
  if (given.status === 200 && typeof answer === "string") return answer;
  throw refused("did not accept the confirmation", given);
}

/** Opens the answer. Rejects with `CliError` if it is not for this login and this person. */
function checkedResponse(
  key: AnswerKey,
  sealed: string,
  login: { readonly sessionId: string; readonly id: string },
): Promise<BindingResponse> {
  return usable(async () => {
    const response = await openBinding(key, sealed);
    const { sid, id } = response.authentication.oauth2CodeGrant;
    if (sid !== login.sessionId) throw new WireError("sid", "is that of another login");
    if (id !== login.id) throw new WireError("id", "is that of another person");
    return response;
  });
}
