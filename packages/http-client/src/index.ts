/** HTTP to a stranger, with limits of time and size; what the clients of brokers and of backup managers share. */
export { HttpFailure, type HttpFailureCode } from "./failure.ts";
export { type Clean, cleanerFor, cleanText, longestText } from "./foreign-text.ts";
export {
  createHttpClient,
  type HttpClient,
  type HttpOptions,
  type HttpRequest,
  type HttpResponse,
  type TlsSettings,
} from "./http-client.ts";
export { isJsonType, parsedJson } from "./json.ts";
