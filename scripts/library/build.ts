import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';

/** What an application loads, and the programs that it starts, as `dist/lib/<name>.js`. package.json names each. */
const ENTRIES = {
  client: 'src/client/client.ts',
  demo: 'src/demo/config.ts',
  index: 'src/index.ts',
  'isolated-host': 'src/tools/isolated/isolated-host.ts',
  main: 'src/main.ts',
  models: 'src/library/models.ts',
  router: 'src/http/router.ts',
  sdk: 'src/library/sdk.ts',
  testing: 'src/library/testing.ts',
  tools: 'src/library/tools.ts',
};

const OUT = 'dist/lib';

/**
 * Writes the code of the package into few files: a process opens them in a fraction of the time that a thousand modules take. Packages
 * stay outside. The verifier of proofs stays one file, which can be copied.
 */
export async function buildLibrary(): Promise<void> {
  const common = {
    ...({ bundle: true, packages: 'external', platform: 'node', format: 'esm', write: false } as const),
    // The oldest Node.js that `engines` allows.
    target: 'node20.19',
    tsconfig: 'tsconfig.build.json',
    logLevel: 'warning',
  } as const;
  const [library, verifier] = await Promise.all([
    build({ ...common, entryPoints: ENTRIES, outdir: OUT, chunkNames: 'shared/[name]-[hash]', splitting: true }),
    build({ ...common, entryPoints: ['src/proof/verify.mts'], outfile: 'dist/src/proof/verify.mjs' }),
  ]);
  const written = [...library.outputFiles, ...verifier.outputFiles].map(({ path, contents }) => {
    // A process that runs the same code may be about to read it.
    if (!existsSync(path) || !readFileSync(path).equals(contents)) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, contents);
    }
    return relative(OUT, path);
  });
  for (const file of readdirSync(OUT, { recursive: true, encoding: 'utf8' }))
    if (file.endsWith('.js') && !written.includes(file)) rmSync(join(OUT, file));
}
