/** A backend that binds programs: it answers `POST /bind-noninteractive` as a test says, and remembers what came. */
import { text } from "node:stream/consumers";
import type { BindingResponse } from "@klutch/api";
import { providerDescription, serveLoopback } from "./loopback.ts";

/** Status and body of one answer; a redirect has a location as its body. */
export type ProgramAnswer = readonly [status: number, body: unknown];

/** A running one. */
export interface ProgramBackend extends AsyncDisposable {
  /** The address for `kubectl bind`. */
  readonly url: string;
  /** Path, authorization and body of each POST. */
  readonly asked: readonly {
    readonly path: string;
    readonly authorization: string | undefined;
    readonly body: unknown;
  }[];
}

/** Starts it on loopback. Each POST takes the next of the answers; the last one stays. */
export async function startProgramBackend(answers: readonly ProgramAnswer[]): Promise<ProgramBackend> {
  const asked: { path: string; authorization: string | undefined; body: unknown }[] = [];
  const server = await serveLoopback((request, response) => {
    void (async () => {
      const path = request.url ?? "";
      const confirmUrl = `${server.url}/confirm`;
      if (request.method !== "POST")
        return response.end(JSON.stringify(providerDescription(server.url, { confirmUrl })));
      const body: unknown = JSON.parse(await text(request));
      asked.push({ path, authorization: request.headers.authorization, body });
      const [status, answer] = answers[Math.min(asked.length, answers.length) - 1] ?? [500, ""];
      const location =
        typeof answer === "string" && status >= 300 && status < 400 ? { location: answer } : {};
      response.writeHead(status, { "content-type": "application/json", ...location });
      return response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
    })();
  });
  return {
    url: `${server.url}/export`,
    asked,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The answer to a program, as a backend gives it. */
export function boundAnswer(kubeconfig: string, requests: BindingResponse["requests"]): ProgramAnswer {
  const response: BindingResponse = {
    kind: "BindingResponse",
    apiVersion: "klutch.anynines.com/v1alpha1",
    authentication: { oauth2CodeGrant: { sid: "ci", id: "https://idp.example.org/client:ci" } },
    kubeconfig: Buffer.from(kubeconfig).toString("base64"),
    requests,
  };
  return [200, response];
}
