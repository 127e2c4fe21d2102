/** Sends a list out of a cache. It copies no more than one piece at a time: a client that reads slowly costs no second list. */
import type { Clock } from "@klutch/kube";
import { type Answer, jsonHeaders, sendHead, sinkOf } from "./exchange.ts";
import { inTime } from "./in-time.ts";
import type { KindCache, KindNames } from "./kind-cache.ts";
import { slowestMs } from "./watch-stream.ts";

/** A list, as it was at one moment. */
export interface ListContent {
  readonly names: Pick<KindNames, "apiVersion" | "listKind">;
  readonly resourceVersion: number;
  readonly objects: ReturnType<KindCache["list"]>;
}

const pieceBytes = 64 * 1024;
const comma = Buffer.from(",");
const end = Buffer.from("]}\n");

/** Resolves when the list is sent or the client has gone. A client that takes nothing for 30 seconds is cut off. */
export async function sendList(
  {
    answer,
    signal,
    clock,
  }: {
    readonly answer: Answer;
    readonly signal: AbortSignal;
    readonly clock: Pick<Clock, "schedule">;
  },
  content: ListContent,
): Promise<void> {
  const head = headOf(content);
  const { objects } = content;
  const commas = Math.max(0, objects.length - 1);
  const length = objects.reduce((sum, object) => sum + object.length, head.length + commas + end.length);
  sendHead(answer, 200, { ...jsonHeaders, "content-length": length });
  const sink = sinkOf(answer, signal);
  for (const piece of piecesOf(head, objects)) {
    if (!sink.write(piece) && !(await inTime(clock, slowestMs, sink.drained()))) return void answer.destroy();
    if (signal.aborted) return;
  }
  answer.end();
}

function headOf({ names, resourceVersion }: ListContent): Buffer {
  const { apiVersion, listKind: kind } = names;
  const head = JSON.stringify({ apiVersion, kind, metadata: { resourceVersion: String(resourceVersion) } });
  return Buffer.from(`${head.slice(0, -1)},"items":[`);
}

function* piecesOf(head: Buffer, objects: readonly Buffer[]): Generator<Buffer> {
  let piece = [head];
  let length = head.length;
  for (const [index, object] of objects.entries()) {
    if (index > 0) piece.push(comma);
    piece.push(object);
    length += object.length + 1;
    if (length < pieceBytes) continue;
    yield Buffer.concat(piece);
    [piece, length] = [[], 0];
  }
  piece.push(end);
  yield Buffer.concat(piece);
}
