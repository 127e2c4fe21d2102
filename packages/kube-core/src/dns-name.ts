/** The two forms of most names in Kubernetes. */

/** The longest DNS label (RFC 1123), hence the longest namespace name. */
export const maxLabelLength = 63;
/** The longest DNS name (RFC 1123), hence the longest name of most objects. */
export const maxSubdomainLength = 253;

const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;

/** Returns true if the text is a DNS label (RFC 1123) in lower case, like names of namespaces. */
export function isDnsLabel(text: string): boolean {
  return text.length <= maxLabelLength && label.test(text);
}

/**
 * Whether the text is a name of DNS (RFC 1123) in lower case, as names of most objects and of API groups are. As for Kubernetes, one of its
 * labels may be longer than DNS allows.
 */
export function isDnsSubdomain(text: string): boolean {
  return text.length <= maxSubdomainLength && text.split(".").every((part) => label.test(part));
}
