/**
 * Finds the server program. Knows nothing of the editor, so that plain node can test it.
 */
import * as path from "node:path";

/** How the server is installed, in its repository. A test compares the pages that name it. */
export const INSTALL_COMMAND = "cargo install --path . --locked";

/** What a search may ask about the machine. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether the path is a file that may be run. */
  isProgram(file: string): boolean;
  /** Where a path leads, links and all; the path itself where that is nowhere. */
  realPath(file: string): string;
}

export interface Search {
  /** The setting `countersign.server.path`; empty means: look in the usual places. */
  readonly configured: string | undefined;
  /** The extension's own folder. */
  readonly extensionPath: string;
  /** The folders of the window. What lies in them was written by whoever wrote the project. */
  readonly folders: readonly string[];
}

export type Found =
  | { readonly kind: "found"; readonly program: string; readonly origin: string }
  /** The person named a program and it is not there. Nothing else is tried: starting another one would surprise. */
  | { readonly kind: "misconfigured"; readonly program: string }
  /** Nothing anywhere; the places that were looked at, in order, and the programs of projects that were not taken. */
  | { readonly kind: "missing"; readonly places: readonly string[]; readonly refused: readonly string[] };

/** Folders of programs that a project brings along. */
const OF_PROJECTS = [["node_modules", ".bin"], [".venv", "bin"], ["venv", "bin"], [".venv", "Scripts"], ["venv", "Scripts"]];

export function findServer(search: Search, machine: Machine): Found {
  const paths = machine.platform === "win32" ? path.win32 : path.posix;
  const name = machine.platform === "win32" ? "countersign.exe" : "countersign";
  const { env } = machine;

  const configured = search.configured?.trim();
  if (configured !== undefined && configured !== "") {
    const program = expandHome(configured, machine.home, paths);
    // A bare name is one to be found on PATH.
    const onPath = () => pathFolders(env, machine.platform).map((dir) => paths.join(dir, program)).filter((file) => !isOfProject(file, search, machine, paths));
    const candidates = isBareName(program) ? onPath() : [program];
    const hit = candidates.find((file) => machine.isProgram(file));
    return hit === undefined ? { kind: "misconfigured", program } : { kind: "found", program: hit, origin: "the setting countersign.server.path" };
  }

  const cargoHome = env["CARGO_HOME"] ?? paths.join(machine.home, ".cargo");
  const places: (readonly [dir: string, origin: string])[] = [
    [paths.join(search.extensionPath, "bin"), "the extension"],
    ...pathFolders(env, machine.platform).map((dir) => [dir, "PATH"] as const),
    [paths.join(cargoHome, "bin"), "Cargo's bin folder"],
  ];
  const refused: string[] = [];
  for (const [dir, origin] of places) {
    const program = paths.join(dir, name);
    if (!machine.isProgram(program)) {
      continue;
    }
    if (origin === "the extension" || !isOfProject(program, search, machine, paths)) {
      return { kind: "found", program, origin };
    }
    refused.push(program);
  }
  return { kind: "missing", places: places.map(([dir]) => dir), refused };
}

/** Whether a program was found where a project could have put it. A window on the home folder is none on a project. */
function isOfProject(program: string, { folders }: Search, machine: Machine, paths: path.PlatformPath): boolean {
  const isIn = (file: string, folder: string): boolean => {
    const way = paths.relative(folder, file);
    return way !== ".." && !way.startsWith(`..${paths.sep}`) && !paths.isAbsolute(way);
  };
  const home = machine.realPath(machine.home);
  const projects = [...folders, ...folders.map((folder) => machine.realPath(folder))].filter((folder) => !isIn(machine.home, folder) && !isIn(home, folder));
  const dir = paths.dirname(program);
  const brought = [dir, machine.realPath(dir)].some((place) => OF_PROJECTS.some((end) => place.endsWith(paths.sep + end.join(paths.sep))));
  return brought || [program, machine.realPath(dir), machine.realPath(program)].some((file) => projects.some((folder) => isIn(file, folder)));
}

function pathFolders(env: Machine["env"], platform: NodeJS.Platform): string[] {
  // Windows spells it Path, and compares names without case.
  const key = platform === "win32" ? Object.keys(env).find((name) => name.toUpperCase() === "PATH") : "PATH";
  const value = key === undefined ? undefined : env[key];
  // Relative entries would run what lies in some project's folder.
  const paths = platform === "win32" ? path.win32 : path.posix;
  return (value ?? "").split(paths.delimiter).filter((dir) => paths.isAbsolute(dir));
}

function expandHome(file: string, home: string, paths: path.PlatformPath): string {
  return file === "~" || file.startsWith("~/") || file.startsWith("~\\") ? paths.join(home, file.slice(1)) : file;
}

function isBareName(file: string): boolean {
  return !/[/\\]/.test(file);
}
