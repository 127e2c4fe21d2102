/** What somebody does with claims of one namespace, and what an application does with a Secret there. */
import type { KubeClient } from "@klutch/kube";
import {
  apiVersionOf,
  conditionsOf,
  type DynamicObject,
  findCondition,
  type ResourceType,
  secrets,
  secretText,
} from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { Client } from "pg";

/** The claims of a namespace. */
export class Claims {
  readonly #client: KubeClient;
  readonly #namespace: string;

  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  /** Makes one. */
  async create(type: ResourceType, name: string, spec: object): Promise<void> {
    await this.#client.create<DynamicObject>(type, {
      apiVersion: apiVersionOf(type),
      kind: type.kind,
      metadata: { name, namespace: this.#namespace },
      spec,
    });
  }

  /** The claim, or whatever else has that name in the namespace. */
  find(type: ResourceType, name: string): Promise<DynamicObject | undefined> {
    return this.#client.find<DynamicObject>(type, { name, namespace: this.#namespace });
  }

  /** The claim, once its `Ready` has this status. */
  ready(type: ResourceType, name: string, status: "True" | "False" = "True"): Promise<DynamicObject> {
    return waitFor(
      `${type.kind} ${name} of ${type.group} to be ready: ${status}`,
      async () => {
        const claim = await this.find(type, name);
        if (findCondition(conditionsOf(claim), "Ready")?.status === status) return claim;
        throw new Error(JSON.stringify(claim?.status));
      },
      { timeoutMs: 150_000 },
    );
  }

  /** Deletes it, and waits until it is gone. */
  async delete(type: ResourceType, name: string): Promise<void> {
    await this.#client.delete(type, { name, namespace: this.#namespace });
    const isGone = async (): Promise<boolean> => (await this.find(type, name)) === undefined;
    await waitFor(`${type.kind} ${name} of ${type.group} to be gone`, isGone, { timeoutMs: 90_000 });
  }

  /** The only column of what a statement answers, with the credentials of a Secret. */
  async query(secretName: string, statement: string): Promise<readonly unknown[]> {
    const secret = await waitFor(`the Secret ${secretName}`, () => this.find(secrets, secretName));
    const client = new Client({ connectionString: secretText(secret, "uri") });
    await client.connect();
    try {
      const { rows } = await client.query<Record<string, unknown>>(statement);
      return rows.map((row) => Object.values(row)[0]);
    } finally {
      await client.end();
    }
  }
}
