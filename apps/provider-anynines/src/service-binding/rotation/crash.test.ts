import { effectFaults } from "@klutch/kube-testing";
import { testRotations } from "../../testing/rotation-lives.ts";

// Each effect gets one of the faults with each other broker, in turn; crash.long.test.ts gives it all.
await testRotations(
  (index, isFirst) => effectFaults.filter((_, fault) => isFirst || index % effectFaults.length === fault),
  5,
);
