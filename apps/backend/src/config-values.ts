/** Values of flags: each reader reports what is wrong by the flag's name and never throws. */
import { readFile } from "node:fs/promises";
import { parseDuration } from "@klutch/kube-core";
import { Secret } from "@klutch/telemetry";
import { repositoryOf } from "./app-cluster-bindings/override-policy.ts";
import { urlFault } from "./secure-url.ts";

export function choice<const T extends readonly string[]>(
  name: string,
  value: string,
  allowed: T,
  faults: string[],
): T[number] {
  const found = allowed.find((one): one is T[number] => one.toLowerCase() === value.toLowerCase());
  if (found === undefined)
    faults.push(`--${name}: ${JSON.stringify(value)} must be one of ${allowed.join(", ")}`);
  return found ?? allowed[0] ?? "";
}

/** An https URL, or an http one of this machine. What may be a password is never in the message. */
export function url(name: string, value: string, faults: string[]): string {
  const fault = value === "" ? undefined : urlFault(value);
  if (fault !== undefined) {
    const shown = /\/\/[^/]*@/.test(value) ? "the URL" : JSON.stringify(value);
    faults.push(`--${name}: ${shown} ${fault}`);
  }
  return value;
}

/** Standard base64 of one of the lengths. The key itself is never in the message. */
export function cookieKey(
  name: string,
  value: string,
  lengths: readonly number[],
  faults: string[],
): Secret<Buffer> {
  const key = Buffer.from(value, "base64");
  if (value !== "" && !lengths.includes(key.length)) {
    faults.push(
      `--${name}: has ${key.length} bytes after base64 decoding; ${lengths.join(" or ")} are needed`,
    );
  }
  return new Secret(key);
}

export function encryptionKey(value: string, faults: string[]): Secret<Buffer> | undefined {
  return value === "" ? undefined : cookieKey("cookie-encryption-key", value, [16, 24, 32], faults);
}

export async function optionalFile(
  name: string,
  path: string,
  faults: string[],
): Promise<string | undefined> {
  if (path === "") return undefined;
  try {
    return await readFile(path, "utf8");
  } catch {
    faults.push(`--${name}: ${path} cannot be read`);
    return undefined;
  }
}

export async function tlsFiles(
  certFile: string,
  keyFile: string,
  faults: string[],
): Promise<{ readonly cert: string; readonly key: string } | undefined> {
  if ((certFile === "") !== (keyFile === "")) {
    faults.push(
      "--tls-cert-file and --tls-key-file belong together: with only one the backend would serve plain HTTP",
    );
  }
  const [cert, key] = await Promise.all([
    optionalFile("tls-cert-file", certFile, faults),
    optionalFile("tls-key-file", keyFile, faults),
  ]);
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

export function seconds(value: string, faults: string[]): number | undefined {
  if (value === "unlimited") return undefined;
  const result = (parseDuration(value) ?? 0) / 1000;
  if (!Number.isInteger(result) || result < 600)
    faults.push(
      `--credential-lifetime: ${JSON.stringify(value)} must be at least 10m, such as 24h, or unlimited`,
    );
  return result;
}

/** The repository of our own image, unless others are given. An empty prefix would allow every image. */
export function imagePrefixes(
  values: readonly string[],
  ownImage: string,
  faults: string[],
): readonly string[] {
  if (values.includes(""))
    faults.push("--allowed-image-prefix: is empty, such as registry.example.org/klutch");
  return values.length === 0 ? [repositoryOf(ownImage)] : values;
}

/** A whole number from 1. */
export function count(name: string, value: string, faults: string[]): number {
  if (!/^[1-9]\d{0,8}$/.test(value)) {
    faults.push(`--${name}: ${JSON.stringify(value)} must be a whole number from 1 to 999999999`);
  }
  return Number(value);
}
