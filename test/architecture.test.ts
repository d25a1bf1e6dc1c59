import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { againstOrder, largeFolders, longFiles, typeCycles, valueCycles } from '../scripts/architecture/measures.js';
import { ROOMS } from '../scripts/architecture/rooms.js';
import { IMPORTS, ROOT, roomOf, SOURCES, shelfOf } from '../scripts/architecture/sources.js';
import { EXCEPTIONS, SHELVES } from './shelves.js';

/** The floors (docs/internals/architecture.md): a file imports its own room or a lower floor, never up, never sideways. */

const FLOORS: Record<string, number> = {
  ...Object.fromEntries(ROOMS.map(({ path, floor }) => [roomOf(path), floor])),
  config: 1,
  index: 7,
  main: 8,
};

/** Which rooms may import a package; a package that is not here may be imported by no one. */
const HOMES: Record<string, readonly string[]> = {
  zod: Object.keys(FLOORS),
  knex: ['storage', 'migrations'],
  pg: ['storage'],
  '@electric-sql/pglite': ['storage'],
  '@openai/agents': ['models', 'tools', 'workflows', 'engine', 'library', 'demo'],
  '@openai/agents-extensions': ['models'],
  '@ai-sdk/anthropic': ['models'],
  '@ai-sdk/google': ['models'],
  ollama: ['models'],
  openai: ['models'],
  '@pydantic/genai-prices': ['models'],
  jsonrepair: ['models'],
  'ipaddr.js': ['tools'],
  'p-retry': ['object-store', 'steps'],
  aws4fetch: ['object-store'],
  dockerode: ['containers'],
  '@dbos-inc/dbos-sdk': ['workflows', 'engine'],
  express: ['http'],
  'zod-openapi': ['http'],
  commander: ['cli'],
  jiti: ['cli', 'tools'],
  yaml: ['cli'],
  'smol-toml': ['cli'],
  'eventsource-parser': ['client', 'demo', 'console'],
  preact: ['console'],
  '@preact/signals': ['console'],
  '@tanstack/query-core': ['console'],
  pino: ['cli'],
  'hyparquet-writer': ['datasets'],
  'prom-client': ['metrics'],
  re2js: ['core'],
  rfc6902: ['core'],
  '@marcbachmann/cel-js': ['core'],
  'loro-crdt': ['storage'],
};

/** Type-only imports that other rooms may make, because a type of the package is part of a signature. */
const TYPES: Record<string, readonly string[]> = {
  knex: ['steps', 'engine'],
  pg: ['storage'],
  pino: ['http', 'cli'],
};

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

const isOwn = (specifier: string): boolean => specifier.startsWith('.');

