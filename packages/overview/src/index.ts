export * from "./console-wire.ts";
