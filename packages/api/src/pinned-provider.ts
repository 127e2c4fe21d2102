/** The annotation `provider-uid` of an APIServiceBinding: which control plane it was made with. */

/** UIDs of the cluster namespace and, where the account could read it, of kube-system. */
export interface PinnedProvider {
  readonly namespaceUid: string | undefined;
  readonly kubeSystemUid: string | undefined;
}

/** Reads the annotation's value, `namespace=<uid>,kube-system=<uid>`; either part may be missing. */
export function parsePinnedProvider(value: string): PinnedProvider {
  const parts = new Map(
    value.split(",").map((part): [string, string] => {
      const [name = "", uid = ""] = part.split("=");
      return [name.trim(), uid.trim()];
    }),
  );
  const uidOf = (name: string): string | undefined => parts.get(name) || undefined;
  return { namespaceUid: uidOf("namespace"), kubeSystemUid: uidOf("kube-system") };
}
