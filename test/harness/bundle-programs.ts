import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';

export const ROOT = join(import.meta.dirname, '../..');
const BUILD = join(ROOT, 'dist');

/** The programs that tests start again and again, each in a process of its own, as `test/<folder>/<name>.js`. */
const programsOf = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, 'test', folder))
    .filter((name) => /^(.*-)?(child|worker)\.ts$/.test(name) && name !== 'run-child.ts')
    .map((name) => join('test', folder, name.replace(/ts$/, 'js')));

/** Those of the build, in `dist/programs`; as long as neither it nor what it imports is another, they are there. */
export async function bundleAllPrograms(): Promise<void> {
  const dir = join(BUILD, 'programs');
  const made = join(dir, 'made-of');
  const changedAt = (file: string): number => statSync(join(ROOT, file)).mtimeMs;
  const of = ['dist/.tsbuildinfo-test', 'package-lock.json', 'test/harness/bundle-programs.ts'].map(changedAt).join();
  if (existsSync(made) && readFileSync(made, 'utf8') === of) return;
  await bundlePrograms(dir, ['containers', 'crash', 'tasks', 'workers'].flatMap(programsOf));
  writeFileSync(made, of);
}

/** What code reads of the place where it is stays as it is in the build. */
const places: Plugin = {
  name: 'places',
  transform: {
    filter: { code: /import\.meta\.(dirname|url)|__dirname/ },
    handler: (code, id) => {
      const folder = JSON.stringify(dirname(id));
      if (/(const|let|var) __dirname/.test(code)) return null;
      return code
        .replaceAll('import.meta.dirname', folder)
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
        .replaceAll(/\b__dirname\b/g, folder);
    },
  },
};

/**
 * Writes each of these programs of the build with all that it imports into few files below `dir`: a process opens them in a third of the
 * time that two thousand modules take. `change` gives the text of a module of the build, by its path there.
 */
export async function bundlePrograms(
  dir: string,
  programs: readonly string[],
  change: (module: string, text: string) => string = (_module, text) => text,
): Promise<void> {
  rmSync(dir, { recursive: true, force: true });
  const changed: Plugin = {
    name: 'changed',
    transform: {
      filter: { id: new RegExp(`^${BUILD}/`) },
      handler: (code, id) => change(relative(BUILD, id), code),
    },
  };
  const bundle = await rolldown({
    input: Object.fromEntries(programs.map((program) => [program.replace(/\.js$/, ''), join(BUILD, program)])),
    platform: 'node',
    // They find their own files, and others are for other machines.
    external: [/^@electric-sql\/pglite/, 'loro-crdt', /\.node$/, 'cpu-features'],
    plugins: [changed, places],
    // What a package may do without is not there, and is left to it.
    logLevel: 'silent',
  });
  try {
    await bundle.write({ dir, format: 'esm', entryFileNames: '[name].js', chunkFileNames: 'shared/[name]-[hash].js' });
  } finally {
    await bundle.close();
  }
}
