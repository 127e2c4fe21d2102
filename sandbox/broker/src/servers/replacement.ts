/**
 * Other data for an instance, all or nothing: they are made beside the present ones by a server that nobody else reaches. Then the
 * record names them, in one write, and with the same write the restore is done for ever.
 */
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { DataServers } from "./data-servers.ts";
import { startServer } from "./kept-server.ts";
import type { Place, ServerKind, ServerSpec, Session } from "./kind.ts";
import { hiddenHome, removeLeftover } from "./leftover.ts";
import { readRecord, writeRecord } from "./record.ts";
import type { Binding, Instance } from "../store.ts";
import { specOf } from "./server-spec.ts";

/** How one kind of server takes data from elsewhere. */
export interface Filling<S extends Session> {
  /** Before the server starts on its empty data. */
  readonly prepare?: ((place: Place) => Promise<void>) | undefined;
  /** In the server. When it resolves, everything is there. */
  readonly fill: (place: Place, spec: ServerSpec, session: S) => Promise<void>;
}

/** Options of `replaceData`. */
export interface ReplacementOptions<S extends Session> {
  readonly servers: DataServers<S>;
  readonly kind: ServerKind<S>;
  readonly instance: Instance;
  /** Their logins are made in the new data, too. */
  readonly bindings: readonly Binding[];
  /** Names this replacement, and no other for all time: letters, digits, `-` and `_`. */
  readonly token: string;
  readonly filling: Filling<S>;
  readonly signal: AbortSignal;
}

/** Does nothing when it was done already. When it throws, the data are the old ones. */
export async function replaceData<S extends Session>(options: ReplacementOptions<S>): Promise<void> {
  const { servers, instance, token } = options;
  const present = await servers.placeOf(instance.id);
  const { home } = present;
  const record = await readRecord(home);
  if (record === undefined || record.restored.includes(token)) return;
  await removeLeftover(home, record.data);
  const data = `data-${token}`;
  const hidden: Place = { ...present, home: join(home, hiddenHome), data: join(home, data), port: undefined };
  const server = servers.serverOf(instance.id);
  try {
    await fillHidden(hidden, options);
    options.signal.throwIfAborted();
    // Nobody writes to the old data any more.
    await server.pause();
    await writeRecord(home, { ...record, data, restored: [...record.restored, token] });
  } finally {
    await servers.refresh(instance);
    const now = await readRecord(home);
    if (now !== undefined) await removeLeftover(home, now.data);
  }
  await server.use(() => Promise.resolve());
}

async function fillHidden<S extends Session>(hidden: Place, options: ReplacementOptions<S>): Promise<void> {
  const { servers, kind, instance, bindings, filling, signal } = options;
  const spec = specOf(instance);
  await mkdir(hidden.home);
  await chmod(hidden.home, 0o711);
  await servers.makeData(hidden);
  await filling.prepare?.(hidden);
  await using server = await startServer(kind, hidden, spec, signal);
  const session = await kind.open(hidden, spec);
  try {
    await filling.fill(hidden, spec, session);
    for (const binding of bindings) await session.ensureLogin(servers.loginOf(binding));
  } finally {
    await session[Symbol.asyncDispose]();
  }
  await server.stop();
  if ((await server.exited) !== 0) throw new Error("the server that was filled did not end in order");
}
