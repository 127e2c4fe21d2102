import { effectFaults } from "@klutch/kube-testing";
import { testRotations } from "../../testing/rotation-lives.ts";

await testRotations(() => effectFaults, 50);
