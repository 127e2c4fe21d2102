/** Splits a byte stream into lines without ever holding more than one line. */
import { bodyLimits } from "./body-text.ts";
import { TransportError } from "./errors.ts";

/** The longest accepted line in characters: that of an object, which etcd's request limit keeps far below it. */
const defaultMaxLength = bodyLimits.object;

/**
 * Yields each non-empty line. Characters split between chunks are put together. A last line without its newline is an error:
 * the connection ended in the middle of an object.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  maxLength: number = defaultMaxLength,
): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      const line = rest + text.slice(start, end);
      rest = "";
      start = end + 1;
      if (line !== "") yield line;
    }
    rest += text.slice(start);
    if (rest.length > maxLength)
      throw new TransportError("Decode", `a line is longer than ${maxLength} characters`);
  }
  if (rest !== "") throw new TransportError("Reset", "the stream ended in the middle of a line");
}
