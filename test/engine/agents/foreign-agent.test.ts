import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { registerAgents } from '../../../src/engine/agents/agent-registry.js';

/** Agents that another copy of the Agents SDK has made. */

const home = mkdtempSync(join(tmpdir(), 'holdfast-foreign-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

type Sdk = { readonly Agent: typeof Agent };
const manifest = join(import.meta.dirname, '../../../node_modules/@openai/agents/package.json');
const own = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string };
const commonJs = createRequire(import.meta.url)('@openai/agents') as Sdk;

/** Another installed version, as far as its package says. */
function otherVersion(): Sdk {
  const folder = join(home, 'node_modules', '@openai', 'agents');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: '@openai/agents', version: '0.1.2' }));
  writeFileSync(
    join(folder, 'index.js'),
    'exports.Agent = class Agent { constructor({ name }) { this.name = name; } getAllTools() {} };',
  );
  return createRequire(join(home, 'app.js'))('@openai/agents') as Sdk;
}

const refusal = (agent: Agent) => {
  try {
    registerAgents({ agents: [{ agent }] });
  } catch (error) {
    return error;
  }
  throw new Error('it was accepted');
};

it('names the CommonJS copy, and the entry that gives CommonJS the right one', () => {
  expect(refusal(new commonJs.Agent({ name: 'desk' }))).toMatchObject({
    code: 'agent_invalid',
    message: expect.stringMatching(
      new RegExp(
        `agent desk was made by @openai/agents ${own.version} as CommonJS .*; .* ${own.version} as an ES module`,
      ),
    ),
    hint: expect.stringContaining("require('holdfast/sdk')"),
  });
});

it('names both versions', () => {
  const { Agent: Other } = otherVersion();
  expect(refusal(new Other({ name: 'desk' }))).toMatchObject({
    message: expect.stringMatching(
      new RegExp(`@openai/agents 0\\.1\\.2 as CommonJS .*@openai/agents ${own.version} as an ES`),
    ),
    hint: expect.stringContaining(`npm i @openai/agents@${own.version}`),
  });
});

it('names an agent that is reached by a handoff', () => {
  const handoffs = [new commonJs.Agent({ name: 'clerk' })];
  expect(refusal(new Agent({ name: 'desk', handoffs }))).toMatchObject({
    message: expect.stringContaining('The agent clerk was made by'),
  });
});

it('is accepted from holdfast/sdk', async () => {
  const { Agent: same } = await import('holdfast/sdk');
  expect(registerAgents({ agents: [{ agent: new same({ name: 'desk' }) }] }).has('desk')).toBe(true);
});