describe('architecture', () => {
  it('every file stands in a room that has a floor', () => {
    expect(SOURCES.filter((path) => FLOORS[roomOf(path)] === undefined)).toEqual([]);
  });

  it('nothing imports up or sideways', () => {
    const wrong = IMPORTS.filter(({ to }) => isOwn(to)).flatMap(({ from, to }) => {
      const target = roomOf(normalize(join(dirname(from), to)));
      const [here, there] = [roomOf(from), target];
      const allowed =
        here === there || (FLOORS[there] ?? 99) < (FLOORS[here] ?? 0) || (here === 'storage' && there === 'migrations');
      return allowed ? [] : [`${from} imports ${to}`];
    });
    expect(wrong).toEqual([]);
  });

  it('a shelf imports only shelves before it, but for the exceptions that are listed', () => {
    // An exception that nothing needs any more is removed here as well: the list only gets shorter.
    expect(againstOrder().toSorted()).toEqual(EXCEPTIONS.toSorted());
  });

  it('every shelf has its place in the order', () => {
    const unknown = SOURCES.map(shelfOf).filter((shelf) => shelf !== null && !SHELVES.includes(shelf));
    expect([...new Set(unknown)]).toEqual([]);
  });

  it('no folder has more than 25 files', () => {
    expect(largeFolders()).toEqual([]);
  });

  it('each package has its homes', () => {
    const wrong = IMPORTS.filter(({ to }) => !isOwn(to) && !to.startsWith('node:')).flatMap(
      ({ from, to, typeOnly }) => {
        const name = packageOf(to);
        const homes = [...(HOMES[name] ?? []), ...(typeOnly ? (TYPES[name] ?? []) : [])];
        return homes.includes(roomOf(from)) ? [] : [`${from} imports ${to}`];
      },
    );
    expect(wrong).toEqual([]);
  });

  it('core reaches nothing of the world', () => {
    const wrong = IMPORTS.filter(
      ({ from, to }) => roomOf(from) === 'core' && to.startsWith('node:') && to !== 'node:crypto',
    );
    expect(wrong).toEqual([]);
    const texts = SOURCES.filter((path) => roomOf(path) === 'core').map(
      (path) => [path, readFileSync(join(ROOT, path), 'utf8')] as const,
    );
    const clocks = texts.filter(([, text]) =>
      /\bDate\.now\(|new Date\(\)|Math\.random\(|randomUUID|randomBytes/.test(text),
    );
    expect(clocks.map(([path]) => path)).toEqual([]);
  });

  it('the verifier of proofs imports nothing but Node', () => {
    expect(IMPORTS.filter(({ from, to }) => roomOf(from) === 'proof' && !to.startsWith('node:'))).toEqual([]);
  });

  it('the environment is read in src/config.ts alone', () => {
    const wrong = SOURCES.filter(
      (path) => path !== join('src', 'config.ts') && /process\.env/.test(readFileSync(join(ROOT, path), 'utf8')),
    );
    expect(wrong).toEqual([]);
  });

  it('JSON of a row is read by what names the row where it cannot be read', () => {
    const rooms = /^(?:src\/(?:storage|engine)|steps|workflows)\//;
    // Files, texts of this process, and what a hash was compared with before.
    const others = new Set([
      ...['src/storage/database/stored-json.ts', 'src/storage/database/data-dir/data-dir-lock.ts'],
      'src/storage/evidence/checkpoints.ts',
      ...['src/engine/agents/list-agents.ts', 'src/engine/evolution/patched-agent.ts'],
      ...['src/engine/plans/plan-proposals.ts', 'src/engine/standalone/run-state-store.ts'],
      'steps/exports/read-exported.ts',
    ]);
    const parsers = SOURCES.filter(
      (path) =>
        rooms.test(path) && !others.has(path) && /\.parse\(JSON\.parse\(/.test(readFileSync(join(ROOT, path), 'utf8')),
    );
    expect(parsers).toEqual([]);
  });

  it('no import goes in a circle', () => {
    expect(valueCycles()).toEqual([]);
    expect(typeCycles()).toEqual([]);
  });

  it('no file is named after nothing, and none exports by default', () => {
    expect(SOURCES.filter((path) => /(utils?|helpers?|types|manager|common)\.ts$/.test(path))).toEqual([]);
    expect(SOURCES.filter((path) => /^export default/m.test(readFileSync(join(ROOT, path), 'utf8')))).toEqual([]);
  });

  it('no file has more than 400 lines', () => {
    expect(longFiles()).toEqual([]);
  });
});

describe('a command that asks a server', () => {
  /** The packages that are loaded with these files, before what is imported later. */
  function packagesOf(...files: readonly string[]): readonly string[] {
    const loaded = new Set<string>();
    const next = [...files];
    for (let file = next.pop(); file !== undefined; file = next.pop()) {
      if (loaded.has(file)) continue;
      loaded.add(file);
      for (const { target, to } of IMPORTS.filter(
        ({ from, typeOnly, isLater }) => from === file && !typeOnly && !isLater,
      )) {
        if (target !== null) next.push(target);
        else if (!to.startsWith('node:')) loaded.add(packageOf(to));
      }
    }
    return [...loaded].filter((name) => name in HOMES).sort();
  }

  it('loads no package that takes longer than the command', () => {
    const modules = IMPORTS.filter(({ from, isLater }) => from === 'src/cli/command-table.ts' && isLater);
    expect(modules.length).toBeGreaterThan(60);
    const every = packagesOf(...modules.flatMap(({ target }) => target ?? []));
    expect(every).toEqual(['commander', 'eventsource-parser', 'ipaddr.js', 're2js', 'rfc6902', 'zod']);
  });

  it('loads no client of the server for a help or a version', () => {
    expect(packagesOf('src/main.ts')).toEqual(['commander', 'eventsource-parser', 're2js', 'zod']);
  });
});
