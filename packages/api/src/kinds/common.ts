/** Shapes that several kinds share. */
import type { Condition } from "@klutch/kube-core";
import { boolean, integer, list, object, oneOf, type Schema, string } from "@klutch/schema";

/** Names a resource; the core group is "". */
export interface GroupResource {
  readonly group?: string | undefined;
  readonly resource: string;
}

/** A key of a Secret in the same namespace. */
export interface LocalSecretKeyRef {
  readonly name: string;
  readonly key: "kubeconfig";
}

/** A key of a Secret anywhere in the cluster. */
export interface ClusterSecretKeyRef extends LocalSecretKeyRef {
  readonly namespace: string;
}

/** A DNS-1123 subdomain or nothing. The pattern in the wild refuses a first label of one character, as in `x.example.org`. */
const groupPattern = "^(|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$";
const resourcePattern = "^[a-z][-a-z0-9]*[a-z0-9]$";

/** Fields of a GroupResource, to be spread into larger objects. */
export const groupField: Schema<string> = string({
  default: "",
  pattern: groupPattern,
  description: "API group; empty for the core group.",
});
/** See `groupField`. */
export const resourceField: Schema<string> = string({
  pattern: resourcePattern,
  description: "Lower-case plural name of the resource.",
});

export const groupResource: Schema<GroupResource> = object(
  { resource: resourceField },
  { group: groupField },
);

const secretName = string({ minLength: 1, description: "Name of the Secret." });
const secretKey = oneOf(["kubeconfig"], { description: "Key of the Secret that holds the kubeconfig." });
const immutableReference = [
  { rule: "self == oldSelf", message: "kubeconfigSecretRef is immutable" },
] as const;

export const localSecretKeyRef: Schema<LocalSecretKeyRef> = object(
  { name: secretName, key: secretKey },
  {},
  { description: "The Secret with the kubeconfig, in this namespace.", rules: immutableReference },
);

export const clusterSecretKeyRef: Schema<ClusterSecretKeyRef> = object(
  {
    name: secretName,
    key: secretKey,
    namespace: string({ minLength: 1, description: "Namespace of the Secret." }),
  },
  {},
  { description: "The Secret with the kubeconfig.", rules: immutableReference },
);

/** `status.conditions`. */
export const conditions: Schema<readonly Condition[]> = list(
  object(
    {
      type: string({ description: "The aspect." }),
      status: string({ description: "True, False or Unknown." }),
      lastTransitionTime: string({
        format: "date-time",
        description: "When status, reason, severity or message changed last.",
      }),
    },
    {
      severity: string({ description: "Error, Warning or Info, while the condition is bad news." }),
      reason: string({ description: "Why, in one word." }),
      message: string({ description: "Why, for people." }),
    },
  ),
  { description: "Conditions of the object, one entry for each aspect." },
);

/** `Ready` and `Age`, which several kinds show. */
export const readyColumn = {
  name: "Ready",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
} as const;
/** The message of `Ready`, while it is bad news. */
export const readyMessageColumn = {
  name: "Message",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Ready")].message',
} as const;
export const ageColumn = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" } as const;
/** Category of all bind kinds. */
export const bindCategories: readonly string[] = ["kube-bindings"];

/** Number of objects of one kind that an app cluster may have, and that it has. */
export interface ObjectLimit {
  readonly max: number;
  readonly used: number;
}

const limitFields = {
  max: integer({ minimum: 0, description: "The most objects of the kind that the app cluster may have." }),
  used: integer({ minimum: 0, description: "How many it has." }),
} as const;

/** A limit of one kind among others. */
export const resourceLimit: Schema<GroupResource & ObjectLimit> = object(
  { resource: resourceField, ...limitFields },
  { group: groupField },
);

export const objectLimit: Schema<ObjectLimit & { readonly contact?: string | undefined }> = object(
  limitFields,
  { contact: string({ description: "Whom to ask for more." }) },
  { description: "How many objects of the kind this cluster may have, as the provider says." },
);

/** An API that an app cluster may bind and has not bound (designs/0034-additions.md). Words only: it gives no right. */
export interface AnnouncedApi extends GroupResource {
  readonly group: string;
  readonly kind?: string | undefined;
  /** One line. */
  readonly description?: string | undefined;
  /** One line: prices of its plans for a month, as `klutch offers` shows them. */
  readonly price?: string | undefined;
  /** True for an API whose provider asks for rights on objects of the app cluster. */
  readonly asksPermissions?: boolean | undefined;
}

/** Most APIs that are announced to an app cluster at a time. */
export const mostAnnounced = 64;
/** Most characters of a description. */
export const announcedWords = 200;
/** Most characters of its prices. */
export const announcedPrice = 400;

/** `status.newAPIs`. */
export const announcedApis: Schema<readonly AnnouncedApi[]> = list(
  object(
    {
      group: string({ minLength: 1, maxLength: 253, description: "API group." }),
      resource: string({
        minLength: 1,
        maxLength: 63,
        description: "Lower-case plural name of the resource.",
      }),
    },
    {
      kind: string({ maxLength: 63, description: "Kind of its objects." }),
      description: string({ maxLength: announcedWords, description: "Its first sentence, for people." }),
      price: string({
        maxLength: announcedPrice,
        description: "Prices of its plans for a month of 730 hours, for people. They bind no one.",
      }),
      asksPermissions: boolean({
        description:
          "True if the provider asks for rights on objects of the app cluster, which a person answers.",
      }),
    },
  ),
  {
    maxItems: mostAnnounced,
    description: "APIs that this app cluster may bind and has not bound. An announcement gives no right.",
  },
);
