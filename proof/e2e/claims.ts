/** Makes, changes and deletes claims of one namespace as people do, and uses a Secret there as an application does. */
import { claimNameLabel, claimNamespaceLabel } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  type ObjectMeta,
  type ResourceType,
  secrets,
  secretText,
} from "@klutch/kube-core";
import { objectOfType, waitFor } from "@klutch/kube-testing";
import { Client } from "pg";

/** Returns the managed resource of this kind behind a claim. */
export async function managedBehind(
  client: KubeClient,
  type: ResourceType,
  claim: { readonly namespace: string; readonly name: string },
): Promise<DynamicObject | undefined> {
  const { items } = await client.list<DynamicObject>(type);
  return items.find(
    ({ metadata: { labels } }) =>
      labels?.[claimNameLabel] === claim.name && labels[claimNamespaceLabel] === claim.namespace,
  );
}

/** The claims of a namespace. */
export class Claims {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #timeoutMs: number;

  /** `timeoutMs` limits each wait for a claim. A loaded machine is slow, so only a claim that hangs takes that long. */
  constructor(client: KubeClient, namespace: string, timeoutMs = 240_000) {
    this.#client = client;
    this.#namespace = namespace;
    this.#timeoutMs = timeoutMs;
  }

  /** Makes one. */
  create(type: ResourceType, name: string, spec: object, metadata: ObjectMeta = {}): Promise<DynamicObject> {
    const own = { ...metadata, name, namespace: this.#namespace };
    return this.#client.create(type, objectOfType(type, own, { spec }));
  }

  /** Changes fields of one. */
  patch(type: ResourceType, name: string, change: object): Promise<DynamicObject> {
    return this.#client.mergePatch<DynamicObject>(type, { name, namespace: this.#namespace }, change);
  }

  /** Returns the claim or other object with that name in the namespace. */
  find(type: ResourceType, name: string): Promise<DynamicObject | undefined> {
    return this.#client.find<DynamicObject>(type, { name, namespace: this.#namespace });
  }

  /** Returns the claim once `isMeant` holds for it. */
  async become(
    type: ResourceType,
    name: string,
    what: string,
    isMeant: (claim: DynamicObject) => boolean,
  ): Promise<DynamicObject> {
    return waitFor(
      `${type.kind} ${name} of ${type.group} to be ${what}`,
      async () => {
        const claim = await this.find(type, name);
        if (claim !== undefined && isMeant(claim)) return claim;
        throw new Error(JSON.stringify(claim?.status));
      },
      { timeoutMs: this.#timeoutMs },
    );
  }

  /** Returns the claim once its `Ready` has this status. */
  ready(type: ResourceType, name: string, status: "True" | "False" = "True"): Promise<DynamicObject> {
    const isMeant = (claim: DynamicObject): boolean =>
      findCondition(conditionsOf(claim), "Ready")?.status === status;
    return this.become(type, name, `ready: ${status}`, isMeant);
  }

  /** `status reason: message` of a condition, once it fits. */
  async says(type: ResourceType, name: string, condition: string, wanted: RegExp): Promise<string> {
    const claim = await this.become(type, name, `${condition} ${wanted.source}`, (one) =>
      wanted.test(textOf(one, condition)),
    );
    return textOf(claim, condition);
  }

  /** Deletes some at once, and waits until all are gone. */
  async delete(type: ResourceType, ...names: readonly string[]): Promise<void> {
    for (const name of names) await this.#client.delete(type, { name, namespace: this.#namespace });
    for (const name of names) await this.gone(type, name);
  }

  /** Waits until there is none of this name. */
  async gone(type: ResourceType, name: string): Promise<void> {
    const isGone = async (): Promise<boolean> => {
      const found = await this.find(type, name);
      if (found === undefined) return true;
      throw new Error(JSON.stringify(conditionsOf(found)));
    };
    const what = `${type.kind} ${name} of ${type.group} to be gone`;
    await waitFor(what, isGone, { timeoutMs: this.#timeoutMs });
  }

  /** Runs a statement with the credentials of a Secret, and returns its only column. */
  async query(secretName: string, statement: string): Promise<readonly unknown[]> {
    const secret = await waitFor(`the Secret ${secretName}`, () => this.find(secrets, secretName));
    const rows = await sql(secretText(secret, "uri") ?? "", statement);
    return rows.map((row) => Object.values(row)[0]);
  }
}

function textOf(object: DynamicObject, condition: string): string {
  const { status, reason, message = "" } = findCondition(conditionsOf(object), condition) ?? {};
  return `${status} ${reason}: ${message}`;
}

/** Returns the rows of a statement as an application reads them: one login, no second try. */
export async function sql(
  uri: string,
  statement: string,
  values: readonly unknown[] = [],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new Client({ connectionString: uri });
  // A login that ends, or a server that stops, ends the session; the query that runs then fails.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Readonly<Record<string, unknown>>>(statement, [...values])).rows;
  } finally {
    await client.end();
  }
}
