/**
 * Lets people act in the console: an action is offered to a person for one object as it is now, and done when the same person confirms it.
 *
 * | step | offer | do |
 * |---|---|---|
 * | session | open | open, and the token is of this session |
 * | row | the person may see it | the same |
 * | right | SubjectAccessReview for the exact verb and object, asked at this moment | the same again |
 * | object | read at the API server | read again; it must be as it was when the action was offered |
 * | write | – | by the backend, with the object's version as a precondition |
 */
import { isConflict, isNotFound, type KubeClient } from "@klutch/kube";
import type { ActionDone, ActionName, ActionRequest, Collection, OfferedAction } from "@klutch/overview";
import { type Audit, recordRefusal } from "../../audit/audit.ts";
import type { MayDo } from "../../authorization/access-reviews.ts";
import { UserError } from "../../errors.ts";
import type { Sealer } from "../../sealed-cookie.ts";
import type { Session } from "../../sessions/sessions.ts";
import type { Board } from "../board.ts";
import type { RightsOf } from "../rights.ts";
import type { Action, Subject } from "./action.ts";
import { createRemoveMember } from "./remove-member.ts";
import { createRevokeGrant } from "./revoke-grant.ts";

/** Parts of the actions. */
export interface ActionParts {
  readonly actions: readonly Action[];
  /** Asks without a memory: a right that was taken a second ago is gone. */
  readonly mayDo: MayDo;
  readonly rightsOf: RightsOf;
  readonly board: Pick<Board, "visible">;
  /** Seals a kind of its own, so that no cookie is a token. */
  readonly sealer: Sealer;
  readonly audit: Audit;
  readonly signal: AbortSignal;
}

/** The actions of one replica. All reject with `UserError`. */
export interface Actions {
  /** Collections with actions. */
  readonly collections: readonly Collection[];
  /** Returns those that the person may do to the object behind the row; none if they may not see it. */
  offered(session: Session, collection: Collection, row: string): Promise<readonly OfferedAction[]>;
  /** Does what the person confirmed. A repeated confirmation does nothing more. */
  act(
    session: Session,
    name: ActionName,
    request: ActionRequest,
    address: string | undefined,
  ): Promise<ActionDone>;
}

/** Returns all actions that the console has. */
export function allActions(client: KubeClient): readonly Action[] {
  return [createRevokeGrant(client), createRemoveMember(client)];
}

/** Time in which a person confirms. */
const tokenSeconds = 300;
const lookTimeoutMs = 10_000;
const lookAgain = "Nothing was changed. Open the row again, and read what the action does now.";

/** Creates them. */
export function createActions(parts: ActionParts): Actions {
  const { actions, mayDo, rightsOf, board, sealer, audit, signal } = parts;
  const look = async (action: Action, row: string): Promise<Subject | undefined> =>
    answering(() => action.look(row, { signal: anyOf(signal) }));
  const sees = async (session: Session, collection: Collection, row: string): Promise<boolean> => {
    const rights = await rightsOf(session);
    return rights.viewer.collections.includes(collection) && board.visible(collection, rights).has(row);
  };
  const may = async ({ user, groups = [] }: Session, { needs }: Subject): Promise<boolean> => {
    // Without a name in RBAC a person has no rights there.
    if (user === undefined || needs.length === 0) return false;
    const answers = await Promise.all(needs.map((what) => mayDo({ user, groups }, what, signal)));
    return answers.every(Boolean);
  };
  return {
    collections: [...new Set(actions.map(({ collection }) => collection))],
    async offered(session, collection, row) {
      const own = actions.filter((action) => action.collection === collection);
      if (own.length === 0 || !(await sees(session, collection, row))) return [];
      const offers = await Promise.all(
        own.map(async (action): Promise<readonly OfferedAction[]> => {
          const subject = await look(action, row);
          if (subject === undefined || subject.isDone || !(await may(session, subject))) return [];
          const { name, label } = action;
          const { title, consequences, state } = subject;
          const token = await sealer.seal({ session: session.id, name, row, state }, tokenSeconds);
          return [{ name, label, title, consequences, token }];
        }),
      );
      return offers.flat();
    },
    async act(session, name, request, address) {
      const asker = { ...session, way: "session", address } as const;
      const { action, state } = await recordRefusal(audit, { decision: "act", asker }, async () => {
        const found = actions.find((one) => one.name === name);
        if (found === undefined)
          throw new UserError(404, `There is no action ${JSON.stringify(name)}.`, lookAgain);
        return { action: found, state: await confirmed(sealer, session, name, request) };
      });
      const subject = await look(action, request.row);
      // It is as the person wants it, and the answer tells nothing of any object.
      if (subject === undefined) return { message: "It was done already." };
      const { tenant, apis, did } = subject;
      const record = { decision: "act", asker, tenant, apis } as const;
      const isNew = await recordRefusal(audit, record, async () => {
        if (!(await sees(session, action.collection, request.row)) || !(await may(session, subject)))
          throw new UserError(
            403,
            "You may not do this, or no longer.",
            "Nothing was changed. Ask the platform operator for the right.",
          );
        if (subject.isDone) return false;
        if (subject.state !== state) throw changed();
        return answering(() => written(subject, () => look(action, request.row), anyOf(signal)));
      });
      if (!isNew) return { message: "It was done already." };
      audit.record({ ...record, allowed: true, outcome: "Done", detail: did });
      return { message: `Done: ${subject.title}.` };
    },
  };
}

/** Returns the state that the person confirmed. Throws `UserError` for a token of another session, action or row. */
async function confirmed(
  sealer: Sealer,
  session: Session,
  name: ActionName,
  { row, token }: ActionRequest,
): Promise<string> {
  const opened = await sealer.open(token);
  if (opened === "expired")
    throw new UserError(409, "The confirmation came after more than five minutes.", lookAgain);
  const isOwn = opened?.["session"] === session.id && opened["name"] === name && opened["row"] === row;
  if (opened === undefined || !isOwn)
    throw new UserError(403, "The token of the confirmation is not of your session and this row.", lookAgain);
  return opened["state"] ?? "";
}

/** Returns false if another request was first, as with a double click. `look` reads the object again. */
async function written(
  subject: Subject,
  look: () => Promise<Subject | undefined>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await subject.write({ signal });
    return true;
  } catch (cause) {
    if (isNotFound(cause)) return false;
    if (!isConflict(cause)) throw cause;
    const now = await look();
    if (now !== undefined && !now.isDone) throw changed(cause);
    return false;
  }
}

function changed(cause?: unknown): UserError {
  return new UserError(409, "The object changed after you opened it.", lookAgain, { cause });
}

/** Puts a failure of the API server into words; it does not say whether a write was done. */
async function answering<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw new UserError(
      503,
      "The control plane does not answer at the moment, or refuses the backend.",
      "Open the row again to see whether it was done. If it goes on, ask the platform operator.",
      { cause },
    );
  }
}

function anyOf(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(lookTimeoutMs)]);
}
