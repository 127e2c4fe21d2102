import { test } from "node:test";
import { collectGarbage } from "./memory.ts";

test("the collector can be called in a process that was started without a flag", () => {
  collectGarbage();
});
