import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';

const OUT = 'dist/console';

/** Scripts in pieces that pages load when they are opened, one style sheet, and the page that names both. */
export async function buildConsole(): Promise<void> {
  rmSync(OUT, { recursive: true, force: true });
  const { metafile } = await build({
    entryPoints: ['src/console/main.tsx', 'src/console/style/main.css'],
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    outdir: join(OUT, 'assets'),
    tsconfig: 'tsconfig.console.json',
    ...{ bundle: true, splitting: true, minify: true, metafile: true, format: 'esm', target: 'es2023' },
    legalComments: 'none',
    logLevel: 'warning',
  });
  const nameOf = (entry: string): string => {
    const found = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === entry);
    if (found === undefined) throw new Error(`${entry} was not built`);
    return `/assets/${basename(found[0])}`;
  };
  mkdirSync(OUT, { recursive: true });
  writeFileSync(
    join(OUT, 'index.html'),
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Holdfast</title>
<link rel="stylesheet" href="${nameOf('src/console/style/main.css')}">
<script type="module" src="${nameOf('src/console/main.tsx')}"></script>
</head>
<body><div id="app"></div><noscript>The console needs JavaScript. The command line and the API do not.</noscript></body>
</html>
`,
  );
}
