/** Kinds of flags that only the backend has. */
import { readFileSync } from "node:fs";
import { parseDuration } from "@klutch/kube-core";
import { type Flag, FlagFault, type FlagWords } from "@klutch/program";
import { Secret } from "@klutch/telemetry";
import { urlFault } from "./secure-url.ts";

/** An https URL, or an http one of this machine; empty when there is none. What may be a password is never in the message. */
export function secureUrl(words: FlagWords): Flag<string> {
  return {
    value: "url",
    ...words,
    read([given = ""]) {
      checkUrl(given);
      return given;
    },
  };
}

/** Any number of scopes, as RFC 6749 §3.3 has them. */
export function scopes(words: FlagWords): Flag<readonly string[]> {
  return {
    value: "scope",
    repeats: true,
    ...words,
    read(given) {
      for (const scope of given)
        if (!/^[\x21\x23-\x5B\x5D-\x7E]+$/.test(scope))
          throw new FlagFault("is not a scope: it has characters that no scope has");
      return given;
    },
  };
}

/** Any number of them. */
export function secureUrls(words: FlagWords): Flag<readonly string[]> {
  return {
    value: "url",
    repeats: true,
    ...words,
    read(given) {
      given.forEach(checkUrl);
      return given;
    },
  };
}

function checkUrl(text: string): void {
  const fault = text === "" ? undefined : urlFault(text);
  if (fault === undefined) return;
  const mayHoldPassword = /\/\/[^/]*@/.test(text);
  throw new FlagFault(mayHoldPassword ? `the URL ${fault}` : fault, { showsValue: !mayHoldPassword });
}

/** Standard base64 of one of the lengths; undefined when there is none. The key itself is never in the message. */
export function cookieKey(words: FlagWords, lengths: readonly number[]): Flag<Secret<Buffer> | undefined> {
  return {
    value: "base64",
    secret: true,
    ...words,
    read([given = ""]) {
      if (given === "") return undefined;
      const key = Buffer.from(given, "base64");
      if (!lengths.includes(key.length))
        throw new FlagFault(
          `has ${key.length} bytes after base64 decoding, but must have ${lengths.join(" or ")}`,
        );
      return new Secret(key);
    },
  };
}

/** The content of a file; undefined when none is named. */
export function fileContent(words: FlagWords): Flag<string | undefined> {
  return { value: "path", ...words, read: ([path = ""]) => (path === "" ? undefined : contentOf(path)) };
}

/** Path of a readable file, which is read again later; undefined if not set. */
export function readableFile(words: FlagWords): Flag<string | undefined> {
  return {
    value: "path",
    ...words,
    read([path = ""]) {
      if (path === "") return undefined;
      contentOf(path);
      return path;
    },
  };
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new FlagFault(`${path} cannot be read; it must be a file`, { showsValue: false });
  }
}

/** An https URL without more rules; empty when there is none. */
export function httpsAddress(words: FlagWords): Flag<string | undefined> {
  return {
    value: "url",
    ...words,
    read([given = ""]) {
      if (given !== "" && !given.startsWith("https://")) throw new FlagFault("must start with https://");
      return given || undefined;
    },
  };
}

const shortestSeconds = 600;

/** A lifetime in seconds of at least ten minutes; undefined when it is unlimited. */
export function lifetime(words: FlagWords): Flag<number | undefined> {
  return {
    value: "duration|unlimited",
    ...words,
    read([given = ""]) {
      if (given === "unlimited") return undefined;
      const seconds = (parseDuration(given) ?? 0) / 1000;
      if (seconds < shortestSeconds || !Number.isInteger(seconds))
        throw new FlagFault("must be at least 10m, such as 24h, or unlimited");
      return seconds;
    },
  };
}

const [leastSessionSeconds, mostSessionSeconds] = [60, 86_400];

/** A lifetime in whole seconds, from a minute to a day; undefined when it is `off`. */
export function sessionLifetime(words: FlagWords): Flag<number | undefined> {
  return {
    value: "duration|off",
    ...words,
    read([given = ""]) {
      if (given === "off") return undefined;
      const seconds = (parseDuration(given) ?? 0) / 1000;
      if (seconds < leastSessionSeconds || seconds > mostSessionSeconds || !Number.isInteger(seconds))
        throw new FlagFault("must be 1m to 24h in whole seconds, such as 1h, or off");
      return seconds;
    },
  };
}

/** Beginnings of image names. An empty one would allow every image. */
export function imagePrefixes(words: FlagWords): Flag<readonly string[]> {
  return {
    value: "prefix",
    repeats: true,
    ...words,
    read(given) {
      if (given.includes(""))
        throw new FlagFault("is empty; it must be a prefix such as registry.example.org/klutch", {
          showsValue: false,
        });
      return given;
    },
  };
}
