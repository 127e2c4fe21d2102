/** Sends a list out of a cache. It copies no more than one piece at a time: a client that reads slowly costs no second list. */
import type { Clock } from "@klutch/kube";
import { type Answer, type HoldBytes, jsonHeaders, sendHead, sinkOf } from "./exchange.ts";
import type { KindCache, KindNames } from "./kind-cache.ts";
import { send } from "./reader.ts";

/** A list, as it was at one moment. */
export interface ListContent {
  readonly names: Pick<KindNames, "apiVersion" | "listKind">;
  readonly resourceVersion: number;
  readonly objects: ReturnType<KindCache["list"]>;
}

const comma = Buffer.from(",");
const end = Buffer.from("]}\n");

/** Resolves when the list is sent or the client has gone. A client that takes nothing for 30 seconds is cut off. */
export async function sendList(
  {
    answer,
    signal,
    clock,
    hold,
  }: {
    readonly answer: Answer;
    readonly signal: AbortSignal;
    readonly clock: Pick<Clock, "schedule">;
    readonly hold: HoldBytes;
  },
  content: ListContent,
): Promise<void> {
  const head = headOf(content);
  const { objects } = content;
  const commas = Math.max(0, objects.length - 1);
  const length = objects.reduce((sum, object) => sum + object.length, head.length + commas + end.length);
  sendHead(answer, 200, { ...jsonHeaders, "content-length": length });
  const isTaken = await send(sinkOf(answer, signal, hold), clock, buffersOf(head, objects));
  if (isTaken) answer.end();
  else answer.destroy();
}

function headOf({ names, resourceVersion }: ListContent): Buffer {
  const { apiVersion, listKind: kind } = names;
  const head = JSON.stringify({ apiVersion, kind, metadata: { resourceVersion: String(resourceVersion) } });
  return Buffer.from(`${head.slice(0, -1)},"items":[`);
}

function* buffersOf(head: Buffer, objects: readonly Buffer[]): Generator<Buffer> {
  yield head;
  for (const [index, object] of objects.entries()) {
    if (index > 0) yield comma;
    yield object;
  }
  yield end;
}
