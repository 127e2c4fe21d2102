/** One small JSON request to a provider's backend. */

const timeoutMs = 15_000;
const longestAnswer = 128 * 1024;

/** The answer; `body` is undefined when it is not JSON. */
export interface JsonAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Sends `body`, and no credential but `bearer`. Follows no redirect. Throws when there is no answer in time. */
export async function postJson(
  url: string,
  body: unknown,
  signal: AbortSignal,
  bearer?: string,
): Promise<JsonAnswer> {
  const authorization = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  const response = await fetch(url, {
    method: "POST",
    redirect: "error",
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      "user-agent": "konnector",
      ...authorization,
    },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  });
  const text = await readBounded(response);
  try {
    const parsed: unknown = JSON.parse(text);
    return { status: response.status, body: parsed };
  } catch {
    return { status: response.status, body: undefined };
  }
}

async function readBounded(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  const chunks: AsyncIterable<Uint8Array> | undefined = response.body ?? undefined;
  for await (const chunk of chunks ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > longestAnswer) throw new Error(`the answer is longer than ${longestAnswer} characters`);
  }
  return text + decoder.decode();
}
