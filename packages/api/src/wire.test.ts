import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { controlPlaneIdOf } from "./control-plane-id.ts";
import { clusterIdOf } from "./naming.ts";
import {
  type BindingResponse,
  decodeBindingProvider,
  decodeBindingResponse,
  decodeRequest,
  encodeBindingResponse,
  WireError,
} from "./wire.ts";

const provider = {
  kind: "BindingProvider",
  apiVersion: "v1alpha1",
  providerPrettyName: "Example",
  version: "v1.2.3",
  authenticationMethods: [
    { method: "OAuth2CodeGrant", oauth2CodeGrant: { authenticatedURL: "https://b.example.org/authorize" } },
  ],
};
const request = {
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "APIServiceExportRequest",
  metadata: { name: "databases" },
  spec: { resources: [{ group: "example.org", resource: "databases" }] },
  status: {},
} as const;
const response: BindingResponse = {
  kind: "BindingResponse",
  apiVersion: "klutch.anynines.com/v1alpha1",
  authentication: { oauth2CodeGrant: { sid: "aB3", id: "issuer/subject" } },
  kubeconfig: Buffer.from("kind: Config").toString("base64"),
  requests: [request],
};

const field = (decode: () => unknown): string => {
  try {
    decode();
  } catch (error) {
    assert.ok(error instanceof WireError, String(error));
    assert.ok(error.message.startsWith(error.field));
    return error.field;
  }
  return "nothing";
};

test("the answer of /export keeps the bare apiVersion that existing plugins insist on", () => {
  assert.deepEqual(decodeBindingProvider(provider), provider);
  assert.equal(
    field(() => decodeBindingProvider({ ...provider, apiVersion: "klutch.anynines.com/v1alpha1" })),
    "apiVersion",
  );
});

test("a control plane's id is optional, and one that a lying provider malforms is left out", () => {
  const controlPlaneId = controlPlaneIdOf("9e0f3c1e-0f4b-4b57-9b0c-1f6f3a3c2d11");
  assert.match(controlPlaneId, /^[0-9A-Za-z]{30,40}$/);
  assert.notEqual(controlPlaneId, clusterIdOf("9e0f3c1e-0f4b-4b57-9b0c-1f6f3a3c2d11"));
  assert.deepEqual(decodeBindingProvider({ ...provider, controlPlaneId }), { ...provider, controlPlaneId });
  for (const wrong of [null, 7, "", {}, [controlPlaneId], "x".repeat(65), `${controlPlaneId}\u001b[2J`])
    assert.deepEqual(decodeBindingProvider({ ...provider, controlPlaneId: wrong }), provider);
});

test("unknown login methods are passed over; without a known one the plugin says so", () => {
  const other = { method: "Certificate" };
  const methods = [other, ...provider.authenticationMethods];
  assert.deepEqual(decodeBindingProvider({ ...provider, authenticationMethods: methods }), provider);
  assert.equal(
    field(() => decodeBindingProvider({ ...provider, authenticationMethods: [other] })),
    "authenticationMethods",
  );
});

test("a response survives the way through a query in either base64 alphabet", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.base64String(), (id, kubeconfig) => {
      const sent = {
        ...response,
        authentication: { oauth2CodeGrant: { sid: "x", id } },
        kubeconfig: kubeconfig === "" ? "AA==" : kubeconfig,
      };
      const encoded = encodeBindingResponse(sent);
      const received = new URL(
        `http://localhost/?${new URLSearchParams({ response: encoded }).toString()}`,
      ).searchParams.get("response");
      assert.deepEqual(decodeBindingResponse(received ?? ""), sent);
      const urlSafe = encoded.replaceAll("+", "-").replaceAll("/", "_");
      assert.deepEqual(decodeBindingResponse(urlSafe), sent);
      // An existing backend does not escape the plus sign, so it arrives as a space.
      assert.deepEqual(decodeBindingResponse(encoded.replaceAll("+", " ")), sent);
    }),
  );
});

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64");
const broken: readonly (readonly [string, unknown, string])[] = [
  ["no object", [], "response"],
  ["another kind", { ...response, kind: "Config" }, "kind"],
  ["no session", { ...response, authentication: { oauth2CodeGrant: {} } }, "sid"],
  ["no kubeconfig", { ...response, kubeconfig: "" }, "kubeconfig"],
  ["no requests", { ...response, requests: [] }, "requests"],
  [
    "a request of another kind",
    { ...response, requests: [{ ...request, kind: "Secret" }] },
    "requests[0].kind",
  ],
];
for (const [what, value, name] of broken) {
  test(`a response with ${what} is refused by the name of its field`, () => {
    assert.equal(
      field(() => decodeBindingResponse(encode(value))),
      name,
    );
  });
}

test("a text that is not base64 of JSON is refused without showing it, for it may hold credentials", () => {
  assert.throws(() => decodeBindingResponse("c2VjcmV0"), { message: "response: is not base64 of JSON" });
});

const requests: readonly (readonly [string, unknown, string])[] = [
  ["no spec", {}, "r.spec"],
  ["no resources", { spec: { resources: [] } }, "r.spec.resources"],
  ["a resource without a name", { spec: { resources: [{ group: "g" }] } }, "r.spec.resources[0].resource"],
  [
    "a resource with capitals",
    { spec: { resources: [{ resource: "Databases" }] } },
    "r.spec.resources[0].resource",
  ],
  [
    "a claim without a version",
    { spec: { resources: [{ resource: "dbs", permissionClaims: [{ resource: "secrets" }] }] } },
    "r.spec.resources[0].permissionClaims[0].version",
  ],
  [
    "a claim of an unknown owner",
    {
      spec: {
        resources: [
          {
            resource: "dbs",
            permissionClaims: [{ resource: "secrets", version: "v1", selector: { owner: "Nobody" } }],
          },
        ],
      },
    },
    "r.spec.resources[0].permissionClaims[0].selector.owner",
  ],
];
for (const [what, change, name] of requests) {
  test(`a request with ${what} is refused by the name of its field`, () => {
    const { spec: _spec, ...head } = request;
    assert.equal(
      field(() => decodeRequest({ ...head, ...Object(change) }, "r")),
      name,
    );
  });
}

test("lists and maps that a Go program did not set, and wrote as null, count as absent", () => {
  const resources = [{ ...request.spec.resources[0], versions: null, permissionClaims: null }];
  const decoded = decodeRequest({ ...request, spec: { resources, parameters: null } }, "r");
  assert.deepEqual(decoded, request);
});
