/** Client of the a9s backup manager API; usable without the rest of Klutch. */
export { isFinal, type Phase, phaseOf } from "./phase.ts";
