/** What a new project is made for. */
export interface ProjectChoice {
  /** Name of the package. */
  readonly name: string;
  readonly language: 'ts' | 'js';
  /** Version ranges by the name of the package; `holdfast` is among them. */
  readonly versions: { readonly [packageName: string]: string };
}

export interface ProjectFile {
  readonly path: string;
  readonly about: string;
  readonly text: string;
  /** One that is there already stays as it is. */
  readonly isShared: boolean;
}

const CONFIG = `import { Agent } from '@openai/agents';
import { defineAgent, defineConfig } from 'holdfast';
import { call, say, scriptedModel } from 'holdfast/testing';
import { refund } from './refund.js';

// This model follows a script and needs no key. A real one is a name: 'openai/gpt-5-mini' with OPENAI_API_KEY set,
// or 'ollama/qwen3' with Ollama on this machine.
const model = scriptedModel([
  [call('refund', { order: '1042', cents: 8000 })],
  [say('Order 1042 is refunded.')],
]);

export default defineConfig({
  agents: [
    defineAgent({
      agent: new Agent({
        name: 'cashier',
        instructions: 'You refund orders that arrived broken.',
        model,
        tools: [refund],
      }),
      // What the agent may do. It has no other capability.
      grants: ['payments:refund:EUR'],
    }),
  ],
});
`;

const TOOL = `import { defineTool } from 'holdfast';
import { z } from 'zod';

export const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order. It cannot be taken back.',
  input: z.object({ order: z.string(), cents: z.int().positive() }),
  output: z.object({ receipt: z.string() }),
  // A call that a crash interrupts is not repeated: a person decides.
  effect: 'unsafe',
  capabilities: ['payments:refund:EUR'],
  approval: ({ order, cents }) => cents > 5000 && \`Refund \${cents / 100} EUR for order \${order}?\`,
  // Call your bank here. Send the key with the request: it stays the same.
  execute: ({ order }, { idempotencyKey }) => ({ receipt: \`\${order} \${idempotencyKey}\` }),
});
`;

const TEST = `import { createTestEngine } from 'holdfast/testing';
import { expect, test } from 'vitest';
import config from './holdfast.config.js';

test('a refund of 80 EUR waits for a person', async () => {
  const t = await createTestEngine(config);
  try {
    const run = await t.run('cashier', 'Refund order 1042: it arrived broken. It cost 80 EUR.');
    expect(run.status).toBe('paused');
    const ended = await t.decide(run.id, { verdict: 'approve' });
    expect(ended).toMatchObject({ status: 'completed', output: 'Order 1042 is refunded.' });
    expect(await t.events(run.id, 'call.finished')).toHaveLength(1);
  } finally {
    await t.close();
  }
}, 60_000);
`;

const IGNORED = `node_modules/
.holdfast/
.env
`;

const TSCONFIG = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
  },
  include: ['*.ts'],
};

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

function manifestOf({ name, language, versions }: ProjectChoice): string {
  const of = (...names: string[]) => Object.fromEntries(names.map((one) => [one, versions[one] ?? 'latest']));
  return json({
    ...{ name, version: '0.1.0', private: true, type: 'module' },
    scripts: {
      start: 'holdfast serve',
      test: 'vitest run',
      ...(language === 'ts' ? { types: 'tsc' } : {}),
    },
    dependencies: of('@openai/agents', 'holdfast', 'zod'),
    devDependencies: language === 'ts' ? of('@types/node', 'typescript', 'vitest') : of('vitest'),
  });
}

/** The files of a new project: an agent with a scripted model, its tool, a test, and what a package manager needs. */
export function projectFiles(choice: ProjectChoice): readonly ProjectFile[] {
  const { language } = choice;
  const own = { isShared: false };
  const shared = { isShared: true };
  return [
    { path: `holdfast.config.${language}`, about: 'an agent, with a model that needs no key', text: CONFIG, ...own },
    { path: `refund.${language}`, about: 'its tool, which asks before a large refund', text: TOOL, ...own },
    { path: `refund.test.${language}`, about: 'a test of both', text: TEST, ...own },
    { path: 'package.json', about: 'dependencies and scripts', text: manifestOf(choice), ...shared },
    ...(language === 'ts'
      ? [{ path: 'tsconfig.json', about: 'settings of the compiler', text: json(TSCONFIG), ...shared }]
      : []),
    { path: '.gitignore', about: 'leaves dependencies, data and keys out', text: IGNORED, ...shared },
  ];
}
