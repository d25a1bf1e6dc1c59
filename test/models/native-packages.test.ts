import { expect, it } from 'vitest';
import { NATIVE_PROVIDERS } from '../../src/core/models/model-provider-table.js';
import { bareInstallation } from '../harness/without-packages.js';

const bare = bareInstallation();

const PROGRAM = `
import { MultiModelProvider } from './dist/src/models/providers/multi-model-provider.js';
const provider = new MultiModelProvider({}, (name) => (name.endsWith('_API_KEY') ? 'sk-of-no one' : null));
for (const model of process.argv.slice(2))
  await provider.getModel(model).then(
    () => console.log('found'),
    ({ code, message, hint }) => console.log(JSON.stringify({ code, message, hint })),
  );
`;

const ADAPTER = '@openai/agents-extensions';
const CASES = Object.entries(NATIVE_PROVIDERS).flatMap(([prefix, row]) =>
  [ADAPTER, row.package.name].map((missing) => ({ prefix, own: row.package, missing })),
);

it.each(CASES)('$prefix without $missing names the package and the command', async ({ prefix, own, missing }) => {
  bare.install([missing]);
  const printed = await bare.printed(PROGRAM, `${prefix}/test`, 'openai/test');
  const [line = '', other] = printed.trim().split('\n');
  const { code, message, hint } = JSON.parse(line);
  expect(code).toBe('model_unknown');
  expect(message).toContain(`needs the package ${missing}, which is not installed`);
  expect(hint).toContain(`npm install ${ADAPTER}@0.18.0 ${own.name}@${own.version}`);
  // Without the packages all else works.
  expect(other).toBe('found');
});
