/**
 * Judges JSON text before it is parsed. Parsed, `[[],[],…]` takes 25 times the memory of its text, and text that is nested a million times deep
 * keeps later steps busy for minutes. Text of the usual length cannot do harm while it is parsed and is not looked at: the fast path costs nothing.
 * Caches weigh what they keep (packages/kube-runtime/src/cache/weight.ts).
 */
import { hasLongNumber } from "@klutch/kube-core";
import { TransportError } from "./errors.ts";

/** Levels of objects and lists within each other. CustomResourceDefinitions, the deepest objects of Kubernetes, have some forty. */
const mostLevels = 200;
/** Values in one text. An honest object has at most 1.5 MiB, and a page that has more is requested again with fewer objects. */
const mostValues = 400_000;
/** A little more than a page that is asked for (pages.ts): parsed it takes some 60 MiB, whatever it holds. */
const harmlessLength = 2.25 * 1024 * 1024;
/** Text with a number that is kept digit by digit is looked at however short: parsing it takes a recursion for each level. */
const isHarmless = (text: string): boolean => text.length < harmlessLength && !hasLongNumber(text);
/** Level of the objects in the `items` of a list. */
const itemLevel = 3;

/** An object of a list that must not be parsed: its place in the text. */
interface Bad {
  readonly start: number;
  readonly end: number;
  readonly excess: string;
}

/** Returns the bound that a text exceeds, in words that follow its name; undefined for one that may be parsed. */
export function excessIn(text: string): string | undefined {
  if (isHarmless(text)) return undefined;
  const { values, levels } = scan(text, undefined);
  return excessOf(values, levels);
}

/**
 * Returns the text of a list in which objects that must not be parsed are `null`: one of them must not take all others away. Throws `TransportError`
 * with code `TooLarge` when all objects together have too many values, and `Decode` for a text that is no list of objects.
 */
export function parsableList(
  text: string,
  what: string,
  onLeftOut: (excess: string) => void = () => undefined,
): string {
  if (isHarmless(text)) return text;
  const bad: Bad[] = [];
  const { values, levels } = scan(text, bad);
  if (values > mostValues)
    throw new TransportError("TooLarge", `${what}: the page has more than ${mostValues} values`);
  if (levels > mostLevels) throw new TransportError("Decode", `${what} is nested too deep to be a list`);
  if (bad.length === 0) return text;
  const parts: string[] = [];
  let from = 0;
  for (const { start, end, excess } of bad) {
    parts.push(text.slice(from, start), "null");
    from = end;
    onLeftOut(excess);
  }
  return `${parts.join("")}${text.slice(from)}`;
}

function excessOf(values: number, levels: number): string | undefined {
  if (levels > mostLevels) return `is nested more than ${mostLevels} levels deep`;
  return values > mostValues ? `has more than ${mostValues} values` : undefined;
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openList = 0x5b;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/**
 * Counts values and levels; about a sixth of the time of parsing. With `bad`, objects of a list that exceed a bound by themselves are put there
 * and do not count. Text that is not JSON gives some numbers: the parser refuses it.
 */
function scan(text: string, bad: Bad[] | undefined): { readonly values: number; readonly levels: number } {
  let values = 1;
  let level = 0;
  let levels = 0;
  let itemStart = 0;
  let itemValues = 0;
  let itemLevels = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === comma) values++;
    else if (code === openList || code === openObject) {
      values++;
      level++;
      if (bad !== undefined && level === itemLevel) {
        itemStart = at;
        itemValues = values;
        itemLevels = level;
      }
      if (level > itemLevels) itemLevels = level;
      if (bad === undefined && level > levels) levels = level;
    } else if (code === closeList || code === closeObject) {
      if (bad !== undefined && level === itemLevel) {
        const excess = excessOf(values - itemValues, itemLevels);
        if (excess === undefined) levels = Math.max(levels, itemLevels);
        else {
          bad.push({ start: itemStart, end: at + 1, excess });
          values = itemValues;
        }
      }
      level--;
    }
  }
  // What never closes is no item.
  return { values, levels: level === 0 ? levels : Math.max(levels, itemLevels) };
}

/** Index of the closing quote; the end of the text when there is none. */
function endOfString(text: string, start: number): number {
  const near = Math.min(start + shortString, text.length);
  let at = start + 1;
  for (; at < near; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    if (code === backslash) at++;
  }
  for (let end = text.indexOf('"', at); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (end - backslashes > at && text.charCodeAt(end - backslashes - 1) === backslash) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

/** The end of a longer one is found faster by the platform. */
const shortString = 32;
