/** Text that another party wrote, made fit for a terminal, an event or a condition. */

/** Control characters, and the ones that change the direction or the look of the text around them. */
const unseemly = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]+/gu;

/** The text on one line, without control characters, and not longer than `limit` characters. Default 1024. */
export function plainText(text: string, limit = 1024): string {
  // What is cut off anyway is not looked at.
  const plain = text
    .slice(0, limit * 2)
    .toWellFormed()
    .replace(unseemly, " ")
    .trim();
  return plain.length <= limit && text.length <= limit * 2
    ? plain
    : `${plain.slice(0, limit - 1).toWellFormed()}…`;
}
