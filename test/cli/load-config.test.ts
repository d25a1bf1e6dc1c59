import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findConfig, loadConfig } from '../../src/cli/load-config.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { registerAgents } from '../../src/engine/agents/agent-registry.js';
import * as holdfast from '../../src/index.js';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-config-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const file = (name: string, text: string): string => {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
};

const load = (path: string) => loadConfig(path, { holdfast });

async function errorOf(path: string): Promise<HoldfastError> {
  try {
    await load(path);
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new Error(`${path} was accepted`);
}

describe('a configuration file', () => {
  it('may be TypeScript, import files of its own, and shares the copies of this process', async () => {
    file('name.ts', "export const name: string = 'one';");
    const path = file(
      'good.ts',
      `import { Agent } from '@openai/agents';
       import { z } from 'zod';
       import { defineAgent, defineConfig, defineTool } from 'holdfast';
       import { name } from './name.js';
       const look = defineTool({
         name: 'look', description: 'Looks.', input: z.object({}), output: z.string(), effect: 'pure', execute: () => 'seen',
       });
       const typed: Agent<unknown, 'text'> = new Agent({ name, tools: [look] });
       export default defineConfig({ agents: [defineAgent({ agent: typed, grants: ['tool:call:look'] })] });`,
    );
    const agents = registerAgents(await load(path));
    const one = agents.get('one');
    expect(one?.agent).toBeInstanceOf(Agent);
    expect(one?.toolSpecs.get('look')?.effect).toBe('pure');
  });

  it('that is named but does not exist is an error, and none at all is not', async () => {
    const error = await errorOf(join(dir, 'nowhere.ts'));
    expect(error.code).toBe('config_unreadable');
    expect(error.message).toContain(join(dir, 'nowhere.ts'));
    expect(findConfig('/somewhere.ts')).toBe('/somewhere.ts');
  });

  it('has one of five endings, and the first that is there is found', async () => {
    const home = process.cwd();
    process.chdir(mkdtempSync(join(dir, 'found-')));
    try {
      expect(findConfig(null)).toBe(null);
      const texts = { cjs: 'module.exports = { agents: [] };\n' };
      for (const ending of ['cjs', 'mjs', 'js', 'mts', 'ts'] as const) {
        const path = join(process.cwd(), `holdfast.config.${ending}`);
        writeFileSync(path, ending === 'cjs' ? texts.cjs : 'export default { agents: [] };\n');
        expect(findConfig(null)).toBe(path);
        expect(await load(path)).toEqual({ agents: [] });
      }
    } finally {
      process.chdir(home);
    }
  });

  it('that throws is an error with the first line of what it threw, and the place', async () => {
    const path = file('throws.ts', "const a: number = 1;\nthrow new Error('no key for the model\\nand more');\n");
    const error = await errorOf(path);
    expect(error.code).toBe('config_unreadable');
    expect(error.message).toBe(`The configuration file ${path} cannot be loaded: no key for the model (at ${path}:2).`);
  });

  it('with a mistake in its syntax is an error with the place', async () => {
    const path = file('syntax.ts', 'export default { agents: ;\n');
    const error = await errorOf(path);
    expect(error.code).toBe('config_unreadable');
    expect(error.message).toContain(`(at ${path}:1:25)`);
  });

  it.each([
    ['its default export', "module.exports = { get default() { throw new Error('no secret'); } };"],
    ['a field', "export default { get agents() { throw new Error('no secret'); } };"],
    [
      'a provider',
      "export default { agents: [], providers: { mine: { get getModel() { throw new Error('no secret'); } } } };",
    ],
  ])('of which %s throws when it is read is not valid, and the place is said', async (what, text) => {
    const path = file(`throwing-${what.replaceAll(' ', '-')}.cts`, text);
    const error = await errorOf(path);
    expect(error.code).toBe('config_invalid');
    expect(error.message).toBe(
      `The configuration file ${path} is not valid: it cannot be read: no secret (at ${path}:1).`,
    );
    expect(error.hint).toContain('Correct the file');
  });

  it('that throws what is no error is an error all the same', async () => {
    const error = await errorOf(file('throws-nothing.ts', 'throw Object.create(null);'));
    expect(error.code).toBe('config_unreadable');
  });

  it('is read once, so that what was checked is what is used', async () => {
    const path = file('counts.ts', 'let n = 0;\nexport default { get agents() { return n++ === 0 ? [] : null; } };');
    const config = await load(path);
    expect([config.agents, config.agents]).toEqual([[], []]);
  });

  it('that imports what is not there is an error that names it', async () => {
    const error = await errorOf(file('imports.ts', "import './gone.js';\nexport default { agents: [] };"));
    expect(error.code).toBe('config_unreadable');
    expect(error.message).toContain('gone.js');
  });

  it.each([
    ['no-default.ts', 'export const agents = [];', 'no default export'],
    ['null.ts', 'export default null;', 'default: '],
    ['no-agents.ts', 'export default {};', 'default.agents: '],
    ['wrong-agents.ts', "export default { agents: ['one'] };", 'default.agents.0: expected an Agent'],
    [
      'wrong-provider.ts',
      'export default { agents: [], providers: { mine: {} } };',
      'default.providers.mine: expected',
    ],
    ['unknown-field.ts', 'export default { agents: [], tools: [] };', '"tools"'],
  ])('of another shape is an error that names the field: %s', async (name, text, named) => {
    const error = await errorOf(file(name, text));
    expect(error.code).toBe('config_invalid');
    expect(error.message).toContain(named);
  });
});
