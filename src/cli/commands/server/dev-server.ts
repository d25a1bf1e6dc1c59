import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { childEnvironment, environmentVariable } from '../../../config.js';
import { print, printNote } from '../../print.js';

/** A configuration that imports more files is watched in part. */
const FILES_MAX = 2000;

/** A relative path after `from`, `import` or `require`. */
const IMPORTED = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"](\.{1,2}\/[^'"\n]+)['"]/g;

/** Endings of files that a path without one means, and those of TypeScript behind one of JavaScript. */
const ENDINGS = ['', '.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.json', '/index.ts', '/index.js'];
const SOURCES: { readonly [ending: string]: readonly string[] } = {
  '.js': ['.ts', '.tsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
};

/** A configuration file, and every file that it imports by a relative path, directly or through others. */
export function importedFiles(config: string): readonly string[] {
  const found = new Set([config]);
  for (const file of found) {
    for (const [, path = ''] of textOf(file).matchAll(IMPORTED)) {
      const target = fileOf(resolve(dirname(file), path));
      if (target !== null && found.size < FILES_MAX) found.add(target);
    }
  }
  return [...found];
}

/** Tells apart two states of files: of one that changed, came or went. */
export const stampOf = (files: readonly string[]): string =>
  files
    .map((file) => {
      const stat = statSync(file, { throwIfNoEntry: false });
      return stat === undefined ? 'gone' : `${stat.mtimeMs} ${stat.size} ${stat.ino}`;
    })
    .join('\n');

function fileOf(path: string): string | null {
  const [ending = ''] = /\.[cm]?js$/.exec(path) ?? [];
  const stem = path.slice(0, path.length - ending.length);
  const names = [...ENDINGS.map((more) => `${path}${more}`), ...(SOURCES[ending] ?? []).map((one) => `${stem}${one}`)];
  return names.find((name) => statSync(name, { throwIfNoEntry: false })?.isFile() === true) ?? null;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // It is being written; it will have changed at the next look.
    return '';
  }
}

export interface DevOptions {
  readonly config: string;
  readonly port: number;
  /** Opens the console when the first server answers. */
  readonly open: boolean;
}

const LOOK_MS = 300;
/** The last line that `serve` prints when it works. */
const READY = /^agents /m;

/**
 * Serves until SIGINT or SIGTERM. When a file changes, a process of its own loads the configuration while the old server works on. Only
 * if that succeeds, the old server stops, and a new one continues its runs.
 */
export async function develop({ config, port, open }: DevOptions): Promise<void> {
  const ending = new AbortController();
  let server = new Server(port, open);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      ending.abort();
      // A terminal has sent its SIGINT to the server as well, and a second one would end that at once.
      if (signal === 'SIGTERM' || !process.stdin.isTTY) server.stop();
    });
  let files = importedFiles(config);
  let seen = stampOf(files);
  let told = false;
  while (!ending.signal.aborted) {
    await sleep(LOOK_MS, undefined, { signal: ending.signal }).catch(() => {});
    const now = stampOf(files);
    if (server.hasEnded && !told && !ending.signal.aborted) {
      told = true;
      printNote('the server has ended; the next change starts it again');
    }
    if (now === seen || ending.signal.aborted) continue;
    print(`changed   ${changedIn(files, seen, now)}`);
    files = importedFiles(config);
    seen = stampOf(files);
    if (!(await loads())) {
      printNote(
        server.hasEnded
          ? 'the new configuration does not load'
          : 'the new configuration does not load; the old one works on',
      );
      continue;
    }
    if (ending.signal.aborted) break;
    server.stop();
    await server.ended;
    server = new Server(port, false);
    told = false;
    if (ending.signal.aborted) server.stop();
  }
  process.exitCode = await server.ended;
}

function changedIn(files: readonly string[], before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const changed = files.filter((_, index) => old[index] !== now[index]).map((file) => relative('.', file));
  return changed.join(', ');
}

/** This program, as it was started. */
const program = (...args: readonly string[]): readonly string[] => [
  ...process.execArgv,
  process.argv[1] ?? '',
  ...args,
];

async function loads(): Promise<boolean> {
  const check = spawn(process.execPath, program('dev', '--check'), { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(check, 'close')) as [number | null];
  return code === 0;
}

class Server {
  /** Resolves to the exit code. */
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;

  constructor(port: number, open: boolean) {
    // Each request would be a line.
    const env = childEnvironment({ HOLDFAST_LOG_LEVEL: environmentVariable('HOLDFAST_LOG_LEVEL') ?? 'warn' });
    const child = spawn(process.execPath, program('serve', '--port', String(port)), {
      stdio: ['ignore', 'pipe', 'inherit'],
      env,
    });
    this.#child = child;
    this.ended = once(child, 'close').then(([code]: unknown[]) => (typeof code === 'number' ? code : 1));
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      process.stdout.write(text);
      if (!open || READY.test(said)) return;
      said += text;
      if (READY.test(said)) openConsole();
    });
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  stop(): void {
    this.#child.kill('SIGTERM');
  }
}

/** Where the output is no terminal, the command prints the address alone. */
function openConsole(): void {
  spawn(process.execPath, program('console'), { stdio: ['ignore', 'inherit', 'inherit'] });
}
