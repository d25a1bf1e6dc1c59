import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

const MOST_BYTES = 10 * 1024;

/** The client as an application bundles it. `neutral`: a module of Node is an error. */
const bundle = () =>
  build({
    stdin: { contents: "export * from './src/client/client.ts'", resolveDir: process.cwd() },
    ...{ bundle: true, minify: true, write: false, metafile: true, format: 'esm', platform: 'neutral' },
    conditions: ['import'],
    logLevel: 'silent',
  });

test('the bundle of the client is small, and has nothing of Node and no schemas', async () => {
  const { outputFiles, metafile } = await bundle();
  const [file] = outputFiles;
  expect(file).toBeDefined();
  expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([]);
  const packages = Object.keys(metafile.inputs).filter((path) => path.includes('node_modules'));
  expect(packages.filter((path) => !path.includes('eventsource-parser'))).toEqual([]);
  const text = file?.text ?? '';
  expect(text).not.toMatch(/\bprocess\.|\bBuffer\b|\brequire\(/);
  expect(gzipSync(text).length).toBeLessThan(MOST_BYTES);
});

test('the bundle works where there is nothing but what browsers have', async () => {
  const { outputFiles } = await bundle();
  const { createClient } = await import(
    `data:text/javascript;base64,${Buffer.from(outputFiles[0]?.contents ?? '').toString('base64')}`
  );
  const asked: string[] = [];
  const client = createClient({
    url: 'https://runs.example.org/agents/',
    token: 'abc',
    fetch: async (url: string, { headers }: { headers: Record<string, string> }) => {
      asked.push(`${url} ${headers['Authorization']}`);
      return new Response('{"items":[],"nextCursor":null}');
    },
  });
  expect(await client.listRuns({ status: 'paused', agent: undefined })).toEqual({ items: [], nextCursor: null });
  expect(asked).toEqual(['https://runs.example.org/agents/api/v1/runs?status=paused Bearer abc']);
});
