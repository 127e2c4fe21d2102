/** Describes an action of the console: what it needs, what follows from it, and its write. */
import type { ActionName, Collection } from "@klutch/overview";
import type { AuditRecord } from "../../audit/audit.ts";
import type { ResourceAttributes } from "../../authorization/access-reviews.ts";

type Options = { readonly signal: AbortSignal };

/** Something that people may do to the objects behind the rows of a collection. */
export interface Action {
  readonly name: ActionName;
  readonly collection: Collection;
  /** Label of the button. */
  readonly label: string;
  /** Reads the object behind the row at the API server, never from a cache. Returns undefined if it is gone. */
  look(row: string, options: Options): Promise<Subject | undefined>;
}

/** An object as it is now, and what the action would do to it. */
export interface Subject {
  /** Rights without which a person could not do the same by kubectl. The person needs all of them. */
  readonly needs: readonly ResourceAttributes[];
  readonly tenant: string;
  /** Names the action and its object, for the confirmation. */
  readonly title: string;
  readonly consequences: readonly string[];
  /** Holds all that the person confirms: the object's version, and the facts behind the consequences. */
  readonly state: string;
  /** True if the action was done already. */
  readonly isDone: boolean;
  /** Says for the records what was done, after the name of the person. */
  readonly did: string;
  readonly apis: NonNullable<AuditRecord["apis"]>;
  /** Writes with the version of `state` as a precondition. Rejects with a conflict if the object is another one. */
  write(options: Options): Promise<void>;
}
