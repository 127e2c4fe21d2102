/** Reads the APIs that a provider announces (designs/0034-additions.md): names and words of a stranger, which give no right to anything. */
import { isRecord, plainText, textAt, valueAt } from "@klutch/kube-core";
import { type AnnouncedApi, announcedPrice, announcedWords, mostAnnounced } from "../kinds/common.ts";
import { crdNameOf } from "../naming.ts";
import { checkApiName } from "./api-name.ts";

/** More entries are not looked at: a liar would choose how long that takes. */
const mostRead = 1_000;
const kindPattern = /^[A-Z][A-Za-z0-9]{0,62}$/;

/**
 * Returns at most `mostAnnounced` APIs, each once, with words of one line. Leaves out names that no API may have. Never throws, whatever the
 * value is.
 */
export function parseAnnouncedApis(value: unknown): readonly AnnouncedApi[] {
  if (!Array.isArray(value)) return [];
  const found = new Map<string, AnnouncedApi>();
  for (const entry of value.slice(0, mostRead) as readonly unknown[]) {
    if (found.size === mostAnnounced) break;
    const api = apiOf(entry);
    if (api !== undefined && !found.has(crdNameOf(api))) found.set(crdNameOf(api), api);
  }
  return [...found.values()];
}

function apiOf(entry: unknown): AnnouncedApi | undefined {
  if (!isRecord(entry)) return undefined;
  const [group, resource, kind] = ["group", "resource", "kind"].map((name) => textAt(entry, name));
  if (group === undefined || resource === undefined || checkApiName(group, resource) !== undefined)
    return undefined;
  const description = announcedDescription(textAt(entry, "description"));
  const price = plainText(textAt(entry, "price") ?? "", announcedPrice);
  const asks = valueAt(entry, "asksPermissions");
  return {
    group,
    resource,
    ...(kind !== undefined && kindPattern.test(kind) ? { kind } : {}),
    ...(description === undefined ? {} : { description }),
    ...(price === "" ? {} : { price }),
    ...(asks === undefined || asks === null || asks === false ? {} : { asksPermissions: true }),
  };
}

/** Returns the first sentence as one line of bounded length; undefined where nothing is left of it. */
export function announcedDescription(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const line = plainText(text, announcedWords);
  const end = line.search(/\.(\s|$)/);
  const sentence = end < 0 ? line : line.slice(0, end + 1);
  return sentence === "" ? undefined : sentence;
}
