import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXCEPTIONS, SHELVES } from './shelves.js';

/** The floors of the house (docs/architecture.md): a file imports its own room or a lower floor, never up, never sideways. */

const ROOT = join(import.meta.dirname, '..');

const FLOORS: Record<string, number> = {
  core: 0,
  proof: 0,
  config: 1,
  storage: 1,
  models: 1,
  'object-store': 1,
  containers: 1,
  datasets: 2,
  metrics: 1,
  migrations: 1,
  tools: 2,
  steps: 3,
  workflows: 4,
  engine: 5,
  http: 6,
  cli: 6,
  console: 6,
  demo: 6,
  index: 6,
  main: 7,
};

/** Which rooms may import a package; a package that is not here may be imported by nobody. */
const HOMES: Record<string, readonly string[]> = {
  zod: Object.keys(FLOORS),
  knex: ['storage', 'migrations'],
  pg: ['storage'],
  '@electric-sql/pglite': ['storage'],
  '@openai/agents': ['models', 'tools', 'workflows', 'engine', 'demo'],
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
  'eventsource-parser': ['cli', 'demo'],
  pino: ['main'],
  'hyparquet-writer': ['datasets'],
  'prom-client': ['metrics'],
  re2js: ['core'],
};

/** Type-only imports that other rooms may make, because a type of the package is part of a signature. */
const TYPES: Record<string, readonly string[]> = {
  knex: ['steps', 'engine'],
  pg: ['storage'],
  pino: ['http', 'cli', 'main'],
};

const files = (dir: string): string[] =>
  readdirSync(join(ROOT, dir)).flatMap((name) => {
    const path = join(dir, name);
    if (statSync(join(ROOT, path)).isDirectory()) return files(path);
    return /\.m?ts$/.test(name) ? [path] : [];
  });

const SOURCES = ['src', 'steps', 'workflows', 'migrations'].flatMap(files);

const roomOf = (path: string): string => {
  const [top = '', second = ''] = path.split(sep);
  return top === 'src' ? second.replace(/\.[tj]s$/, '') : top;
};

/** Rooms whose folders are not shelves of what an engine can do, or that put everything together. */
const WITHOUT_SHELVES: readonly string[] = [
  'http',
  'cli',
  'demo',
  'metrics',
  'datasets',
  'object-store',
  'proof',
  'migrations',
];

/** The shelf of a file: the folder in its room. Null: it is in the room itself, or its room has no shelves. */
const shelfOf = (path: string): string | null => {
  const parts = path.split(sep);
  const [shelf] = parts.slice(parts[0] === 'src' ? 2 : 1, -1);
  return shelf === undefined || WITHOUT_SHELVES.includes(roomOf(path)) ? null : shelf;
};

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

const importsOf = (path: string): Import[] => {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const found = [...text.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'";]*?\s+from\s+)?'([^']+)'/gm)];
  const dynamic = [...text.matchAll(/import\(\s*'([^']+)'\s*\)/g)];
  return [
    ...found.map((match) => ({ from: path, to: match[2] ?? '', typeOnly: match[1] !== undefined })),
    ...dynamic.map((match) => ({ from: path, to: match[1] ?? '', typeOnly: false })),
  ];
};

const ALL = SOURCES.flatMap(importsOf);

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
    const wrong = ALL.filter(({ to }) => isOwn(to)).flatMap(({ from, to }) => {
      const target = roomOf(normalize(join(dirname(from), to)));
      const [here, there] = [roomOf(from), target];
      const allowed =
        here === there || (FLOORS[there] ?? 99) < (FLOORS[here] ?? 0) || (here === 'storage' && there === 'migrations');
      return allowed ? [] : [`${from} imports ${to}`];
    });
    expect(wrong).toEqual([]);
  });

  it('a shelf imports only shelves before it, but for the exceptions that are listed', () => {
    const against = ALL.filter(({ to, typeOnly }) => isOwn(to) && !typeOnly).flatMap(({ from, to }) => {
      const target = normalize(join(dirname(from), to)).replace(/\.js$/, '.ts');
      const [here, there] = [shelfOf(from), shelfOf(target)];
      if (here === null || there === null || SHELVES.indexOf(there) <= SHELVES.indexOf(here)) return [];
      return [`${from} -> ${target}`];
    });
    // An exception that nothing needs any more is removed here as well: the list only gets shorter.
    expect([...new Set(against)].sort()).toEqual([...EXCEPTIONS].sort());
  });

  it('every shelf has its place in the order', () => {
    const unknown = SOURCES.map(shelfOf).filter((shelf) => shelf !== null && !SHELVES.includes(shelf));
    expect([...new Set(unknown)]).toEqual([]);
  });

  it('no folder has more than 25 files', () => {
    const counts = new Map<string, number>();
    for (const path of SOURCES) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    expect([...counts].filter(([folder, count]) => count > 25 && folder !== 'migrations')).toEqual([]);
  });

  it('each package has its homes', () => {
    const wrong = ALL.filter(({ to }) => !isOwn(to) && !to.startsWith('node:')).flatMap(({ from, to, typeOnly }) => {
      const name = packageOf(to);
      const homes = [...(HOMES[name] ?? []), ...(typeOnly ? (TYPES[name] ?? []) : [])];
      return homes.includes(roomOf(from)) ? [] : [`${from} imports ${to}`];
    });
    expect(wrong).toEqual([]);
  });

  it('core reaches nothing of the world', () => {
    const wrong = ALL.filter(
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
    expect(ALL.filter(({ from, to }) => roomOf(from) === 'proof' && !to.startsWith('node:'))).toEqual([]);
  });

  it('the environment is read in src/config.ts alone', () => {
    const wrong = SOURCES.filter(
      (path) => path !== join('src', 'config.ts') && /process\.env/.test(readFileSync(join(ROOT, path), 'utf8')),
    );
    expect(wrong).toEqual([]);
  });

  it('no import goes in a circle', () => {
    const graph = new Map<string, string[]>();
    for (const { from, to, typeOnly } of ALL) {
      if (!isOwn(to) || typeOnly) continue;
      const target = relative('.', normalize(join(dirname(from), to))).replace(/\.js$/, '.ts');
      graph.set(from, [...(graph.get(from) ?? []), target]);
    }
    const done = new Set<string>();
    const circle = (path: string, trail: readonly string[]): string | null => {
      if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path].join(' -> ');
      if (done.has(path)) return null;
      for (const next of graph.get(path) ?? []) {
        const found = circle(next, [...trail, path]);
        if (found !== null) return found;
      }
      done.add(path);
      return null;
    };
    expect([...graph.keys()].map((path) => circle(path, [])).filter((found) => found !== null)).toEqual([]);
  });

  it('no file is named after nothing, and none exports by default', () => {
    expect(SOURCES.filter((path) => /(utils?|helpers?|types|manager|common)\.ts$/.test(path))).toEqual([]);
    expect(SOURCES.filter((path) => /^export default/m.test(readFileSync(join(ROOT, path), 'utf8')))).toEqual([]);
  });

  it('no file has more than 400 lines', () => {
    const sizes = SOURCES.map((path) => ({ path, lines: readFileSync(join(ROOT, path), 'utf8').split('\n').length }));
    // What is handed to others as one file has no second one.
    expect(sizes.filter(({ path, lines }) => lines > 400 && !path.endsWith('.mts'))).toEqual([]);
  });
});
