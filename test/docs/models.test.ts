import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/cli/load-config.js';
import { ADAPTER_PACKAGE, MODEL_PROVIDERS, NATIVE_PROVIDERS } from '../../src/core/models/model-provider-table.js';
import * as holdfast from '../../src/index.js';
import { ADMIN, openTestEngine, runToRest } from '../harness/engine.js';
import { SLOW } from '../harness/slow.js';
import { chats } from '../models/servers/chat-server.js';
import { wireServer } from '../models/servers/wire-server.js';
import { codes, names, pageText, ROOT, rows, section } from './pages.js';
import { exampleFolder, wholeExamples, writeExample } from './whole-examples.js';

const { path: folder, remove } = exampleFolder();
afterAll(remove);

function optionsIn(file: string, name: string): readonly (string | undefined)[] {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const shape = section(
    `\n${source.replace(new RegExp(`export interface ${name} (?:extends [^{]*)?\\{`), '# Options')}`,
    '# Options',
  );
  return [...shape.slice(0, shape.indexOf('\n}')).matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, option]) => option);
}

it('docs/models/README.md has every known provider, and no other', () => {
  const documented = rows(section(pageText('docs/models/README.md'), '## Providers'));
  const table = Object.entries(MODEL_PROVIDERS).map(([prefix, row]) => [
    ...[prefix, row.title],
    row.urlVariable === null || prefix === 'openai' ? [row.baseURL] : [row.urlVariable, row.baseURL],
    `\`${row.keyVariable}\`${row.needsKey ? '' : ', if any'}`,
    row.api,
    [row.quirks.maxTokens, row.quirks.structuredOutput, row.quirks.callIds, row.quirks.omit].flatMap(
      (one) => one ?? [],
    ),
  ]);
  expect(
    documented.map(([prefix = '', title, address = '', key, api = '', quirks = '']) => [
      ...[codes(prefix)[0], title, codes(address), key, codes(api)[0], codes(quirks)],
    ]),
  ).toEqual(table);
});

it('docs/models/README.md has every option of openaiCompatible, and no other', () => {
  const options = optionsIn('src/models/openai/openai-compatible-options.ts', 'OpenAICompatibleOptions');
  expect(names(section(pageText('docs/models/README.md'), '## Your own'))).toEqual(options);
});

it('docs/models/ollama.md has every option of Ollama, and no other', () => {
  const options = [
    ...optionsIn('src/models/ollama/ollama-host.ts', 'OllamaHostOptions'),
    ...optionsIn('src/models/ollama/ollama-options.ts', 'OllamaSettingsOptions'),
    ...optionsIn('src/models/ollama/ollama-messages.ts', 'OllamaMessagesOptions'),
    ...optionsIn('src/models/ollama/ollama-model.ts', 'OllamaModelOptions'),
  ];
  expect(names(section(pageText('docs/models/ollama.md'), '## Options'))).toEqual(options);
});

it('docs/models/native.md has every native API with its package, and package.json the same versions', () => {
  const text = pageText('docs/models/native.md');
  const [table = [], ...others] = text.split('\n\n').filter((part) => part.startsWith('|'));
  expect(rows(String(table)).map((cells) => cells.map((cell) => codes(cell)[0] ?? cell))).toEqual(
    Object.entries(NATIVE_PROVIDERS).map(([prefix, row]) => [
      ...[prefix, row.title, row.baseURL, row.keyVariable],
      `${row.package.name}@${row.package.version}`,
    ]),
  );
  expect(names(String(others[0]))).toEqual(optionsIn('src/models/native/native-options.ts', 'NativeApiOptions'));
  const needed = [ADAPTER_PACKAGE, ...Object.values(NATIVE_PROVIDERS).map((row) => row.package)];
  for (const one of needed) expect(text).toContain(`${one.name}@${one.version}`);
  const manifest: unknown = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const versions = Object.fromEntries(needed.map(({ name, version }) => [name, version]));
  expect(manifest).toMatchObject({
    devDependencies: versions,
    peerDependencies: versions,
    peerDependenciesMeta: Object.fromEntries(needed.map(({ name }) => [name, { optional: true }])),
  });
});

it('the example of docs/models/README.md is a configuration that can start', async () => {
  const [example] = wholeExamples('docs/models/README.md');
  if (example === undefined) throw new Error('there is no example');
  const key = join(folder, 'key');
  writeFileSync(key, 'the-key-of-the-lab');
  const code = example.code.replace('/run/secrets/lab', key);
  const config = await loadConfig(writeExample(folder, { ...example, code }), { holdfast });
  const t = await openTestEngine('pglite', config);
  expect((await t.engine.listAgents({ limit: 50 }, ADMIN)).items.map(({ name }) => name)).toEqual(['clerk']);
  await t.close();
});

it.runIf(SLOW)('the example of docs/add/a-provider.md serves agents by both providers', async () => {
  await using server = await wireServer(chats('What can I do for you?'));
  const [example] = wholeExamples('docs/add/a-provider.md');
  if (example === undefined) throw new Error('there is no example');
  const code = example.code.replace('http://127.0.0.1:8000', server.url);
  const t = await openTestEngine('pglite', await loadConfig(writeExample(folder, { ...example, code }), { holdfast }));
  try {
    expect(await runToRest(t.engine, 'bird', 'hello')).toMatchObject({
      ...{ status: 'completed', output: expect.stringMatching(/^red says .*hello/) },
    });
    expect(await runToRest(t.engine, 'clerk', 'hello')).toMatchObject({
      ...{ status: 'completed', output: 'What can I do for you?' },
    });
    expect(server.received[0]).toMatchObject({
      headers: { authorization: 'Bearer the-key-of-the-lab' },
      body: { model: 'qwen3' },
    });
  } finally {
    await t.close();
  }
});
